"""The table of learning-rate settings on the Training page: what a visitor typed, checked row by row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from transformer_core.training.schedule import learning_rate

DEFAULT = pd.DataFrame({"d_model": [512, 512, 1024], "warm-up": [4000, 8000, 4000], "scale": [1.0, 1.0, 1.0]})
"""The paper's base model, the same with twice the warm-up, and its big model (Table 3, section 5.3)."""

LARGEST = 10_000_000
"""Of d_model and of the warm-up: far beyond any training run, and within what every number format holds."""


@dataclass(frozen=True)
class Setting:
    """One curve."""

    d_model: int
    warmup: int
    scale: float

    @property
    def name(self) -> str:
        """For the legend."""
        scaled = f", scale {self.scale:g}" if self.scale != 1 else ""
        return f"d_model {self.d_model:,}, warm-up {self.warmup:,}{scaled}"


def read(table: pd.DataFrame) -> tuple[list[Setting], list[str]]:
    """The settings of all good rows, and a sentence for each row that cannot be drawn.

    A row without any value, as the editor adds it, is passed over until something stands in it.
    """
    settings: list[Setting] = []
    problems: list[str] = []
    for number, (_, row) in enumerate(table.iterrows(), start=1):
        if row.isna().all():
            continue
        found = _problems(row)
        if found:
            problems.append(f"Row {number} is not drawn: {'; '.join(found)}.")
            continue
        setting = Setting(int(row["d_model"]), int(row["warm-up"]), float(row["scale"]))
        if setting in settings:
            problems.append(f"Row {number} is the same as row {settings.index(setting) + 1} and is drawn once.")
        else:
            settings.append(setting)
    return settings, problems


def _problems(row: pd.Series) -> list[str]:
    found = []
    for column in ("d_model", "warm-up"):
        value = row[column]
        if pd.isna(value):
            found.append(f"{column} is missing")
        elif not 1 <= value <= LARGEST or value != int(value):
            found.append(f"{column} is {value:g} and must be a whole number from 1 to {LARGEST:,}")
    scale = row["scale"]
    if pd.isna(scale):
        found.append("scale is missing")
    elif not 0 < scale < np.inf:
        found.append(f"scale is {scale:g} and must be more than 0")
    return found


def rates(setting: Setting, steps: Int[np.ndarray, " step"]) -> Float[np.ndarray, " step"]:
    """The learning rate at every one of the steps."""
    return np.array([learning_rate(int(step), setting.d_model, setting.warmup, setting.scale) for step in steps])


def to_link(settings: Sequence[Setting]) -> str:
    """The settings as text for the address bar: "512,4000,1;1024,4000,0.5"."""
    return ";".join(f"{setting.d_model},{setting.warmup},{setting.scale!r}" for setting in settings)


def from_link(text: str) -> pd.DataFrame:
    """The table of the settings in a link; DEFAULT if the link does not hold possible ones."""
    try:
        rows = [[float(value) for value in row.split(",")] for row in text.split(";")]
        table = pd.DataFrame(rows, columns=list(DEFAULT.columns))
    except ValueError:
        return DEFAULT
    settings, problems = read(table)
    return DEFAULT if problems or not settings else table.astype(DEFAULT.dtypes)
