"""A figure of attention weights: one head with its exact values.

Rows are queries, columns are keys. Positions are the coordinates and tokens only their labels, so that a word which
occurs twice has two rows and two columns.
"""

import html
import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_app.figures.theme import CODE_FONT, ColourScale, finished, weight_colours
from viz_app.figures.tokens import label

MAX_HEATMAP_TOKENS = 512
"""Tokens a side up to which a browser draws a heatmap in about half a second (1.5 MB of weights)."""

ROW_PIXELS = 13
"""Height that a token's label needs."""

COLUMN_PIXELS = 16
"""Width that a slanted token label needs."""


def head_heatmap(
    weights: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    query_label: str,
    key_label: str,
    scale: ColourScale = "square root",
    height: int = 380,
    width: int = 700,
) -> go.Figure:
    """The weights of one head; hovering shows query, key and the exact float32 weight.

    Args:
        query_label, key_label: what the rows and the columns are tokens of, for the axis titles.
        height: of the figure in pixels; grows with the number of rows to keep their labels readable.
        width: in pixels, about what the figure will have; decides how many column labels fit.

    Raises:
        ValueError: tokens and weights disagree in number, or more than MAX_HEATMAP_TOKENS tokens a side.
    """
    if weights.shape != (len(query_tokens), len(key_tokens)):
        raise ValueError(f"{weights.shape} weights for {len(query_tokens)} query and {len(key_tokens)} key tokens")
    if max(weights.shape) > MAX_HEATMAP_TOKENS:
        raise ValueError(f"{weights.shape} weights are more than {MAX_HEATMAP_TOKENS} tokens a side")
    height = max(height, min(ROW_PIXELS * len(query_tokens) + 120, 900))
    queries, keys = [label(token) for token in query_tokens], [label(token) for token in key_tokens]
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(weights, dtype=np.float32),
            zmin=0,
            zmax=1,
            colorscale=weight_colours(scale),
            colorbar={
                "title": {"text": f"weight ({scale} colour scale)", "side": "right"},
                "thickness": 12,
                "tickvals": [0, 0.05, 0.2, 0.4, 0.6, 0.8, 1] if scale == "square root" else None,
            },
            hovertemplate="query (row) <b>%{y}</b><br>key (column) <b>%{x}</b><br>weight %{z:.9~g}<extra></extra>",
            hoverongaps=False,
        )
    )
    # Hover text reads the names of all positions from the axes of the heatmap, where they are numbered to tell repeated
    # words apart. What is printed is a second pair of axes with as many labels as there is room for.
    figure.add_scatter(x=[None], y=[None], xaxis="x2", yaxis="y2", showlegend=False, hoverinfo="skip")
    hidden = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False}
    figure.update_layout(
        xaxis={**hidden, **_positions(_numbered(keys)), "range": [-0.5, len(keys) - 0.5]},
        yaxis={**hidden, **_positions(_numbered(queries)), "range": [len(queries) - 0.5, -0.5]},
        xaxis2={
            **_positions(keys, step=math.ceil(len(keys) * COLUMN_PIXELS / width)),
            "overlaying": "x",
            "matches": "x",
            "side": "top",
            "autotickangles": [0, -45],
            "title": f"key (column): {html.escape(key_label)}",
        },
        yaxis2={
            **_positions(queries, step=math.ceil(len(queries) * ROW_PIXELS / (height - 120))),
            "overlaying": "y",
            "matches": "y",
            "title": f"query (row): {html.escape(query_label)}",
        },
    )
    figure.update_xaxes(showgrid=False, zeroline=False, tickfont={"family": CODE_FONT})
    figure.update_yaxes(showgrid=False, zeroline=False, tickfont={"family": CODE_FONT})
    return finished(
        figure,
        height=height,
        margin={"l": 5, "r": 5, "t": 5, "b": 5},
        hoverlabel={"font": {"family": CODE_FONT}},
    )


def _numbered(labels: Sequence[str]) -> list[str]:
    return [f"{text} · position {position}" for position, text in enumerate(labels, start=1)]


def _positions(labels: Sequence[str], step: int = 1) -> dict[str, object]:
    """Axis settings that name every `step`-th position."""
    return {
        "tickmode": "array",
        "tickvals": list(range(0, len(labels), step)),
        "ticktext": list(labels[::step]),
    }
