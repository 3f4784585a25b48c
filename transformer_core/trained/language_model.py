"""A decoder-only language model with its tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer_core.model import LanguageModel, TransformerConfig
from transformer_core.text.sampling import Sampler, sample
from transformer_core.text.symbols import SymbolTokenizer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.trained.folder import (
    TOKENIZER,
    check_files,
    check_vocabulary,
    read_weights,
    reading_config,
    write,
)

FORMAT = "headlight-language-model"


@dataclass(frozen=True)
class TrainedLanguageModel:
    """A language model that goes on with a text: of words, or of the symbols of an alphabet."""

    model: LanguageModel
    tokenizer: Tokenizer | SymbolTokenizer

    @classmethod
    def load(cls, folder: Path, device: str = "auto", step: int | None = None) -> "TrainedLanguageModel":
        """Read config.json and model.safetensors, and tokenizer.model unless an "alphabet" stands in config.json.

        Args:
            step: the weights of this snapshot of the training instead.

        Raises:
            FileNotFoundError: the folder or one of its files is missing.
            ValueError: a file is damaged, of another kind, or does not fit the others.
        """
        folder = Path(folder)
        check_files(folder)
        with reading_config(folder, FORMAT, "a language model") as config:
            symbols = SymbolTokenizer(config["alphabet"]) if "alphabet" in config else None
            model = LanguageModel(TransformerConfig.from_dict(config["transformer"]))
        if symbols is None:
            check_files(folder, TOKENIZER)
        tokenizer = symbols or Tokenizer.load(folder / TOKENIZER)
        check_vocabulary(folder, tokenizer, model.config)
        return cls(read_weights(model, folder, device, step), tokenizer)

    def save(self, folder: Path) -> None:
        """Write what `load` reads, with the weights in half precision."""
        folder = Path(folder)
        fields = {"transformer": self.model.config.to_dict()}
        if isinstance(self.tokenizer, SymbolTokenizer):
            write(folder, FORMAT, {"alphabet": self.tokenizer.alphabet} | fields, self.model)
        else:
            write(folder, FORMAT, fields, self.model)
            self.tokenizer.save(folder / TOKENIZER)

    def ids(self, text: str) -> list[int]:
        """What the model reads: the begin token and the text's tokens.

        Raises:
            ValueError: characters that are not in the model's alphabet.
        """
        return [self.tokenizer.bos_id, *self.tokenizer.encode(text)]

    def go_on(self, ids: Sequence[int], new_tokens: int, sampler: Sampler) -> list[int]:
        """The tokens that the model writes behind `ids`. None of them is special.

        Raises:
            ValueError: all together they are longer than the model's max_length.
        """
        return sample(self.model, ids, new_tokens, sampler, forbidden=self.tokenizer.special_ids)
