"""What a visitor sees when something breaks that should not: one plain sentence. The server's log has the rest."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from transformer_core.view.labels import printable

log = logging.getLogger(__name__)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn any unexpected exception into a message without a traceback, and log it."""
    try:
        yield
    except Exception:
        log.exception("A page failed")
        st.error(
            "Something went wrong inside Headlight, and this view could not be drawn. Your input is kept: change it or "
            "reload the page. The terminal that runs Headlight shows the details."
        )


def escape_markdown(text: str) -> str:
    """The text as Markdown that shows it literally: a backslash before every ASCII punctuation mark."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def literal(text: str) -> str:
    """A text of any origin as Markdown that shows it as it is, and hides nothing of it."""
    return escape_markdown(printable(text))
