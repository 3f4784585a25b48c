"""Bundled translators."""

import time
from collections.abc import Sequence

import torch

from transformer_core.inspection import Inspection
from transformer_core.text.generation import longest_target
from transformer_core.trained import Translator
from transformer_core.zoo.axis import stack_of
from transformer_core.zoo.bundled.bundled_model import BundledModel
from transformer_core.zoo.bundled.tokens import about_unknown, labels, text_axis
from transformer_core.zoo.device_memory import device_memory
from transformer_core.zoo.input_checks import check_length, check_text, check_tokens
from transformer_core.zoo.interface import InspectionOptions


class InspectableTranslator(BundledModel[Translator]):
    """A translator whose attention can be inspected (an `InspectableModel`)."""

    family = "text-to-text"
    architecture = "Transformer"
    abilities = frozenset({"beam search"})

    @property
    def languages(self) -> tuple[str, str]:
        return self.trained.source_language, self.trained.target_language

    @property
    def max_tokens(self) -> int:
        """Longest text in tokens; the end token comes on top."""
        return self.trained.max_source_tokens - 1

    def tokens(self, text: str, read_special_tokens: bool = False) -> tuple[str, ...]:
        """Labels of the text's tokens, the end token aside."""
        return labels(self.trained.tokenizer, self._read(text)[:-1])

    def inspect(self, text: str, options: InspectionOptions = InspectionOptions()) -> Inspection:  # noqa: B008
        """Translate a text, then record one forward pass over the text and its whole translation.

        The stacks are "encoder" (source tokens among themselves), "decoder" (the decoder's input, which is the begin
        token and the translation, among themselves) and "cross" (from the decoder's input to the source tokens).

        Raises:
            InputError: the text is blank, too long or unreadable.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        source = self._read(text)
        with device_memory(), torch.inference_mode():
            (target,) = self.trained.generate([source], options.beam_size, options.length_penalty)
            # What the decoder reads while it writes this target. The last token of one that fills all positions is
            # written, but never read.
            target_input = [self.trained.tokenizer.bos_id, *target][: self.config.max_length]
            source_ids, target_ids = self._batch(source), self._batch(target_input)
            _, trace = self._record(lambda: self.trained.model.hidden(source_ids, target_ids))
        seconds = time.perf_counter() - started

        tokenizer = self.trained.tokenizer
        source_axis = text_axis(tokenizer, source, self.trained.source_language)
        target_axis = text_axis(tokenizer, target_input, self.trained.target_language)
        axes = {
            "encoder": (source_axis, source_axis),
            "decoder": (target_axis, target_axis),
            "cross": (target_axis, source_axis),
        }
        return self._inspection(
            text,
            options,
            tokenizer.decode(target),
            {name: stack_of(name, trace.of_kind(name), rows, columns) for name, (rows, columns) in axes.items()},
            trace,
            seconds,
            notes=[*about_unknown(tokenizer, source, "source tokens"), *self._about_answer(source, target)],
        )

    def _read(self, text: str) -> list[int]:
        """The text's token ids, or an InputError that says what is wrong with it."""
        check_text(text)
        source = self.trained.source_ids(text)
        check_tokens(len(source) - 1)
        check_length(text, len(source) - 1, self.max_tokens)
        return source

    def _about_answer(self, source: Sequence[int], target: Sequence[int]) -> list[str]:
        if not target:
            return ["The translation is empty: the model ended it at once."]
        # Only an answer that never ended grows as long as the search lets it.
        if len(target) >= longest_target(len(source), self.config.max_length):
            return [f"The translation did not end by itself; it was cut at {len(target):,} tokens."]
        return []
