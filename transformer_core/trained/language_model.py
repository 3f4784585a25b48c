"""A decoder-only language model with its tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformer_core.model import LanguageModel
from transformer_core.text.sampling import Sampler, sample
from transformer_core.text.symbols import SymbolTokenizer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.trained.trained_model import TrainedModel


@dataclass(frozen=True)
class TrainedLanguageModel(TrainedModel):
    """A language model that goes on with a text: of words, or of the symbols of an alphabet in config.json."""

    FORMAT = "headlight-language-model"
    DESCRIPTION = "a language model"
    NETWORK = LanguageModel

    model: LanguageModel
    tokenizer: Tokenizer | SymbolTokenizer

    @classmethod
    def _parts(cls, fields: dict[str, Any]) -> dict[str, Any]:
        return {"tokenizer": SymbolTokenizer(fields["alphabet"])} if "alphabet" in fields else {}

    def _fields(self) -> dict[str, Any]:
        is_of_symbols = isinstance(self.tokenizer, SymbolTokenizer)
        return ({"alphabet": self.tokenizer.alphabet} if is_of_symbols else {}) | super()._fields()

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
