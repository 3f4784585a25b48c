"""Figures of a training run: the learning-rate schedule, and what was measured on the way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz_app.figures.theme import dashes, finished

POINTS = 400
"""Steps at which a schedule is drawn: finer than a screen can show."""


@dataclass(frozen=True)
class Schedule:
    """One curve of `schedule_curves`: a rate at every drawn step, and where it peaks."""

    name: str
    rates: Float[np.ndarray, " step"]
    peak_step: int
    peak_rate: float


def drawn_steps(last_step: int, peaks: Sequence[int], logarithmic: bool) -> Int[np.ndarray, " step"]:
    """Steps from 1 to `last_step` at which to draw: evenly spread on the chosen axis, every peak among them."""
    spread = np.geomspace(1, last_step, POINTS) if logarithmic else np.linspace(1, last_step, POINTS)
    return np.unique(np.concatenate([spread.round(), [peak for peak in peaks if peak <= last_step]]).astype(int))


def schedule_curves(
    steps: Int[np.ndarray, " step"],
    schedules: Sequence[Schedule],
    log_steps: bool = False,
    log_rates: bool = False,
    read_at: int | None = None,
) -> go.Figure:
    """Learning rate against step, overlaid, each peak marked, and in the legend with its step and value.

    Args:
        steps: where the schedules were computed; a peak is marked where it is one of them.
        log_steps, log_rates: logarithmic axes.
        read_at: a step to mark with a line.
    """
    figure = go.Figure()
    for schedule, dash in zip(schedules, dashes(len(schedules)), strict=True):
        # The peak is a marker on its own curve, so that it has the curve's colour in every theme. Its numbers stand in
        # the legend, where they cover no other curve.
        figure.add_scatter(
            x=steps,
            y=schedule.rates,
            mode="lines+markers",
            name=f"{schedule.name}: peak {schedule.peak_rate:.3e} at {schedule.peak_step:,}",
            line={"dash": dash, "width": 2},
            marker={"size": np.where(steps == schedule.peak_step, 9, 0), "opacity": 1},
            cliponaxis=False,
            hovertemplate=f"%{{y:.6e}}<extra>{schedule.name}</extra>",
        )
    if read_at is not None:
        figure.add_vline(x=read_at, line={"dash": "dot", "width": 1.5, "color": "gray"})
    figure.update_xaxes(title="step" + " (logarithmic)" * log_steps, type="log" if log_steps else "linear")
    figure.update_yaxes(
        title="learning rate" + " (logarithmic)" * log_rates,
        type="log" if log_rates else "linear",
        exponentformat="e",
        rangemode="normal" if log_rates else "tozero",
    )
    return finished(figure, height=420, hovermode="x unified", showlegend=True)


@dataclass(frozen=True)
class Chart:
    """Which columns of a training.csv share a diagram, and what they are."""

    title: str
    columns: dict[str, str]
    """Column to the name of its curve."""
    unit: str
    number_format: str
    """How a hovered value is printed, as d3-format writes it."""


LOSS = Chart("Loss", {"loss": "training", "validation_loss": "validation"}, "loss (nats a label)", ".4f")

CHARTS = (
    LOSS,
    Chart("BLEU on validation sentences (greedy search)", {"validation_bleu": "BLEU"}, "BLEU", ".2f"),
    Chart("Learning rate", {"learning_rate": "learning rate"}, "learning rate", ".4e"),
    Chart("Speed", {"tokens_per_second": "tokens per second"}, "tokens a second", ",.0f"),
)


def charts_of(columns: Iterable[str]) -> list[Chart]:
    """The diagrams for a training.csv: of what every training measures, and one for each figure of its own task."""
    columns = list(columns)
    known = {"step", "seconds", *(column for chart in CHARTS for column in chart.columns)}
    others = [column for column in columns if column not in known]
    names = [column.replace("_", " ") for column in others]
    return [
        *(chart for chart in CHARTS if set(chart.columns) <= set(columns)),
        *(Chart(name.capitalize(), {column: name}, name, ".4~g") for column, name in zip(others, names, strict=True)),
    ]


def measured_curves(run: pd.DataFrame, chart: Chart, height: int = 300) -> go.Figure:
    """Measured values against step. What was never measured has no curve.

    Args:
        run: the rows of a training.csv; a value that was not measured at a step is missing there.
        height: in pixels.
    """
    figure = go.Figure()
    for (column, name), dash in zip(chart.columns.items(), dashes(len(chart.columns)), strict=True):
        measured = run[["step", column]].dropna()
        if measured.empty:
            continue
        figure.add_scatter(
            x=measured["step"],
            y=measured[column],
            mode="lines+markers" if len(measured) <= 60 else "lines",
            name=name,
            line={"dash": dash, "width": 2},
            marker={"size": 5},
            hovertemplate=f"%{{y:{chart.number_format}}}",
        )
    figure.update_xaxes(title="step")
    figure.update_yaxes(title=chart.unit, rangemode="tozero")
    return finished(figure, height=height, hovermode="x unified", showlegend=len(chart.columns) > 1)
