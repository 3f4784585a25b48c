"""The linked view as Streamlit components: its maps go to the browser once, everything else beside them.

Three components share a key. The view is seen, and never changes; Streamlit sends a component's script with each of its
messages, and the view's is large. The others are invisible, and hand in the browser to the view with their key what is
new: the maps, of which Streamlit sends a reference as long as they stay the same, and, through the channel, what is
small: the state that the server wants, and exact answers for what is pinned. The channel also tells the server what the
visitor does. So what reruns is where the channel is, and the view may stand elsewhere.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import streamlit as st

from transformer_core.view import modules
from transformer_core.view.payload import Payload
from transformer_core.view.state import opening_state

HERE = Path(__file__).parent

_view = st.components.v2.component(
    "headlight.attention_view",
    html='<div class="place"></div>\n',
    css=(HERE / "theme.css").read_text(encoding="utf-8") + modules.style(),
    js=modules.script(HERE / "attention_view.js"),
)
_maps = st.components.v2.component("headlight.maps", js=modules.script(HERE / "maps.js"))
_channel = st.components.v2.component("headlight.channel", js=modules.script(HERE / "channel.js"))


def attention_view(payload: Payload, key: str) -> None:
    """Draw the linked view, once the channel with this key has told it what to show.

    For another example it presses the button with the key "next-example" or "previous-example".

    Args:
        key: of the view in this session.
    """
    _view(key=key, data={"view": key})
    _maps(
        key=f"{key}-maps",
        data={"view": key, "meta": payload.meta, "weights": pyarrow.table({"code": payload.weights})},
    )


def channel(
    meta: dict[str, Any],
    state: dict[str, Any],
    ordered: dict[str, int],
    answer: dict[str, Any] | None,
    key: str,
    on_state: Callable[[], None],
) -> None:
    """Tell the linked view with this key what to show, and hear what its visitor does.

    That arrives as "state" in `st.session_state[channel_key(key)]` once it has settled, raw and not to be trusted: the
    "state", and the number of the last "order" before it.

    Args:
        meta: of the payload that the view has.
        state: what to show, checked. A view that is open takes over only what it is ordered to: its visitor goes on, so
            that all else in it is newer.
        ordered: entries of the state with the number of the order, counted from 1, that last was about them.
        answer: exact values for the stack, layer and head that it names; None where none are asked for.
        key: of the view in this session.
    """
    # The browser knows what a stack opens with (frontend/state.js): that need not be sent with every answer.
    opening = opening_state(meta, state["stack"])
    told = {name: value for name, value in state.items() if name == "stack" or value != opening[name]}
    _channel(
        key=channel_key(key),
        data={"view": key, "id": meta["id"], "state": told, "ordered": ordered, "answer": answer},
        on_state_change=on_state,
    )


def channel_key(key: str) -> str:
    """The key of a view's channel."""
    return f"{key}-channel"
