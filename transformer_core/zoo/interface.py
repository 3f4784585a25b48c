"""What every kind of model offers to those who want to look inside."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from PIL.Image import Image

from transformer_core.inspection import Inspection
from transformer_core.text.sampling import MAX_TEMPERATURE
from transformer_core.trained import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY

Family = Literal["text-to-text", "causal", "masked", "classifier", "embedding", "encoder", "image"]
"""What a model makes of its input.

"text-to-text": another text (T5, BART, Marian, the bundled translator). "causal": the text's continuation (GPT-2).
"masked": guesses for masked words (BERT). "classifier": a class for a text or a pair. "embedding": a vector for a whole
sentence. "encoder": a vector for each token and no answer. "image": it reads an image (ViT), with or without classes.
"""

Ability = Literal[
    "beam search", "continue", "chat", "mask", "second text", "special tokens", "image", "symbols", "drawing"
]
"""What a model does beyond reading one text; most make some of the `InspectionOptions` count (`NEEDED_ABILITIES`).

"image": it reads an image, and no text; "drawing": one of a handwritten digit. "symbols": its tokens are single
characters, and it foretells how a sequence of them repeats.
"""

NEEDED_ABILITIES: dict[str, Ability] = {
    "beam_size": "beam search",
    "length_penalty": "beam search",
    "new_tokens": "continue",
    "temperature": "continue",
    "top_k": "continue",
    "top_p": "continue",
    "seed": "continue",
    "chat": "chat",
    "masked": "mask",
    "second_text": "second text",
    "read_special_tokens": "special tokens",
}
"""The ability without which a model ignores an option of `InspectionOptions`."""

MAX_NEW_TOKENS = 200
"""The longest continuation that can be asked for."""

MAX_TOP_K = 1_000_000
"""More than any vocabulary has."""

MAX_SEED = 2**32 - 1


class InputError(ValueError):
    """Something a user can put right. The message says what was wrong and what to do, and is shown as it is."""


class DeviceMemoryError(RuntimeError):
    """The GPU has too little memory; the same on the CPU may work."""


@dataclass(frozen=True)
class InspectionOptions:
    """How a model reads its input and looks for its answer. What a model's `abilities` lack is ignored.

    Raises:
        InputError: a value outside its range.
    """

    beam_size: int = 4
    """Hypotheses kept at every step, 1 to MAX_BEAM_SIZE; 1 is greedy search."""
    length_penalty: float = 0.6
    """Alpha of the length penalty, 0 to MAX_LENGTH_PENALTY: the larger, the longer the answers beam search prefers."""
    new_tokens: int = 0
    """How many tokens a causal model writes on, 0 to MAX_NEW_TOKENS."""
    temperature: float = 0.0
    """0: the likeliest token at each step. Above, to MAX_TEMPERATURE: tokens are drawn, as from softmax(logits / T)."""
    top_k: int = 0
    """Only so many of the likeliest tokens can be drawn; 0: all."""
    top_p: float = 1.0
    """Only the likeliest tokens can be drawn that together just reach this probability, above 0; 1: all."""
    seed: int = 0
    """The same seed draws the same text again; 0 to MAX_SEED."""
    chat: bool = False
    """Whether the text is a user's message, put into the model's chat template."""
    masked: tuple[int, ...] = ()
    """The tokens to mask, by their places in `InspectableModel.tokens(text)`."""
    second_text: str = ""
    """The other sentence of a pair; none if empty."""
    read_special_tokens: bool = False
    """Whether a typed "[SEP]" or "</s>" is that special token; otherwise it is text like any other."""

    def __post_init__(self) -> None:
        _check_whole_number("beam size", self.beam_size, 1, MAX_BEAM_SIZE)
        _check_whole_number("number of new tokens", self.new_tokens, 0, MAX_NEW_TOKENS)
        _check_whole_number("top k", self.top_k, 0, MAX_TOP_K)
        _check_whole_number("seed", self.seed, 0, MAX_SEED)
        _check_number("length penalty", self.length_penalty, 0, MAX_LENGTH_PENALTY)
        _check_number("temperature", self.temperature, 0, MAX_TEMPERATURE)
        _check_number("top p", self.top_p, 0, 1)
        if not self.top_p:
            raise InputError("The top p is 0, which leaves no token to draw; it has to be above 0 and at most 1.")

    def that_count(self, abilities: frozenset[Ability]) -> dict[str, Any]:
        """By name, those that a model with these abilities does not ignore. The second text is none of them: it is
        part of what was read."""
        names = (name for name, ability in NEEDED_ABILITIES.items() if ability in abilities and name != "second_text")
        return {name: getattr(self, name) for name in names}


def _check_whole_number(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"The {name} is {value}; it has to be a whole number from {low} to {high}.")


def _check_number(name: str, value: object, low: float, high: float) -> None:
    # NaN is not in the range.
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(f"The {name} is {value}; it has to be a number from {low:g} to {high:g}.")


@dataclass(frozen=True)
class StackShape:
    """The sizes of one stack of attention layers."""

    name: str
    """As in `Inspection.stacks`."""
    heads: tuple[int, ...]
    """Number of heads of each layer."""


class InspectableModel(Protocol):
    """A loaded model. Several threads may inspect at once."""

    name: str
    """As it was asked for: a bundled model's name, a folder, a hub name."""
    family: Family
    architecture: str
    """What was loaded, say "BertForMaskedLM"."""
    abilities: frozenset[Ability]
    languages: tuple[str, str] | None
    """What a translator reads and writes, say ("English", "German"); None for all others."""
    device: torch.device
    dtype: torch.dtype
    num_parameters: int
    weights_hash: str
    """The first 12 hex digits of the SHA-256 of the weights."""
    stacks: tuple[StackShape, ...]
    """Layers and heads, as a first forward pass showed them."""
    max_tokens: int | None
    """The longest text it reads, in tokens, special tokens aside; None: no fixed limit."""
    notes: tuple[str, ...]
    """What a reader has to know about this model, as plain sentences: say, which of its layers left no record."""

    def tokens(self, text: str, read_special_tokens: bool = False) -> tuple[str, ...]:
        """Labels of the text's own tokens, special ones aside: what can be masked. Empty for an image model.

        Args:
            read_special_tokens: whether a typed "[MASK]" is one token, as with `InspectionOptions.read_special_tokens`.

        Raises:
            InputError: a text that the model cannot read.
        """
        ...

    def inspect(self, content: str | Image, options: InspectionOptions = ...) -> Inspection:
        """Answer a text (or look at an image) and record the attention of every head.

        Raises:
            InputError: an input that the model cannot read; the message is meant for the user.
            DeviceMemoryError: too little memory on a GPU.
        """
        ...
