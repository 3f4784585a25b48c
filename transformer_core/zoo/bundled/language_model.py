"""Bundled language models: of words, or of the symbols of an alphabet."""

import time
from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.inspection import Inspection, Prediction
from transformer_core.inspection.metrics import followers_of_earlier_occurrences
from transformer_core.text import SymbolTokenizer
from transformer_core.text.sampling import Sampler
from transformer_core.trained import TrainedLanguageModel
from transformer_core.zoo.axis import Axis, stack_of
from transformer_core.zoo.bundled.bundled_model import BundledModel
from transformer_core.zoo.bundled.tokens import about_unknown, candidates, labels, text_axis
from transformer_core.zoo.continuing import about_fitting, fitting
from transformer_core.zoo.device_memory import device_memory
from transformer_core.zoo.input_checks import check_length, check_text, check_tokens, sentence
from transformer_core.zoo.interface import Ability, InputError, InspectionOptions

ABILITIES: frozenset[Ability] = frozenset({"continue"})

ABILITIES_OF_SYMBOLS: frozenset[Ability] = ABILITIES | {"symbols"}
"""Those of a model whose tokens are the symbols of an alphabet."""

INDUCED = "induced token"
"""The place of the prediction that says how likely the induced token is."""


class InspectableLanguageModel(BundledModel[TrainedLanguageModel]):
    """A language model whose attention can be inspected (an `InspectableModel`)."""

    family = "causal"
    architecture = "LanguageModel"

    @property
    def abilities(self) -> frozenset[Ability]:
        return ABILITIES_OF_SYMBOLS if self._reads_symbols else ABILITIES

    @property
    def _reads_symbols(self) -> bool:
        return isinstance(self.trained.tokenizer, SymbolTokenizer)

    @property
    def max_tokens(self) -> int:
        """Longest text in tokens; the begin token comes on top."""
        return self.config.max_length - 1

    def tokens(self, text: str, read_special_tokens: bool = False) -> tuple[str, ...]:
        """Labels of the text's tokens, the begin token aside."""
        return labels(self.trained.tokenizer, self._read(text)[1:])

    def inspect(self, text: str, options: InspectionOptions = InspectionOptions()) -> Inspection:  # noqa: B008
        """Continue a text by `options.new_tokens`, then record one pass over the text and its continuation.

        The answer is the continuation. The predictions are what the model expected after the text ("next token"), and
        then after each token that it wrote ("next token 2", ...), whatever of it could be drawn. Where a text of
        symbols ends on one that stood in it before, a last prediction (INDUCED) has the probabilities of those that
        followed it there (Olsson et al. 2022).

        Raises:
            InputError: the text is blank, too long or unreadable.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        tokenizer = self.trained.tokenizer
        prompt = self._read(text)
        wanted = fitting(options, len(prompt), self.config.max_length)
        sampler = Sampler(options.temperature, options.top_k, options.top_p, options.seed)
        with device_memory(), torch.inference_mode():
            continuation = self.trained.go_on(prompt, wanted, sampler)
            ids = [*prompt, *continuation]
            logits, trace = self._record(lambda: self.trained.model(self._batch(ids)))
        expected = logits[0, len(prompt) - 1 :]
        axis = self._axis(ids)
        return self._inspection(
            text,
            options,
            tokenizer.decode(continuation),
            {"self": stack_of("self", list(trace), axis, axis)},
            trace,
            time.perf_counter() - started,
            notes=[
                *([] if self._reads_symbols else about_unknown(tokenizer, prompt)),
                *about_fitting(options, wanted, self.config.max_length),
            ],
            predictions=[*self._next_tokens(expected, len(prompt) - 1), *self._induced(expected[0], prompt)],
        )

    def _read(self, text: str) -> list[int]:
        """The text's token ids, or an InputError that says what is wrong with it."""
        check_text(text)
        try:
            ids = self.trained.ids(text)
        except ValueError as error:
            raise InputError(f"{sentence(error)} Leave these out.") from error
        check_tokens(len(ids) - 1)
        check_length(text, len(ids) - 1, self.max_tokens)
        return ids

    def _axis(self, ids: Sequence[int]) -> Axis:
        axis = text_axis(self.trained.tokenizer, ids)
        # Symbols side by side make no word.
        return replace(axis, words=None) if self._reads_symbols else axis

    def _next_tokens(self, logits: Float[Tensor, "place vocab"], first_row: int) -> list[Prediction]:
        return [
            Prediction("next token" if place == 0 else f"next token {place + 1}", first_row + place, likeliest)
            for place, likeliest in enumerate(candidates(self.trained.tokenizer, logits))
        ]

    def _induced(self, logits: Float[Tensor, " vocab"], prompt: Sequence[int]) -> list[Prediction]:
        """How likely the model finds what followed the text's last symbol where it stood before."""
        if not self._reads_symbols:
            return []
        followers = followers_of_earlier_occurrences(torch.tensor([prompt]))[0, -1].nonzero().flatten().tolist()
        tokens = list(dict.fromkeys(prompt[place] for place in followers))
        if not tokens:
            return []
        probabilities = logits.softmax(dim=-1)[tokens].tolist()
        named = zip(labels(self.trained.tokenizer, tokens), probabilities, strict=True)
        return [Prediction(INDUCED, len(prompt) - 1, tuple(sorted(named, key=lambda pair: -pair[1])))]
