"""A figure of what the heads of a small model do at every snapshot of its training."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz_app.figures.theme import dashes, finished

SCORES = {"previous_token": "Previous token", "prefix_matching": "Prefix matching"}
"""The columns of a table of scores, and what they are called."""

MEANING = {
    "previous_token": "the weight that it gives to the token before",
    "prefix_matching": "the weight that it gives to the tokens that followed its own token earlier",
}
"""What they are, each a mean over random sequences."""

HEIGHT = 250


def head_scores(scores: pd.DataFrame, step: int, colours: Sequence[str]) -> go.Figure:
    """A chart for each score, with a line for each head, and the chosen step marked.

    A head's number has its colour, a layer its dash pattern, alike in both charts.

    Args:
        scores: a row for each head at each snapshot: step, layer and head (counted from 0), and the columns of SCORES,
            each from 0 to 1.
        step: the snapshot to mark.
        colours: of head 1, head 2, ...; they come again where there are more heads.
    """
    figure = make_subplots(cols=len(SCORES), subplot_titles=list(SCORES.values()), horizontal_spacing=0.09)
    patterns = dict(zip(sorted(scores["layer"].unique()), dashes(scores["layer"].nunique()), strict=True))
    for column, score in enumerate(SCORES, start=1):
        for (layer, head), rows in scores.groupby(["layer", "head"]):
            name = f"layer {layer + 1}, head {head + 1}"
            figure.add_scatter(
                x=rows["step"],
                y=rows[score],
                mode="lines",
                name=name,
                legendgroup=name,  # in the legend, both charts' lines are one
                line={"width": 1.5, "dash": patterns[layer], "color": colours[head % len(colours)]},
                showlegend=column == 1,
                hovertemplate=f"{name}<br>step %{{x:,}}: %{{y:.3f}}<extra></extra>",
                row=1,
                col=column,
            )
        figure.add_vline(step, line={"width": 1.5, "dash": "dot", "color": "gray"}, row=1, col=column)
    figure.update_yaxes(range=[-0.03, 1.03], nticks=3, fixedrange=True)
    figure.update_yaxes(title="mean weight", col=1)
    figure.update_xaxes(title="training step", nticks=4, fixedrange=True)
    figure.update_annotations(font={"size": 13})
    below = {"orientation": "h", "x": 0, "y": -0.42, "yanchor": "top"}
    return finished(figure, height=HEIGHT, margin={"l": 5, "r": 5, "t": 22, "b": 5}, dragmode=False, legend=below)
