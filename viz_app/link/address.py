"""Reading and writing the address bar."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

_collected: ContextVar[dict[str, str | None] | None] = ContextVar("collected", default=None)
"""What is to be written in one step: a value by parameter, None for one that goes."""


@contextmanager
def one_step() -> Iterator[None]:
    """Write all that is written in this block at its end, in one step. Until then the address is as it was."""
    collected: dict[str, str | None] = {}
    token = _collected.set(collected)
    try:
        yield
    finally:
        _collected.reset(token)
    write(collected, {name: value for name, value in collected.items() if value is not None})


def write(names: Collection[str], parameters: Mapping[str, str]) -> None:
    """Make these the values of the named parameters, and take those of them without a value out of the address.

    Streamlit turns every change of the address into a step of the browser's history, so all of it is one change, and
    none if nothing differs.
    """
    if (collected := _collected.get()) is not None:
        collected.update({name: parameters.get(name) for name in names})
        return
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
