"""A readable label for every token, whatever the tokenizer."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase


def labels(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> tuple[str, ...]:
    """One label for each id, none empty.

    A space is "▁" in every tokenizer family, a newline "⏎", a carriage return "␍", a tab "⇥". WordPiece's "##ing" stays
    as it is. Bytes that are no whole character are written like <0xE2>.
    """
    raise NotImplementedError
