"""Loading models and inspecting texts and images: once for all visitors, and not more than memory holds.

Models are shared between browser sessions, so nothing in here writes to one.
"""

import dataclasses
import io
import logging
from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
import torch
from cachetools import LRUCache
from PIL.Image import Image
from torch import Tensor

from transformer_core import zoo
from transformer_core.device import DEVICES, choose_device
from transformer_core.inspection.inspection import Inspection
from transformer_core.interrupting import stage
from transformer_core.trained.folder import SNAPSHOTS
from transformer_core.training.log import COLUMNS
from transformer_core.view.payload import Detail, Payload, build
from transformer_core.zoo import bundled
from transformer_core.zoo.loading import local_folder
from viz_app.permissions import permissions
from viz_app.pictures import Picture
from viz_app.runs import Run, SharedResults, Watch

NO_MODELS = (
    "There is no trained model in the folder pretrained/. Train one with `python -m transformer_core train`, or get "
    "the complete repository, which has one."
)

MAX_MODELS = 4
"""Loaded models that are kept: the least recently used one goes first."""

MAX_MODEL_BYTES = 8 * 2**30
"""Size of the loaded models that are kept, together. One that is larger is kept alone."""

MAX_INSPECTIONS = 8
"""Results that are kept. Measured with the bundled English-German model: 0.3 to 0.4 MB for an example sentence, 16.4 MB
for 501 source and 512 target tokens, which is near the most that it reads and writes."""

MAX_INSPECTION_BYTES = 2**30
"""Size of the results that are kept, together. A large model's record of a long text can be a gigabyte alone."""

MAX_PAYLOADS = 3 * MAX_INSPECTIONS
"""Payloads of the linked view that are kept; of a large result there is one for each layer that was looked at."""

MAX_PAYLOAD_BYTES = 2**28
"""Size of the payloads that are kept, together. One is 22 MB at most."""

log = logging.getLogger(__name__)


class ModelError(RuntimeError):
    """A model's files cannot be used; the message says why."""


@dataclasses.dataclass(frozen=True)
class ModelChoice:
    """Which model, on which device, in which precision."""

    name: str
    """A bundled model's name, a folder or a hub name."""
    device: str = "auto"
    dtype: str = "auto"
    implementation: str = "transformers"
    """Whose program runs it, as `zoo.load` takes it."""
    version: str = ""
    """What `settled` found on the disk; whoever asks for this choice again gets the same model."""


def models() -> list[str]:
    """Names of the bundled models."""
    return zoo.available()


def devices() -> list[str]:
    """The devices that this machine has, "auto" first."""
    return [name for name in DEVICES if _exists(name)]


def _exists(device: str) -> bool:
    try:
        choose_device(device)
    except ValueError:
        return False
    return True


def device_name(device: str) -> str:
    """The device for a list: "auto" also says what it chose."""
    return f"auto: {choose_device('auto').type}" if device == "auto" else device


