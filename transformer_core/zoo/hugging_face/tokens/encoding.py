"""Text into token ids, with a typed "[SEP]" or "</s>" read as text like any other."""

import copy
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import tokenizers
from transformers import PreTrainedTokenizerBase

from transformer_core.inspection.words import words_of_labels, words_of_spans
from transformer_core.zoo.hugging_face.tokens.labels import labels
from transformer_core.zoo.interface import InputError

lock = threading.Lock()
"""A tokenizer keeps in itself whether it reads special tokens, and models are shared between threads."""


@dataclass(frozen=True)
class Encoding:
    """A text or a pair of texts as the model reads it: one entry for each token, special tokens included."""

    ids: tuple[int, ...]
    token_types: tuple[int, ...] | None
    """The model's `token_type_ids`; None if this tokenizer makes none."""
    special: tuple[bool, ...]
    """Whether the tokenizer added the token ([CLS], </s>), or a typed special token was read as one."""
    sentences: tuple[Literal["A", "B"] | None, ...]
    """Which text the token comes from; None for what the tokenizer or a chat template added."""
    words: tuple[int, ...]
    """The number of the word that the token belongs to, as in `AttentionStack.query_words`."""


def encode_plain(
    tokenizer: PreTrainedTokenizerBase, text: str, second_text: str = "", read_special_tokens: bool = False
) -> Encoding:
    """Token ids of a text, or of a pair, with the special tokens that the model expects around them.

    Nothing is cut and nothing is padded. A lone surrogate, which no tokenizer can read, is the caller's to refuse.
    Several threads may call this for one tokenizer.

    Args:
        read_special_tokens: whether a typed "[SEP]", "</s>" or "<|endoftext|>" is that special token; otherwise it is
            ordinary text.

    Raises:
        ValueError: a pair, for a tokenizer that puts nothing between two texts.
        InputError: this tokenizer cannot read a typed special token as text.
    """
    with lock:
        encode = _encode_fast if tokenizer.is_fast else _encode_slow
        ids, token_types, sentences, spans = encode(tokenizer, text, second_text, read_special_tokens)
    if second_text and "A" in sentences and "B" in sentences:
        end_of_first = len(sentences) - sentences[::-1].index("A")
        if end_of_first == sentences.index("B"):
            raise ValueError("This model's tokenizer puts nothing between two texts, so it cannot tell them apart.")
    typed = special_ids(tokenizer) if read_special_tokens else frozenset()
    special = tuple(sentence is None or token in typed for token, sentence in zip(ids, sentences, strict=True))
    return Encoding(
        ids=tuple(ids),
        token_types=tuple(token_types) if "token_type_ids" in tokenizer.model_input_names else None,
        special=special,
        sentences=tuple(sentences),
        words=_words(tokenizer, ids, special, sentences, spans, (text, second_text)),
    )


def _words(
    tokenizer: PreTrainedTokenizerBase,
    ids: Sequence[int],
    special: Sequence[bool],
    sentences: Sequence[str | None],
    spans: Sequence[tuple[int, int]] | None,
    texts: tuple[str, str],
) -> tuple[int, ...]:
    """The number of each token's word, from its span in its own text where the tokenizer tells it."""
    if spans is None:
        return words_of_labels(labels(tokenizer, ids), special)
    starts = {"A": 0, "B": len(texts[0]) + 1}
    in_both = [
        None if is_special else (start + starts[sentence], end + starts[sentence])
        for (start, end), sentence, is_special in zip(spans, sentences, special, strict=True)
    ]
    return words_of_spans("\n".join(texts), in_both)


def _encode_fast(
    tokenizer: PreTrainedTokenizerBase, text: str, second_text: str, read_special_tokens: bool
) -> tuple[Sequence[int], Sequence[int], Sequence[str | None], Sequence[tuple[int, int]]]:
    """Ids, token types, sentences, and where in its sentence each token begins and ends."""
    encoded = tokenizer(
        text, second_text or None, split_special_tokens=not read_special_tokens, verbose=False
    ).encodings[0]
    if not read_special_tokens:
        special = special_ids(tokenizer)
        if any(
            token in special and sequence is not None
            for token, sequence in zip(encoded.ids, encoded.sequence_ids, strict=True)
        ):
            encoded = _without_special_pieces(tokenizer).encode(text, second_text or None)
    names = {None: None, 0: "A", 1: "B"}
    return encoded.ids, encoded.type_ids, [names[sequence] for sequence in encoded.sequence_ids], encoded.offsets


