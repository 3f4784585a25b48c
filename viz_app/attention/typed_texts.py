"""Each kind of model has a text of its own, and its own way to continue it: both are there again on coming back."""

import streamlit as st

from viz_app.attention.decoding import opening_continuation
from viz_app.attention.masks import MASKED_TEXT
from viz_app.examples import GENERAL, Examples
from viz_app.link.address import is_history_navigation

KIND = "kind of text"
"""Where a session keeps which kind of model the text in the box is for: the name of its `Examples`."""

KEPT = "texts of other kinds"
"""Where a session keeps the others, with their masks and how they are continued, by kind."""


def bring_text(examples: Examples) -> None:
    """Put the text of this kind of model into the box, which is created afterwards, and keep that of another kind."""
    shown, kind = st.session_state, examples.name
    before = shown.get(KIND)
    shown[KIND] = kind
    if before == kind:
        return
    kept, opening = shown.setdefault(KEPT, {}), opening_continuation(examples)
    if before is not None:
        kept[before] = {name: shown[name] for name in ("text", "mask", *opening) if name in shown}
        found = kept.get(kind, {"text": examples.opening})
        put_text(found)
        # Whoever goes back or forward wants what the address says.
        if not is_history_navigation():
            shown.update({name: found.get(name, value) for name, value in opening.items()})
    elif shown.get("text") == GENERAL.opening:
        # The box was there before its first model, and nobody has written into it.
        put_text({"text": examples.opening})


def put_text(texts: dict[str, object]) -> None:
    """The text, and its masks if it was left with some; otherwise an example has its own."""
    st.session_state["text"] = st.session_state[MASKED_TEXT] = texts["text"]
    st.session_state.pop("mask", None)
    if "mask" in texts:
        st.session_state["mask"] = texts["mask"]
