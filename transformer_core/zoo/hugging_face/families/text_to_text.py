"""Encoder-decoder models that make one text of another (T5, BART, Marian): translations, summaries, answers."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

from transformers import DynamicCache, EncoderDecoderCache

from transformer_core.inspection import Inspection
from transformer_core.text.generation import MAX_EXTRA_TOKENS
from transformer_core.zoo.hugging_face.families.generator import Generator
from transformer_core.zoo.hugging_face.families.hugging_face_model import Recording
from transformer_core.zoo.hugging_face.families.text_model import PROBE, position_limit
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.hugging_face.tokens.labels import labels
from transformer_core.zoo.interface import InspectionOptions


class TextToText(Generator):
    """An encoder-decoder whose attention can be inspected (an `InspectableModel`)."""

    def _prepare(self, checkpoint: Checkpoint) -> None:
        super()._prepare(checkpoint)
        self.abilities |= {"beam search"}
        self._target_limit = position_limit(self.network, decoder=True)

    def _about_layers(self, recording: Recording) -> Iterator[str]:
        yield from super()._about_layers(recording)
        # mBART, NLLB, M2M100, ...: a token names the language.
        if hasattr(self.tokenizer, "set_src_lang_special_tokens"):
            reads = f"It knows several languages and takes every text for {self.tokenizer.src_lang}."
            written = self.network.generation_config.forced_bos_token_id
            if written is None:
                yield f"{reads} Which one to write is not saved with it, so it chooses by itself."
            else:
                yield f"{reads} It writes {labels(self.tokenizer, [written])[0]}, as saved with it."

    def _probe(self) -> Recording:
        with self._running():
            encoding = self._read(PROBE)
            # One token is enough, and tells the decoder's axis from the encoder's.
            return self._record_both(encoding, encoding.ids[:1], "answer")

    def inspect(self, text: str, options: InspectionOptions = InspectionOptions()) -> Inspection:  # noqa: B008
        """Answer a text, then record one forward pass over the text and the whole answer.

        The stacks are "encoder" (the text's tokens among themselves), "decoder" (the decoder's input, which is its
        start token and the answer, among themselves) and "cross" (from the decoder's input to the text's tokens). The
        predictions are what the model expected at each row of the decoder: "next token" first, then "next token 2", ...

        With a beam size above 1, transformers ranks finished answers by log P / length^alpha, not by the formula of the
        bundled models, log P / ((5 + length) / 6)^alpha (equation 14 of arXiv 1609.08144): the same
        `options.length_penalty` favours long answers more here, and 0 compares plain probabilities in both.

        Raises:
            InputError: the text is blank, too long or unreadable.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        with self._running():
            encoding = self._read(text, read_special_tokens=options.read_special_tokens)
            longest = self._longest(len(encoding.ids))
            start, *written = self._write(self._inputs(encoding), longest, **self._search(options))
            answer, ended = self._until_end(written, longest)
            # What the decoder reads while it writes this answer. The last token of one that fills all positions is
            # written, but never read.
            decoder_ids = [start, *answer][: self._target_limit]
            recording = self._record_both(encoding, decoder_ids, "answer")
            logits = recording.outputs.logits[0].cpu()
        broken = self._about_output(logits)
        return self._inspection(
            text,
            options,
            [recording],
            recording.stacks,
            answer=self._decode(answer),
            seconds=time.perf_counter() - started,
            notes=[
                *self._about_unknown(encoding.ids),
                *broken,
                *([] if broken or options.beam_size > 1 else self._about_choice(logits, answer)),
                *self._about_end(answer, ended, longest),
            ],
            predictions=[] if broken else self._expected(logits, first_row=0),
        )

    def _search(self, options: InspectionOptions) -> dict[str, Any]:
        search = {"num_beams": options.beam_size}
        if options.beam_size > 1:
            search["length_penalty"] = float(options.length_penalty)
        if getattr(self.config, "num_decoder_layers", 0) > getattr(self.config, "num_layers", math.inf):
            # For such a T5, transformers 5.24 makes a cache with as many layers as the encoder has. These grow.
            search["cache"] = EncoderDecoderCache(DynamicCache(), DynamicCache())
        return search

    def _longest(self, source_length: int) -> int:
        """Tokens after which an answer is cut: as for the bundled models, and where the positions end."""
        longest = source_length + MAX_EXTRA_TOKENS
        return longest if self._target_limit is None else min(longest, self._target_limit)

    def _about_end(self, answer: Sequence[int], ended: bool, longest: int) -> list[str]:
        # A model may have to write its end token where it is cut.
        if not ended or len(answer) + 1 >= longest:
            return [f"The answer did not end by itself; it was cut at {len(answer):,} tokens."]
        if not self._decode(answer):
            return ["The answer is empty: the model ended it at once."]
        return []
