"""Models that make one vector of a whole sentence (Sentence-BERT, arXiv 1908.10084)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_core.inspection import Inspection
from transformer_core.zoo.hugging_face.families.hugging_face_model import Recording
from transformer_core.zoo.hugging_face.families.text_model import TextModel
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.interface import InspectionOptions

SHOWN_NUMBERS = 4
"""So many of a vector's numbers are in the answer."""


def _weighted_mean(states: Float[Tensor, "token d_model"]) -> Float[Tensor, " d_model"]:
    weights = torch.arange(1, len(states) + 1, device=states.device).unsqueeze(-1)
    return (states * weights).sum(dim=0) / weights.sum()


POOLING: dict[str, Callable[[Float[Tensor, "token d_model"]], Float[Tensor, " d_model"]]] = {
    "mean": lambda states: states.mean(dim=0),
    "cls": lambda states: states[0],
    "max": lambda states: states.amax(dim=0),
    "lasttoken": lambda states: states[-1],
    "mean_sqrt_len_tokens": lambda states: states.sum(dim=0) / len(states) ** 0.5,
    "weightedmean": _weighted_mean,
}
"""How the token vectors become one, by the names that sentence-transformers uses. Special tokens count."""


class SentenceEmbedding(TextModel):
    """A sentence-embedding model whose attention can be inspected (an `InspectableModel`)."""

    def _prepare(self, checkpoint: Checkpoint) -> None:
        super()._prepare(checkpoint)
        if checkpoint.pooling not in POOLING:
            raise ValueError(
                f"{checkpoint.name} makes a sentence's vector by pooling {checkpoint.pooling!r}, which is not one of "
                f"{', '.join(POOLING)}."
            )
        self._pool = POOLING[checkpoint.pooling]
        self._normalize = checkpoint.normalize
        self._usual_length = checkpoint.usual_length
        self.abilities |= {"second text"}

    def embed(self, text: str) -> Float[Tensor, " d_model"]:
        """The vector of a text, in float32 on the CPU.

        Raises:
            InputError: the text is blank, too long or unreadable.
            DeviceMemoryError: too little memory on a GPU.
        """
        with self._running():
            return self._vector(self._record_text(self._read(text)))

    def inspect(self, text: str, options: InspectionOptions = InspectionOptions()) -> Inspection:  # noqa: B008
        """Embed a text and record that pass. Of two texts each is read on its own, and compared with the other.

        The answer is the vector's size, length and first numbers; of two texts, the cosine of the angle between their
        vectors. The second text's attention is in stacks of its own, "self, second text".

        Raises:
            InputError: a text is blank, too long or unreadable.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        texts = [text, options.second_text] if options.second_text.strip() else [text]
        with self._running():
            encodings = [
                self._read(each, read_special_tokens=options.read_special_tokens, what=what)
                for each, what in zip(texts, ("text", "second text"), strict=False)
            ]
            recordings = [self._record_text(encoding) for encoding in encodings]
            vectors = [self._vector(recording) for recording in recordings]
        stacks = recordings[0].stacks
        for other in recordings[1:]:
            stacks = stacks | {
                f"{name}, second text": replace(stack, name=f"{name}, second text")
                for name, stack in other.stacks.items()
            }
        notes = [note for encoding in encodings for note in self._about_unknown(encoding.ids)]
        notes += [note for encoding in encodings for note in self._about_length(len(encoding.ids))]
        notes += [note for vector in vectors for note in self._about_output(vector)]
        return self._inspection(
            text,
            options,
            recordings,
            stacks,
            answer=_in_words(vectors),
            seconds=time.perf_counter() - started,
            notes=notes,
            second_text=options.second_text if len(texts) > 1 else "",
        )

    def _about_length(self, length: int) -> list[str]:
        if self._usual_length is None or length <= self._usual_length:
            return []
        return [
            f"sentence-transformers cuts texts after {self._usual_length:,} tokens for this model. Here all {length:,} "
            "are read, so the vector is another."
        ]

    def _vector(self, recording: Recording) -> Float[Tensor, " d_model"]:
        vector = self._pool(recording.outputs[0][0].float())
        return (F.normalize(vector, dim=0) if self._normalize else vector).cpu()


def _in_words(vectors: Sequence[Float[Tensor, " d_model"]]) -> str:
    if any(vector.isnan().any() for vector in vectors):
        return ""
    if len(vectors) > 1:
        return f"Cosine similarity {float(F.cosine_similarity(*vectors, dim=0)):.4f}"
    (vector,) = vectors
    numbers = ", ".join(f"{number:.4f}" for number in vector[:SHOWN_NUMBERS].tolist())
    return f"A vector of {len(vector):,} numbers and length {float(vector.norm()):.4f}: {numbers}, ..."
