"""A text in which every character is a token, for models that learn from random sequences."""

import re
from collections.abc import Sequence

PAD, BOS = "<pad>", "<s>"


class SymbolTokenizer:
    """One token for each character of an alphabet; blanks only separate.

    Raises:
        ValueError: an alphabet with no character, the same one twice, or one that nobody can see.
    """

    pad_id = 0
    bos_id = 1
    special_ids = (pad_id, bos_id)

    def __init__(self, alphabet: str) -> None:
        if not alphabet or len(set(alphabet)) < len(alphabet) or not alphabet.isprintable() or " " in alphabet:
            raise ValueError(f"the alphabet {alphabet!a} has to be different characters, each of them visible")
        self.alphabet = alphabet
        self._symbols = (PAD, BOS, *alphabet)
        self._ids = {symbol: index for index, symbol in enumerate(self._symbols)}

    @property
    def vocab_size(self) -> int:
        """Number of tokens: the alphabet's, padding and the begin token."""
        return len(self._symbols)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without special tokens.

        Raises:
            ValueError: characters that are not in the alphabet; the message names them.
        """
        symbols = re.sub(r"\s", "", text)
        if unknown := list(dict.fromkeys(symbol for symbol in symbols if symbol not in self.alphabet)):
            shown = " ".join(symbol if symbol.isprintable() else f"U+{ord(symbol):04X}" for symbol in unknown)
            raise ValueError(f"this model knows only the symbols {self.alphabet}, and not: {shown}")
        return [self._ids[symbol] for symbol in symbols]

    def decode(self, ids: Sequence[int]) -> str:
        """The symbols of token ids with blanks between them, without padding and begin tokens."""
        return " ".join(self._symbols[index] for index in ids if index not in self.special_ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Every token as a label."""
        return [self._symbols[index] for index in ids]
