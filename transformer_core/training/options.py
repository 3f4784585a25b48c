"""All that a training run can be told. The defaults trained pretrained/tatoeba-en-de."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from transformer_core.model import TransformerConfig

CHANGEABLE = ("out", "data", "steps", "average", "device", "credit")
"""What may differ when a run is resumed; everything else would change what is trained."""


@dataclass(frozen=True)
class TrainingOptions:
    """Options of `python -m transformer_core train`.

    Raises:
        ValueError: an impossible value; the message names it.
    """

    data: Path
    out: Path
    source_language: str = "English"
    target_language: str = "German"
    credit: str = ""
    """Where the data comes from and its licence, for the model card."""
    bad_lines: Literal["refuse", "skip"] = "refuse"
    max_words: int = 250
    held_out: int = 2000
    vocab_size: int = 8000
    d_model: int = 256
    num_heads: int = 8
    num_encoder_layers: int = 4
    num_decoder_layers: int = 3
    d_ff: int = 1024
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    max_length: int = 512
    steps: int = 15_000
    batch_tokens: int = 3000
    """Most source tokens, and most target tokens, that one process reads in one step."""
    warmup: int = 1500
    lr_scale: float = 1.0
    label_smoothing: float = 0.1
    log_every: int = 100
    validate_every: int = 1000
    validation_sentences: int = 500
    """Validation sentences translated for the BLEU of training.csv; the loss is over all of them."""
    checkpoint_every: int = 250
    average: int = 10
    """Checkpoints whose mean is the final model."""
    seed: int = 1
    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"

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
        if self.lr_scale <= 0:
            raise ValueError(f"lr_scale={self.lr_scale} must be greater than 0")
        if self.seed < 0:
            raise ValueError(f"seed={self.seed} must not be negative")
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
