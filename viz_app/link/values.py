"""Values in the address that no widget is bound to: a model, whose label says more than its name, and a drawing."""

from collections.abc import Callable

import streamlit as st

from viz_app.link import address

MODEL = "model"
DRAWING = "drawing"
"""The parameters. A session keeps their values under the same names."""


def restore_value(name: str, is_possible: Callable[[str], bool], opening: str = "") -> bool:
    """Put a parameter's value into the session's state; whether there is none, or one that is possible.

    That happens when the page opens, and when the visitor goes back or forward, where no value is the opening one.
    """
    noted = f"{name} of the link"
    is_first = noted not in st.session_state
    if not is_first and not address.is_history_navigation():
        return True
    st.session_state[noted] = True
    value = st.query_params.get(name)
    if value is not None and is_possible(value):
        st.session_state[name] = value
        return True
    if not is_first:
        # Set, because a widget that starts again with its default goes on to show what the browser last had.
        st.session_state[name] = opening
    return value is None


def read_again(name: str) -> None:
    """Have `restore_value` read the address the next time, because a link to another page may say something new."""
    st.session_state.pop(f"{name} of the link", None)


def remember_value(name: str, value: str, opening: str = "") -> None:
    """Write a parameter's value into the address, unless it is what the page opens with."""
    address.write([name], {} if value == opening else {name: value})
