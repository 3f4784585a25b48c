"""The sizes of a Transformer, and the two that the paper published."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal


@dataclass(frozen=True)
class TransformerConfig:
    """Hyper-parameters of an encoder-decoder Transformer.

    The defaults are the paper's base model ("Attention Is All You Need", Table 3), with the shared English-German
    vocabulary of about 37,000 pieces of its section 5.1.

    Raises:
        ValueError: a size that no Transformer can have; the message names the field and the reason.
    """

    vocab_size: int = 37_000
    d_model: int = 512
    num_heads: int = 8
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    """"post": LayerNorm(x + Sublayer(x)), the paper. "pre": x + Sublayer(LayerNorm(x)), with one last LayerNorm."""
    max_length: int = 1024
    """Longest sequence in tokens. The sinusoids know no limit, but attention's cost does."""
    pad_id: int = 0
    """Token id that fills up a batch. It is never attended to."""

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "num_heads", "num_decoder_layers", "d_ff", "max_length"):
            self._require_integer(name, at_least=1)
        for name in ("num_encoder_layers", "pad_id"):
            self._require_integer(name, at_least=0)
        if self.d_model % self.num_heads:
            raise ValueError(
                f"d_model={self.d_model} is not divisible by num_heads={self.num_heads}: "
                "every head works on d_model / num_heads dimensions"
            )
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout!r} is outside [0, 1): it is the share of values set to zero")
        if self.norm not in ("post", "pre"):
            raise ValueError(f'norm={self.norm!r} is neither "post" (as in the paper) nor "pre"')
        if self.pad_id >= self.vocab_size:
            raise ValueError(f"pad_id={self.pad_id} is not in a vocabulary of {self.vocab_size} tokens")

    def _require_integer(self, name: str, at_least: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{name}={value!r} is not a whole number")
        if value < at_least:
            raise ValueError(f"{name}={value} is too small: it must be at least {at_least}")

    @property
    def d_head(self) -> int:
        """Dimensions of one head's queries, keys and values: d_k = d_v = d_model / h (section 3.2.2)."""
        return self.d_model // self.num_heads

    @classmethod
    def base(cls, **changes: Any) -> "TransformerConfig":
        """The paper's base model (Table 3, row "base")."""
        return cls(**changes)

    @classmethod
    def big(cls, **changes: Any) -> "TransformerConfig":
        """The paper's big model (Table 3, row "big")."""
        return cls(**{"d_model": 1024, "num_heads": 16, "d_ff": 4096, "dropout": 0.3} | changes)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TransformerConfig":
        """The config that `to_dict` wrote.

        Raises:
            ValueError: a name that is no field, or an impossible value.
        """
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"unknown configuration fields: {', '.join(unknown)}")
        return cls(**values)
