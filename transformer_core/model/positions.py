"""How a position becomes a vector (section 3.5)."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

BASE = 10_000.0
"""The constant under the exponent in the paper's formula."""


WAVELENGTH_LIMIT = 2 * math.pi * BASE
"""In positions: no wavelength reaches it, because the last exponent is (d_model - 2) / d_model and not 1."""


def angular_frequencies(d_model: int) -> Float[Tensor, " pair"]:
    """1 / 10000^(2i / d_model) for every sine-cosine pair i, in radians a position, float64.

    Raises:
        ValueError: d_model is smaller than 1.
    """
    if d_model < 1:
        raise ValueError(f"d_model={d_model} is too small: it must be at least 1")
    return BASE ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def sinusoidal_encoding(length: int, d_model: int, start: int = 0) -> Float[Tensor, "length d_model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model)) (section 3.5).

    Computed in float64, returned in float32. An odd d_model ends on a sine without its cosine.

    Args:
        length: number of positions.
        d_model: number of dimensions.
        start: the first position.

    Raises:
        ValueError: a negative length or start, or d_model smaller than 1.
    """
    if length < 0 or start < 0:
        raise ValueError(f"positions from start={start}, length={length} must not be negative")
    positions = torch.arange(start, start + length, dtype=torch.float64)
    angles = torch.outer(positions, angular_frequencies(d_model))
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return pairs.flatten(1)[:, :d_model].float()


def wavelengths(d_model: int) -> Float[Tensor, " pair"]:
    """2 pi 10000^(2i / d_model): after so many positions pair i has gone round once. In positions, float64.

    The paper speaks of a progression "from 2 pi to 10000 * 2 pi"; the second is the limit for large d_model, and is
    not reached (512 dimensions end at 60,611).
    """
    return 2 * math.pi / angular_frequencies(d_model)


def offset_dot_products(d_model: int, max_offset: int, position: int = 0) -> Float[Tensor, " offset"]:
    """PE(p) . PE(p + k) for k = 0 ... max_offset, with p = `position`, summed in float64.

    sin a sin b + cos a cos b = cos(a - b), so for an even d_model the product depends on the offset k alone, and at
    k = 0 it is d_model / 2. With an odd d_model the last sine lacks its cosine, and its part depends on p too.

    Raises:
        ValueError: a negative max_offset or position, or d_model smaller than 1.
    """
    if max_offset < 0:
        raise ValueError(f"max_offset={max_offset} must not be negative")
    encoding = sinusoidal_encoding(max_offset + 1, d_model, start=position).double()
    return encoding @ encoding[0]


def largest_difference(curves: Sequence[Float[Tensor, " offset"]]) -> float:
    """How far apart the curves are, at the offset where they are farthest apart; 0 for a single one."""
    stacked = torch.stack(list(curves))
    return (stacked.amax(0) - stacked.amin(0)).max().item()
