"""Causal language models (GPT-2, LLaMA): they continue a text token by token."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from transformer_core.inspection import Inspection
from transformer_core.text.sampling import Sampler
from transformer_core.zoo.axis import Axis
from transformer_core.zoo.continuing import about_fitting, fitting
from transformer_core.zoo.hugging_face.families.generator import Generator
from transformer_core.zoo.hugging_face.families.hugging_face_model import Recording
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.hugging_face.tokens.chat import encode_chat
from transformer_core.zoo.hugging_face.tokens.encoding import Encoding
from transformer_core.zoo.input_checks import check_length
from transformer_core.zoo.interface import InputError, InspectionOptions


class Causal(Generator):
    """A causal language model whose attention can be inspected (an `InspectableModel`)."""

    def _prepare(self, checkpoint: Checkpoint) -> None:
        super()._prepare(checkpoint)
        if self.network.can_generate():
            self.abilities |= {"continue"}
        if self.tokenizer.chat_template:
            self.abilities |= {"chat"}

    def _probe(self) -> Recording:
        recording = super()._probe()
        self._reads_ahead = any((call.weights().triu(1) > 0).any() for call in recording.trace)
        return recording

    def _about_layers(self, recording: Recording) -> Iterator[str]:
        yield from super()._about_layers(recording)
        if self._reads_ahead:
            yield (
                f"{self.architecture} lets each token read later ones too, so its expectations of the next token "
                "cannot be read off this pass and are not shown."
            )

    def inspect(self, text: str, options: InspectionOptions = InspectionOptions()) -> Inspection:  # noqa: B008
        """Continue a text by `options.new_tokens`, then record one pass over the text and its continuation.

        The answer is the continuation. The predictions are what the model expected after the text ("next token"), and
        then after each token that it wrote ("next token 2", ...), whatever of it could be drawn.

        Raises:
            InputError: the text is blank, too long or unreadable, or the model's chat template refuses it.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        with self._running():
            encoding = self._prompt(text, options)
            prompt = encoding.ids
            wanted = self._fitting(prompt, options)
            written = self._continuation(prompt, wanted, options)
            continuation, ended = self._until_end(written, wanted)
            places = 1 + len(continuation)  # the prompt's last row and those of the continuation
            recording = self._record_continued(encoding, continuation, places)
            logits = recording.outputs.logits[0, -places:].cpu()
        broken = self._about_output(logits)
        tells = not broken and not self._reads_ahead
        return self._inspection(
            text,
            options,
            [recording],
            recording.stacks,
            answer=self._decode(continuation),
            seconds=time.perf_counter() - started,
            notes=[
                *self._about_unknown(prompt),
                *broken,
                *(self._about_choice(logits, continuation) if tells and not options.temperature else []),
                *self._about_end(options, wanted, len(continuation), ended),
            ],
            predictions=self._expected(logits, first_row=len(prompt) - 1) if tells else [],
        )

    def _prompt(self, text: str, options: InspectionOptions) -> Encoding:
        """What the model reads before it writes: the text, or the chat with the text as the user's message."""
        encoding = self._read(text, read_special_tokens=options.read_special_tokens)
        if not options.chat or "chat" not in self.abilities:
            return encoding
        try:
            chat = encode_chat(self.tokenizer, text, options.read_special_tokens)
        except ValueError as error:
            raise InputError(f"{error}. Switch the chat template off to have the text read as it is.") from error
        length = len(encoding.sentences) - encoding.sentences.count(None)
        if self._position_limit is not None:
            check_length(text, length, self._position_limit - (len(chat.ids) - length))
        self._check_vocabulary(chat.ids)
        return chat

    def _fitting(self, prompt: Sequence[int], options: InspectionOptions) -> int:
        """How many tokens to write: those asked for, or as many as the model has positions left."""
        if "continue" not in self.abilities:
            return 0
        return fitting(options, len(prompt), self._position_limit)

    def _continuation(self, prompt: Sequence[int], wanted: int, options: InspectionOptions) -> list[int]:
        """The tokens that the model writes on, and perhaps those that end its text."""
        if not wanted:
            return []
        sampler = Sampler(options.temperature, options.top_k, options.top_p, options.seed)
        drawn = sampler if options.temperature else None
        return self._write(self._text_inputs(prompt), wanted, drawn, num_beams=1)[len(prompt) :]

    def _record_continued(self, encoding: Encoding, continuation: Sequence[int], places: int) -> Recording:
        """A pass over a text and its continuation, with logits for at least so many places at the end."""
        inputs = self._text_inputs([*encoding.ids, *continuation])
        if self._accepts("logits_to_keep"):
            inputs["logits_to_keep"] = places
        text = self._continued_axis(encoding, continuation)
        return self._record(inputs, {"self": (text, text)})

    def _continued_axis(self, encoding: Encoding, continuation: Sequence[int]) -> Axis:
        if not continuation:
            return self._text_axis(encoding)
        axis, last = self._axis([*encoding.ids, *continuation]), len(encoding.ids) - 1
        # The encoding knows the text's words. Labels tell the continuation's, which may go on with the last of them.
        words = [encoding.words[last] + word - axis.words[last] for word in axis.words[last + 1 :]]
        return replace(axis, words=(*encoding.words, *words))

    def _about_end(self, options: InspectionOptions, wanted: int, length: int, ended: bool) -> list[str]:
        if ended:
            what = (
                "at once, so the continuation is empty"
                if length == 0
                else f"after {length:,} token{'s' * (length > 1)}"
            )
            return [f"The model ended its text {what}."]
        return about_fitting(options, wanted, self._position_limit) if "continue" in self.abilities else []
