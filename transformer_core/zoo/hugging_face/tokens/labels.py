"""A readable label for every token, whatever the tokenizer."""

from collections.abc import Callable, Sequence

from transformers import ByT5Tokenizer, CanineTokenizer, PerceiverTokenizer, PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode
from transformers.models.canine.tokenization_canine import SPECIAL_CODEPOINTS

from transformer_core.zoo.labels import visible

BYTE_OF_CHARACTER = {character: byte for byte, character in bytes_to_unicode().items()}
"""How byte-level BPE writes bytes in its vocabulary: "Ġ" is a space."""


def labels(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> tuple[str, ...]:
    """One label for each id, none empty.

    A space is "▁" for every kind of tokenizer, a newline "⏎", a carriage return "␍", a tab "⇥". WordPiece's "##ing"
    stays as it is. Bytes that are no whole character are written like <0xE2>, a label of nothing but invisible
    characters like [U+200B], and an id that the vocabulary lacks like [#50300].
    """
    added = {index: token.content for index, token in tokenizer.added_tokens_decoder.items()}
    if isinstance(tokenizer, CanineTokenizer):
        added |= SPECIAL_CODEPOINTS
    read = _reader(tokenizer)
    texts = []
    for index in map(int, ids):
        try:
            text = added[index] if index in added else read(tokenizer.convert_ids_to_tokens(index))
        except (IndexError, KeyError, OverflowError, TypeError, ValueError):  # what tokenizers raise, or trip over
            text = f"[#{index}]"
        texts.append(visible(text))
    return tuple(texts)


def _reader(tokenizer: PreTrainedTokenizerBase) -> Callable[[str], str]:
    """What turns an entry of this tokenizer's vocabulary into text; a TypeError for None, which is no entry."""
    if isinstance(tokenizer, ByT5Tokenizer | PerceiverTokenizer):
        return lambda token: _bytes_as_text(bytes(map(ord, token)))
    if _is_byte_level(tokenizer):
        return _byte_level_text
    return "".join


def _is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    if not tokenizer.is_fast:
        return hasattr(tokenizer, "byte_decoder")
    backend = tokenizer.backend_tokenizer
    parts = [part.__getstate__() for part in (backend.pre_tokenizer, backend.decoder) if part is not None]
    return any(b'"ByteLevel"' in part for part in parts)


def _byte_level_text(token: str) -> str:
    if not all(character in BYTE_OF_CHARACTER for character in token):
        return token
    return _bytes_as_text(bytes(BYTE_OF_CHARACTER[character] for character in token))


def _bytes_as_text(data: bytes) -> str:
    """The characters, and the bytes that are none."""
    text = data.decode("utf-8", errors="surrogateescape")
    return "".join(f"<0x{ord(char) - 0xDC00:02X}>" if "\udc80" <= char <= "\udcff" else char for char in text)
