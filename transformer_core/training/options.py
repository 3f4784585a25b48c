"""All that a training run can be told."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from transformer_core.model import TransformerConfig

CHANGEABLE = ("out", "data", "steps", "average", "device", "credit")
"""What may differ when a run is resumed; everything else would change what is trained, or what is recorded of it."""


def _option(description: str, default: Any) -> Any:
    return field(default=default, metadata={"help": description})


@dataclass(frozen=True)
class TrainingOptions:
    """Options of `python -m transformer_core train`. The defaults are those of pretrained/tatoeba-en-de.

    Raises:
        ValueError: an impossible value; the message names it.
    """

    data: Path = field(metadata={"help": "sentence pairs, a source<TAB>target line each, UTF-8, .tsv or .tsv.gz"})
    out: Path = field(metadata={"help": "folder for the model; an interrupted run goes on from what is in it"})
    source_language: str = _option("what the sources are written in", "English")
    target_language: str = _option("what the targets are written in", "German")
    credit: str = _option("where the data comes from and its licence, for the model card", "")
    bad_lines: Literal["refuse", "skip"] = _option("what to do with lines that hold no usable pair", "refuse")
    max_words: int = _option("a sentence with more words makes its line a bad one", 250)
    held_out: int = _option("source sentences held out for validation, and again for test", 2000)
    vocab_size: int = _option("pieces of the vocabulary that both languages share", 8000)
    d_model: int = _option("width of the model", 256)
    num_heads: int = _option("attention heads of a layer", 8)
    num_encoder_layers: int = _option("layers of the encoder", 4)
    num_decoder_layers: int = _option("layers of the decoder", 3)
    d_ff: int = _option("inner width of the feed-forward layers", 1024)
    dropout: float = _option("share of values set to zero in training", 0.1)
    norm: Literal["post", "pre"] = _option(
        "layer normalisation after each sub-layer, as in the paper, or before", "post"
    )
    max_length: int = _option("longest sentence in tokens, its end token included; longer pairs are left out", 512)
    steps: int = _option("updates in all", 10_000)
    batch_tokens: int = _option("most source tokens, and most target tokens, of a process in one step", 3000)
    warmup: int = _option("steps in which the learning rate rises", 2000)
    lr_scale: float = _option("factor on the paper's learning rate", 1.0)
    label_smoothing: float = _option("share of the target's probability that is spread over all tokens", 0.1)
    log_every: int = _option("steps between two rows of training.csv", 100)
    validate_every: int = _option("steps between two validations; a multiple of log-every", 1000)
    validation_sentences: int = _option("validation sentences translated for the BLEU of training.csv", 500)
    checkpoint_every: int = _option("steps between two checkpoints", 250)
    average: int = _option("last checkpoints whose mean is the final model", 10)
    seed: int = _option("the same seed gives the same split, the same start and the same order", 1)
    device: str = _option("auto, cuda, mps or cpu", "auto")
    precision: Literal["auto", "float32", "bfloat16"] = _option("matrix products; auto takes the faster one", "auto")

    def __post_init__(self) -> None:
        counts = (
            "max_words held_out steps batch_tokens warmup log_every validate_every validation_sentences "
            "checkpoint_every average"
        )
        for name in counts.split():
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing={self.label_smoothing} is outside [0, 1)")
        if not 0 < self.lr_scale < float("inf"):
            raise ValueError(f"lr_scale={self.lr_scale} must be greater than 0")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed={self.seed} must be from 0 to {2**32 - 1}")
        if self.out.exists() and not self.out.is_dir():
            raise ValueError(f"out={self.out} is a file, and a folder is needed")
        if self.validate_every % self.log_every:
            raise ValueError(
                f"validate_every={self.validate_every} must be a multiple of log_every={self.log_every}: "
                "validation figures stand in the rows of training.csv"
            )
        self.transformer_config(self.vocab_size)

    def transformer_config(self, vocab_size: int) -> TransformerConfig:
        """The model's sizes, with the vocabulary that the tokenizer really has."""
        return TransformerConfig(
            vocab_size=vocab_size,
            d_model=self.d_model,
            num_heads=self.num_heads,
            num_encoder_layers=self.num_encoder_layers,
            num_decoder_layers=self.num_decoder_layers,
            d_ff=self.d_ff,
            dropout=self.dropout,
            norm=self.norm,
            max_length=self.max_length,
        )

    def fixed(self) -> dict[str, Any]:
        """The options that a resumed run must share."""
        return {name: value for name, value in asdict(self).items() if name not in CHANGEABLE}
