"""What all figures share: colour scales, line styles, margins.

Backgrounds, text and line colours are left to the template of whoever shows the figure, so that it follows a light or
dark theme.
"""

from itertools import cycle, islice
from typing import Literal

import plotly.graph_objects as go
from plotly.colors import sample_colorscale

SEQUENTIAL = "cividis"
"""Even in lightness, and readable with every common colour blindness."""

DIVERGING = "RdBu"
"""Only for values with a sign."""

CODE_FONT = "Source Code Pro, monospace"
"""The font for tokens: the one that Streamlit brings along, or the reader's own."""

ColourScale = Literal["square root", "linear"]

STOPS = 65
"""Colours in a warped scale. Plotly interpolates between them."""


def weight_colours(scale: ColourScale) -> str | list[list[float | str]]:
    """A Plotly colour scale for weights in [0, 1].

    "linear" gives every step of weight the same step of colour. "square root" colours a weight w as the linear scale
    colours sqrt(w), which makes small weights visible. The values behind the colours stay what they are.
    """
    if scale == "linear":
        return SEQUENTIAL
    roots = [stop / (STOPS - 1) for stop in range(STOPS)]
    return [[root**2, colour] for root, colour in zip(roots, sample_colorscale(SEQUENTIAL, roots), strict=True)]


CHART_CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage", "resetScale2d"]]}
"""How Plotly shows a figure: to be saved as a picture, and zoomed."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def dashes(count: int) -> list[str]:
    """A dash pattern for each of `count` lines, so that colour is never the only difference.

    With ten colours in turn, 30 lines differ in colour or pattern.
    """
    return list(islice(cycle(DASHES), count))


def finished(figure: go.Figure, height: int, **layout: object) -> go.Figure:
    """Apply the common layout and return the figure."""
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    figure.update_layout(**layout)
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    return figure
