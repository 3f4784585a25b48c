"""Batches of about the same number of tokens, of sentences of about the same length (section 5.1)."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transformer_core.text.generation import pad_batch
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.data import Item, Pair, Split

Encoded = TypeVar("Encoded", bound=Sized)


@dataclass(frozen=True)
class Example:
    """A pair as token ids: the source with its end token, the target with neither begin nor end."""

    source: list[int]
    target: list[int]


def encode_pairs(pairs: Iterable[Pair], tokenizer: Tokenizer, max_length: int) -> dict[Pair, Example]:
    """Token ids of the pairs that have at most `max_length` tokens a side, an end token each included."""
    examples = {
        pair: Example([*tokenizer.encode(pair.source), tokenizer.eos_id], tokenizer.encode(pair.target))
        for pair in pairs
    }
    return {pair: e for pair, e in examples.items() if max(len(e.source), len(e.target) + 1) <= max_length}


def encode_sides(
    split: Split[Item], encode: Callable[[list[Item]], Encoded], max_length: int, noun: str
) -> tuple[dict[str, Encoded], list[str]]:
    """Token ids of what is for training, validation and test, and in a line each what of it was too long.

    Args:
        encode: gives those of items that have at most `max_length` tokens.
        noun: what an item is.

    Raises:
        ValueError: all of a side is too long.
    """
    sides, left_out = {}, []
    for name, items in vars(split).items():
        sides[name] = encode(items)
        if not sides[name]:
            raise ValueError(f"no {name} {noun} has at most {max_length} tokens: use a larger --max-length")
        if fewer := len(items) - len(sides[name]):
            left_out.append(f"{fewer:,} {name} {noun}s of more than {max_length} tokens left out")
    return sides, left_out


@dataclass(frozen=True)
class Batch:
    """What one step reads, and what it should say."""

    source_ids: Int[Tensor, "batch source"]
    target_ids: Int[Tensor, "batch target"]
    """Begin token and target: the decoder's input."""
    label_ids: Int[Tensor, "batch target"]
    """Target and end token: the decoder's output, one position earlier."""


def plan_batches(examples: Sequence[Example], batch_tokens: int, seed: tuple[int, ...]) -> list[list[int]]:
    """`plan_by_length` of examples, by the lengths of their targets and, among equals, of their sources."""
    return plan_by_length(np.array([(len(e.target) + 1, len(e.source)) for e in examples]), batch_tokens, seed)


def plan_by_length(
    lengths: Int[np.ndarray, "example side"], batch_tokens: int, seed: tuple[int, ...]
) -> list[list[int]]:
    """Indices of examples, batch by batch: every example once, the batches in random order.

    Args:
        lengths: tokens of every example, on one side or on several.
        batch_tokens: most tokens a batch may have on any side, padding counted. A single longer example is a
            batch of its own.
        seed: the same seed makes the same plan.
    """
    random = np.random.default_rng(seed)
    # A little noise on the lengths mixes neighbours anew in every epoch and costs next to no padding.
    noisy = lengths + random.random(lengths.shape)
    order = np.lexsort((noisy[:, -1], lengths[:, 0]))
    batches: list[list[int]] = []
    longest = 0
    for index in order.tolist():
        needed = max(longest, int(lengths[index].max()))
        if batches and needed * (len(batches[-1]) + 1) <= batch_tokens:
            batches[-1].append(index)
            longest = needed
        else:
            batches.append([index])
            longest = int(lengths[index].max())
    return [batches[i] for i in random.permutation(len(batches))]


def make_batch(examples: Sequence[Example], tokenizer: Tokenizer) -> Batch:
    """Pad examples to one length a side."""
    return Batch(
        source_ids=pad_batch([e.source for e in examples], tokenizer.pad_id),
        target_ids=pad_batch([[tokenizer.bos_id, *e.target] for e in examples], tokenizer.pad_id),
        label_ids=pad_batch([[*e.target, tokenizer.eos_id] for e in examples], tokenizer.pad_id),
    )


AnyBatch = TypeVar("AnyBatch", bound=Any)


def own_share(batch: AnyBatch, rank: int, world_size: int, no_label: int) -> AnyBatch:
    """The rows of a batch that one of `world_size` processes works on: every world_size-th.

    A process that is left without a row gets one without labels, which counts for nothing.

    Args:
        batch: a dataclass of tensors whose first dimension is the rows, one of them `label_ids`.
        no_label: stands in the place of a label where there is none.
    """
    is_idle = rank >= len(batch.label_ids)
    rows = slice(0, 1) if is_idle else slice(rank, None, world_size)
    share = dataclasses.replace(batch, **{name: tensor[rows] for name, tensor in vars(batch).items()})
    if is_idle:
        share = dataclasses.replace(share, label_ids=torch.full_like(share.label_ids, no_label))
    return share
