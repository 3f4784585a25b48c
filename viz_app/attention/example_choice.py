"""The examples of a kind of model, of which one is marked as long as it is the text."""

from collections.abc import Callable, Sequence

import streamlit as st

from viz_app.examples import Example, Examples
from viz_app.library import Content


def choose_example(shown: Example | None, examples: Examples) -> None:
    """The examples' topics to choose from."""
    if not examples.texts:
        return
    st.session_state["example"] = shown.topic if shown else None
    st.pills(
        "Examples",
        [example.topic for example in examples.texts],
        key="example",
        on_change=lambda: take_example(st.session_state["example"], examples),
        label_visibility="collapsed",
    )


def take_example(topic: str | None, examples: Examples) -> None:
    """Put an example into the text box."""
    for example in examples.texts:
        if example.topic == topic:
            st.session_state["text"] = example.text


def offer_steps(shown: str | None, names: Sequence[str], take: Callable[[str], None]) -> None:
    """Buttons out of sight, which the linked view presses. A message of its own would wait for a run to end.

    Args:
        shown: the example that is shown; None where it is none of them, and the first is the next.
        names: of all examples.
        take: puts the example of that name in place.
    """
    if not names:
        return
    with st.container(key="steps"):
        for step, key in ((1, "next-example"), (-1, "previous-example")):
            there = names[(names.index(shown) + step) % len(names)] if shown in names else names[0]
            st.button(key, key=key, on_click=take, args=(there,))


def example_of(text: Content, examples: Examples) -> Example | None:
    """The example whose text this is."""
    return next((example for example in examples.texts if example.text == text), None)
