"""Models that read a whole text, or a pair of texts, at once: bare, they make a vector for each token and no answer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor
from transformers.utils import ModelOutput

from transformer_core.inspection import AttentionStack, Inspection, Prediction
from transformer_core.zoo.hugging_face.families.hugging_face_model import Recording
from transformer_core.zoo.hugging_face.families.text_model import PROBE, TextModel
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.hugging_face.tokens.encoding import Encoding, encode_plain
from transformer_core.zoo.interface import InspectionOptions


@dataclass(frozen=True)
class Answer:
    """What a model made of a text."""

    output: Tensor
    """The model's numbers that it follows from."""
    text: str = ""
    predictions: Sequence[Prediction] = ()


class Encoder(TextModel):
    """An encoder whose attention can be inspected (an `InspectableModel`)."""

    def _prepare(self, checkpoint: Checkpoint) -> None:
        super()._prepare(checkpoint)
        try:
            encode_plain(self.tokenizer, PROBE, PROBE)
        except ValueError:
            return
        self.abilities |= {"second text"}

    def _about_text(self, text: str, options: InspectionOptions) -> list[str]:
        """What a reader has to know about how the text is read."""
        return []

    def inspect(self, text: str, options: InspectionOptions = InspectionOptions()) -> Inspection:  # noqa: B008
        """Record one forward pass over a text, or over a pair: then the parts of the pair are stacks as well.

        Raises:
            InputError: the text is blank, too long or unreadable.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        pair = "second text" in self.abilities and options.second_text.strip()
        with self._running():
            encoding = self._encode(text, options.second_text if pair else "", options)
            recording = self._record_text(encoding)
            answer = self._answer(recording.outputs, encoding)
        return self._inspection(
            text,
            options,
            [recording],
            recording.stacks | _parts(recording, encoding) if pair else recording.stacks,
            answer=answer.text,
            seconds=time.perf_counter() - started,
            notes=[
                *self._about_text(text, options),
                *self._about_unknown(encoding.ids),
                *self._about_output(answer.output),
            ],
            second_text=options.second_text if pair else "",
            predictions=answer.predictions,
        )

    def _encode(self, text: str, second_text: str, options: InspectionOptions) -> Encoding:
        return self._read(text, second_text, options.read_special_tokens)

    def _answer(self, outputs: ModelOutput, encoding: Encoding) -> Answer:
        return Answer(outputs[0])


def _parts(recording: Recording, encoding: Encoding) -> dict[str, AttentionStack]:
    """The parts of the stack in which a pair reads itself."""
    whole = recording.stacks.get("self") or recording.stacks.get("encoder")
    return pair_parts(whole, encoding) if whole else {}


def pair_parts(stack: AttentionStack, encoding: Encoding) -> dict[str, AttentionStack]:
    """The attention within and between the two texts of a pair: "A to A", "A to B", "B to A" and "B to B".

    Rows are of the first, columns of the second. The two halves share every token: A begins with what stands before it
    ([CLS]) and ends with the first special token behind it ([SEP]); all the rest is B's. So a row of "A to A" and the
    same row of "A to B" together sum to 1.
    """
    after_a = len(encoding.sentences) - encoding.sentences[::-1].index("A")
    start_of_b = after_a + (encoding.sentences[after_a] is None)
    halves = {"A": range(start_of_b), "B": range(start_of_b, len(encoding.ids))}
    return {
        f"{of} to {to}": stack.part(f"{of} to {to}", rows, columns, f"sentence {of}", f"sentence {to}")
        for of, rows in halves.items()
        for to, columns in halves.items()
    }
