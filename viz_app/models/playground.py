"""The fields of a config to change at will, starting from a published model, and what of it the address holds."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, get_args

import streamlit as st

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.config import Norm, Normalization, Positions
from transformer_core.model.parameters import Top
from transformer_core.model.published import PUBLISHED, Published
from transformer_core.view.state import quoted
from viz_app.link import address, note_problems

CHANGES = "changes"
"""The parameter of the address with the fields that differ from the preset's."""

RESTORED = "playground of the link"
"""Where a session notes that its link's fields were put into their boxes."""

LARGEST = 10_000_000
"""Of any size: beyond every model, and small enough that all numbers on the page can be drawn."""

SIZES = {
    "d_model": "Width of the model's vectors.",
    "num_heads": "Attention heads of a layer, h.",
    "head_size": "Dimensions of a head; empty: d_model / num_heads.",
    "d_ff": "Inner width of the feed-forward layers; 0: none.",
    "num_encoder_layers": "0: decoder only, as GPT.",
    "num_decoder_layers": "0: encoder only, as BERT.",
    "vocab_size": "Different tokens; 0 only for a model that reads none.",
    "max_length": "Longest sequence. Only learned positions have parameters for it.",
    "num_segments": "Learned vectors that tell the texts of a pair apart; BERT has 2.",
}

IMAGE_SIZES = {
    "image_size": "Height and width of an image, in pixels.",
    "patch_size": "Height and width of a patch, in pixels.",
    "num_channels": "3: red, green and blue.",
    "num_classes": "Classes that an image can have.",
}

CHOICES: dict[str, tuple[tuple[str, ...], str]] = {
    "positions": (get_args(Positions), "How the order of the tokens is told."),
    "norm": (get_args(Norm), "“post”: after each sub-layer, as in the paper; “pre”: before it, and once at the end."),
    "normalization": (get_args(Normalization), "“layer”: a gain and a bias for each dimension; “rms”: a gain only."),
}

SWITCHES = {
    "attention_bias": "Biases of the projections of queries, keys, values and output.",
    "feed_forward_bias": "Biases of the feed-forward layers.",
    "share_output": "Whether the output matrix is the matrix of token vectors.",
    "norm_embeddings": "A normalisation on the sum of the embeddings.",
}

TOP = "top"
TOPS = get_args(Top)

FIELDS = (*SIZES, *IMAGE_SIZES, *CHOICES, *SWITCHES, TOP)

LEFT_OUT = "dropout, activation, norm_epsilon, pad_id, scale_embeddings, scale_scores, scale_logits"
"""Fields that change no number on the page."""

Fields = dict[str, Any]

BY_NAME = {published.name: published for published in PUBLISHED}


@dataclasses.dataclass(frozen=True)
class Design:
    """What the fields describe."""

    preset: Published
    config: TransformerConfig | VisionConfig | None
    """None if they cannot be together."""
    top: Top
    problem: str = ""
    """Why they cannot."""


def fields_of(preset: Published) -> Fields:
    """What the boxes hold for a published model."""
    if not isinstance(preset.config, VisionConfig):
        names = (*SIZES, *CHOICES, *SWITCHES)
        return {name: getattr(preset.config, name) for name in names} | {TOP: preset.top}
    # Its longest sequence follows from the patches.
    names = tuple(name for name in (*SIZES, *CHOICES, *SWITCHES) if name != "max_length")
    fields = {name: getattr(preset.config.encoder, name) for name in names}
    return fields | {name: getattr(preset.config, name) for name in IMAGE_SIZES}


