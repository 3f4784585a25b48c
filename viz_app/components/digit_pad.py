"""A pad to draw a digit on, as a Streamlit component."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from transformer_core.view import modules

HERE = Path(__file__).parent

_pad = st.components.v2.component(
    "headlight.digit_pad",
    html='<div class="place"></div>\n',
    css=(HERE / "digit_pad.css").read_text(encoding="utf-8"),
    js=modules.script(HERE / "digit_pad.js"),
)


def digit_pad(drawing: str, serial: int, key: str, on_drawing: Callable[[], None]) -> None:
    """Draw the pad. After every stroke its drawing is in `st.session_state[key]["drawing"]`, not to be trusted.

    Args:
        drawing: what to show, as `viz_app.drawings` packs it; nothing if empty.
        serial: a new number makes an open pad take over the drawing; otherwise it keeps its own, which is newer.
        key: of the pad in this session.
    """
    _pad(key=key, data={"drawing": drawing, "serial": serial}, on_drawing_change=on_drawing)
