"""Figures of attention weights: every head of a stack at a glance, and one head with its exact values.

Rows are queries, columns are keys. Positions are the coordinates and tokens only their labels, so that a word which
occurs twice has two rows and two columns.
"""

import html
import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_app.figures.theme import ACCENT, CODE_FONT, ColourScale, finished, weight_colours
from viz_app.figures.tokens import label

MAX_HEATMAP_TOKENS = 512
"""Tokens a side up to which a browser draws a heatmap in about half a second (1.5 MB of weights)."""

THUMBNAIL_CELLS = 32
"""Cells a side of a thumbnail at most. It covers about 50 pixels, so more could not be seen."""

ROW_CELLS = 512
"""Cells across the whole overview: the thumbnails of a model with many heads are smaller."""

LAYER_PIXELS = 22
"""Height of a row of thumbnails at least."""

GRID_LABEL_PIXELS = 18
"""Room that the number of a layer or of a head needs."""

ROW_PIXELS = 13
"""Height that a token's label needs."""

COLUMN_PIXELS = 16
"""Width that a slanted token label needs."""


def thumbnail_cells(num_heads: int) -> int:
    """Cells a side of each thumbnail, in an overview with so many heads in a row."""
    return max(8, min(THUMBNAIL_CELLS, ROW_CELLS // num_heads))


def thumbnail_note(num_queries: int, num_keys: int, cells: int = THUMBNAIL_CELLS) -> str:
    """What the colours of a stack's thumbnails mean, in a sentence or two."""
    note = "Every head, a row a layer: click one to open it. Dark blue is 0, yellow is 1, as in the heatmap."
    if max(num_queries, num_keys) <= cells:
        return note
    rows, columns = (max(length / cells, 1) for length in (num_queries, num_keys))
    return f"{note} Each cell shows the largest of about {rows:.2g}\u00a0×\u00a0{columns:.2g} weights."


def sees_later(thumbnails: Float[np.ndarray, "head row column"]) -> bool | None:
    """Whether any query reads from a key behind it; None where only one token is, or no numbers (NaN).

    Args:
        thumbnails: of a stack whose rows and columns are the same tokens, so that a cell above the diagonal stands for
            later keys alone.
    """
    if thumbnails.shape[-1] == 1 or np.isnan(thumbnails).any():
        return None
    return bool(np.triu(thumbnails, 1).any())


def head_grid(
    layers: Sequence[Float[np.ndarray, "_ row column"]],
    selected: tuple[int, int],
    scale: ColourScale = "square root",
    height: int = 380,
) -> go.Figure:
    """A thumbnail of every head, a row of them for each layer.

    One heatmap holds all thumbnails, and an invisible marker on each carries `customdata` = [layer, head], both
    counted from 0: Plotly reports clicks on markers, not on heatmaps.

    Args:
        layers: the thumbnails of each layer, all of one size; layers may differ in their number of heads.
        selected: the (layer, head) to outline, counted from 0.
        height: of the figure in pixels; grows with the number of layers.
    """
    height = max(height, LAYER_PIXELS * len(layers) + 60)
    rows, columns = layers[0].shape[1:]
    num_heads = max(len(heads) for heads in layers)
    row_pitch, column_pitch = rows + _gap(rows), columns + _gap(columns)
    mosaic = np.full((len(layers) * row_pitch, num_heads * column_pitch), np.nan, dtype=np.float32)
    for layer, heads in enumerate(layers):
        for head, thumbnail in enumerate(heads):
            top, left = layer * row_pitch, head * column_pitch
            mosaic[top : top + rows, left : left + columns] = thumbnail

    figure = go.Figure(
        go.Heatmap(
            z=mosaic,
            zmin=0,
            zmax=1,
            colorscale=weight_colours(scale),
            showscale=False,
            hoverinfo="skip",
            xgap=0,
            ygap=0,
        )
    )
    places = [(layer, head) for layer, heads in enumerate(layers) for head in range(len(heads))]
    figure.add_scatter(
        x=[head * column_pitch + (columns - 1) / 2 for _, head in places],
        y=[layer * row_pitch + (rows - 1) / 2 for layer, _ in places],
        customdata=places,
        text=[f"layer {layer + 1}, head {head + 1}" for layer, head in places],
        mode="markers",
        marker={"opacity": 0, "size": 24, "symbol": "square"},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        hovertemplate="%{text}<br>click to open<extra></extra>",
        showlegend=False,
    )
    layer, head = selected
    figure.add_shape(
        type="rect",
        x0=head * column_pitch - 0.5 - 0.3 * _gap(columns),
        x1=head * column_pitch + columns - 0.5 + 0.3 * _gap(columns),
        y0=layer * row_pitch - 0.5 - 0.3 * _gap(rows),
        y1=layer * row_pitch + rows - 0.5 + 0.3 * _gap(rows),
        line={"color": ACCENT, "width": 3},
    )
    figure.update_xaxes(
        title="head",
        side="top",
        **_numbers(num_heads, column_pitch, columns, room=500),
        range=[-0.5 - _gap(columns) / 2, num_heads * column_pitch - 0.5],
    )
    figure.update_yaxes(
        title="layer",
        **_numbers(len(layers), row_pitch, rows, room=height - 60),
        range=[len(layers) * row_pitch - 0.5, -0.5 - _gap(rows) / 2],
    )
    figure.update_xaxes(showgrid=False, zeroline=False, showline=False)
    figure.update_yaxes(showgrid=False, zeroline=False, showline=False)
    # hoverdistance -1: wherever the pointer is, the nearest thumbnail is meant.
    return finished(
        figure,
        height=height,
        margin={"l": 5, "r": 5, "t": 5, "b": 5},
        dragmode=False,
        hovermode="closest",
        hoverdistance=-1,
    )


def _numbers(count: int, pitch: int, cells: int, room: int) -> dict[str, object]:
    """Axis settings that number the thumbnails from 1, as many of them as there is room for."""
    shown = range(0, count, math.ceil(count * GRID_LABEL_PIXELS / room))
    return {
        "tickmode": "array",
        "tickvals": [number * pitch + (cells - 1) / 2 for number in shown],
        "ticktext": [str(number + 1) for number in shown],
    }


def _gap(cells: int) -> int:
    """Empty cells between thumbnails of this size."""
    return max(1, round(cells / 10))


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
