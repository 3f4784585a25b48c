"""How a model looks for its answer: the options that are rarely touched, and another sample."""

import secrets

import streamlit as st

from transformer_core.zoo import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY, MAX_NEW_TOKENS, InspectableModel
from viz_app.examples import Examples

PAPER = "“Attention Is All You Need”, section 6.1,"

HIGHEST_TEMPERATURE = 2.0

MOST_TOP_K = 1000

SEEDS = 1_000_000
"""Seeds are whole numbers below this one."""


def choose_options(model: InspectableModel, examples: Examples) -> dict[str, int | float | bool]:
    """The `InspectionOptions` that are rarely touched, as far as the model has them."""
    abilities, options = model.abilities, {}
    if "beam search" in abilities:
        options |= choose_beam_search()
    if "continue" in abilities:
        options |= choose_continuation(examples)
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


def choose_beam_search() -> dict[str, int | float]:
    """How many answers are followed, and how longer ones compare with shorter ones."""
    beam_size = st.number_input(
        "Beam size",
        1,
        MAX_BEAM_SIZE,
        4,
        key="beam",
        bind="query-params",
        help=f"How many answers are followed at a time; 1 is greedy search. {PAPER} used 4.",
    )
    length_penalty = st.number_input(
        "Length penalty α",
        0.0,
        MAX_LENGTH_PENALTY,
        0.6,
        step=0.1,
        key="penalty",
        bind="query-params",
        help=f"Larger values favour longer answers; 0 compares plain probabilities. {PAPER} used 0.6.",
    )
    return {"beam_size": beam_size, "length_penalty": length_penalty}


def opening_continuation(examples: Examples) -> dict[str, int | float]:
    """With what `choose_continuation` opens, by the keys of its widgets."""
    return {
        "new": examples.new_tokens,
        "temperature": examples.temperature,
        "top_k": 0,
        "top_p": 1.0,
        "seed": 0,
    }


def choose_continuation(examples: Examples) -> dict[str, int | float]:
    """How many tokens are written, and how each is chosen."""
    opening = opening_continuation(examples)
    new_tokens = st.number_input(
        "New tokens",
        0,
        MAX_NEW_TOKENS,
        opening["new"],
        key="new",
        bind="query-params",
        help="How many tokens the model writes on.",
    )
    temperature = st.slider(
        "Temperature",
        0.0,
        HIGHEST_TEMPERATURE,
        opening["temperature"],
        step=0.1,
        key="temperature",
        bind="query-params",
        help="0: the likeliest token at each step. Above, tokens are drawn by their probabilities: at 1 as the model "
        "gives them, below 1 the likely ones more often, above 1 the unlikely ones more often.",
    )
    if not temperature:
        return {"new_tokens": new_tokens, "temperature": 0.0}
    top_k = st.number_input(
        "Top k",
        0,
        MOST_TOP_K,
        opening["top_k"],
        key="top_k",
        bind="query-params",
        help="Only so many of the likeliest tokens can be drawn; 0: all.",
    )
    top_p = st.slider(
        "Top p",
        0.05,
        1.0,
        opening["top_p"],
        step=0.05,
        key="top_p",
        bind="query-params",
        help="Only the likeliest tokens can be drawn whose probabilities together just reach p; 1: all.",
    )
    seed = st.number_input(
        "Seed",
        0,
        SEEDS - 1,
        opening["seed"],
        key="seed",
        bind="query-params",
        help="The same seed draws the same text again.",
    )
    return {"new_tokens": new_tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}


def offer_another_sample() -> None:
    """A button that draws once more."""
    st.button("Another sample", key="resample", on_click=take_new_seed, help="Draw other tokens, with another seed.")


def take_new_seed() -> None:
    """Put a seed that nobody chose into its box."""
    st.session_state["seed"] = secrets.randbelow(SEEDS)
