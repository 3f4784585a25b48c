"""What the address bar holds, so that a link restores the view.

A widget with one of these keys is created with `bind="query-params"`: Streamlit writes its value into the address and
reads it back, and ignores a value that the widget cannot have. The helpers here keep values possible when what they
depend on changes, as a layer number does with another stack.
"""

from collections.abc import Collection
from typing import Any

import streamlit as st


def clean_text(text: str) -> str:
    """The text with lone surrogates replaced by "?": they are no characters, and no browser can be sent one."""
    return text.encode("utf-8", "replace").decode()


def keep_in_range(key: str, low: int, high: int) -> None:
    """Move the number under `key` into [low, high] before its widget is created."""
    if isinstance(value := st.session_state.get(key), int):
        st.session_state[key] = min(max(value, low), high)


def keep_options(key: str, options: Collection[Any]) -> None:
    """Drop from the choices under `key` those that are no longer options, before their widget is created.

    If none is left, the widget starts again with its default.
    """
    if chosen := st.session_state.get(key):
        kept = [choice for choice in chosen if choice in options]
        if kept:
            st.session_state[key] = kept
        else:
            del st.session_state[key]
