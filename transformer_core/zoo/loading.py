"""Opening any model by name: a bundled one, a folder, or one on the Hugging Face hub."""

from collections.abc import Callable

from transformer_core.zoo.interface import InspectableModel

Progress = Callable[[str, int, int], None]
"""Called with (file, bytes done, bytes in all) while a model is downloaded; the file is "" for the whole download."""


def load(
    name: str,
    device: str = "auto",
    dtype: str = "auto",
    *,
    local_models: bool = True,
    hub: bool = True,
    progress: Progress | None = None,
) -> InspectableModel:
    """Load a bundled model, a folder, or a model from the Hugging Face hub, looked for in this order.

    Args:
        name: one of `available()`; else a folder (absolute, relative, or from "~"); else a hub name, "owner/name" or
            "name", with "@revision" after it if it is not the newest.
        device: "auto", "cuda", "mps" or "cpu".
        dtype: "auto", "float32", "bfloat16" or "float16"; "auto" is float32 on a CPU, the checkpoint's own on a GPU.
        local_models: whether a folder may be opened.
        hub: whether a hub name may be opened, and downloaded if it is not in the cache yet.
        progress: told how far a download is; without it there is a bar on standard error. What it raises ends the
            download.

    Raises:
        InputError: no such model, or one of a kind that is switched off.
        ValueError: the model's files are damaged, unsafe or of a kind that cannot be inspected; no such device.
        OSError: a file is missing, the disk is full, or the hub cannot be reached.
        DeviceMemoryError: the model does not fit into the GPU's memory.
    """
    raise NotImplementedError
