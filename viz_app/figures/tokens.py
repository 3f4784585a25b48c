"""Tokens as Plotly and Streamlit show them: token text is data, never HTML and never Markdown."""

import html
from collections import Counter
from collections.abc import Sequence

from transformer_core.view.labels import MAX_LENGTH, visible


def label(token: str, max_length: int = MAX_LENGTH) -> str:
    """`visible`, escaped: Plotly reads tick labels and hover text as HTML, and so does the page."""
    return html.escape(visible(token, max_length), quote=False)


def distinct(tokens: Sequence[str]) -> list[str]:
    """`visible` labels of which no two are equal: repeated ones carry their position, counted from 1.

    A visible label holds no blank, so that no token can look like another one with its position.
    """
    shown = [visible(token) for token in tokens]
    counts = Counter(shown)
    return [text if counts[text] == 1 else f"{text} · {position}" for position, text in enumerate(shown, start=1)]
