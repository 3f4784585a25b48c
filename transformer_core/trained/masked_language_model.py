"""An encoder-only language model, which guesses masked tokens, with its tokenizer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from transformer_core.model import MaskedLanguageModel
from transformer_core.text.tokenizer import MASK, Tokenizer
from transformer_core.trained.folder import TOKENIZER
from transformer_core.trained.trained_model import TrainedModel


@dataclass(frozen=True)
class TrainedMaskedLanguageModel(TrainedModel):
    """A model that guesses masked tokens. Its tokenizer has a `mask_id`."""

    FORMAT = "headlight-masked-language-model"
    DESCRIPTION = "a masked language model"
    NETWORK = MaskedLanguageModel

    model: MaskedLanguageModel
    tokenizer: Tokenizer

    @classmethod
    def load(cls, folder: Path, device: str = "auto", step: int | None = None) -> Self:
        trained = super().load(folder, device, step)
        if trained.tokenizer.mask_id is None:
            raise ValueError(f"{Path(folder) / TOKENIZER} is of another kind of model: it has no token {MASK}")
        return trained

    def ids(self, text: str) -> list[int]:
        """What the model reads: the begin token, the text's tokens and the end token."""
        return [self.tokenizer.bos_id, *self.tokenizer.encode(text), self.tokenizer.eos_id]
