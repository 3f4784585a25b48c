"""Tokens grouped to words, and the attention of words.

A word is what lies between two of Unicode's word boundaries (UAX #29): what blanks and punctuation delimit. "don't",
"3.14" and "U.S.A" are a word each, "mother-in-law" is five. A punctuation mark is a word of its own, as is a letter of
a script that marks no words, such as an ideograph. A blank belongs to the word behind it. Words that share a token are
one word together.

Words are numbered from 0 along an axis, as in `AttentionStack.query_words`. Special tokens are words of their own.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import regex
from jaxtyping import Float

BLANKS = str.maketrans({"▁": " ", "⏎": "\n", "␍": "\r", "⇥": "\t"})
"""How labels write blanks."""

_BYTE = regex.compile("<0x([0-9A-F]{2})>")
_CODE_POINTS = regex.compile(r"(?:\[U\+([0-9A-F]{4,6})\])+")


def words_of_spans(text: str, spans: Sequence[tuple[int, int] | None]) -> tuple[int, ...]:
    """The number of the word that each token belongs to.

    Args:
        text: what the tokens were read from.
        spans: where each token begins and ends in `text`, from left to right; None for a special token. Tokens that are
            bytes of one character have the span of that character.
    """
    boundaries = _boundaries(text)
    numbers, number, end = [], -1, None
    for span in spans:
        starts_word = span is None or end is None
        if not starts_word:
            # Between two tokens there may be blanks that neither has.
            starts_word = bisect_left(boundaries, end) < bisect_right(boundaries, span[0])
        number += starts_word
        numbers.append(number)
        end = span and span[1]
    return tuple(numbers)


def words_of_labels(labels: Sequence[str], special: Sequence[bool]) -> tuple[int, ...]:
    """The number of the word that each token belongs to, where nothing but the tokens' labels is known.

    Labels tell where the blanks are: "▁" is one (SentencePiece, byte-level BPE), "##" goes on with a word (WordPiece),
    as does "@@" at the end of what comes before, and "</w>" ends one (BPE). Where nothing is marked, single characters
    and bytes are taken for a text without blanks, and longer tokens for words. WordPiece does not tell "don't" from
    "don ' t": they are three words here.

    Args:
        labels: one for each token, blanks, bytes and invisible characters written as "▁", "<0xE2>" and "[U+200B]".
        special: whether the token is a special one.
    """
    texts = iter(_with_blanks([label for label, cuts in zip(labels, special, strict=True) if not cuts]))
    pieces = [b"\n" if cuts else _bytes(next(texts)) for cuts in special]
    text = b"".join(pieces).decode("utf-8", errors="surrogateescape")
    # Where every character begins, counted in bytes. A surrogate stands for a byte that belongs to no character.
    lengths = (len(character.encode("utf-8", errors="surrogateescape")) for character in text)
    characters = list(accumulate(lengths, initial=0))
    ends = accumulate(map(len, pieces), initial=0)
    spans = [
        None if cuts else (bisect_right(characters, start) - 1, bisect_left(characters, end))
        for cuts, (start, end) in zip(special, pairwise(ends), strict=True)
    ]
    return words_of_spans(text, spans)


def merged(
    weights: Float[np.ndarray, "*head query key"],
    query_words: Sequence[int] | None,
    key_words: Sequence[int] | None,
) -> Float[np.ndarray, "*head query_word key_word"]:
    """The attention from words to words: that to a word is the sum over its tokens, that from a word their mean.

    So a row sums to the mean of what its tokens' rows sum to, mostly 1 (Clark et al. 2019, section 4.1,
    arXiv 1906.04341).

    Args:
        weights: the attention from tokens to tokens.
        query_words: the number of each query token's word, as in `AttentionStack.query_words`; None: each is one.
        key_words: the same for the key tokens.
    """
    if key_words is not None:
        weights = np.add.reduceat(weights, _firsts(key_words), axis=-1)
    if query_words is not None:
        firsts = _firsts(query_words)
        lengths = np.diff(firsts, append=len(query_words)).astype(weights.dtype)
        weights = np.add.reduceat(weights, firsts, axis=-2) / lengths[:, None]
    return weights


def _firsts(words: Sequence[int]) -> np.ndarray:
    """The place of each word's first token."""
    return np.flatnonzero(np.diff(words, prepend=-1))


def _boundaries(text: str) -> list[int]:
    """The places in front of which a word begins. A space is moved over to the word behind it."""
    places = {match.start() for match in regex.finditer(r"(?w)\b", text)}
    moved = {place for place in places if text[place - 1 : place] == " " and text[place : place + 1].strip()}
    return sorted(places - moved | {place - 1 for place in moved})


def _with_blanks(labels: Sequence[str]) -> list[str]:
    """The labels with all blanks of the text in them, and without other marks."""
    if any("▁" in label or _BYTE.search(label) for label in labels):
        return list(labels)
    if any(label.endswith("</w>") for label in labels):
        return _parted([label.removesuffix("</w>") for label in labels], [label.endswith("</w>") for label in labels])
    if any(map(_goes_on, labels)):
        ends = [not _goes_on(label) for label in labels]
        return _parted([label if end else label[:-2] for label, end in zip(labels, ends, strict=True)], ends)
    if all(len(label) == 1 or _CODE_POINTS.fullmatch(label) for label in labels):
        return list(labels)
    return [label[2:] if label.startswith("##") and len(label) > 2 else f" {label}" for label in labels]


def _parted(texts: Sequence[str], ends: Sequence[bool]) -> list[str]:
    """The texts with a blank in front of those that come after the end of a word."""
    return [" " * ended + text for text, ended in zip(texts, [True, *ends], strict=False)]


def _goes_on(label: str) -> bool:
    return label.endswith("@@") and len(label) > 2


def _bytes(text: str) -> bytes:
    """What a label stands for, in UTF-8."""
    if match := _CODE_POINTS.fullmatch(text):
        text = "".join(chr(int(number, 16)) for number in match.captures(1))
    parts = _BYTE.split(text.translate(BLANKS))  # plain text and the digits of a byte in turn
    return b"".join(
        bytes.fromhex(part) if place % 2 else part.encode("utf-8", errors="replace") for place, part in enumerate(parts)
    )
