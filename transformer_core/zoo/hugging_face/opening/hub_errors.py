"""What went wrong with a model of the Hugging Face hub, in words for the one who named it."""

import errno
from collections.abc import Sequence

from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from transformer_core.zoo.interface import InputError


class NoSpace(OSError):
    """Its message is for users as it is."""


def in_words(error: Exception, name: str) -> Exception:
    """What went wrong, and what to do: an InputError where it is in the name, else an OSError."""
    repository, _, revision = name.partition("@")
    log_in = "log in on this machine with `hf auth login`"
    if isinstance(error, GatedRepoError):
        return InputError(
            f"{name} is gated: its owners want to know who downloads it. Ask for access on "
            f"https://huggingface.co/{repository}, then {log_in}."
        )
    if isinstance(error, RevisionNotFoundError):
        return InputError(f"{repository} has no revision {revision!a}. Its page lists its branches.")
    if isinstance(error, RepositoryNotFoundError):
        return InputError(
            f"There is no model {name} on the Hugging Face hub, or it is private. Check the spelling; for a private "
            f"one, {log_in}."
        )
    if isinstance(error, DisabledRepoError):
        return InputError(f"{name} has been taken off the Hugging Face hub.")
    if isinstance(error, NoSpace):
        return error
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return OSError(f"The disk is full: {name} could not be downloaded. Make room, or set HF_HOME to another disk.")
    if isinstance(error, PermissionError):
        return OSError("The cache of the Hugging Face hub cannot be written. Set HF_HOME to a folder that can.")
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        what_next = {429: f"Wait a few minutes, or {log_in}", 401: log_in, 403: log_in}.get(status, "Try again later")
        return OSError(
            f"The Hugging Face hub answered with error {status}, and {name} is not in the cache. "
            f"{what_next[0].upper()}{what_next[1:]}."
        )
    if isinstance(error, LocalEntryNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    return OSError(
        f"The Hugging Face hub cannot be reached ({type(error).__name__}), and {name} is not in the cache. Connect to "
        f"the internet and try again. Or run `hf download {repository} --local-dir FOLDER` on a computer that is, and "
        "name that folder here."
    )


def about_missing_weights(name: str, files: Sequence[str]) -> str:
    repository = name.partition("@")[0]
    message = f"{name} has no model.safetensors on the Hugging Face hub."
    if any(file.endswith((".bin", ".pt", ".pth", ".ckpt")) for file in files):
        return (
            f"{message} Its weights are pickles, which can run any program when they are opened, so Headlight does "
            'not. Look among the pull requests on its page for "Adding safetensors variant of this model" and name '
            f"it as {repository}@refs/pr/NUMBER, or use another copy of the model."
        )
    if "adapter_config.json" in files:
        return f"{message} It is an adapter (LoRA), a change to another model. Merge the two and name the result."
    return f"{message} Use a model whose page lists safetensors among its files."
