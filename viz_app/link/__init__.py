"""The link to what is shown: what the address holds beside the widgets that Streamlit binds to it.

Nothing in an address is trusted. What of a link cannot be is said in one message.
"""

from viz_app.link.address import one_step
from viz_app.link.page import page_parameters
from viz_app.link.problems import note_link, note_problems, tell_problems
from viz_app.link.texts import forget_texts, remember_texts, restore_texts
from viz_app.link.values import DRAWING, MODEL, read_again, remember_value, restore_value
from viz_app.link.view_state import VIEW_STATE, forget, remember, restore

__all__ = [
    "DRAWING",
    "MODEL",
    "VIEW_STATE",
    "forget",
    "forget_texts",
    "note_link",
    "note_problems",
    "one_step",
    "page_parameters",
    "read_again",
    "remember",
    "remember_texts",
    "remember_value",
    "restore",
    "restore_texts",
    "restore_value",
    "tell_problems",
]
