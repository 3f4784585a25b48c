"""Which model is looked at: one that is bundled, or the visitor's own."""

from dataclasses import dataclass

import streamlit as st

from transformer_core.view.labels import clean_text, printable
from transformer_core.zoo import InspectableModel
from transformer_core.zoo.loading import DTYPES, IMPLEMENTATIONS, local_folder
from viz_app import library, link
from viz_app.attention.running import run_again
from viz_app.attention.snapshots import choose_step
from viz_app.attention.words import layers_and_heads, purpose, purpose_in_short, sizes
from viz_app.errors import literal
from viz_app.library import ModelChoice
from viz_app.numbers import amount
from viz_app.permissions import HOW_TO_ALLOW, Permissions

OWN = "Your own model"

WHAT_TO_NAME = {
    (True, True): "Folder, or name on the Hugging Face hub",
    (True, False): "Folder on the machine that runs Headlight",
    (False, True): "Name on the Hugging Face hub",
}
"""What the box for a model of one's own takes, by whether folders and hub names are allowed."""

A_FOLDER = "a folder with config.json, safetensors weights and a tokenizer"

A_HUB_NAME = "a name on the Hugging Face hub, say google-bert/bert-base-uncased, which is then downloaded"

PRESS_OPEN = (
    "The link to this page names a model. Press Open if you want it: a model of the Hugging Face hub is downloaded "
    "then. Nothing is loaded before, and no code of the model is run."
)

ASKED_FOR = "asked for"
"""Where a session keeps the names that its visitor has asked for with Enter or Open."""


@dataclass(frozen=True)
class Chosen:
    """What the first row of the page holds."""

    model: ModelChoice | None
    """None as long as no model of one's own is asked for."""
    options: st.delta_generator.DeltaGenerator
    """The popover for what is rarely touched."""
    advice: str = ""
    """What to do as long as there is no model."""


def choose_model(names: list[str], allowed: Permissions, step_place: st.delta_generator.DeltaGenerator) -> Chosen:
    """The model, its device, and how one's own is run.

    Args:
        step_place: where the step of its training is chosen.
    """
    if not allowed.own_models and asks_for_own():
        st.info(HOW_TO_ALLOW)
    choices = [*names, OWN] if allowed.own_models else names
    # Not bound to the address, which would hold the whole label.
    link.restore_value(link.MODEL, choices.__contains__, opening=choices[0])
    is_own = st.session_state.get(link.MODEL, choices[0]) == OWN
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Model",
            choices,
            format_func=label,
            key=link.MODEL,
            persist_state="session",
            help=None if allowed.own_models else HOW_TO_ALLOW,
            width=180 if is_own else "stretch",
        )
        link.remember_value(link.MODEL, name, choices[0])
        if is_own:
            name = name_own(allowed)
        options = st.popover("Options")
    with options:
        device = st.selectbox(
            "Device", library.devices(), format_func=library.device_name, key="device", bind="query-params"
        )
        how = {"dtype": choose_precision(), "implementation": choose_implementation()} if is_own else {}
    if not is_own:
        with step_place:
            step = choose_step(name)
        if step is not None:
            name = library.snapshot_name(name, step)
        return Chosen(library.settled(ModelChoice(name, device)), options)
    if not name:
        return Chosen(None, options, name_a_model(allowed))
    if not opens_by_itself(name, allowed):
        return Chosen(None, options, PRESS_OPEN)
    return Chosen(library.settled(ModelChoice(name, device, **how)), options)


def label(name: str) -> str:
    """A model for a list: what it is called, what it does, and how large it is."""
    if name == OWN:
        return name
    try:
        outline = library.outline(name)
    except library.ModelError:  # opening it says what is wrong with it
        return name
    parts = (
        name,
        purpose_in_short(outline),
        layers_and_heads(outline.stacks, is_short=True),
        amount(outline.num_parameters),
    )
    return " · ".join(map(printable, parts))


def choose_precision() -> str:
    return st.selectbox(
        "Precision",
        DTYPES,
        key="dtype",
        bind="query-params",
        help="The number type of weights and computation. auto: float32 on a CPU, on a GPU the type that the model "
        "was saved in. float16 can overflow, and is slow on many CPUs.",
    )


def choose_implementation() -> str:
    return st.selectbox(
        "Implementation",
        IMPLEMENTATIONS,
        key="implementation",
        bind="query-params",
        help="Whose program computes with the model's weights: the library transformers, or this project's own, for "
        "BERT that guesses masked words, GPT-2, T5 and ViT. Weights and answers are the same to rounding.",
    )


def name_a_model(allowed: Permissions) -> str:
    """What to do to open a model of one's own."""
    kinds = [A_FOLDER] * allowed.local_models + [A_HUB_NAME] * allowed.hub
    return (
        f"Name a model of your own, and press Enter: {', or '.join(kinds)}. Nothing is loaded before, and no code of "
        "the model is run."
    )


def asks_for_own() -> bool:
    """Whether the address asks for a model of one's own."""
    return "own" in st.query_params or st.query_params.get("model") == OWN


def name_own(allowed: Permissions) -> str:
    """The folder or hub name in the box. In a form, so that nothing is loaded before Enter."""
    label = WHAT_TO_NAME[allowed.local_models, allowed.hub]
    with st.form("own-form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        own = st.text_input(
            label,
            key="own",
            bind="query-params",
            persist_state="session",
            placeholder=label,
            label_visibility="collapsed",
        )
        own = clean_text(own).strip()
        # The one thing to do as long as nothing is named.
        if st.form_submit_button("Open", key="open", type="secondary" if own else "primary"):
            st.session_state.setdefault(ASKED_FOR, set()).add(own)
            run_again()
    return own


def opens_by_itself(name: str, allowed: Permissions) -> bool:
    """Whether a model of one's own is opened without the visitor's asking for it, as by a link from elsewhere.

    That is so for folders on this machine. Whoever writes a link must not make others download, nor (as a network
    share would) send anything to another machine.
    """
    if name in st.session_state.get(ASKED_FOR, ()):
        return True
    if name[:2].replace("\\", "/") == "//":
        return False
    # What can only be a folder is not downloaded: where there is none, that is said.
    if allowed.local_models and (name.startswith(("/", "~", ".")) or local_folder(name) is not None):
        return True
    # Where no download is allowed, opening it is refused with its reason.
    return not allowed.hub


def introduce(model: InspectableModel | None) -> None:
    """What was loaded, in one line; hovering says the rest."""
    if model is None:
        st.markdown("Open a model, and see what each of its attention heads reads.")
        return
    if model.languages:
        pair = "-".join(literal(language) for language in model.languages)
        does = f"A real {pair} Transformer translates your sentence; see what each of its attention heads reads."
    else:
        does = literal(purpose(model.name, model.architecture, model.family, model.abilities))
    st.markdown(does, width="content")
    more = " · see the notes" if model.notes else ""
    st.caption(
        sizes(model.stacks, model.num_parameters) + more,
        help=" ".join(
            (
                f"{literal(model.architecture)}, loaded from {literal(model.name)},",
                f"in {str(model.dtype).removeprefix('torch.')} on {model.device}.",
                f"The SHA-256 of its weights begins with {model.weights_hash}.",
                *(literal(note) for note in model.notes),
            )
        ),
        width="content",
    )
