"""Models of the Hugging Face hub: downloaded once into its cache, and read from there ever after."""

import glob
import io
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import validate_repo_id
from tqdm.auto import tqdm

from transformer_core.zoo.hugging_face.opening.hub_errors import NoSpace, about_missing_weights, in_words
from transformer_core.zoo.hugging_face.opening.model_folder import COPIED_SUFFIXES
from transformer_core.zoo.interface import InputError
from transformer_core.zoo.loading import Progress

SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")

SENTENCE_MODULE = re.compile(r"\d+_\w+/config\.json")
"""Settings of sentence-transformers' modules, say 1_Pooling/config.json."""

SECONDS_BETWEEN_REPORTS = 0.2


def split_name(name: str) -> tuple[str, str | None]:
    """The repository and the revision of "owner/name@revision".

    Raises:
        InputError: it cannot be the name of a model on the hub.
    """
    repository, at, revision = name.partition("@")
    try:
        validate_repo_id(repository)
    except HFValidationError as error:
        raise InputError(
            f"{name!a} is no name of a model on the Hugging Face hub. Such a name looks like owner/name or name, "
            "maybe with @revision after it."
        ) from error
    if at and (not re.fullmatch(r"\w[\w./-]*", revision) or ".." in revision):
        raise InputError(f"{revision!a} is no revision: give a branch, a tag or a commit after the @.")
    return repository, revision or None


def download(name: str, progress: Progress | None = None) -> Path:
    """The folder of a model of the hub, downloaded if the cache does not have it yet.

    Only JSON, safetensors and tokenizer files are fetched. Without a network the cache is enough.

    Args:
        name: "owner/name" or "name", with "@revision" after it if it is not the newest.
        progress: called in this thread, at first with the size of the download; without it there is a bar on standard
            error. What it raises ends the download and is raised.

    Raises:
        InputError: there is no such model, or not for this visitor.
        ValueError: it has no weights in safetensors files.
        OSError: the hub cannot be reached and the cache lacks the model, or the disk is full.
    """
    repository, revision = split_name(name)
    try:
        info = HfApi().model_info(
            repository,
            revision=revision,
            files_metadata=True,
            # Without one, a network that swallows packets would be waited for without end.
            timeout=constants.HF_HUB_ETAG_TIMEOUT,
        )
    except (GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError, DisabledRepoError) as error:
        raise in_words(error, name) from error
    except Exception as error:  # no network, a proxy, a hub that is down: the cache may have the model
        if folder := _cached(repository, revision):
            return folder
        raise in_words(error, name) from error
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    files = wanted(list(sizes))
    if not any(file.endswith(".safetensors") for file in files):
        raise ValueError(about_missing_weights(name, list(sizes)))
    lacking = [
        file for file in files if not isinstance(try_to_load_from_cache(repository, file, revision=info.sha), str)
    ]
    options = {"revision": revision, "allow_patterns": [glob.escape(file) for file in files]}
    with _errors_in_words(name):
        if not lacking:
            return Path(snapshot_download(repository, **(options | {"revision": info.sha}), local_files_only=True))
        total = sum(sizes[file] for file in lacking)
        _check_disk(total, name)
        if progress is None:
            return Path(snapshot_download(repository, **options))
    return _download_in_background(repository, options, total, progress, name)


def wanted(files: Sequence[str]) -> list[str]:
    """Of a repository's files those that a model is opened from: no pickles, no code, no copies in other formats."""
    weights = [file for file in files if file == "model.safetensors"]
    weights = weights or [file for file in files if SHARD.fullmatch(file)]
    small = [file for file in files if "/" not in file and file.endswith(COPIED_SUFFIXES)]
    return small + [file for file in files if SENTENCE_MODULE.fullmatch(file)] + weights


def _cached(repository: str, revision: str | None) -> Path | None:
    """The folder in the cache, without a network. Whether it is complete shows when it is opened."""
    try:
        return Path(
            snapshot_download(repository, revision=revision, allow_patterns=["config.json"], local_files_only=True)
        )
    except (OSError, ValueError):
        return None


class _Cancelled(Exception):
    """Ends the threads that download."""


def _download_in_background(
    repository: str, options: dict[str, object], total: int, progress: Progress, name: str
) -> Path:
    """Download in another thread, and call `progress` in this one."""
    progress("", 0, total)
    cancelled = threading.Event()
    bars: list[tqdm] = []
    outcome: list[Path | Exception] = []

    class Meter(tqdm):
        """huggingface_hub's bars, unseen; bytes arrive in several threads."""

        def __init__(self, *arguments: object, **settings: object) -> None:
            settings.pop("name", None)
            super().__init__(*arguments, **(settings | {"file": io.StringIO(), "disable": False}))
            bars.append(self)

        def update(self, n: float | None = 1) -> bool | None:
            if cancelled.is_set():
                raise _Cancelled
            return super().update(n)

    def work() -> None:
        try:
            outcome.append(Path(snapshot_download(repository, tqdm_class=Meter, **options)))
        except Exception as error:
            outcome.append(error)

    worker = threading.Thread(target=work, name=f"download of {name}", daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(SECONDS_BETWEEN_REPORTS)
            done = max((int(bar.n) for bar in list(bars) if bar.unit == "B"), default=0)
            progress("", min(done, total), total)
    finally:
        cancelled.set()
    (result,) = outcome
    if isinstance(result, Exception):
        raise in_words(result, name) from result
    progress("", total, total)
    return result


def _check_disk(needed: int, name: str) -> None:
    cache = Path(constants.HF_HUB_CACHE)
    there = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if needed > free:
        raise NoSpace(
            f"{name} needs {needed / 1e9:.1f} GB, and the disk has {free / 1e9:.1f} GB free. Make room, or set HF_HOME "
            "to a folder on another disk."
        )


@contextmanager
def _errors_in_words(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise in_words(error, name) from error
