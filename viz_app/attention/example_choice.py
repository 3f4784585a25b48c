"""The examples of a kind of model, of which one is marked as long as it is the text."""

import streamlit as st

from viz_app.examples import Example, Examples
from viz_app.library import Content


def choose_example(text: str, examples: Examples) -> None:
    """The examples' topics to choose from."""
    if not examples.texts:
        return
    shown = example_of(text, examples)
    st.session_state["example"] = shown.topic if shown else None
    st.pills(
        "Examples",
        [example.topic for example in examples.texts],
        key="example",
        on_change=take_example,
        args=(examples,),
        label_visibility="collapsed",
    )


def take_example(examples: Examples) -> None:
    """Put the chosen example into the text box."""
    for example in examples.texts:
        if example.topic == st.session_state["example"]:
            take_text(example.text)


def take_text(text: str) -> None:
    """Put it into the text box."""
    st.session_state["text"] = text


def offer_steps(text: str, examples: Examples) -> None:
    """Buttons out of sight, which the linked view presses. A message of its own would wait for a run to end."""
    if examples.texts:
        with st.container(key="steps"):
            for step, key in ((1, "next-example"), (-1, "previous-example")):
                st.button(key, key=key, on_click=take_text, args=(beside(text, step, examples).text,))


def beside(text: str, step: int, examples: Examples) -> Example:
    """The example after (step 1) or before (step -1) the one whose text this is; of any other text, the first."""
    shown, texts = example_of(text, examples), examples.texts
    return texts[(texts.index(shown) + step) % len(texts)] if shown else texts[0]


def example_of(text: Content, examples: Examples) -> Example | None:
    """The example whose text this is."""
    return next((example for example in examples.texts if example.text == text), None)
