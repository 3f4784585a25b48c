"""One interface over every kind of model: `load(name).inspect(text)`."""

from transformer_core.zoo.bundled import available
from transformer_core.zoo.interface import (
    MAX_BEAM_SIZE,
    MAX_LENGTH_PENALTY,
    MAX_NEW_TOKENS,
    Ability,
    DeviceMemoryError,
    Family,
    InputError,
    InspectableModel,
    InspectionOptions,
    StackShape,
)
from transformer_core.zoo.loading import load

__all__ = [
    "MAX_BEAM_SIZE",
    "MAX_LENGTH_PENALTY",
    "MAX_NEW_TOKENS",
    "Ability",
    "DeviceMemoryError",
    "Family",
    "InputError",
    "InspectableModel",
    "InspectionOptions",
    "StackShape",
    "available",
    "load",
]
