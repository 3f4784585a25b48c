"""What all Hugging Face models share: one recorded forward pass, laid over the tokens that it read."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers.utils import ModelOutput

from transformer_core.inspection import (
    AttentionCall,
    AttentionStack,
    Inspection,
    NoAttentionError,
    PatchImage,
    Prediction,
    Trace,
    record,
)
from transformer_core.zoo.axis import Axis, stack_of
from transformer_core.zoo.device_memory import device_memory
from transformer_core.zoo.hugging_face.messages import first_line
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.interface import Ability, InputError, InspectionOptions, StackShape
from transformer_core.zoo.provenance import provenance

ELSEWHERE = "as when a model attends within windows or chunks, or pools tokens"


Axes = Mapping[str, tuple[Axis, Axis]]
"""Rows and columns of every stack, by its name: "self" alone, or "encoder", "decoder" and "cross"."""


@dataclass(frozen=True)
class Recording:
    """One forward pass and the attention on its way."""

    outputs: ModelOutput
    stacks: dict[str, AttentionStack]
    """Those that have layers."""
    trace: Trace
    """The calls in `stacks`, on the CPU."""
    notes: tuple[str, ...]
    """What is missing, as plain sentences."""


class HuggingFaceModel:
    """A loaded checkpoint (the part of an `InspectableModel` that is the same for all families).

    A family's class adds `_probe`, which records a pass over a minimal input, and `tokens` and `inspect`. Nothing here
    changes after construction, so that threads can share it.
    """

    abilities: frozenset[Ability]
    languages = None
    max_tokens: int | None

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.network = checkpoint.model
        self.config = checkpoint.model.config
        self.name = checkpoint.name
        self.family = checkpoint.family
        self.architecture = checkpoint.architecture
        self.weights_hash = checkpoint.weights_hash
        self.device: torch.device = checkpoint.model.device
        self.dtype: torch.dtype = checkpoint.model.dtype
        self.num_parameters: int = sum(parameter.numel() for parameter in checkpoint.model.parameters())
        self._parameters = inspect.signature(checkpoint.model.forward).parameters
        if self.config.is_encoder_decoder:
            encoder = self.network.get_encoder()
            self._encoder_path = next(name for name, module in self.network.named_modules() if module is encoder)
        self._prepare(checkpoint)
        recording = self._first_recording()
        self.stacks: tuple[StackShape, ...] = tuple(
            StackShape(name, tuple(call.num_heads for call in stack.calls)) for name, stack in recording.stacks.items()
        )
        self._lasting_notes = (*checkpoint.notes, *self._about_layers(recording))
        self.notes: tuple[str, ...] = (*self._lasting_notes, *recording.notes)

    def _prepare(self, checkpoint: Checkpoint) -> None:
        """Take from the checkpoint what the family needs, before the first pass."""

    def _first_recording(self) -> Recording:
        try:
            recording = self._probe()
            # Some models change with their first input: BigBird then attends in full rather than in blocks.
            return self._probe() if recording.notes else recording
        except InputError as error:
            raise ValueError(str(error)) from error

    def _probe(self) -> Recording:
        """A pass over a minimal input."""
        raise NotImplementedError

    def _about_layers(self, recording: Recording) -> Iterator[str]:
        """What a reader has to know about the layers, beyond what the recording says."""
        layers = getattr(self.config.get_text_config(), "num_hidden_layers", None)
        shown = len(recording.stacks.get("self", ()))
        if isinstance(layers, int) and 0 < shown < layers:
            yield f"Of its {layers:,} layers {shown:,} can be shown. They are numbered without the others."
        if any(call.sinks is not None for call in recording.trace):
            yield (
                "Its heads have attention sinks: a part of each row's attention goes to no token, so the weights of a "
                "row sum to less than 1."
            )

    def _accepts(self, argument: str) -> bool:
        """Whether the network takes an argument of this name."""
        return argument in self._parameters

    def _batch(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor([numbers], device=self.device)

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Around all that runs the network."""
        with device_memory(), torch.inference_mode():
            yield

    @contextmanager
    def _failing_in_words(self) -> Iterator[None]:
        """Around the checkpoint's own code, which may fail in any way.

        What it says is more use to its owner than a traceback.
        """
        try:
            yield
        except NoAttentionError as error:
            raise InputError(
                f"{self.architecture} (model type {self.config.model_type!r}) cannot be inspected. {error}"
            ) from error
        except Exception as error:
            if "out of memory" in str(error):
                raise
            raise InputError(
                f"{self.architecture} failed on what it was given. {type(error).__name__}: {first_line(error)}"
            ) from error

    def _record(self, inputs: Mapping[str, Any], axes: Axes) -> Recording:
        """Run the network once, recorded.

        Raises:
            InputError: the network failed, no attention was seen, or none of it fits the tokens.
        """
        return self._lay_over(*self._run(inputs), axes)

    def _run(self, inputs: Mapping[str, Any]) -> tuple[ModelOutput, Trace]:
        with self._failing_in_words(), record(self.network) as trace:
            outputs = self.network(**inputs, return_dict=True)
        # On the CPU they are exact, and a GPU's memory does not fill up with what people look at.
        return outputs, replace(trace, calls=[call.to("cpu") for call in trace])

    def _lay_over(self, outputs: ModelOutput, trace: Trace, axes: Axes) -> Recording:
        stacks, left_out = {}, []
        for name, (rows, columns) in axes.items():
            of_stack = [call for call in trace if self._stack_of(call, axes) == name]
            # A piece of a map may be as large as a whole one, by chance.
            whole = [call for call in of_stack if call.name not in trace.pieces]
            fitting = [call for call in whole if _shape(call) == (1, len(rows.tokens), len(columns.tokens))]
            left_out += [call for call in of_stack if call not in fitting]
            if fitting:
                stacks[name] = stack_of(name, fitting, rows, columns)
        if not stacks:
            raise InputError(
                f"The attention of {self.architecture} cannot be laid over its tokens. Its maps, {_shapes(left_out)}, "
                f"are not tokens by tokens, {ELSEWHERE}."
            )
        notes = trace.gaps()
        if left_out:
            notes += (
                f"{len(left_out):,} of {len(trace):,} attention calls are left out: their maps, {_shapes(left_out)}, "
                f"do not fit the tokens, {ELSEWHERE}.",
            )
        shown = [call for stack in stacks.values() for call in stack.calls]
        return Recording(outputs, stacks, replace(trace, calls=shown), notes)

    def _stack_of(self, call: AttentionCall, axes: Axes) -> str:
        if "self" in axes:
            return "self"
        if call.name.startswith(f"{self._encoder_path}."):
            return "encoder"
        return "cross" if call.kind == "cross" else "decoder"

    def _inspection(
        self,
        text: str,
        options: InspectionOptions,
        recordings: Sequence[Recording],
        stacks: dict[str, AttentionStack],
        answer: str,
        seconds: float,
        notes: Sequence[str] = (),
        second_text: str = "",
        predictions: Sequence[Prediction] = (),
        image: PatchImage | None = None,
    ) -> Inspection:
        trace = Trace([call for recording in recordings for call in recording.trace])
        of_recordings = [note for recording in recordings for note in recording.notes]
        return Inspection(
            text=text,
            answer=answer,
            stacks=stacks,
            provenance=provenance(self),
            seconds=seconds,
            # What is true of the model is true of this result. Two texts of one model may have the same to say.
            notes=tuple(dict.fromkeys((*self._lasting_notes, *of_recordings, *notes))),
            certificate=trace.certificate(),
            row_sum_error=trace.row_sum_error(),
            second_text=second_text,
            predictions=tuple(predictions),
            image=image,
            options=options.that_count(self.abilities),
        )

    def _about_output(self, output: Tensor) -> list[str]:
        """A note if the model's output is broken."""
        if not output.isnan().any():
            return []
        advice = (
            ""
            if self.dtype == torch.float32
            else f" {str(self.dtype).removeprefix('torch.')} may be too narrow for it: try float32."
        )
        return [f"The model's output holds NaN (not a number), so it predicts nothing here.{advice}"]


def _shape(call: AttentionCall) -> tuple[int, int, int]:
    return call.batch_size, call.num_queries, call.num_keys


def _shapes(calls: Sequence[AttentionCall]) -> str:
    """Say "4 pieces of 9 × 9"."""
    shapes = dict.fromkeys(_shape(call) for call in calls)
    return ", ".join(
        f"{f'{pieces} pieces of ' if pieces > 1 else ''}{rows} × {columns}" for pieces, rows, columns in shapes
    )
