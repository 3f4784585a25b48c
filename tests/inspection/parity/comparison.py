"""One model recorded, beside what the library and the kernel say."""

from dataclasses import dataclass
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from tests.inspection.parity import oracles
from tests.inspection.parity.architectures import Architecture, Calls, model_of
from transformer_core.inspection import AttentionCall, NoAttentionError, record


@dataclass(frozen=True)
class Comparison:
    """What `compare` found."""

    model: str
    """Name of the model's class."""
    refusal: str = ""
    """The reason for which nothing was recorded."""
    calls: Calls = ()
    """Those that are whole maps of the text, as are all the following."""
    pieces: tuple[str, ...] = ()
    """Modules whose calls are not."""
    routes: tuple[str, ...] = ()
    keeps_maps: bool = False
    """Whether a map itself had to be kept, because the way to it was not understood."""
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
    row_sum_error: float = 0.0
    output_difference: float = 0.0
    """The largest difference from the output of a run that is not recorded, relative to the output."""
    certificate: float | None = None
    gaps: tuple[str, ...] = ()


def compare(architecture: Architecture, implementation: str) -> Comparison:
    """Record a model and compare every weight with every oracle's, and the output with an unrecorded run's."""
    model = model_of(architecture, implementation)
    unrecorded = oracles.prepared(architecture, model, architecture.dtype)()
    run = oracles.prepared(architecture, model, architecture.dtype)
    try:
        with record(model) as trace:
            recorded = run()
    except NoAttentionError as error:
        return Comparison(type(model).__name__, refusal=str(error))
    whole = [call for call in trace if call.name not in trace.pieces]
    differences, roundings, peaks, uniform, shapes = [], [], [], [], []
    for oracle in architecture.oracles[implementation]:
        true_maps = oracle(architecture, implementation, model, torch.float64)
        single = oracle(architecture, implementation, model, torch.float32)
        shapes = shapes or [tuple(each.shape) for each in true_maps]
        for call, true, rounded in zip(whole, true_maps, single, strict=True):
            maps = (call.weights(), true, rounded)
            weights, true, rounded = (_readable(each, call.weights().shape, architecture.blank) for each in maps)
            differences.append((weights - true).abs().max())
            roundings.append((rounded - true).abs().max())
            peaks.append(true.amax(-1).mean())
            uniform.append(1 / true.size(-1))
    return Comparison(
        model=type(oracles.uncompiled(model)).__name__,
        calls=tuple((call.name, call.kind) for call in whole),
        pieces=trace.pieces,
        routes=tuple(sorted({call.route for call in trace})),
        keeps_maps=any(call.query is None for call in whole),
        shapes=tuple(tuple(call.weights().shape) for call in whole),
        expected_shapes=tuple(shapes),
        difference=_largest(differences),
        rounding=_largest(roundings),
        peak=float(torch.stack(peaks).mean()) if peaks else 0.0,
        uniform=mean(uniform) if uniform else 0.0,
        row_sum_error=trace.row_sum_error(),
        blank_rows_are_zero=_blank_rows_are_zero(whole, architecture.blank),
        output_difference=_difference(recorded, unrecorded),
        certificate=trace.certificate(),
        gaps=trace.gaps(),
    )


def _largest(values: list[Tensor]) -> float:
    """NaN if one is, which Python's max may pass over."""
    return float(torch.stack([torch.zeros((), dtype=torch.float64), *values]).max())


def _readable(maps: Tensor, shape: torch.Size, blank: Tensor | None) -> Tensor:
    """In double precision and as (batch, head, query, key), rows that may attend to nothing as zeros."""
    maps = maps.detach().double().reshape(shape)
    return maps if blank is None else maps.masked_fill(blank[:, None, :, None], 0.0)


def _blank_rows_are_zero(calls: list[AttentionCall], blank: Tensor | None) -> bool:
    if blank is None:
        return True
    return all(not call.weights().transpose(1, 2)[blank].any() for call in calls)


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
