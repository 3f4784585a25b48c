"""A model at several steps of its training: a slider over them, and how its heads came to do what they do."""

from typing import Any

import pandas as pd
import streamlit as st
from plotly.colors import qualitative

from viz_app import library, link
from viz_app.errors import literal
from viz_app.figures.head_scores import MEANING, SCORES, head_scores

ALL_SCORES = "Both scores of every head, over the training: a colour for each head, as in the view below, and a line "
ALL_SCORES += "pattern for each layer. The dotted line is the step that is chosen."

CHART_WIDTH = 560
"""Pixels of the charts of scores; on a phone, all there is."""


def choose_step(name: str) -> int | None:
    """The step of its training after which a bundled model is looked at; None if there is nothing to choose."""
    steps = library.snapshots(name)
    if len(steps) < 2:
        return None
    step = st.select_slider(
        "After training step",
        steps,
        value=steps[-1],
        format_func="{:,}".format,
        key="step",
        bind="query-params",
        help="The model as it was at that step, with your text, layer, head and pins. At the end: the trained model.",
    )
    show_scores(name, step)
    return step


def show_scores(name: str, step: int) -> None:
    """What the heads of a model do after a step, and how they came to do it."""
    try:
        scores = library.head_scores(name)
    except library.ModelError as error:
        st.caption(f"The scores of its heads cannot be drawn: {literal(str(error))}.")
        return
    if scores is None:
        return
    with st.container(horizontal=True):
        offer_best_heads(scores[scores["step"] == step].dropna(subset=list(SCORES)))
        # Always open, it would push the linked view off a laptop's screen.
        with st.popover("All scores", help=ALL_SCORES), st.container(width=CHART_WIDTH):
            st.plotly_chart(
                head_scores(scores, step, head_colours()),
                key="scores",
                config={"displayModeBar": False},
                alt=f"For every head of {name}, at each snapshot of its training: {', and '.join(MEANING.values())}.",
            )


def head_colours() -> list[str]:
    """Those that the linked view gives its heads, too, in the visitor's theme; others if it was started elsewhere,
    where Streamlit does not find the theme."""
    return st.get_option(f"theme.{st.context.theme.type or 'light'}.chartCategoricalColors") or qualitative.Safe


def offer_best_heads(now: pd.DataFrame) -> None:
    """For each score, a button that leads to the head that has most of it.

    Args:
        now: the scores of one step; perhaps of no head.
    """
    for column, title in SCORES.items() if len(now) else ():
        best = now.loc[now[column].idxmax()]
        layer, head = int(best["layer"]), int(best["head"])
        st.button(
            f"{title}: layer {layer + 1}, head {head + 1} · {best[column]:.2f}",
            key=f"best-{column}",
            on_click=open_head,
            args=(layer, head),
            help=f"The head with the highest score at this step: {MEANING[column]}. Press to see its attention.",
        )


def open_head(layer: int, head: int) -> None:
    """Have the linked view show one head."""
    shown: Any = st.session_state.get(link.VIEW_STATE)
    if isinstance(shown, dict):
        choice = {"layer": layer, "head": head, "layers": [layer], "heads": [head], "combine": "head"}
        st.session_state[link.VIEW_STATE] = shown | choice
