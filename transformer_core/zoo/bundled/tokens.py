"""The tokens of the bundled models' texts, as labels along an axis and as candidates."""

import re
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from transformer_core.inspection.words import words_of_labels
from transformer_core.text import SymbolTokenizer, Tokenizer
from transformer_core.zoo.axis import Axis
from transformer_core.zoo.bundled.bundled_model import TOP
from transformer_core.zoo.labels import visible

AnyTokenizer = Tokenizer | SymbolTokenizer


def labels(tokenizer: AnyTokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    """One label for each id: the piece, with what nobody can see in it written out."""
    return tuple(map(visible, tokenizer.pieces(ids)))


def text_axis(tokenizer: AnyTokenizer, ids: Sequence[int], label: str = "text") -> Axis:
    """The axis of token ids. A mask is no special token: it stands for a word of the text."""
    tokens, special = labels(tokenizer, ids), [index in tokenizer.special_ids for index in ids]
    places = tuple(place for place, is_special in enumerate(special) if is_special)
    return Axis(tokens, label, places, words_of_labels(tokens, special))


def candidates(tokenizer: AnyTokenizer, logits: Float[Tensor, "place vocab"]) -> list[tuple[tuple[str, float], ...]]:
    """The likeliest tokens at each place, with their probabilities."""
    best = logits.float().softmax(dim=-1).topk(min(TOP, logits.size(-1)), dim=-1)
    return [
        tuple(zip(labels(tokenizer, ids), probabilities, strict=True))
        for ids, probabilities in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def about_unknown(tokenizer: Tokenizer, ids: Sequence[int], what: str = "tokens") -> list[str]:
    """Notes on what the vocabulary lacks of a text."""
    notes = []
    spelled = sum(re.fullmatch("<0x[0-9A-F]{2}>", piece) is not None for piece in tokenizer.pieces(ids))
    if spelled:
        notes.append(
            f"{spelled:,} of the {len(ids):,} {what} are single bytes, written like <0xF0>: they spell characters that "
            "this model's vocabulary lacks."
        )
    unknown = list(ids).count(tokenizer.unk_id)
    if unknown:
        are = "is" if unknown == 1 else "are"
        notes.append(f"{unknown:,} of the {len(ids):,} {what} {are} unknown to this model (<unk>).")
    return notes
