"""What the model is asked: a text, a pair of texts or an image, and how it is read."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from transformer_core.view.labels import clean_text
from transformer_core.zoo import InspectableModel, InspectionOptions
from viz_app import link
from viz_app.attention.decoding import choose_options, offer_another_sample
from viz_app.attention.example_choice import choose_example, example_of, offer_steps, take_example
from viz_app.attention.image_question import ask_image
from viz_app.attention.masks import choose_masks
from viz_app.attention.running import run_again
from viz_app.attention.typed_texts import bring_text
from viz_app.attention.words import VERB
from viz_app.errors import literal
from viz_app.examples import GENERAL, Examples, examples_for
from viz_app.library import Content

LINES_HEIGHT = 96
"""Pixels of a box for a text of several lines."""


def ask(
    model: InspectableModel | None, options_place: st.delta_generator.DeltaGenerator
) -> tuple[Content, InspectionOptions]:
    """What the model is to look at, and how. Without a model there is the text box alone, so that no text is lost.

    Args:
        options_place: where the options that are rarely touched are drawn.
    """
    if model and "image" in model.abilities:
        return ask_image(model), InspectionOptions()
    examples = examples_for(model) if model else GENERAL
    if model:
        bring_text(examples)
    link.note_problems(link.restore_texts(examples.opening, examples.has_lines))
    if model is None:
        text = ask_text(None, examples)
        say_what_is_left_out(link.remember_texts({"text": text}, examples.opening))
        return text, InspectionOptions()
    with options_place:
        options = choose_options(model, examples)
    text = ask_text(model, examples, can_draw_again=options.get("temperature", 0) > 0)
    options["second_text"] = ask_second_text() if "second text" in model.abilities else ""
    say_what_is_left_out(link.remember_texts({"text": text, "second": options["second_text"]}, examples.opening))
    if "mask" in model.abilities:
        read_special_tokens = options.get("read_special_tokens", False)
        options["masked"] = choose_masks(model, text, read_special_tokens, example_of(text, examples))
    shown = example_of(text, examples)
    choose_example(shown, examples)
    topics = [example.topic for example in examples.texts]
    offer_steps(shown and shown.topic, topics, partial(take_example, examples=examples))
    return text, InspectionOptions(**options)


def say_what_is_left_out(problems: Sequence[str]) -> None:
    """What the link to this page does not hold."""
    for problem in problems:
        st.caption(problem)


def ask_text(model: InspectableModel | None, examples: Examples, can_draw_again: bool = False) -> str:
    """The text box, and a button for those who look for one: leaving the box already sends the text."""
    language = model.languages[0] if model and model.languages else None
    what = "symbols" if model and "symbols" in model.abilities else "text"
    with st.container(horizontal=True, vertical_alignment="bottom", key="text-row"):
        box = {
            "label": f"Your {what}" + (f", in {literal(language)}" if language else ""),
            "value": examples.opening,
            "key": "text",
            "persist_state": "session",
            "placeholder": "Type a sentence" + (f" in {language}" if language else ""),
            "label_visibility": "collapsed",
        }
        text = st.text_area(**box, height=LINES_HEIGHT) if examples.has_lines else st.text_input(**box)
        verb = "Translate" if language else VERB.get(model.family, "Read") if model else "Read"
        st.button(verb, type="primary" if model else "secondary", on_click=run_again)
        if can_draw_again:
            offer_another_sample()
    return clean_text(text)


def ask_second_text() -> str:
    """The other sentence of a pair, or nothing."""
    text = st.text_input(
        "Second text",
        key="second",
        persist_state="session",
        placeholder="A second text to go with it, if you like",
        label_visibility="collapsed",
    )
    return clean_text(text)
