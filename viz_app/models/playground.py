"""A box for each field of a config, starting from a published model. The address holds what was changed."""

import streamlit as st

from transformer_core.model.published import BY_NAME
from viz_app.link import address, note_problems
from viz_app.models.changes import from_link, to_link
from viz_app.models.fields import (
    CHOICES,
    IMAGE_SIZES,
    LARGEST,
    SIZES,
    SWITCHES,
    TOP,
    Design,
    Fields,
    design_of,
    fields_of,
)

CHANGES = "changes"
"""The parameter of the address with the fields that differ from the published model's."""

RESTORED = "playground of the link"
"""Where a session notes that its link's fields were put into their boxes."""

WIDTH = 170
"""Of a box, in pixels: "num_encoder_layers" fits above it."""


def design() -> Design:
    """Draw the boxes; what they describe."""
    preset = BY_NAME[
        st.selectbox(
            "Start from",
            list(BY_NAME),
            key="preset",
            bind="query-params",
            persist_state="session",
            on_change=_start_again,
            width=280,
        )
    ]
    start = fields_of(preset)
    _restore(start)
    fields = _boxes(start)
    changes = {name: value for name, value in fields.items() if value != start[name]}
    address.write([CHANGES], {CHANGES: to_link(changes)} if changes else {})
    return design_of(preset, fields)


def _boxes(start: Fields) -> Fields:
    """A box for each of the fields; what they hold."""
    fields: Fields = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name in (*SIZES, *IMAGE_SIZES):
            if name in start:
                fields[name] = _size(name)
        for name in CHOICES:
            # Only an encoder by itself has something on top.
            if name in start and not (name == TOP and fields["num_decoder_layers"]):
                fields[name] = _choice(name)
    with st.container(horizontal=True):
        for name, help_text in SWITCHES.items():
            if name in start:
                fields[name] = st.toggle(name, key=_key(name), persist_state="session", help=help_text)
    return fields


def _size(name: str) -> int | None:
    return st.number_input(
        name,
        min_value=-LARGEST,
        max_value=LARGEST,
        value=None,
        step=1,
        key=_key(name),
        persist_state="session",
        help=(SIZES | IMAGE_SIZES)[name],
        width=WIDTH,
        placeholder="d_model / h" if name == "head_size" else None,
    )


def _choice(name: str) -> str:
    options, help_text = CHOICES[name]
    label = "on top of the encoder" if name == TOP else name
    return st.selectbox(label, options, key=_key(name), persist_state="session", help=help_text, width=WIDTH)


def _key(name: str) -> str:
    """Of a field's box; other pages have boxes of the same names."""
    return f"field {name}"


def _put(fields: Fields) -> None:
    for name, value in fields.items():
        st.session_state[_key(name)] = value


def _start_again() -> None:
    """Another published model: all boxes hold what it has."""
    _put(fields_of(BY_NAME[st.session_state["preset"]]))


def _restore(start: Fields) -> None:
    """Put the fields of the address into their boxes, as the page opens and when the visitor goes back or forward."""
    if RESTORED in st.session_state and not address.is_history_navigation():
        return
    st.session_state[RESTORED] = True
    changes, problems = from_link(st.query_params.get(CHANGES, ""), start)
    note_problems(problems)
    _put(start | changes)
