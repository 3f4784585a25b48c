"""The tokens along one side of an attention map."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformer_core.inspection import AttentionCall, AttentionStack


@dataclass(frozen=True)
class Axis:
    """What the rows or the columns of a stack are."""

    tokens: tuple[str, ...]
    label: str
    special: tuple[int, ...] = ()
    """The places of the tokens that are no words of the text."""
    words: tuple[int, ...] | None = None
    """The number of the word that each token belongs to, as in `AttentionStack.query_words`."""


def stack_of(name: str, calls: Sequence[AttentionCall], rows: Axis, columns: Axis) -> AttentionStack:
    """The calls with the tokens of both axes.

    Raises:
        ValueError: as `AttentionStack`.
    """
    return AttentionStack(
        name=name,
        calls=tuple(calls),
        query_tokens=rows.tokens,
        key_tokens=columns.tokens,
        query_label=rows.label,
        key_label=columns.label,
        query_special=rows.special,
        key_special=columns.special,
        query_words=rows.words,
        key_words=columns.words,
    )
