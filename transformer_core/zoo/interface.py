"""What every kind of model offers to those who want to look inside."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from transformer_core.inspection import Inspection
from transformer_core.text import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY


class InputError(ValueError):
    """Something a user can put right. The message says what was wrong and what to do, and is shown as it is."""


class DeviceMemoryError(RuntimeError):
    """The GPU has too little memory; the same on the CPU may work."""


@dataclass(frozen=True)
class DecodingOptions:
    """How a model looks for its answer.

    Raises:
        InputError: a value outside its range.
    """

    beam_size: int = 4
    """Hypotheses kept at every step, 1 to MAX_BEAM_SIZE; 1 is greedy search."""
    length_penalty: float = 0.6
    """Alpha of the length penalty, 0 to MAX_LENGTH_PENALTY: the larger, the longer the answers beam search prefers."""

    def __post_init__(self) -> None:
        beam_size, alpha = self.beam_size, self.length_penalty
        if isinstance(beam_size, bool) or not isinstance(beam_size, int) or not 1 <= beam_size <= MAX_BEAM_SIZE:
            raise InputError(f"The beam size is {beam_size}; it has to be a whole number from 1 to {MAX_BEAM_SIZE}.")
        # Written so that NaN is refused too.
        if not isinstance(alpha, int | float) or not 0 <= alpha <= MAX_LENGTH_PENALTY or math.isnan(alpha):
            raise InputError(f"The length penalty is {alpha}; it has to be a number from 0 to {MAX_LENGTH_PENALTY:g}.")


class InspectableModel(Protocol):
    """A loaded model. Several threads may inspect at once."""

    name: str
    device: torch.device
    config: Any
    """The model's sizes."""
    num_parameters: int
    max_tokens: int
    """The longest text it reads, in tokens, special tokens aside."""
    family: str
    """What kind of model it is, say "translator"."""
    source_language: str
    """The language that it reads, say "English"."""
    target_language: str
    """The language that it answers in, say "German"."""

    def inspect(self, text: str, options: DecodingOptions = ...) -> Inspection:
        """Answer a text and record the attention of every head.

        Raises:
            InputError: a text that the model cannot read; the message is meant for the user.
            DeviceMemoryError: too little memory on a GPU.
        """
        ...
