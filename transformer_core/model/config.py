"""The sizes of a Transformer, and the choices between the paper's design and those of its descendants."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Norm = Literal["post", "pre"]
Normalization = Literal["layer", "rms"]
Activation = Literal["relu", "gelu", "gelu_tanh"]
Positions = Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "none"]


@dataclass(frozen=True)
class TransformerConfig:
    """Hyper-parameters of a Transformer: encoder-decoder, encoder only or decoder only.

    The defaults are the paper's base model ("Attention Is All You Need", Table 3), with the shared English-German
    vocabulary of about 37,000 pieces of its section 5.1.

    Raises:
        ValueError: a size that no Transformer can have; the message names the field and the reason.
    """

    vocab_size: int = 37_000
    """Number of tokens; 0 for a model that reads no tokens, as an image model."""
    d_model: int = 512
    num_heads: int = 8
    num_encoder_layers: int = 6
    """0: decoder only (GPT)."""
    num_decoder_layers: int = 6
    """0: encoder only (BERT, ViT)."""
    d_ff: int = 2048
    """Inner width of the feed-forward layers; 0: there are none, and the model is made of attention only."""
    dropout: float = 0.1
    norm: Norm = "post"
    """"post": LayerNorm(x + Sublayer(x)), the paper. "pre": x + Sublayer(LayerNorm(x)), with one last LayerNorm."""
    max_length: int = 1024
    """Longest sequence in tokens. Only learned positions end there; for the others it bounds attention's cost."""
    pad_id: int = 0
    """Token id that fills up a batch. It is never attended to."""
    head_size: int | None = None
    """d_k = d_v where it is not d_model / num_heads (T5-3B and T5-11B: 128)."""
    positions: Positions = "sinusoidal"
    """How the order of the tokens is told: see `transformer_core.model.positions`."""
    activation: Activation = "relu"
    """Of the feed-forward layers. "gelu" is exact (BERT, ViT), "gelu_tanh" its approximation by tanh (GPT-2)."""
    normalization: Normalization = "layer"
    """"layer": LayerNorm. "rms": only divided by the root of the mean square (T5)."""
    norm_epsilon: float = 1e-5
    """Added to the variance (or the mean square) before its root is taken."""
    attention_bias: bool = False
    """Whether the projections of queries, keys, values and output have a bias (BERT, GPT-2, ViT)."""
    feed_forward_bias: bool = True
    """Whether the feed-forward layers have biases; T5 has none."""
    scale_embeddings: bool = True
    """Token vectors times sqrt(d_model), as in section 3.4."""
    scale_scores: bool = True
    """Scores divided by sqrt(d_k), as in equation 1. T5 leaves it to the starting values of its weights."""
    scale_logits: bool = False
    """The last vectors times 1 / sqrt(d_model) before the shared matrix (T5)."""
    share_output: bool = True
    """Whether the pre-softmax transformation is the matrix of token vectors (section 3.4)."""
    num_segments: int = 0
    """Learned vectors that tell the first text of a pair from the second (BERT: 2)."""
    norm_embeddings: bool = False
    """LayerNorm on the sum of the embeddings (BERT)."""

    def __post_init__(self) -> None:
        for name in ("d_model", "num_heads", "max_length"):
            self._require_integer(name, at_least=1)
        for name in ("vocab_size", "num_encoder_layers", "num_decoder_layers", "d_ff", "pad_id", "num_segments"):
            self._require_integer(name, at_least=0)
        if not self.num_encoder_layers + self.num_decoder_layers:
            raise ValueError("num_encoder_layers=0 and num_decoder_layers=0 leave no layer: one must be at least 1")
        if self.head_size is not None:
            self._require_integer("head_size", at_least=1)
        elif self.d_model % self.num_heads:
            raise ValueError(
                f"d_model={self.d_model} is not divisible by num_heads={self.num_heads}: "
                "every head works on d_model / num_heads dimensions"
            )
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout!r} is outside [0, 1): it is the share of values set to zero")
        if not isinstance(self.norm_epsilon, int | float) or not 0 <= self.norm_epsilon < 1:
            raise ValueError(f"norm_epsilon={self.norm_epsilon!r} is outside [0, 1): it keeps a root from being 0")
        if self.norm not in get_args(Norm):
            raise ValueError(f'norm={self.norm!r} is neither "post" (as in the paper) nor "pre"')
        for name, choices in (("positions", Positions), ("activation", Activation), ("normalization", Normalization)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"{name}={getattr(self, name)!r} is none of: {', '.join(get_args(choices))}")
        for name, kind in self.__annotations__.items():
            if kind is bool and not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r} is neither true nor false")
        if self.positions == "rotary" and self.d_head % 2:
            raise ValueError(f"rotary positions turn pairs of dimensions, and d_head={self.d_head} is odd")
        if self.pad_id >= self.vocab_size > 0:
            raise ValueError(f"pad_id={self.pad_id} is not in a vocabulary of {self.vocab_size} tokens")

    def _require_integer(self, name: str, at_least: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{name}={value!r} is not a whole number")
        if value < at_least:
            raise ValueError(f"{name}={value} is too small: it must be at least {at_least}")

    @property
    def d_head(self) -> int:
        """Dimensions of one head's queries, keys and values: d_k = d_v, usually d_model / h (section 3.2.2)."""
        return self.head_size or self.d_model // self.num_heads

    @classmethod
    def base(cls, **changes: Any) -> "TransformerConfig":
        """The paper's base model (Table 3, row "base")."""
        return cls(**changes)

    @classmethod
    def big(cls, **changes: Any) -> "TransformerConfig":
        """The paper's big model (Table 3, row "big")."""
        return cls(**{"d_model": 1024, "num_heads": 16, "d_ff": 4096, "dropout": 0.3} | changes)

    @classmethod
    def gpt2(cls, **changes: Any) -> "TransformerConfig":
        """GPT-2 small (Radford et al. 2019): decoder only, pre-norm, learned positions."""
        shape = {"vocab_size": 50_257, "d_model": 768, "num_heads": 12, "d_ff": 3072, "num_decoder_layers": 12}
        design = {"norm": "pre", "positions": "learned", "activation": "gelu_tanh", "attention_bias": True}
        return cls(**shape | design | {"num_encoder_layers": 0, "scale_embeddings": False} | changes)

    @classmethod
    def bert(cls, **changes: Any) -> "TransformerConfig":
        """BERT-base, uncased (Devlin et al. 2019): encoder only, post-norm, learned positions, two segments."""
        shape = {"vocab_size": 30_522, "d_model": 768, "num_heads": 12, "d_ff": 3072, "num_encoder_layers": 12}
        design = {"positions": "learned", "activation": "gelu", "attention_bias": True, "norm_epsilon": 1e-12}
        embeddings = {"num_segments": 2, "norm_embeddings": True, "scale_embeddings": False, "max_length": 512}
        return cls(**shape | design | embeddings | {"num_decoder_layers": 0} | changes)

    @classmethod
    def t5(cls, **changes: Any) -> "TransformerConfig":
        """T5-small (Raffel et al. 2020, the first release): encoder-decoder, pre-norm, relative position biases."""
        shape = {"vocab_size": 32_128, "max_length": 512}
        design = {"norm": "pre", "normalization": "rms", "norm_epsilon": 1e-6, "positions": "relative"}
        scales = {"scale_embeddings": False, "scale_scores": False, "scale_logits": True}
        return cls(**shape | design | scales | {"feed_forward_bias": False} | changes)

    @classmethod
    def vit(cls, **changes: Any) -> "TransformerConfig":
        """The encoder of ViT-B (Dosovitskiy et al. 2021): pre-norm, no tokens. See `VisionConfig` for the rest."""
        shape = {"vocab_size": 0, "d_model": 768, "num_heads": 12, "d_ff": 3072, "num_encoder_layers": 12}
        design = {"norm": "pre", "activation": "gelu", "attention_bias": True, "norm_epsilon": 1e-12}
        return cls(**shape | design | {"positions": "learned", "num_decoder_layers": 0, "max_length": 197} | changes)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TransformerConfig":
        """The config that `to_dict` wrote, or an earlier version of it with fewer fields.

        Raises:
            ValueError: a name that is no field, or an impossible value.
        """
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"unknown configuration fields: {', '.join(unknown)}")
        return cls(**values)
