"""The link to what is shown: what the address holds beside the widgets that Streamlit binds to it.

Nothing in an address is trusted. What of a link cannot be is said in one message.
"""

from viz_app.link.problems import note_link, note_problems, tell_problems
from viz_app.link.texts import remember_texts, restore_texts
from viz_app.link.view_state import VIEW_STATE, remember, restore

__all__ = [
    "VIEW_STATE",
    "note_link",
    "note_problems",
    "remember",
    "remember_texts",
    "restore",
    "restore_texts",
    "tell_problems",
]
