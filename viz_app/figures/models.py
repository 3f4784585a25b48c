"""Figures of a model's size and training."""

from collections.abc import Sequence
from itertools import cycle

import pandas as pd
import plotly.graph_objects as go

from transformer_core.model.parameters import Part, total
from viz_app.figures.theme import dashes, finished

PATTERNS = ("", "/", "x", ".", "\\", "+", "|", "-")
"""So that colour is never the only difference between two parts."""


def parts_bars(parts: Sequence[Part], unit: str) -> go.Figure:
    """A bar for each block of the model, and in it a piece for each part, as long as its count.

    Args:
        unit: what is counted, for the axis and the hovered text.
    """
    blocks, names = list(dict.fromkeys(part.block for part in parts)), dict.fromkeys(part.name for part in parts)
    everything = total(parts)
    figure = go.Figure()
    for name, pattern in zip(names, cycle(PATTERNS), strict=False):
        pieces = [part for part in parts if part.name == name]
        figure.add_bar(
            y=[part.block for part in pieces],
            x=[part.count for part in pieces],
            orientation="h",
            name=name,
            marker={"pattern": {"shape": pattern, "fillmode": "replace" if not pattern else "overlay", "size": 6}},
            customdata=[[part.formula, f"{part.count / everything:.1%}"] for part in pieces],
            hovertemplate=(
                f"%{{y}}, {name}<br>%{{customdata[0]}} = %{{x:,}} {unit}<br>%{{customdata[1]}} of all<extra></extra>"
            ),
        )
    figure.update_xaxes(title=unit, rangemode="tozero")
    figure.update_yaxes(categoryorder="array", categoryarray=blocks[::-1])
    return finished(figure, height=130 + 55 * len(blocks), barmode="stack", showlegend=True, legend_traceorder="normal")


LOSSES = {"loss": "training, with dropout", "validation_loss": "validation"}
"""Columns of a training.csv and the names of their curves."""


def loss_curve(run: pd.DataFrame) -> go.Figure:
    """The course of a training's loss, small.

    Args:
        run: the rows of a training.csv; a value that was not measured at a step is missing there.
    """
    figure = go.Figure()
    measured = [column for column in LOSSES if column in run and run[column].notna().any()]
    for column, dash in zip(measured, dashes(len(measured)), strict=True):
        rows = run[["step", column]].dropna()
        figure.add_scatter(
            x=rows["step"],
            y=rows[column],
            mode="lines",
            name=LOSSES[column],
            line={"dash": dash, "width": 2},
            hovertemplate="%{y:.3f}",
        )
    figure.update_xaxes(title="step", nticks=5)
    figure.update_yaxes(title="loss", nticks=4, rangemode="tozero")
    return finished(figure, height=210, hovermode="x unified", showlegend=True)
