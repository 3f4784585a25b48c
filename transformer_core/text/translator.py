"""A trained model with its tokenizer: what a folder in pretrained/ holds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError

from transformer_core.device import choose_device
from transformer_core.model import Transformer, TransformerConfig
from transformer_core.text.generation import beam_search, greedy_search, in_batches, pad_batch
from transformer_core.text.tokenizer import Tokenizer

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
    def load(cls, folder: Path, device: str = "auto") -> "Translator":
        """Read config.json, model.safetensors and tokenizer.model; float32, ready to translate.

        Raises:
            FileNotFoundError: the folder or one of the three files is missing.
            ValueError: a file is damaged, of another kind, or does not fit the others.
        """
        folder = Path(folder)
        if folder.is_file():
            raise ValueError(f"{folder} is a file: name the folder that holds config.json and the rest")
        for name in ("config.json", "model.safetensors", "tokenizer.model"):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder} holds no trained model: {name} is missing")
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            if config.get("format") != FORMAT:
                raise ValueError(f'its "format" is {config.get("format")!r}, not "{FORMAT}"')
            languages = config["source_language"], config["target_language"]
            if not all(isinstance(language, str) for language in languages):
                raise ValueError(f"its languages are {languages}, not names")
            model = Transformer(TransformerConfig.from_dict(config["transformer"]))
        # RuntimeError: sizes that no memory holds. RecursionError: JSON nested without end.
        except (ValueError, KeyError, AttributeError, TypeError, RuntimeError, RecursionError) as error:
            raise ValueError(f"{folder / 'config.json'} does not describe a translator: {error}") from error
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
        for name in ("vocab_size", "pad_id"):
            of_tokenizer, of_model = getattr(tokenizer, name), getattr(model.config, name)
            if of_tokenizer != of_model:
                raise ValueError(f"{folder}: {name} is {of_tokenizer} in the tokenizer and {of_model} in config.json")
        try:
            weights = safetensors.torch.load_file(folder / "model.safetensors")
            model.load_state_dict(weights)
        except (SafetensorError, RuntimeError) as error:
            # PyTorch lists every layer, one a line after a heading.
            reason = " ".join(str(error).splitlines()[:2])[:300]
            raise ValueError(f"{folder / 'model.safetensors'} does not fit config.json: {reason}") from error
        for name, tensor in weights.items():
            if not tensor.is_floating_point() or not tensor.isfinite().all():
                raise ValueError(f"{folder / 'model.safetensors'} is damaged: {name} holds values that are no numbers")
        return cls(model.eval().to(choose_device(device)), tokenizer, *languages)

    def save(self, folder: Path) -> None:
        """Write what `load` reads, with the weights in half precision."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        config = {
            "format": FORMAT,
            "source_language": self.source_language,
            "target_language": self.target_language,
            "transformer": self.model.config.to_dict(),
        }
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        weights = {name: tensor.to("cpu", torch.float16) for name, tensor in self.model.state_dict().items()}
        safetensors.torch.save_file(weights, folder / "model.safetensors")
        self.tokenizer.save(folder / "tokenizer.model")

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