def _bounded_cache(max_entries: int, max_bytes: int, num_bytes: Callable[[Any], int]) -> LRUCache:
    """A cache from which the least recently used entries go as soon as there are too many or too large ones."""
    return LRUCache(max_bytes, lambda value: min(max(num_bytes(value), max_bytes // max_entries), max_bytes))


def _model_bytes(model: zoo.InspectableModel) -> int:
    return model.num_parameters * model.dtype.itemsize


def _inspection_bytes(inspection: Inspection) -> int:
    """Memory of all recorded tensors. Parts of a stack share its calls, and calls may share a mask."""
    calls = {id(call): call for stack in inspection.stacks.values() for call in stack.calls}
    tensors = (value for call in calls.values() for value in vars(call).values() if isinstance(value, Tensor))
    return sum({(storage := tensor.untyped_storage()).data_ptr(): storage.nbytes() for tensor in tensors}.values())


_models = SharedResults(_bounded_cache(MAX_MODELS, MAX_MODEL_BYTES, _model_bytes))

_inspections = SharedResults(_bounded_cache(MAX_INSPECTIONS, MAX_INSPECTION_BYTES, _inspection_bytes))

_payloads = SharedResults(_bounded_cache(MAX_PAYLOADS, MAX_PAYLOAD_BYTES, lambda payload: payload.weights.nbytes))


def load(choice: ModelChoice, watch: Watch | None = None) -> zoo.InspectableModel:
    """The model, loaded once and shared. One that a GPU cannot hold is on the CPU.

    Args:
        watch: shown the run, as in `SharedResults.get`.

    Raises:
        ModelError: there is no such model, it may not be opened here, or its files are missing or damaged.
    """
    try:
        choice = settled(choice)
        return _models.get(choice, lambda: _load(choice), watch)
    except (OSError, ValueError) as error:
        raise ModelError(str(error)) from error
    except MemoryError as error:
        raise ModelError("this machine has too little memory for it") from error
    # Files of other people can fail in ways that nobody foresaw: the page stays, and the log has the rest.
    except Exception as error:
        log.exception("A model could not be loaded")
        raise ModelError(
            f"opening it failed in a way that Headlight does not know ({type(error).__name__}). The terminal that runs "
            "Headlight shows the details."
        ) from error


def _load(choice: ModelChoice) -> zoo.InspectableModel:
    allowed = permissions()
    stage(f"Opening {choice.name}")
    # Models go before this one is loaded, so that they are not all in memory together.
    files = [(path, size) for path, _, size in _state(choice.name) if path.parent.name != SNAPSHOTS]
    _models.make_room(sum(size for path, size in files if path.suffix == ".safetensors"))
    try:
        return zoo.load(
            choice.name,
            choice.device,
            choice.dtype,
            local_models=allowed.local_models,
            hub=allowed.hub,
            progress=_downloading,
            implementation=choice.implementation,
        )
    except zoo.DeviceMemoryError:
        return load(dataclasses.replace(choice, device="cpu"), _pass_on)


def _downloading(file: str, done: int, total: int) -> None:
    stage(f"Downloading: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB", min(done / total, 1.0) if total else 0.0)


def _pass_on(run: Run) -> None:
    """Watch a run in another run, which does what that does, and ends with it."""
    stage(run.stage.words, run.stage.share)


def settled(choice: ModelChoice) -> ModelChoice:
    """The same with the device that "auto" means, so that both share what is kept, and with the files as they are now.

    Files that are replaced make another choice. A page settles its choice once, so that all of it shows one model.
    """
    version = choice.version or " ".join(f"{path} {modified} {size}" for path, modified, size in _state(choice.name))
    return dataclasses.replace(choice, device=choose_device(choice.device).type, version=version)


def _state(name: str) -> list[tuple[Path, int, int]]:
    """The files of a model with the nanosecond of their last change and their size in bytes, its snapshots among them.

    A hub name has none: what is downloaded does not change.
    """
    if (without_step := _bundled(name)) is not None:
        folder = Path(bundled.PRETRAINED) / without_step
    elif not permissions().local_models or (folder := local_folder(name)) is None:
        return []
    try:
        folder = folder.resolve()
        files = sorted(
            path
            for path in (*folder.iterdir(), *(folder / SNAPSHOTS).glob("*"))
            if path.suffix in (".safetensors", ".json")
        )
        return [(path, (status := path.stat()).st_mtime_ns, status.st_size) for path in files]
    except OSError:  # a file, a broken link, a folder that may not be read: loading it says so
        return []


def outline(name: str) -> zoo.Outline:
    """What a bundled model is, without its weights.

    Raises:
        ModelError: its files are missing or damaged.
    """
    state = _state(name)
    try:
        return _outline(name, tuple(state))
    except (OSError, ValueError) as error:
        raise ModelError(str(error)) from error


@lru_cache(maxsize=64)
def _outline(name: str, _files: tuple[tuple[Path, int, int], ...]) -> zoo.Outline:
    return zoo.outline(name)


def snapshots(name: str) -> tuple[int, ...]:
    """The steps of its training at which a bundled model was kept, in rising order; mostly there are none."""
    return zoo.snapshots(name)


def snapshot_name(name: str, step: int) -> str:
    """What a bundled model is called as it was after a step of its training. After the last, it is the model itself."""
    return name if step == snapshots(name)[-1] else f"{name}@{step}"


def without_snapshot(choice: ModelChoice) -> ModelChoice:
    """The same for all snapshots of a model, which has the same layers and heads at every step."""
    return dataclasses.replace(choice, name=_bundled(choice.name) or choice.name)


def _bundled(name: str) -> str | None:
    """The bundled model of this name, or of which this is a snapshot."""
    names = models()
    return next((each for each in (name, name.rpartition("@")[0]) if each in names), None)


Content = str | Picture
"""What a model looks at."""

Request = tuple[ModelChoice, Content, zoo.InspectionOptions]
"""What somebody wants to see: by which model, of what, and how."""


def _told_apart(content: Content) -> Hashable:
    """What tells a content from others. The image itself would stay as long as its result, in memory that no bound
    counts."""
    return (content.name, content.digest) if isinstance(content, Picture) else content


def inspect(
    choice: ModelChoice, content: Content, options: zoo.InspectionOptions, watch: Watch | None = None
) -> Inspection:
    """The text or image seen by the model. Out of memory on a GPU, it runs on the CPU, and a note says so.

    Args:
        watch: shown the run, as in `SharedResults.get`.

    Raises:
        InputError: the input or an option cannot be used; the message is for the visitor.
        ModelError: the model cannot be loaded.
    """
    choice = settled(choice)
    asked = choice, _told_apart(content), options
    return _inspections.get(asked, lambda: _inspect(choice, content, options), watch)


def _inspect(choice: ModelChoice, content: Content, options: zoo.InspectionOptions) -> Inspection:
    """A result of the CPU that stands in for the GPU's is kept like any other, so that the GPU is not filled up again
    at every rerun."""
    seen: str | Image = content.image if isinstance(content, Picture) else content
    try:
        inspection = load(choice, _pass_on).inspect(seen, options)
    except zoo.DeviceMemoryError:
        inspection = load(dataclasses.replace(choice, device="cpu"), _pass_on).inspect(seen, options)
    if isinstance(content, Picture):
        inspection = dataclasses.replace(inspection, text=content.name)
    if torch.device(inspection.provenance.device).type == choice.device:
        return inspection
    note = f"The {choice.device.upper()} device ran out of memory, so this ran on the CPU."
    return dataclasses.replace(inspection, notes=(*inspection.notes, note))


def view_payload(
    choice: ModelChoice,
    content: Content,
    options: zoo.InspectionOptions,
    detail: Detail | None = None,
    watch: Watch | None = None,
) -> Payload:
    """What the linked view draws, of what `inspect` gives.

    Args:
        detail: whose maps to send whole where the others are too large for that.
        watch: shown the run, as in `SharedResults.get`.
    """
    choice = settled(choice)
    asked = choice, content, options

    def compute() -> Payload:
        inspection = inspect(*asked, _pass_on)
        stage("Computing the maps")
        return build(inspection, detail)

    return _payloads.get((choice, _told_apart(content), options, detail), compute, watch)


def forget() -> None:
    """Drop all models and results that are kept."""
    for kept in (_models, _inspections, _payloads):
        kept.clear()


def training_run(name: str) -> pd.DataFrame | None:
    """What was measured while the model was trained, a row a step; None if that was not kept.

    Raises:
        ModelError: there is nothing in the file that can be drawn; the message says why.
    """
    return _table(Path(bundled.PRETRAINED) / name / "training.csv", COLUMNS, ("step",))


def head_scores(name: str) -> pd.DataFrame | None:
    """What each head did at the snapshots of the model's training, a row for each; None if that was not kept.

    Columns: step, layer and head, which are counted from 0, and a share of attention from 0 to 1 for each score.

    Raises:
        ModelError: as `training_run`.
    """
    places = "step", "layer", "head"
    return _table(Path(bundled.PRETRAINED) / name / "heads.csv", (*places, "previous_token", "prefix_matching"), places)


def _table(path: Path, columns: tuple[str, ...], whole: tuple[str, ...]) -> pd.DataFrame | None:
    return _read_table(str(path), path.stat().st_mtime_ns, columns, whole) if path.is_file() else None


@st.cache_data(max_entries=16, show_spinner=False)
def _read_table(path: str, modified: int, columns: tuple[str, ...], whole: tuple[str, ...]) -> pd.DataFrame:
    """A file of numbers with a line of column names.

    Args:
        modified: part of the cache's key, so that a run that goes on can be watched.
        columns: what it has to have. Its other columns of numbers come with them.
        whole: of these, those that hold whole numbers, in every row.
    """
    name = Path(path).name
    text = Path(path).read_bytes().decode("utf-8", "replace")
    # A row that is being written, or whose writing was cut off, has no line end.
    complete = text[: text.rfind("\n") + 1]
    if not complete.strip():
        raise ModelError(f"its {name} is empty")
    try:
        table = pd.read_csv(io.StringIO(complete), index_col=False)
    except ValueError as error:
        raise ModelError(f"its {name} is no table: {error}") from error
    if missing := [column for column in columns if column not in table.columns]:
        raise ModelError(f"its {name} lacks the columns {', '.join(missing)}")
    if table.empty:
        raise ModelError(f"its {name} has no rows yet, only the names of its columns")
    numbers = table.apply(pd.to_numeric, errors="coerce")
    bad = numbers[list(whole)].isna().any(axis=1) | (numbers.isna() & table.notna())[list(columns)].any(axis=1)
    if bad.any():
        raise ModelError(f"row {int(bad.argmax()) + 1} of its {name} holds no {whole[0]}, or not only numbers")
    return numbers.astype(dict.fromkeys(whole, int))
