"""Which words of a text a masked language model is to guess."""

import re
from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from transformer_core.inspection.words import words_of_labels
from transformer_core.zoo import InputError, InspectableModel
from viz_app.errors import escape_markdown
from viz_app.examples import Example
from viz_app.figures.tokens import distinct

MANY_WORDS = 30
"""From here on, the words to mask scroll in a box."""

MOST_WORDS = 500
"""Words that are offered to be masked: a browser takes seconds to draw more."""

MASKED_TEXT = "masked text"
"""Where a session keeps the text that its masks were chosen for."""


def choose_masks(
    model: InspectableModel, text: str, read_special_tokens: bool, example: Example | None
) -> tuple[int, ...]:
    """The tokens that the model is to guess, by their positions among `model.tokens(text)`: those of whole words.

    Args:
        example: the one whose text this is. It comes with masks.
    """
    try:
        words = words_of(model.tokens(text, read_special_tokens))
    except InputError:
        # Inspecting the text says what is wrong with it.
        return ()
    labels = distinct([word for word, _ in words])
    asked = [label for label in labels if example and label in example.masked]
    # A text that was just put into the box brings its masks. In a link's, and in one that is typed, they stand as the
    # visitor left them.
    if example and st.session_state.get(MASKED_TEXT, text) != text:
        st.session_state["mask"] = asked
    st.session_state[MASKED_TEXT] = text
    with st.container(height=110 if len(words) > MANY_WORDS else "content", border=False):
        if len(words) > MOST_WORDS:
            st.caption(f"The first {MOST_WORDS} of the text's {len(words):,} words can be masked.")
        masked = st.pills(
            "Click a word to mask it",
            labels[:MOST_WORDS],
            selection_mode="multi",
            default=[label for label in asked if label in labels[:MOST_WORDS]],
            format_func=escape_markdown,
            key="mask",
            bind="query-params",
        )
    return tuple(place for label, (_, places) in zip(labels, words, strict=True) if label in masked for place in places)


def words_of(tokens: Sequence[str]) -> list[tuple[str, tuple[int, ...]]]:
    """The words of a text, each with the positions of its tokens.

    Args:
        tokens: the tokens' labels.
    """
    numbers = words_of_labels(tokens, [False] * len(tokens))
    groups = (tuple(group) for _, group in groupby(range(len(tokens)), key=numbers.__getitem__))
    return [(_joined([tokens[place] for place in places]), places) for places in groups]


def _joined(pieces: Sequence[str]) -> str:
    """A word without the marks that its pieces carry."""
    word = pieces[0] + "".join(piece.removeprefix("##") for piece in pieces[1:])
    # A character that the vocabulary lacks is there as the bytes that spell it, a piece each.
    word = re.sub("(?:<0x[0-9A-F]{2}>)+", lambda found: _character(found[0]), word)
    return word.lstrip("▁") or word


def _character(spelled: str) -> str:
    """The “ä” of “<0xC3><0xA4>”; what is no UTF-8 as it is."""
    try:
        return bytes.fromhex(re.sub("<0x|>", "", spelled)).decode()
    except UnicodeDecodeError:
        return spelled
