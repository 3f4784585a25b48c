"""A translator with its tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformer_core.model import Transformer
from transformer_core.text.generation import beam_search, greedy_search, in_batches, pad_batch
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.trained.trained_model import TrainedModel

MAX_BEAM_SIZE = 16
MAX_LENGTH_PENALTY = 5.0


@dataclass(frozen=True)
class Translator(TrainedModel):
    """An encoder-decoder Transformer that translates from one language into another."""

    FORMAT = "headlight-translator"
    DESCRIPTION = "a translator"
    NETWORK = Transformer

    model: Transformer
    tokenizer: Tokenizer
    source_language: str
    target_language: str

    @classmethod
    def _parts(cls, fields: dict[str, Any]) -> dict[str, Any]:
        languages = {name: fields[name] for name in ("source_language", "target_language")}
        if not all(isinstance(language, str) for language in languages.values()):
            raise ValueError(f"its languages are {list(languages.values())}, not names")
        return languages

    def _fields(self) -> dict[str, Any]:
        languages = {"source_language": self.source_language, "target_language": self.target_language}
        return languages | super()._fields()

    @property
    def max_source_tokens(self) -> int:
        """Longest source in tokens, the end token included."""
        return self.model.config.max_length

    def source_ids(self, text: str) -> list[int]:
        """What the encoder reads: the text's tokens and the end token."""
        return [*self.tokenizer.encode(text), self.tokenizer.eos_id]

    def shorten(self, text: str) -> str:
        """The beginning of a text, as much of it as the model reads."""
        return self.tokenizer.decode(self.tokenizer.encode(text)[: self.max_source_tokens - 1])

    def generate(
        self,
        sources: Sequence[Sequence[int]],
        beam_size: int = 4,
        length_penalty: float = 0.6,
        use_cache: bool = True,
    ) -> list[list[int]]:
        """Target ids, without begin and end token, for source ids that each end on the end token.

        Args:
            beam_size: 1 (greedy search) to MAX_BEAM_SIZE.
            length_penalty: the paper's alpha, 0 to MAX_LENGTH_PENALTY.

        Raises:
            ValueError: a beam size or a length penalty outside its range.
        """
        if not 1 <= beam_size <= MAX_BEAM_SIZE:
            raise ValueError(f"the beam size is {beam_size}; it has to be from 1 to {MAX_BEAM_SIZE}")
        if not 0 <= length_penalty <= MAX_LENGTH_PENALTY:
            raise ValueError(f"the length penalty is {length_penalty}; it has to be from 0 to {MAX_LENGTH_PENALTY}")
        tokens = self.tokenizer.bos_id, self.tokenizer.eos_id
        device = self.model.embedding.tokens.weight.device

        def generate_batch(batch: list[Sequence[int]]) -> list[list[int]]:
            source_ids = pad_batch(batch, self.model.config.pad_id).to(device)
            if beam_size == 1:
                return greedy_search(self.model, source_ids, *tokens, use_cache=use_cache)
            return beam_search(self.model, source_ids, *tokens, beam_size, length_penalty, use_cache)

        return in_batches(sources, generate_batch)

    def translate(self, sentences: Sequence[str], beam_size: int = 4, length_penalty: float = 0.6) -> list[str]:
        """Translate sentences, each on its own. A sentence in which there is no token has an empty translation.

        Raises:
            ValueError: a sentence longer than `max_source_tokens`.
        """
        results = [""] * len(sentences)
        sources = {index: self.source_ids(sentence) for index, sentence in enumerate(sentences)}
        for index, source in sources.items():
            if len(source) > self.max_source_tokens:
                raise ValueError(
                    f"sentence {index + 1} is {len(source)} tokens long; the model reads {self.max_source_tokens}"
                )
        filled = {index: source for index, source in sources.items() if len(source) > 1}
        targets = self.generate(list(filled.values()), beam_size, length_penalty)
        for index, target in zip(filled, targets, strict=True):
            results[index] = self.tokenizer.decode(target)
        return results
