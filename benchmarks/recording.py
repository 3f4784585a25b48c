"""What recording attention costs: time and memory, beside a plain forward pass and beside asking for the maps."""

import copy
import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from tqdm import tqdm

from benchmarks.report import Report, Row, machine, paired_ratio
from transformer_core.device import choose_device
from transformer_core.inspection import AttentionCall, Trace, record

LENGTHS = (64, 128, 512, 1024, 2048)
TILE = 256

NOTES = [
    "plain: the forward pass on the fused kernel. recorded: the same, inside `record`.",
    "maps: the model asked for its attention weights (eager, output_attentions=True), as other tools do.",
    "peak: the most memory that tensors take at any time of a forward pass, the parameters not counted.",
    "kept: what is there to look at afterwards: the trace, or the maps.",
    "head: one head's weights of one layer, from the trace. tile: the same for at most 256 x 256 tokens of it.",
]


def benchmark(lengths: Sequence[int], device: str, repeats: int) -> Report:
    """Measure a model of BERT-base's shape with random weights, one text at a time.

    Args:
        lengths: numbers of tokens.
        repeats: forward passes of each way and length.
    """
    from transformers import BertConfig

    config = BertConfig(max_position_embeddings=max(lengths, default=0))
    return compare(config, lengths, choose_device(device), repeats)


def compare(config: Any, lengths: Sequence[int], device: torch.device, repeats: int) -> Report:
    """Milliseconds of a forward pass in each way, the ways taking turns, at every length.

    Args:
        config: a transformers configuration.
    """
    from transformers import AutoModel

    if not all(length > 1 for length in lengths):
        raise ValueError(f"a text needs at least 2 tokens, not {min(lengths)}")
    torch.manual_seed(0)
    # Each with a configuration of its own: the model obeys what is written there last.
    fused, eager = (
        AutoModel.from_config(copy.deepcopy(config), attn_implementation=each).to(device).eval()
        for each in ("sdpa", "eager")
    )
    eager.load_state_dict(fused.state_dict(), assign=True)
    ways: dict[str, Callable[[Tensor], Any]] = {
        "plain": fused,
        "recorded": lambda ids: _recorded(fused, ids),
        "maps": lambda ids: eager(ids, output_attentions=True),
    }
    rows = []
    with torch.no_grad():
        for length in tqdm(lengths, unit="length"):
            ids = torch.randint(config.vocab_size, (1, length), device=device)
            rows += _rows_of(ways, ids, repeats)
    return Report(
        title="Recording: milliseconds of a forward pass",
        unit="ms",
        rows=rows,
        ratio="how many times as long as the plain forward pass of the same length (median over the rounds)",
        conditions=machine(device)
        | {
            "model": f"{type(fused).__name__} with random weights, {config.num_hidden_layers} layers x "
            f"{config.num_attention_heads} heads, d_model {config.hidden_size}, one text at a time, float32",
            "rounds": f"{repeats} for each length",
        },
        notes=NOTES,
    )


def _rows_of(ways: dict[str, Callable[[Tensor], Any]], ids: Tensor, repeats: int) -> list[Row]:
    """What the ways cost for one text."""
    peaks = {name: _peak_memory(lambda way=way: way(ids), ids.device) for name, way in ways.items()}  # a warm-up too
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            seconds[name].append(_seconds(lambda way=way: way(ids), ids.device))
    trace = ways["recorded"](ids)
    kept = {"recorded": _bytes_of(trace), "maps": sum(each.nbytes for each in ways["maps"](ids).attentions)}
    looking = _time_to_look(trace[len(trace) // 2], ids.device, repeats)
    return [
        Row(
            f"{ids.size(1):,} tokens, {name}",
            [1000 * each for each in own],
            paired_ratio(own, seconds["plain"]) if name != "plain" else None,
            more={"peak MB": peaks[name] / 1e6}
            | ({"kept MB": kept[name] / 1e6} if name in kept else {})
            | (looking if name == "recorded" else {}),
        )
        for name, own in seconds.items()
    ]


def _recorded(model: nn.Module, ids: Tensor) -> Trace:
    with record(model) as trace:
        model(ids)
    return trace


def _time_to_look(call: AttentionCall, device: torch.device, repeats: int) -> dict[str, float]:
    """Milliseconds until one head's weights are there, and those of a part of it."""
    part = slice(0, TILE)
    head = sorted(_seconds(lambda: call.weights(head=0), device) for _ in range(repeats + 1))
    tile = sorted(_seconds(lambda: call.tile(0, part, part), device) for _ in range(repeats + 1))
    return {"head ms": 1000 * head[len(head) // 2], "tile ms": 1000 * tile[len(tile) // 2]}


def _seconds(run: Callable[[], Any], device: torch.device) -> float:
    start = time.perf_counter()
    result = run()  # freed after the clock is read, whatever it is
    if device.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    del result
    return seconds


def _peak_memory(run: Callable[[], Any], device: torch.device) -> int:
    """The most bytes that tensors take at any time while `run` runs, beyond those there before."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        return torch.cuda.max_memory_allocated() - before
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler says on the terminal that it starts
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        result = run()
    del result
    now = peak = 0
    # No public function of the profiler gives the single allocations.
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return peak


def _bytes_of(trace: Trace) -> int:
    """What the calls of a trace keep; a tensor that several share counts once."""
    kept = {}
    for call in trace:
        for field in dataclasses.fields(call):
            value = getattr(call, field.name)
            if isinstance(value, Tensor):
                kept[value.data_ptr()] = value.nbytes
    return sum(kept.values())