def design_of(preset: Published, fields: Fields) -> Design:
    """The config with these fields; its own message where they cannot be together."""
    own = {name: value for name, value in fields.items() if name not in (*IMAGE_SIZES, TOP)}
    top = fields.get(TOP, preset.top)
    try:
        # Of the sizes, only that of a head may be left to the others.
        for name in (*SIZES, *IMAGE_SIZES):
            if name != "head_size" and name in fields and fields[name] is None:
                raise ValueError(f"{name} is empty: it must be a whole number")
        if not isinstance(preset.config, VisionConfig):
            return Design(preset, dataclasses.replace(preset.config, **own), top)
        image = {name: fields[name] for name in IMAGE_SIZES}
        patches = (image["image_size"] // image["patch_size"]) ** 2 if image["patch_size"] > 0 else 0
        encoder = dataclasses.replace(preset.config.encoder, **own, max_length=patches + 1)
        return Design(preset, VisionConfig(**image, encoder=encoder), top)
    except ValueError as error:
        return Design(preset, None, top, str(error))


def to_link(changes: Mapping[str, Any]) -> str:
    """The changed fields as text for the address: "d_model-1024.norm-pre", all of which it leaves as it is."""
    return ".".join(f"{name}-{_text(value)}" for name, value in changes.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def from_link(text: str, fields: Fields) -> tuple[Fields, list[str]]:
    """The changes that a link asks for, and a sentence for each that cannot be.

    Args:
        fields: those of the preset, which alone can change.
    """
    changes: Fields = {}
    problems = []
    for part in text.split(".") if text else []:
        name, _, value = part.partition("-")
        if name not in fields:
            problems.append(f"The link changes {quoted(name)}, which is no field of this model.")
            continue
        found = _value(name, value)
        if found is None:
            problems.append(f"{name} cannot be {quoted(value)}; it is {_text(fields[name])}.")
        else:
            changes[name] = found[0]
    return changes, problems


def _value(name: str, text: str) -> tuple[Any] | None:
    """What a field's text means, in a tuple, for it may mean None; None if it means nothing."""
    if name in CHOICES or name == TOP:
        return (text,) if text in (TOPS if name == TOP else CHOICES[name][0]) else None
    if name in SWITCHES:
        return (text == "true",) if text in ("true", "false") else None
    if name == "head_size" and text == "null":
        return (None,)
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= 9
    return (int(text),) if is_number and abs(int(text)) <= LARGEST else None


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
    fields: Fields = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, help_text in (SIZES | IMAGE_SIZES).items():
            if name in start:
                fields[name] = st.number_input(
                    name,
                    min_value=-LARGEST,
                    max_value=LARGEST,
                    value=None,
                    step=1,
                    key=_key(name),
                    persist_state="session",
                    help=help_text,
                    width=170,
                    placeholder="d_model / num_heads" if name == "head_size" else None,
                )
        for name, (options, help_text) in CHOICES.items():
            fields[name] = st.selectbox(
                name, options, key=_key(name), persist_state="session", help=help_text, width=170
            )
        if TOP in start and not fields["num_decoder_layers"]:
            fields[TOP] = st.selectbox(
                "on top of the encoder",
                TOPS,
                key=_key(TOP),
                persist_state="session",
                help="What reads the encoder's vectors: BERT's pooler, or what guesses masked words.",
                width=170,
            )
    with st.container(horizontal=True):
        for name, help_text in SWITCHES.items():
            fields[name] = st.toggle(name, key=_key(name), persist_state="session", help=help_text)
    changes = {name: value for name, value in fields.items() if value != start[name]}
    address.write([CHANGES], {CHANGES: to_link(changes)} if changes else {})
    return design_of(preset, fields)


def _key(name: str) -> str:
    """Of a field's box; other pages have boxes of the same names."""
    return f"field {name}"


def _put(fields: Fields) -> None:
    for name, value in fields.items():
        st.session_state[_key(name)] = value


def _start_again() -> None:
    """Another preset: all boxes hold what it has."""
    _put(fields_of(BY_NAME[st.session_state["preset"]]))


def _restore(start: Fields) -> None:
    """Put the fields of the address into their boxes, as the page opens and when the visitor goes back or forward."""
    if RESTORED in st.session_state and not address.is_history_navigation():
        return
    st.session_state[RESTORED] = True
    changes, problems = from_link(st.query_params.get(CHANGES, ""), start)
    note_problems(problems)
    _put(start | changes)
