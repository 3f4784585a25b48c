"""Reading and writing the address bar."""

from collections.abc import Collection, Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def write(names: Collection[str], parameters: Mapping[str, str]) -> None:
    """Make these the values of the named parameters, and take those of them without a value out of the address.

    Streamlit turns every change of the address into a step of the browser's history, so all of it is one change, and
    none if nothing differs.
    """
    gone = [name for name in names if name in st.query_params and name not in parameters]
    changed = {name: value for name, value in parameters.items() if st.query_params.get_all(name) != [value]}
    if gone or changed:
        # A parameter with an empty list of values is not in the address, and taking it away then changes nothing.
        st.query_params.update(changed | {name: [] for name in gone})
        for name in gone:
            del st.query_params[name]


def is_history_navigation() -> bool:
    """Whether this run is there because the visitor went back or forward, so that the address says what to show."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation
