"""Opening any model by name: a bundled one, a folder, or one on the Hugging Face hub."""

from collections.abc import Callable
from pathlib import Path

from transformer_core.device import choose_device
from transformer_core.zoo import bundled
from transformer_core.zoo.interface import InputError, InspectableModel

Progress = Callable[[str, int, int], None]
"""Called with (file, bytes done, bytes in all) during a download; the file is "" for the whole download."""

DTYPES = ("auto", "float32", "bfloat16", "float16")

IMPLEMENTATIONS = ("transformers", "headlight")
"""Whose program runs a Hugging Face model: that library's, or `transformer_core.model`."""


def load(
    name: str | Path,
    device: str = "auto",
    dtype: str = "auto",
    *,
    local_models: bool = True,
    hub: bool = True,
    progress: Progress | None = None,
    implementation: str = "transformers",
) -> InspectableModel:
    """Load a bundled model, a folder, or a model from the Hugging Face hub, looked for in this order.

    Args:
        name: one of `available()`, with "@step" after it for a snapshot; else a folder (absolute, relative, or from
            "~") with a Hugging Face model, or with one that `python -m transformer_core train` wrote; else a hub name,
            "owner/name" or "name", with "@revision" after it if it is not the newest.
        device: "auto", "cuda", "mps" or "cpu".
        dtype: "auto", "float32", "bfloat16" or "float16"; "auto" is float32 on a CPU, the checkpoint's own on a GPU.
            A bundled model is always float32.
        local_models: whether a folder may be opened.
        hub: whether a hub name may be opened, and downloaded if it is not in the cache yet.
        progress: told how far a download is, in this thread; without it there is a bar on standard error. What it
            raises ends the download.
        implementation: "transformers", or "headlight": this project's own, for BERT, GPT-2, T5 and ViT. Bundled models
            are always this project's own.

    Raises:
        InputError: no such model, one of a kind that is switched off, or one that this implementation does not run.
        ValueError: the model's files are damaged, unsafe or of a kind that cannot be inspected; no such device.
        OSError: a file is missing, the disk is full, or the hub cannot be reached.
        DeviceMemoryError: the model does not fit into the GPU's memory.
    """
    if implementation not in IMPLEMENTATIONS:
        raise ValueError(f"unknown implementation {implementation!r}: use one of {', '.join(IMPLEMENTATIONS)}")
    name = str(name)
    if bundled.is_bundled(name):
        return bundled.load(name, device, dtype)
    if not name.strip():
        raise InputError(f"Name a model: {_kinds(local_models, hub)}.")
    # Before minutes of downloading.
    choose_device(device)
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}: use one of {', '.join(DTYPES)}")
    if local_models and (folder := local_folder(name)):
        if bundled.is_trained(folder):
            return bundled.load_folder(folder, name, device, dtype)
        return _open(folder, name, device, dtype, implementation)
    if hub and not _is_path(name):
        # Imported late: the bundled models do without transformers and huggingface_hub, which take seconds.
        from transformer_core.zoo.hugging_face.opening.hub import download

        try:
            folder = download(name, progress)
        except (InputError, OSError) as error:
            if "/" in name or not bundled.available():
                raise
            hint = f"If you meant a bundled model, there are: {', '.join(bundled.available())}."
            raise (InputError if isinstance(error, InputError) else OSError)(f"{error} {hint}") from error
        return _open(folder, name, device, dtype, implementation)
    if local_models and _is_path(name):
        raise InputError(f"There is no folder {name}. Name one that holds a model's config.json and model.safetensors.")
    raise InputError(f"There is no model {name!a} here. Name {_kinds(local_models, hub)}.")


def local_folder(name: str) -> Path | None:
    """The folder that a name stands for, if there is one."""
    try:
        folder = Path(name).expanduser()
        return folder if folder.exists() else None
    except (OSError, RuntimeError, ValueError):  # a name too long, no such user after "~", a null character
        return None


def _is_path(name: str) -> bool:
    """Whether a name can only be meant for a folder."""
    return (
        name.startswith(("/", "~", "."))
        or name.endswith("/")
        or "\\" in name
        or Path(name).is_absolute()
        or name.partition("@")[0].count("/") > 1
    )


def _open(folder: Path, name: str, device: str, dtype: str, implementation: str) -> InspectableModel:
    from transformer_core.zoo.hugging_face.headlight.opening import in_headlight
    from transformer_core.zoo.hugging_face.inspectable import inspectable
    from transformer_core.zoo.hugging_face.opening.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(folder, name, device, dtype)
    return inspectable(in_headlight(checkpoint) if implementation == "headlight" else checkpoint)


def _kinds(local_models: bool, hub: bool) -> str:
    """What may be named."""
    kinds = [f"a bundled model ({', '.join(bundled.available())})"] if bundled.available() else []
    kinds += ["the folder of a Hugging Face model"] * local_models + ["a model on the Hugging Face hub"] * hub
    if not kinds:
        return "nothing: there are no bundled models, and folders and the hub are switched off"
    allowed = " or ".join(kinds)
    off = ["folders"] * (not local_models) + ["hub names"] * (not hub)
    return allowed + (f"; {' and '.join(off)} are switched off here" if off else "")
