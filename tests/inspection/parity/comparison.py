"""One model recorded, beside what the library and the kernel say."""

from dataclasses import dataclass
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from tests.inspection.parity.architectures import Architecture, Calls, model_of
from tests.inspection.parity.oracles import prepared
from transformer_core.inspection import NoAttentionError, record
from transformer_core.inspection.trace import Trace


@dataclass(frozen=True)
class Comparison:
    """What `compare` found."""

    model: str
    """Name of the model's class."""
    refusal: str = ""
    """The reason for which nothing was recorded."""
    calls: Calls = ()
    routes: tuple[str, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    expected_shapes: tuple[tuple[int, ...], ...] = ()
    difference: float = 0.0
    """The largest |weight - true weight| of all calls, heads and rows."""
    rounding: float = 0.0
    """How far the library's or the kernel's own weights in single precision are from the true ones."""
    peak: float = 0.0
    """The mean of the largest weight of each row: maps that are near uniform prove little."""
    uniform: float = 0.0
    """What it would be if they were."""
    blank_rows_are_zero: bool = True
    output_difference: float = 0.0
    """The largest difference from the output of a run that is not recorded, relative to the output."""
    certificate: float | None = None
    gaps: tuple[str, ...] = ()


def compare(architecture: Architecture, implementation: str) -> Comparison:
    """Record a model and compare every weight with every oracle's, and the output with an unrecorded run's."""
    model = model_of(architecture, implementation)
    unrecorded = prepared(architecture, model, architecture.dtype)()
    run = prepared(architecture, model, architecture.dtype)
    try:
        with record(model) as trace:
            recorded = run()
    except NoAttentionError as error:
        return Comparison(type(model).__name__, refusal=str(error))
    differences, roundings, peaks, uniform, shapes = [], [], [], [], []
    for oracle in architecture.oracles[implementation]:
        true_maps = oracle(architecture, implementation, model, torch.float64)
        single = oracle(architecture, implementation, model, torch.float32)
        shapes = shapes or [tuple(each.shape) for each in true_maps]
        for call, true, rounded in zip(trace, true_maps, single, strict=True):
            true, rounded = (_readable(each, call.weights().shape, architecture.blank) for each in (true, rounded))
            weights = _readable(call.weights(), call.weights().shape, architecture.blank)
            differences.append((weights - true).abs().max())
            roundings.append((rounded - true).abs().max())
            peaks.append(true.amax(-1).mean())
            uniform.append(1 / true.size(-1))
    return Comparison(
        model=type(model).__name__,
        calls=tuple((call.name, call.kind) for call in trace),
        routes=tuple(sorted({call.route for call in trace})),
        shapes=tuple(tuple(call.weights().shape) for call in trace),
        expected_shapes=tuple(shapes),
        difference=float(torch.stack(differences).max()),
        rounding=float(torch.stack(roundings).max()),
        peak=float(torch.stack(peaks).mean()),
        uniform=mean(uniform),
        blank_rows_are_zero=_blank_rows_are_zero(trace, architecture.blank),
        output_difference=_difference(recorded, unrecorded),
        certificate=trace.certificate(),
        gaps=trace.gaps(),
    )


def _readable(maps: Tensor, shape: torch.Size, blank: Tensor | None) -> Tensor:
    """In double precision and as (batch, head, query, key), rows that may attend to nothing as zeros."""
    maps = maps.detach().double().reshape(shape)
    return maps if blank is None else maps.masked_fill(blank[:, None, :, None], 0.0)


def _blank_rows_are_zero(trace: Trace, blank: Tensor | None) -> bool:
    if blank is None:
        return True
    return all(not call.weights().transpose(1, 2)[blank].any() for call in trace)


def _difference(recorded: Any, unrecorded: Any) -> float:
    """The largest relative difference of two outputs. What is neither a tensor nor holds some is left out: caches."""
    if isinstance(recorded, Tensor):
        if torch.equal(recorded, unrecorded):
            return 0.0
        return float((recorded - unrecorded).abs().max() / unrecorded.abs().max())
    if isinstance(recorded, dict):
        recorded, unrecorded = tuple(recorded.values()), tuple(unrecorded.values())
    if isinstance(recorded, tuple | list):
        pairs = zip(recorded, unrecorded, strict=True)
        return max([0.0, *(_difference(mine, its) for mine, its in pairs)])
    return 0.0
