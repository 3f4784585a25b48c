"""What the model is asked: a text, a pair of texts or an image, and how it is read."""

from collections.abc import Sequence

import streamlit as st

from transformer_core.view.labels import clean_text
from transformer_core.zoo import (
    MAX_BEAM_SIZE,
    MAX_LENGTH_PENALTY,
    MAX_NEW_TOKENS,
    InputError,
    InspectableModel,
    InspectionOptions,
)
from viz_app import link, pictures
from viz_app.attention.running import run_again
from viz_app.attention.words import VERB
from viz_app.errors import escape_markdown, literal
from viz_app.examples import GENERAL, Example, examples_for
from viz_app.figures.tokens import distinct
from viz_app.library import Content
from viz_app.pictures import Picture

PAPER = "“Attention Is All You Need”, section 6.1,"

NEW_TOKENS = 5
"""What a causal model writes on at first."""

MANY_TOKENS = 30
"""From here on, the tokens to mask scroll in a box."""

LAST_IMAGE = "last image"
"""Where a session keeps the file of the image that its visitor chose last."""

MOST_TOKENS = 500
"""Tokens that are offered to be masked: a browser takes seconds to draw more."""


def ask(
    model: InspectableModel | None, options_place: st.delta_generator.DeltaGenerator
) -> tuple[Content, InspectionOptions]:
    """What the model is to look at, and how. Without a model there is the text box alone, so that no text is lost.

    Args:
        options_place: where the options that are rarely touched are drawn.

    Raises:
        InputError: an image that cannot be read; the message is for the visitor.
    """
    if model and "image" in model.abilities:
        return ask_image(), InspectionOptions()
    examples = GENERAL if model is None else examples_for(model.languages)
    opening = examples[0].text if examples else ""
    link.note_problems(link.restore_texts(opening))
    if model is None:
        text = ask_text(None, examples, opening)
        say_what_is_left_out(link.remember_texts({"text": text}, opening))
        return text, InspectionOptions()
    with options_place:
        options = choose_options(model)
    text = ask_text(model, examples, opening)
    offer_steps(text, examples)
    options["second_text"] = ask_second_text() if "second text" in model.abilities else ""
    say_what_is_left_out(link.remember_texts({"text": text, "second": options["second_text"]}, opening))
    if "mask" in model.abilities:
        options["masked"] = choose_masks(model, text, options.get("read_special_tokens", False))
    return text, InspectionOptions(**options)


def choose_options(model: InspectableModel) -> dict[str, int | float | bool | str | tuple[int, ...]]:
    """The `InspectionOptions` that are rarely touched, as far as the model has them."""
    abilities, options = model.abilities, {}
    if "beam search" in abilities:
        options["beam_size"] = st.number_input(
            "Beam size",
            1,
            MAX_BEAM_SIZE,
            4,
            key="beam",
            bind="query-params",
            help=f"How many answers are followed at a time; 1 is greedy search. {PAPER} used 4.",
        )
        options["length_penalty"] = st.number_input(
            "Length penalty α",
            0.0,
            MAX_LENGTH_PENALTY,
            0.6,
            step=0.1,
            key="penalty",
            bind="query-params",
            help=f"Larger values favour longer answers; 0 compares plain probabilities. {PAPER} used 0.6.",
        )
    if "continue" in abilities:
        options["new_tokens"] = st.number_input(
            "New tokens",
            0,
            MAX_NEW_TOKENS,
            NEW_TOKENS,
            key="new",
            bind="query-params",
            help="How many tokens the model writes on, the likeliest at each step.",
        )
    if "chat" in abilities:
        options["chat"] = st.toggle(
            "Chat",
            key="chat",
            bind="query-params",
            help="Your text becomes a user's message in the model's own chat template.",
        )
    if "special tokens" in abilities:
        options["read_special_tokens"] = st.toggle(
            "Read special tokens",
            key="special",
            bind="query-params",
            help="A typed special token, such as `[SEP]` or `</s>`, is then that token; otherwise it is text like "
            "any other.",
        )
    return options


def say_what_is_left_out(problems: Sequence[str]) -> None:
    """What the link to this page does not hold."""
    for problem in problems:
        st.caption(problem)


