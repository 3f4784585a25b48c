"""What the bundled models share: one recorded forward pass, and what is said of the model."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import torch
from torch import Tensor

from transformer_core.inspection import AttentionStack, Inspection, PatchImage, Prediction, Trace, record
from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.trained import TrainedModel
from transformer_core.zoo.interface import Ability, Family, InspectionOptions, StackShape
from transformer_core.zoo.provenance import provenance

TOP = 10
"""Candidates that are kept of every prediction."""

Trained = TypeVar("Trained", bound=TrainedModel)


def stacks_of(config: TransformerConfig | VisionConfig) -> tuple[StackShape, ...]:
    """The stacks of attention layers of a model of these sizes, as an inspection names them."""
    sizes = config.encoder if isinstance(config, VisionConfig) else config
    encoder, decoder = ((sizes.num_heads,) * n for n in (sizes.num_encoder_layers, sizes.num_decoder_layers))
    if encoder and decoder:
        return StackShape("encoder", encoder), StackShape("decoder", decoder), StackShape("cross", decoder)
    return (StackShape("self", encoder or decoder),)


class BundledModel(Generic[Trained]):
    """A trained model (the part of an `InspectableModel` that is the same for all kinds).

    A kind's class adds `max_tokens`, `tokens` and `inspect`. Nothing here changes after construction, so
    that threads can share it.
    """

    family: Family
    architecture: str
    abilities: frozenset[Ability]
    languages: tuple[str, str] | None = None

    def __init__(self, name: str, trained: Trained, weights_hash: str, notes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.trained = trained
        self.weights_hash = weights_hash
        self.notes = notes

    @property
    def config(self) -> TransformerConfig | VisionConfig:
        return self.trained.model.config

    @property
    def stacks(self) -> tuple[StackShape, ...]:
        return stacks_of(self.config)

    @property
    def _a_parameter(self) -> Tensor:
        return next(self.trained.model.parameters())

    @property
    def device(self) -> torch.device:
        return self._a_parameter.device

    @property
    def dtype(self) -> torch.dtype:
        return self._a_parameter.dtype

    @property
    def num_parameters(self) -> int:
        """Trained numbers; a matrix that is used twice counts once."""
        return sum(parameter.numel() for parameter in self.trained.model.parameters())

    def _record(self, run: Callable[[], Tensor]) -> tuple[Tensor, Trace]:
        """What a forward pass gives, and its attention."""
        with record(self.trained.model) as trace:
            output = run()
        # On the CPU they are exact, and a GPU's memory does not fill up with what people look at.
        return output.cpu(), Trace([call.to("cpu") for call in trace])

    def _inspection(
        self,
        text: str,
        options: InspectionOptions,
        answer: str,
        stacks: dict[str, AttentionStack],
        trace: Trace,
        seconds: float,
        notes: Sequence[str] = (),
        predictions: Sequence[Prediction] = (),
        image: PatchImage | None = None,
    ) -> Inspection:
        return Inspection(
            text=text,
            answer=answer,
            stacks=stacks,
            provenance=provenance(self),
            seconds=seconds,
            # What is true of the model is true of this result.
            notes=(*self.notes, *notes),
            certificate=trace.certificate(),
            row_sum_error=trace.row_sum_error(),
            predictions=tuple(predictions),
            image=image,
            options=options.that_count(self.abilities),
        )

    def _batch(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([ids], device=self.device)
