"""Loading models and inspecting texts: once for all visitors, and not more than memory holds.

Models are shared between browser sessions, so nothing in here writes to one.
"""

import dataclasses
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from transformer_core import zoo
from transformer_core.device import DEVICES, choose_device
from transformer_core.inspection.inspection import AttentionStack, Inspection
from transformer_core.zoo import bundled
from viz_app.figures.attention import thumbnails

NO_MODELS = (
    "There is no trained model in the folder pretrained/. Train one with `python -m transformer_core train`, or get "
    "the complete repository, which has one."
)

MAX_MODELS = 4
"""Loaded models that are kept: the least recently loaded one goes first."""

MAX_INSPECTIONS = 32
"""Results that are kept: of a sentence a few hundred kilobytes each, of the longest text some megabytes."""

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
    """The model on that device, loaded once and shared.

    Raises:
        ModelError: its files are missing or damaged.
    """
    # The lock keeps sessions that open together from loading different models at the same time.
    with _loading:
        try:
            return _load(name, device, str(bundled.PRETRAINED))
        except (OSError, ValueError) as error:
            raise ModelError(str(error)) from error


@st.cache_resource(max_entries=MAX_MODELS, show_spinner=False)
def _load(name: str, device: str, folder: str) -> zoo.InspectableModel:
    """`folder` is part of the cache's key."""
    return zoo.load(name, device)


def inspect(name: str, device: str, text: str, options: zoo.DecodingOptions) -> Inspection:
    """The text seen by the model. Out of memory on a GPU, it runs on the CPU, and a note says so.

    Raises:
        InputError: the text or an option cannot be used; the message is for the visitor.
        ModelError: the model cannot be loaded.
    """
    try:
        return _inspect(name, device, text, options, str(bundled.PRETRAINED))
    except zoo.DeviceMemoryError:
        used = choose_device(device).type.upper()
    inspection = _inspect(name, "cpu", text, options, str(bundled.PRETRAINED))
    note = f"The {used} device ran out of memory, so this ran on the CPU."
    return dataclasses.replace(inspection, notes=(*inspection.notes, note))


@st.cache_resource(max_entries=MAX_INSPECTIONS, show_spinner=False)
def _inspect(name: str, device: str, text: str, options: zoo.DecodingOptions, folder: str) -> Inspection:
    """`folder` is part of the cache's key."""
    return load(name, device).inspect(text, options)


def overview(stack: AttentionStack) -> list[np.ndarray]:
    """The thumbnails of all heads, (head, row, column) for each layer."""
    return [thumbnails(stack.weights(layer).cpu().numpy()) for layer in range(len(stack))]


@st.cache_data(max_entries=8, show_spinner=False)
def _read_csv(path: str, modified: float) -> pd.DataFrame:
    """`modified` is part of the cache's key, so that a run in progress can be watched."""
    return pd.read_csv(path)


def training_run(name: str) -> pd.DataFrame | None:
    """What was measured while the model was trained, a row a step; None if that was not kept."""
    path = Path(bundled.PRETRAINED) / name / "training.csv"
    if not path.is_file():
        return None
    return _read_csv(str(path), path.stat().st_mtime)
