"""The state of the linked view in the address: readable, counted from 1, and only where it differs from the opening."""

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer_core.view.state import checked_state, opening_state, quoted
from viz_app.link import address

WORDS = ("view", "overview", "arrangement", "combine", "scale")
"""Parameters that are a word, and called as in the state."""

PLACES = ("layer", "head")
"""Parameters that are a number, and called as in the state."""

LISTS = {"heads": "heads", "layers": "layers", "rows": "pinnedQueries", "columns": "pinnedKeys", "cell": "pinnedCell"}
"""Parameters that are numbers with dots between them, and their names in the state. An address leaves a dot as it is,
and writes a comma as %2C."""

SWITCHES = {"hide": ("special", "hideSpecial"), "merge": ("words", "mergeWords")}
"""Parameters that have one value only, and what that switches on."""

PARAMETERS = ("stack", *WORDS, *PLACES, *LISTS, "share", *SWITCHES)

VIEW_STATE = "view state"
"""Where a session keeps what the linked view shows."""


def to_parameters(state: Mapping[str, Any], meta: dict[str, Any]) -> dict[str, str]:
    """The parameters in which a state differs from the one that its stack opens in.

    Args:
        state: as `checked_state` gives it.
        meta: that of the `Payload` that is shown.
    """
    opening = opening_state(meta, state["stack"])
    # The head and the layer that are shown are chosen anyway.
    opening |= {"heads": [state["head"]], "layers": [state["layer"]]}
    parameters = {name: state[name] for name in WORDS if state[name] != opening[name]}
    if state["stack"] != opening_state(meta)["stack"]:
        parameters["stack"] = state["stack"]
    for name in PLACES:
        if state[name] != opening[name]:
            parameters[name] = str(state[name] + 1)
    for name, key in LISTS.items():
        if state[key] != opening[key]:
            parameters[name] = ".".join(str(place + 1) for place in state[key])
    if state["share"] != opening["share"]:
        parameters["share"] = f"{state['share']:g}"
    parameters |= {name: value for name, (value, key) in SWITCHES.items() if state[key]}
    return parameters


def from_parameters(parameters: Mapping[str, str], meta: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What the parameters say, for `checked_state`, and a sentence for each that can mean nothing.

    Text where a number should stand is passed on: `checked_state` has a sentence for that.
    """
    raw: dict[str, Any] = {name: parameters[name] for name in WORDS if name in parameters}
    problems = []
    if "stack" in parameters:
        names = {text.casefold(): stack["name"] for stack in meta["stacks"] for text in (stack["title"], stack["name"])}
        raw["stack"] = names.get(parameters["stack"].casefold(), parameters["stack"])
    raw |= {name: _place(parameters[name]) for name in PLACES if name in parameters}
    for name, key in LISTS.items():
        if name in parameters:
            raw[key] = [_place(part) for part in parameters[name].split(".")]
    if "share" in parameters:
        share = parameters["share"]
        raw["share"] = float(share) if re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,9}", share) else share
    for name, (value, key) in SWITCHES.items():
        if name in parameters:
            raw[key] = parameters[name] == value
            if not raw[key]:
                problems.append(f"A link can {name} {value}, not {quoted(parameters[name])}.")
    return raw, problems


def _place(text: str) -> int | str:
    """A number counted from 1 as one counted from 0; other text as it is."""
    return int(text) - 1 if re.fullmatch(r"-?[0-9]{1,9}", text) else text


def restore(meta: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The state that the linked view is to show, and a sentence for each thing in the link that it cannot.

    The address decides when the page opens, and when the visitor goes back or forward; in between, it is what was
    remembered, as far as this payload has it. On the way back lie addresses that nobody asked for, such as that of
    another model with the state of the one before: of those nothing is said.
    """
    is_navigation = address.is_history_navigation()
    if VIEW_STATE in st.session_state and not is_navigation:
        state, problems = checked_state(st.session_state[VIEW_STATE], meta)[0], []
    else:
        raw, unreadable = from_parameters(st.query_params, meta)
        state, impossible = checked_state(raw, meta)
        problems = [] if is_navigation else unreadable + impossible
    remember(state, meta)
    return state, problems


def remember(state: dict[str, Any], meta: dict[str, Any]) -> None:
    """Keep a checked state for the next run, and in the address."""
    st.session_state[VIEW_STATE] = state
    address.write(PARAMETERS, to_parameters(state, meta))


def forget() -> None:
    """Take the state out of the address, as where another model is chosen, whose view opens anew."""
    address.write(PARAMETERS, {})
