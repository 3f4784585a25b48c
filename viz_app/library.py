"""Loading models and inspecting texts: once for all visitors, and not more than memory holds.

Models are shared between browser sessions, so nothing in here writes to one.
"""

import dataclasses
import io
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
import torch

from transformer_core import zoo
from transformer_core.device import DEVICES, choose_device
from transformer_core.inspection.inspection import Inspection
from transformer_core.training.log import COLUMNS
from transformer_core.zoo import bundled
from viz_app.figures.attention import thumbnails

NO_MODELS = (
    "There is no trained model in the folder pretrained/. Train one with `python -m transformer_core train`, or get "
    "the complete repository, which has one."
)

MAX_MODELS = 4
"""Loaded models that are kept: the least recently used one goes first."""

MAX_INSPECTIONS = 8
"""Results that are kept. Measured with the bundled English-German model: 0.3 to 0.4 MB for an example sentence, 16.4 MB
for 501 source and 512 target tokens, which is near the most that it reads and writes."""

MAX_OVERVIEWS = 3 * MAX_INSPECTIONS
"""Overviews that are kept, one for each stack of a result; 4 KB a head at most."""

_loading = threading.Lock()


class ModelError(RuntimeError):
    """A model's files cannot be used; the message says why."""


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


def load(name: str, device: str) -> zoo.InspectableModel:
    """The model on that device, loaded once and shared. One that a GPU cannot hold is on the CPU.

    Raises:
        ModelError: its files are missing or damaged.
    """
    # The lock keeps sessions that open together from loading different models at the same time.
    with _loading:
        try:
            return _load(name, choose_device(device).type, _version(name))
        except (OSError, ValueError) as error:
            raise ModelError(str(error)) from error


@st.cache_resource(max_entries=MAX_MODELS, show_spinner=False)
def _load(name: str, device: str, version: str) -> zoo.InspectableModel:
    """`version` is part of the cache's key."""
    try:
        return zoo.load(name, device)
    except zoo.DeviceMemoryError:
        return _load(name, "cpu", version)


def _version(name: str) -> str:
    """Changes when the model's weights are replaced, and with the folder that holds all models."""
    weights = Path(bundled.PRETRAINED) / name / "model.safetensors"
    modified = weights.stat().st_mtime_ns if name in models() and weights.is_file() else None
    return f"{weights} {modified}"


def inspect(name: str, device: str, text: str, options: zoo.InspectionOptions) -> Inspection:
    """The text seen by the model. Out of memory on a GPU, it runs on the CPU, and a note says so.

    Raises:
        InputError: the text or an option cannot be used; the message is for the visitor.
        ModelError: the model cannot be loaded.
    """
    return _inspect(name, choose_device(device).type, text, options, _version(name))


@st.cache_resource(max_entries=MAX_INSPECTIONS, show_spinner=False)
def _inspect(name: str, device: str, text: str, options: zoo.InspectionOptions, version: str) -> Inspection:
    """`version` is part of the cache's key. A result of the CPU that stands in for the GPU's is kept like any other,
    so that the GPU is not filled up again at every rerun."""
    try:
        inspection = load(name, device).inspect(text, options)
    except zoo.DeviceMemoryError:
        inspection = load(name, "cpu").inspect(text, options)
    if torch.device(inspection.provenance.device).type == device:
        return inspection
    note = f"The {device.upper()} device ran out of memory, so this ran on the CPU."
    return dataclasses.replace(inspection, notes=(*inspection.notes, note))


def overview(name: str, device: str, text: str, options: zoo.InspectionOptions, stack: str) -> list[np.ndarray]:
    """The thumbnails of all heads of a stack, (head, row, column) for each layer, of what `inspect` gives."""
    return _overview(name, choose_device(device).type, text, options, _version(name), stack)


@st.cache_resource(max_entries=MAX_OVERVIEWS, show_spinner=False)
def _overview(
    name: str, device: str, text: str, options: zoo.InspectionOptions, version: str, stack: str
) -> list[np.ndarray]:
    layers = _inspect(name, device, text, options, version).stacks[stack]
    return [thumbnails(layers.weights(layer).cpu().numpy()) for layer in range(len(layers))]


def training_run(name: str) -> pd.DataFrame | None:
    """What was measured while the model was trained, a row a step; None if that was not kept.

    Raises:
        ModelError: there is nothing in the file that can be drawn; the message says why.
    """
    path = Path(bundled.PRETRAINED) / name / "training.csv"
    if not path.is_file():
        return None
    return _read_run(str(path), path.stat().st_mtime_ns)


@st.cache_data(max_entries=8, show_spinner=False)
def _read_run(path: str, modified: int) -> pd.DataFrame:
    """`modified` is part of the cache's key, so that a run that goes on can be watched."""
    text = Path(path).read_bytes().decode("utf-8", "replace")
    # A row that is being written, or whose writing was cut off, has no line end.
    complete = text[: text.rfind("\n") + 1]
    if not complete.strip():
        raise ModelError("its training.csv is empty")
    try:
        run = pd.read_csv(io.StringIO(complete), index_col=False)
    except ValueError as error:
        raise ModelError(f"its training.csv is no table: {error}") from error
    if missing := [column for column in COLUMNS if column not in run.columns]:
        raise ModelError(f"its training.csv lacks the columns {', '.join(missing)}")
    if run.empty:
        raise ModelError("its training.csv has no rows yet, only the names of its columns")
    numbers = run[list(COLUMNS)].apply(pd.to_numeric, errors="coerce")
    if (unreadable := numbers["step"].isna() | (numbers.isna() & run[list(COLUMNS)].notna()).any(axis=1)).any():
        raise ModelError(f"row {int(unreadable.argmax()) + 1} of its training.csv holds no step, or not only numbers")
    return numbers.astype({"step": int})
