"""Values of widgets stay possible.

A widget that is created with `bind="query-params"` has its value in the address, so that a link restores it. What else
a link holds is in `viz_app.link`.
"""

from collections.abc import Collection
from typing import Any

import streamlit as st


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
