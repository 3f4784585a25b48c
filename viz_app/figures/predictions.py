"""A figure of what a model expects at one place: its likeliest answers, with probabilities."""

import html

import plotly.graph_objects as go

from transformer_core.inspection.inspection import Prediction
from transformer_core.view.labels import SYMBOLS, visible
from viz_app.figures.theme import CODE_FONT, finished

CANDIDATES = 5
"""Bars."""

BAR_PIXELS = 21
"""Height of a bar and its label."""

LABEL_LENGTH = 20
"""Characters of a candidate's name that are printed; hovering shows more."""

HOVER_LENGTH = 120


def probability_bars(prediction: Prediction) -> go.Figure:
    """The likeliest candidates as bars from 0 to 1, the likeliest on top.

    Hovering shows the exact probability, and the name of a candidate that is too long to be printed.
    """
    candidates = prediction.candidates[:CANDIDATES]
    places = list(range(len(candidates)))
    figure = go.Figure(
        go.Bar(
            x=[probability for _, probability in candidates],
            y=places,
            orientation="h",
            text=[percent(probability) for _, probability in candidates],
            textposition="outside",
            cliponaxis=False,
            customdata=[_name(name, HOVER_LENGTH) for name, _ in candidates],
            hovertemplate="%{customdata}<br>probability %{x:.6~g}<extra></extra>",
        )
    )
    # Room at the end of the axis for the number beside a bar of 1.
    figure.update_xaxes(range=[0, 1.3], visible=False, fixedrange=True)
    figure.update_yaxes(
        tickmode="array",
        tickvals=places,
        ticktext=[_name(name, LABEL_LENGTH) for name, _ in candidates],
        tickfont={"family": CODE_FONT},
        range=[len(places) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
        ticks="",
        fixedrange=True,
    )
    return finished(
        figure,
        height=len(places) * BAR_PIXELS + 10,
        margin={"l": 5, "r": 5, "t": 5, "b": 5},
        bargap=0.25,
        dragmode=False,
    )


def _name(candidate: str, max_length: int) -> str:
    """A token's label, or a class's, whose blanks are blanks."""
    return html.escape(visible(candidate, max_length).replace(SYMBOLS[" "], " "), quote=False)


def percent(probability: float) -> str:
    """A probability in per cent, with two digits; what would be rounded to 0 or to 100 says so."""
    if probability >= 0.9995:
        return "> 99.9 %" if probability < 1 else "100 %"
    if probability < 0.0005:
        return "< 0.1 %" if probability > 0 else "0 %"
    return f"{100 * probability:.0f} %" if 0.1 <= probability < 0.99 else f"{100 * probability:.1f} %"
