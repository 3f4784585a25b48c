"""A GPU that runs out of memory, in words."""

from collections.abc import Iterator
from contextlib import contextmanager

from transformer_core.zoo.interface import DeviceMemoryError


@contextmanager
def device_memory() -> Iterator[None]:
    """Turn a GPU's out-of-memory error into a `DeviceMemoryError`, which says what to do."""
    try:
        yield
    except RuntimeError as error:  # torch.OutOfMemoryError is one; Apple's MPS raises it plain
        if "out of memory" not in str(error):
            raise
        raise DeviceMemoryError(
            "The GPU has too little free memory for this. Use the CPU, shorten the text, or lower the beam size."
        ) from error
