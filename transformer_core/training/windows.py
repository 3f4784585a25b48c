"""A long text as windows of equal length, each of which a language model reads from a begin token on."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transformer_core.training.task import NO_LABEL


@dataclass(frozen=True)
class TokenBatch:
    """What a model reads, and what it should say at each position; NO_LABEL where nothing."""

    token_ids: Int[Tensor, "batch token"]
    label_ids: Int[Tensor, "batch token"]


def window_starts(tokens: int, length: int, offset: int = 0) -> list[int]:
    """Where windows begin, to cover the tokens from `offset` on, each once. The last one is full."""
    return list(range(offset, tokens - length + 1, length))


def window_batch(
    stream: Int[np.ndarray, " token"], starts: list[int], length: int, bos_id: int, pad_id: int
) -> TokenBatch:
    """Windows of the stream: each token is the label of the one before it, the window's first that of a begin token.

    A window that reaches beyond the end of the stream is padded.
    """
    token_ids = torch.full((len(starts), length), pad_id)
    label_ids = torch.full((len(starts), length), NO_LABEL)
    token_ids[:, 0] = bos_id
    for row, start in enumerate(starts):
        window = torch.from_numpy(stream[start : start + length])
        label_ids[row, : len(window)] = window
        token_ids[row, 1 : len(window)] = window[:-1]
    return TokenBatch(token_ids, label_ids)
