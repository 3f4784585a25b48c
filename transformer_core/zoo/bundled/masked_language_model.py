"""Bundled masked language models: they guess the words that were masked."""

import time
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.inspection import Inspection, Prediction
from transformer_core.text.tokenizer import MASK
from transformer_core.trained import TrainedMaskedLanguageModel
from transformer_core.zoo.axis import stack_of
from transformer_core.zoo.bundled.bundled_model import BundledModel
from transformer_core.zoo.bundled.tokens import about_unknown, candidates, labels, text_axis
from transformer_core.zoo.device_memory import device_memory
from transformer_core.zoo.input_checks import check_length, check_masked, check_text, check_tokens
from transformer_core.zoo.interface import InspectionOptions


class InspectableMaskedLanguageModel(BundledModel[TrainedMaskedLanguageModel]):
    """A masked language model whose attention can be inspected (an `InspectableModel`)."""

    family = "masked"
    architecture = "MaskedLanguageModel"
    abilities = frozenset({"mask"})

    @property
    def max_tokens(self) -> int:
        """Longest text in tokens; the begin and the end token come on top."""
        return self.config.max_length - 2

    def tokens(self, text: str, read_special_tokens: bool = False) -> tuple[str, ...]:
        """Labels of the text's own tokens: what can be masked."""
        return labels(self.trained.tokenizer, self._read(text)[1:-1])

    def inspect(self, text: str, options: InspectionOptions = InspectionOptions()) -> Inspection:  # noqa: B008
        """Record one pass over a text in which the tokens at `options.masked` are masked.

        The predictions are "mask 1", "mask 2", ... from left to right, and the answer is the text with the likeliest
        token at each. Without a mask there is nothing to guess: no predictions and an empty answer.

        Raises:
            InputError: the text is blank, too long or unreadable, or there is no such token to mask.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        tokenizer = self.trained.tokenizer
        ids = self._read(text)
        check_masked(options.masked, len(ids) - 2)
        places = sorted({number + 1 for number in options.masked})
        for place in places:
            ids[place] = tokenizer.mask_id
        with device_memory(), torch.inference_mode():
            logits, trace = self._record(lambda: self.trained.model(self._batch(ids)))
        axis = text_axis(tokenizer, ids)
        guesses = logits[0, places]
        return self._inspection(
            text,
            options,
            self._filled_in(ids, places, guesses) if places else "",
            {"self": stack_of("self", list(trace), axis, axis)},
            trace,
            time.perf_counter() - started,
            notes=[*self._about_typed_mask(text), *about_unknown(tokenizer, ids)],
            predictions=[
                Prediction(f"mask {number}", place, likeliest)
                for number, (place, likeliest) in enumerate(
                    zip(places, candidates(tokenizer, guesses), strict=True), start=1
                )
            ],
        )

    def _read(self, text: str) -> list[int]:
        """The text's token ids, or an InputError that says what is wrong with it."""
        check_text(text)
        ids = self.trained.ids(text)
        check_tokens(len(ids) - 2)
        check_length(text, len(ids) - 2, self.max_tokens)
        return ids

    def _filled_in(self, ids: Sequence[int], places: Sequence[int], logits: Float[Tensor, "place vocab"]) -> str:
        guesses = dict(zip(places, logits.argmax(dim=-1).tolist(), strict=True))
        return self.trained.tokenizer.decode([guesses.get(place, index) for place, index in enumerate(ids)])

    def _about_typed_mask(self, text: str) -> list[str]:
        if MASK not in text:
            return []
        return [f"The {MASK} in the text is read as these letters, and masks nothing. Choose a token to mask instead."]