def _encode_slow(
    tokenizer: PreTrainedTokenizerBase, text: str, second_text: str, read_special_tokens: bool
) -> tuple[Sequence[int], Sequence[int], Sequence[str | None], None]:
    """Ids, token types and sentences; not where they are in their texts."""
    first = _own_ids(tokenizer, text, read_special_tokens)
    second = _own_ids(tokenizer, second_text, read_special_tokens) if second_text else None
    ids = tokenizer.build_inputs_with_special_tokens(first, second)
    # A slow tokenizer does not say which text a token comes from. It puts special tokens around placeholders too.
    layout = tokenizer.build_inputs_with_special_tokens(
        [-1] * len(first), None if second is None else [-2] * len(second)
    )
    sentences = [{-1: "A", -2: "B"}.get(token) for token in layout]
    return ids, tokenizer.create_token_type_ids_from_sequences(first, second), sentences, None


def _own_ids(tokenizer: PreTrainedTokenizerBase, text: str, read_special_tokens: bool) -> list[int]:
    """Ids of a text in a slow tokenizer, without the tokens that the tokenizer adds."""

    def read(part: str) -> list[int]:
        return tokenizer.encode(
            part, add_special_tokens=False, split_special_tokens=not read_special_tokens, verbose=False
        )

    ids, special = read(text), special_ids(tokenizer)
    if read_special_tokens or special.isdisjoint(ids):
        return ids
    # Some (BERT's) never split the name of a special token. It is cut after its first character, and read in parts.
    names = map(re.escape, tokenizer.convert_ids_to_tokens(sorted(special)))
    ids = [index for part in re.split("|".join(f"(?<=(?={name}).)" for name in names), text) for index in read(part)]
    if left := special.intersection(ids):
        raise InputError(
            f"This model's tokenizer cannot read {tokenizer.convert_ids_to_tokens(min(left))!a} as plain text. Take it "
            "out, or have special tokens read as such."
        )
    return ids


_plain_backends: WeakKeyDictionary[PreTrainedTokenizerBase, tokenizers.Tokenizer] = WeakKeyDictionary()


def _without_special_pieces(tokenizer: PreTrainedTokenizerBase) -> tokenizers.Tokenizer:
    """A copy of a fast tokenizer whose vocabulary spells no special token.

    `split_special_tokens` is not enough where the vocabulary itself has a piece "</s>", as a Unigram one does: the text
    "</s>" would become that piece.
    """
    if tokenizer not in _plain_backends:
        backend = copy.deepcopy(tokenizer.backend_tokenizer)
        backend.encode_special_tokens = True
        backend.no_truncation()
        backend.no_padding()
        state = json.loads(backend.model.__getstate__())
        # A name that nobody types. Ids stay what they are.
        renamed = {tokenizer.convert_ids_to_tokens(index): f"\ufdd0{index}" for index in special_ids(tokenizer)}
        vocabulary = state["vocab"]
        if isinstance(vocabulary, dict):
            state["vocab"] = {renamed.get(piece, piece): index for piece, index in vocabulary.items()}
        else:
            state["vocab"] = [[renamed.get(piece, piece), score] for piece, score in vocabulary]
        model = type(backend.model)()
        model.__setstate__(json.dumps(state).encode())
        backend.model = model
        _plain_backends[tokenizer] = backend
    return _plain_backends[tokenizer]


def special_ids(tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """The ids of the special tokens, except one that only stands for unknown words."""
    ids = {index for index, token in tokenizer.added_tokens_decoder.items() if token.special}
    ids.update(tokenizer.all_special_ids)
    others = {getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "sep", "cls", "pad", "mask")}
    if tokenizer.unk_token_id not in others:
        ids.discard(tokenizer.unk_token_id)
    return frozenset(ids)