def ask_text(model: InspectableModel | None, examples: Sequence[Example], opening: str) -> str:
    """The text box, its examples, and a button for those who look for one: leaving the box already sends the text."""
    language = model.languages[0] if model and model.languages else None
    with st.container(horizontal=True, vertical_alignment="bottom", key="text-row"):
        text = clean_text(
            st.text_input(
                "Your text" + (f", in {literal(language)}" if language else ""),
                opening,
                key="text",
                persist_state="session",
                placeholder="Type a sentence" + (f" in {language}" if language else ""),
                label_visibility="collapsed",
            )
        )
        verb = "Translate" if language else VERB.get(model.family, "Read") if model else "Read"
        st.button(verb, type="primary" if model else "secondary", on_click=run_again)
        if model is None or model.languages is None:
            # The room below is needed for more than a text.
            with st.popover("Examples"):
                offer_examples(examples)
    if model and model.languages and examples:
        choose_example(text, examples)
    return text


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


def choose_masks(model: InspectableModel, text: str, read_special_tokens: bool) -> tuple[int, ...]:
    """The tokens that the model is to guess, by their positions among `model.tokens(text)`."""
    try:
        tokens = distinct(model.tokens(text, read_special_tokens))
    except InputError:
        # Inspecting the text says what is wrong with it.
        return ()
    with st.container(height=110 if len(tokens) > MANY_TOKENS else "content", border=False):
        if len(tokens) > MOST_TOKENS:
            st.caption(f"The first {MOST_TOKENS} of the text's {len(tokens):,} tokens can be masked.")
        masked = st.pills(
            "Mask",
            tokens[:MOST_TOKENS],
            selection_mode="multi",
            format_func=escape_markdown,
            key="mask",
            bind="query-params",
            label_visibility="collapsed",
        )
    return tuple(index for index, token in enumerate(tokens) if token in masked)


def choose_example(text: str, examples: Sequence[Example]) -> None:
    """The examples, of which one is marked as long as it is the text."""
    shown = example_of(text, examples)
    st.session_state["example"] = shown.topic if shown else None
    st.pills(
        "Examples",
        [example.topic for example in examples],
        key="example",
        on_change=take_example,
        args=(examples,),
        label_visibility="collapsed",
    )


def take_example(examples: Sequence[Example]) -> None:
    """Put the chosen example into the text box."""
    for example in examples:
        if example.topic == st.session_state["example"]:
            take_text(example.text)


def offer_examples(examples: Sequence[Example]) -> None:
    """A button for each example. In a closed popover, a choice that is set here would not reach the browser."""
    for example in examples:
        st.button(example.topic, on_click=take_text, args=(example.text,), help=example.text, width="stretch")


def take_text(text: str) -> None:
    """Put it into the text box."""
    st.session_state["text"] = text


def offer_steps(text: str, examples: Sequence[Example]) -> None:
    """Buttons out of sight, which the linked view presses. A message of its own would wait for a run to end."""
    if examples:
        with st.container(key="steps"):
            for step, key in ((1, "next-example"), (-1, "previous-example")):
                st.button(key, key=key, on_click=take_text, args=(beside(text, step, examples).text,))


def beside(text: Content | None, step: int, examples: Sequence[Example]) -> Example:
    """The example after (step 1) or before (step -1) the one whose sentence this is; of any other text, the first."""
    shown = example_of(text, examples)
    return examples[(examples.index(shown) + step) % len(examples)] if shown else examples[0]


def example_of(text: Content, examples: Sequence[Example]) -> Example | None:
    """The example whose sentence this is."""
    return next((example for example in examples if example.text == text), None)


def ask_image() -> Picture:
    """The visitor's image, or the one that is drawn here.

    Raises:
        InputError: a file that cannot be read.
    """
    file = st.session_state.get(LAST_IMAGE)
    st.file_uploader(
        f"Your image; now the model looks at {literal(file.name) if file else pictures.drawn().name}",
        pictures.SUFFIXES,
        key="image",
        on_change=take_image,
        max_upload_size=pictures.MAX_MEGABYTES,
        help="PNG, JPEG or WebP. It stays on the machine that runs Headlight, in memory, and is not part of the link.",
    )
    return pictures.read(file.name, file.getvalue()) if file else pictures.drawn()


def take_image() -> None:
    """Keep the image that was chosen, or that there is none. The field forgets its file while another model is open."""
    st.session_state[LAST_IMAGE] = st.session_state["image"]
