"""The bundled models by name, as `train --preset` takes them: what is trained, and with which options."""

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from transformer_core.training.options import TrainingOptions
from transformer_core.training.tasks.digits import DigitsOptions
from transformer_core.training.tasks.induction import InductionOptions
from transformer_core.training.tasks.language import LanguageOptions
from transformer_core.training.tasks.masked_words import MaskedWordsOptions
from transformer_core.training.tasks.translation import TranslationOptions


@dataclass(frozen=True)
class Preset:
    """Options of a task, with other defaults for some."""

    options: type[TrainingOptions]
    changes: dict[str, Any] = field(default_factory=dict)

    def defaults(self) -> dict[str, Any]:
        """Every option that has a default, and that default."""
        own = {option.name: option.default for option in fields(self.options) if option.default is not MISSING}
        return own | self.changes


DEFAULT = "tatoeba-en-de"

PRESETS = {
    "tatoeba-en-de": Preset(TranslationOptions),
    "shakespeare-gpt": Preset(
        LanguageOptions,
        {"dropout": 0.2, "steps": 4000, "warmup": 100, "schedule": "cosine", "learning_rate": 1e-3}
        | {"weight_decay": 0.1, "log_every": 50, "validate_every": 200, "checkpoint_every": 50},
    ),
    "tatoeba-bert": Preset(
        MaskedWordsOptions,
        {"steps": 4000, "warmup": 400, "schedule": "cosine", "learning_rate": 1e-3, "weight_decay": 0.01}
        | {"validate_every": 500, "checkpoint_every": 100, "average": 5},
    ),
    "digits-vit": Preset(
        DigitsOptions,
        {"d_model": 64, "num_heads": 4, "d_ff": 128, "steps": 4000, "warmup": 200, "schedule": "cosine"}
        | {"learning_rate": 1e-3, "weight_decay": 0.05, "validate_every": 200, "checkpoint_every": 100, "average": 5}
        | {"precision": "float32"},
    ),
    "induction": Preset(
        InductionOptions,
        {"d_model": 64, "num_heads": 4, "d_ff": 0, "dropout": 0.0, "steps": 3000, "warmup": 100}
        | {"schedule": "constant", "learning_rate": 2e-3, "weight_decay": 0.1, "precision": "float32"}
        | {"log_every": 50, "validate_every": 50, "checkpoint_every": 250, "average": 1}
        # Close together where the heads form.
        | {"snapshots": (1, 100, 200, *range(220, 601, 20), *range(650, 1001, 50), *range(1200, 3001, 200))},
    ),
}
