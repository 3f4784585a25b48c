"""Text to token ids and back: byte-pair encoding (Sennrich et al. 2016) with SentencePiece (Kudo & Richardson 2018)."""

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import sentencepiece

MASK = "<mask>"
"""The token that stands for one that a masked language model has to guess."""


PART = re.compile(r".{1,1000}(?!\S)|.{1,1000}", re.DOTALL)
"""Of a long sentence, as far as possible up to a blank: SentencePiece learns nothing from more than 4,192 bytes."""


class Tokenizer:
    """A trained SentencePiece model.

    Special tokens never come out of text: a typed "</s>" is four ordinary characters. Text is normalised (NFKC, runs
    of blanks become one, invisible characters vanish) unless it was trained with `keep_lines`; a character that the
    vocabulary lacks becomes its UTF-8 bytes ("<0xF0>").
    """

    def __init__(self, model: bytes) -> None:
        """Load a SentencePiece model from its serialized bytes.

        Raises:
            ValueError: the bytes are no SentencePiece model, or it has no padding, begin or end token.
        """
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError("this is not a SentencePiece model") from error
        self._model = model
        self.pad_id: int = self._processor.pad_id()
        self.unk_id: int = self._processor.unk_id()
        self.bos_id: int = self._processor.bos_id()
        self.eos_id: int = self._processor.eos_id()
        if min(self.pad_id, self.bos_id, self.eos_id) < 0:
            raise ValueError("this SentencePiece model lacks a padding, a begin or an end token")
        mask_id = self._processor.piece_to_id(MASK)
        self.mask_id: int | None = mask_id if self._processor.is_control(mask_id) else None
        self.special_ids = (self.pad_id, self.bos_id, self.eos_id)
        """Tokens that are no part of a text."""

    @classmethod
    def train(
        cls, sentences: Iterable[str], vocab_size: int, *, keep_lines: bool = False, mask: bool = False
    ) -> "Tokenizer":
        """Learn a byte-pair vocabulary of at most `vocab_size` pieces from sentences of all languages together (5.1).

        Args:
            keep_lines: leave blanks and newlines, and every other character, as they are; each newline is a piece.
            mask: add the token MASK.

        Raises:
            ValueError: too few sentences, or a vocabulary too small to hold their characters.
        """
        buffer = io.BytesIO()
        options: dict[str, Any] = {"control_symbols": [MASK]} if mask else {}
        if keep_lines:
            options |= {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
            options |= {"add_dummy_prefix": False, "user_defined_symbols": ["\n"]}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(part for sentence in sentences for part in PART.findall(sentence)),
                model_writer=buffer,
                vocab_size=vocab_size,
                model_type="bpe",
                # The rarest characters are spelled in bytes; that also teaches the model what bytes are.
                character_coverage=0.9999,
                byte_fallback=True,
                hard_vocab_limit=False,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                minloglevel=2,
                **options,
            )
        except RuntimeError as error:
            # It names the fewest pieces that the text's characters and the 256 bytes need.
            needed = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
            reason = f"it needs at least {needed[1]}" if needed else error
            raise ValueError(f"SentencePiece cannot learn {vocab_size} pieces from this text: {reason}") from error
        return cls(buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a SentencePiece model file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is no usable SentencePiece model.
        """
        try:
            return cls(Path(path).read_bytes())
        except FileNotFoundError as error:
            raise FileNotFoundError(f"there is no tokenizer {path}") from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def save(self, path: Path) -> None:
        """Write the SentencePiece model file."""
        Path(path).write_bytes(self._model)

    @property
    def vocab_size(self) -> int:
        """Number of pieces, special tokens and bytes included."""
        return self._processor.get_piece_size()

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without special tokens.

        Lone surrogates, which no UTF-8 file can hold, become "?".
        """
        return self._processor.encode(text.encode("utf-8", "replace").decode())

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, without padding, begin and end tokens."""
        return self._processor.decode(list(ids))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Every token as SentencePiece writes it: "▁" marks a space before the piece."""
        return [self._processor.id_to_piece(int(index)) for index in ids]
