"""A figure of what a model consists of, or of what it computes, part by part."""

from collections.abc import Sequence
from itertools import cycle

import plotly.graph_objects as go

from transformer_core.model.parameters import Part, total
from viz_app.figures.theme import finished

PATTERNS = ("", "/", "x", ".", "\\", "+", "|", "-")
"""So that colour is never the only difference between two parts."""

LEGEND_LINE = 19
"""Height of a part's line in the legend, in pixels."""


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
    # On a narrow screen each part has a line of its own, and a legend that is less high than that would scroll.
    legend_height = LEGEND_LINE * (len(names) + 1)
    figure = finished(figure, height=60 + 40 * len(blocks) + legend_height, barmode="stack", showlegend=True)
    return figure.update_layout(legend={"traceorder": "normal", "maxheight": legend_height})
