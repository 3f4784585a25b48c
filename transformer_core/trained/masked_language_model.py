"""An encoder-only language model, which guesses masked tokens, with its tokenizer."""

from dataclasses import dataclass
from pathlib import Path

from transformer_core.model import MaskedLanguageModel, TransformerConfig
from transformer_core.text.tokenizer import MASK, Tokenizer
from transformer_core.trained.folder import (
    CONFIG,
    TOKENIZER,
    check_files,
    check_vocabulary,
    read_weights,
    reading_config,
    write,
)

FORMAT = "headlight-masked-language-model"


@dataclass(frozen=True)
class TrainedMaskedLanguageModel:
    """A model that guesses masked tokens. Its tokenizer has a `mask_id`."""

    model: MaskedLanguageModel
    tokenizer: Tokenizer

    @classmethod
    def load(cls, folder: Path, device: str = "auto", step: int | None = None) -> "TrainedMaskedLanguageModel":
        """Read config.json, model.safetensors and tokenizer.model.

        Args:
            step: the weights of this snapshot of the training instead.

        Raises:
            FileNotFoundError: the folder or one of its files is missing.
            ValueError: a file is damaged, of another kind, or does not fit the others.
        """
        folder = Path(folder)
        check_files(folder, TOKENIZER)
        with reading_config(folder, FORMAT, "a masked language model") as config:
            model = MaskedLanguageModel(TransformerConfig.from_dict(config["transformer"]))
        tokenizer = Tokenizer.load(folder / TOKENIZER)
        if tokenizer.mask_id is None:
            raise ValueError(f"{folder / TOKENIZER} does not fit {CONFIG}: it has no token {MASK}")
        check_vocabulary(folder, tokenizer, model.config)
        return cls(read_weights(model, folder, device, step), tokenizer)

    def save(self, folder: Path) -> None:
        """Write what `load` reads, with the weights in half precision."""
        folder = Path(folder)
        write(folder, FORMAT, {"transformer": self.model.config.to_dict()}, self.model)
        self.tokenizer.save(folder / TOKENIZER)

    def ids(self, text: str) -> list[int]:
        """What the model reads: the begin token, the text's tokens and the end token."""
        return [self.tokenizer.bos_id, *self.tokenizer.encode(text), self.tokenizer.eos_id]
