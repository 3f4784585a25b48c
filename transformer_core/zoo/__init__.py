"""One interface over every kind of model: `load(name).inspect(text)`."""

from transformer_core.zoo.bundled import available, load
from transformer_core.zoo.interface import (
    MAX_BEAM_SIZE,
    MAX_LENGTH_PENALTY,
    DecodingOptions,
    DeviceMemoryError,
    InputError,
    InspectableModel,
)

__all__ = [
    "MAX_BEAM_SIZE",
    "MAX_LENGTH_PENALTY",
    "DecodingOptions",
    "DeviceMemoryError",
    "InputError",
    "InspectableModel",
    "available",
    "load",
]
