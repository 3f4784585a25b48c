"""One interface over every kind of model: `load(name).inspect(text)`."""

from transformer_core.zoo.bundled import available, snapshots
from transformer_core.zoo.interface import (
    MAX_BEAM_SIZE,
    MAX_LENGTH_PENALTY,
    MAX_NEW_TOKENS,
    MAX_SEED,
    MAX_TEMPERATURE,
    MAX_TOP_K,
    NEEDED_ABILITIES,
    Ability,
    DeviceMemoryError,
    Family,
    InputError,
    InspectableModel,
    InspectionOptions,
    StackShape,
)
from transformer_core.zoo.loading import load
from transformer_core.zoo.outline import Outline, outline

__all__ = [
    "MAX_BEAM_SIZE",
    "MAX_LENGTH_PENALTY",
    "MAX_NEW_TOKENS",
    "MAX_SEED",
    "MAX_TEMPERATURE",
    "MAX_TOP_K",
    "NEEDED_ABILITIES",
    "Ability",
    "DeviceMemoryError",
    "Family",
    "InputError",
    "InspectableModel",
    "InspectionOptions",
    "Outline",
    "StackShape",
    "available",
    "load",
    "outline",
    "snapshots",
]
