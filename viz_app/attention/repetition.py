"""A sequence of symbols that repeats, and the induced token: the one that followed the last symbol when it was there
before (Olsson et al. 2022, "In-context Learning and Induction Heads").
"""

import html
from collections.abc import Sequence

import streamlit as st

from transformer_core.inspection.inspection import Inspection, Prediction
from transformer_core.zoo.bundled.language_model import INDUCED
from viz_app.figures.predictions import percent


def earlier_place(symbols: Sequence[str]) -> int | None:
    """Where the last symbol was before, the last time; None if it was not."""
    places = [place for place, symbol in enumerate(symbols[:-1]) if symbol == symbols[-1]]
    return places[-1] if places else None


def show_repetition(symbols: Sequence[str], inspection: Inspection) -> None:
    """The sequence with its induced token marked, and what the model expects of it.

    Args:
        symbols: the tokens of the text.
    """
    earlier = earlier_place(symbols)
    marks = {len(symbols) - 1: "last"}
    if earlier is not None:
        marks |= {earlier: "earlier", earlier + 1: "induced"}
    spans = (
        f'<span class="{marks.get(place, "")}">{html.escape(symbol)}</span>' for place, symbol in enumerate(symbols)
    )
    st.html(
        '<div class="headlight-answer-label">The sequence, and the induced token</div>'
        f'<div class="headlight-symbols">{"".join(spans)}</div>'
        f"<div>{html.escape(in_words(symbols, earlier, inspection.predictions))}</div>"
    )


def in_words(symbols: Sequence[str], earlier: int | None, predictions: Sequence[Prediction]) -> str:
    """What the marks mean, and how likely the model finds the induced token."""
    last = symbols[-1]
    if earlier is None:
        return f"“{last}” (dashed) was not there before, so there is nothing to repeat."
    induced = symbols[earlier + 1]
    found = f"“{last}” (dashed) was there before, and “{induced}” (framed) followed it: that is the induced token."
    for prediction in predictions:
        for token, probability in prediction.candidates:
            if prediction.place == INDUCED and token == induced:
                return f"{found} The model expects it next with a probability of {percent(probability)}."
    return found
