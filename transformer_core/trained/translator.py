"""A translator with its tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer_core.model import Transformer, TransformerConfig
from transformer_core.text.generation import beam_search, greedy_search, in_batches, pad_batch
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.trained.folder import (
    TOKENIZER,
    check_files,
    check_vocabulary,
    read_weights,
    reading_config,
    write,
)

FORMAT = "headlight-translator"

MAX_BEAM_SIZE = 16
MAX_LENGTH_PENALTY = 5.0


@dataclass(frozen=True)
class Translator:
    """An encoder-decoder Transformer that translates from one language into another."""

    model: Transformer
    tokenizer: Tokenizer
    source_language: str
    target_language: str

    @classmethod
    def load(cls, folder: Path, device: str = "auto", step: int | None = None) -> "Translator":
        """Read config.json, model.safetensors and tokenizer.model; float32, ready to translate.

        Args:
            step: the weights of this snapshot of the training instead.

        Raises:
            FileNotFoundError: the folder or one of its files is missing.
            ValueError: a file is damaged, of another kind, or does not fit the others.
        """
        folder = Path(folder)
        check_files(folder, TOKENIZER)
        with reading_config(folder, FORMAT, "a translator") as config:
            languages = config["source_language"], config["target_language"]
            if not all(isinstance(language, str) for language in languages):
                raise ValueError(f"its languages are {languages}, not names")
            model = Transformer(TransformerConfig.from_dict(config["transformer"]))
        tokenizer = Tokenizer.load(folder / TOKENIZER)
        check_vocabulary(folder, tokenizer, model.config)
        return cls(read_weights(model, folder, device, step), tokenizer, *languages)

    def save(self, folder: Path) -> None:
        """Write what `load` reads, with the weights in half precision."""
        folder = Path(folder)
        fields = {
            "source_language": self.source_language,
            "target_language": self.target_language,
            "transformer": self.model.config.to_dict(),
        }
        write(folder, FORMAT, fields, self.model)
        self.tokenizer.save(folder / TOKENIZER)

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
