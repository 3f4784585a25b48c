"""What a link asks for that cannot be, said once and in one message. Streamlit itself passes over such parameters."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from transformer_core.view.state import listed, quoted
from viz_app.errors import literal
from viz_app.link import address, texts, values, view_state

Page = Literal["Attention", "Positions", "Training", "Models"]

BOUND: dict[Page, dict[str, str]] = {
    "Attention": {
        "model": "model",
        "own": "model of your own",
        "device": "device",
        "dtype": "precision",
        "implementation": "implementation",
        "beam": "beam size",
        "penalty": "length penalty",
        "step": "training step",
        "new": "number of new tokens",
        "temperature": "temperature",
        "top_k": "top k",
        "top_p": "top p",
        "seed": "seed",
        "chat": "Chat",
        "special": "Read special tokens",
        "mask": "word",
        "source": "kind of image",
        "digit": "digit",
        "place": "list of probabilities",
        "exact": "Exact weights",
    },
    "Positions": {
        "d_model": "number of dimensions",
        "length": "number of positions",
        "dimensions": "dimension",
        "starts": "first position",
        "max_offset": "largest offset",
    },
    "Training": {
        "last_step": "last step",
        "read_at": "step to read the curves at",
        "log_steps": "Logarithmic steps",
        "log_rates": "Logarithmic rates",
        "run": "model",
    },
    "Models": {
        "shape": "published model",
        "context": "context length",
        "preset": "published model to start from",
    },
}
"""The parameters that hold what widgets of a page choose, and what that is. A toggle has its label here."""

OTHERS = (*view_state.PARAMETERS, *texts.PARAMETERS, values.DRAWING, "curves", "changes")
"""Other parameters."""

WORDS = {"model", "own", "mask", "place", "run"}
"""Parameters of widgets whose value may be any word, "inf" too."""

ASKED = "the link asks for"
"""Where a session keeps the parameters of its link about which nothing was said yet."""

NOTED = "problems of the link"
"""Where a session keeps the sentences that are to be shown."""

MAX_SENTENCES = 8


def note_link() -> None:
    """Remember what the address asks for, before Streamlit takes out of it what cannot be."""
    if ASKED not in st.session_state:
        st.session_state[ASKED] = {name: st.query_params.get_all(name) for name in st.query_params}
    # Streamlit would fail at a number without end where it wants a whole one.
    numbers = {name for names in BOUND.values() for name in names} - WORDS
    if endless := [name for name in numbers if any(map(_is_endless, st.query_params.get_all(name)))]:
        address.write(endless, {})
        st.rerun()  # this run has read the address already


def note_problems(problems: Iterable[str]) -> None:
    """Keep sentences for the message."""
    st.session_state.setdefault(NOTED, []).extend(problems)


def tell_problems(page: Page) -> None:
    """Say what of the link cannot be, after all widgets of the page; nothing if nothing is wrong, or all of it is said.

    The message lies above the page and moves nothing. It stays until it is closed. What nothing here uses leaves the
    address.
    """
    asked = st.session_state[ASKED]
    kept = {name: st.query_params.get_all(name) for name in st.query_params}
    found = link_problems(asked, kept, st.session_state, page) + st.session_state.pop(NOTED, [])
    sentences = list(dict.fromkeys(found))
    waiting = {*OTHERS, *_elsewhere(page)}
    address.write([name for name in asked if name not in waiting and name not in st.session_state], {})
    st.session_state[ASKED] = {name: values for name, values in asked.items() if name in waiting}
    if not sentences:
        return
    if len(sentences) > MAX_SENTENCES:
        sentences = [*sentences[: MAX_SENTENCES - 1], f"{len(sentences) - MAX_SENTENCES + 1} more things are not used."]
    st.toast("  \n".join(["**Not all of this link can be shown**", *map(literal, sentences)]), duration="infinite")


def link_problems(
    asked: Mapping[str, Sequence[str]], kept: Mapping[str, Sequence[str]], shown: Mapping[str, Any], page: Page
) -> list[str]:
    """A sentence for each parameter of a link that a page does not use, or not as it is.

    Args:
        asked: the values of the link's parameters.
        kept: those that are left after Streamlit has taken out what cannot be, and what is shown anyway.
        shown: what the widgets that the page has just now have chosen.
    """
    problems = []
    for name, noun in BOUND[page].items():
        if name in asked and name in shown:
            problems += _difference(noun, asked[name], kept.get(name, ()), shown[name])
    if unknown := [quoted(name) for name in asked if name not in {*OTHERS, *BOUND[page], *_elsewhere(page)}]:
        problems.append(f"Headlight knows no parameter {listed(unknown)}.")
    if idle := [quoted(name) for name in BOUND[page] if name in asked and name not in shown]:
        problems.append(f"Nothing here uses {listed(idle)}.")
    return problems


def _elsewhere(page: Page) -> set[str]:
    """The parameters of the other pages' widgets."""
    return {name for other, names in BOUND.items() if other != page for name in names}


def _difference(noun: str, asked: Sequence[str], kept: Sequence[str], shown: Any) -> list[str]:
    """A sentence if a widget has chosen something else than its parameter asks for."""
    if isinstance(shown, list):
        lost = [quoted(value) for value in asked if value not in {"", *kept, *map(str, shown)}]
        return [f"There is no {noun} {listed(lost)} here."] if lost else []
    value = asked[-1]  # of a parameter that is there twice, the last one counts
    if [value] == list(kept[-1:]) or value.lower() == str(shown).lower():
        return []
    if isinstance(shown, bool):
        return [f"{noun} is on or off, not {quoted(value)}; it is {'on' if shown else 'off'}."]
    if isinstance(shown, int | float):
        return [] if _is_number(value, shown) else [f"The {noun} cannot be {quoted(value)}; it is {shown:g}."]
    return [f"There is no {noun} {quoted(value)} here; {quoted(str(shown))} is shown."]


def _is_endless(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def _is_number(text: str, number: float) -> bool:
    try:
        return math.isclose(float(text[:30]), number)
    except ValueError:
        return False
