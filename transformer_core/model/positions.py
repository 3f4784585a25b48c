"""How the order of tokens is told to attention, which alone knows none.

"sinusoidal" (section 3.5) and "learned" are vectors added to the tokens'; "rotary" turns queries and keys; "alibi" and
"relative" are added to the scores.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.model.config import TransformerConfig

BASE = 10_000.0
"""The constant under the exponent in the paper's formula."""

NUM_BUCKETS = 32
"""Of relative distances, as in T5."""

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


def rotate(x: Float[Tensor, "*batch position d"], start: int = 0) -> Float[Tensor, "*batch position d"]:
    """Turn each pair of dimensions (2i, 2i+1) of the vector at position m by the angle m / 10000^(2i/d).

    Rotary position embedding (Su et al. 2021, "RoFormer", equations 14, 15 and 34): the dot product of a turned query
    and a turned key depends on their vectors and on how far apart they stand.

    Args:
        x: queries or keys; d must be even.
        start: position of the first vector.

    Raises:
        ValueError: an odd d, which leaves a dimension without its pair.
    """
    length, d = x.shape[-2:]
    if d % 2:
        raise ValueError(f"rotary positions turn pairs of dimensions, and d={d} is odd")
    positions = torch.arange(start, start + length, dtype=torch.float64)
    angles = torch.outer(positions, angular_frequencies(d))
    cos, sin = (part.to(device=x.device, dtype=x.dtype) for part in (angles.cos(), angles.sin()))
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def alibi_slopes(num_heads: int) -> Float[Tensor, " head"]:
    """The geometric sequence that begins at 2^(-8/n) with that same ratio (Press et al. 2022, "ALiBi", section 3).

    Where n is no power of two, the published code takes the slopes of the next smaller power, then every other slope
    of twice that power.

    Raises:
        ValueError: num_heads is smaller than 1.
    """
    if num_heads < 1:
        raise ValueError(f"num_heads={num_heads} is too small: it must be at least 1")
    power = 2 ** (num_heads.bit_length() - 1)
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    slopes += [2 ** (-4 * (i + 1) / power) for i in range(0, 2 * (num_heads - power), 2)]
    return torch.tensor(slopes)


def relative_buckets(
    distances: Int[Tensor, "*shape"], bidirectional: bool, num_buckets: int = NUM_BUCKETS, max_distance: int = 128
) -> Int[Tensor, "*shape"]:
    """The bucket that T5 puts a distance into (Raffel et al. 2020, section 2.1).

    Half of the buckets are for one distance each; the other half grow with the logarithm up to `max_distance`, beyond
    which all distances share the last one.

    Args:
        distances: position of the key minus position of the query.
        bidirectional: whether keys after the query have buckets of their own (the upper half; the encoder). Without,
            all of them share bucket 0 with the query's own position.
    """
    buckets = torch.zeros_like(distances)
    if bidirectional:
        num_buckets //= 2
        buckets = (distances > 0).long() * num_buckets
        back = distances.abs()
    else:
        back = (-distances).clamp(min=0)
    exact = num_buckets // 2
    # Float32, as the published code computes it: at the edges of the buckets the rounding counts.
    share = torch.log(back.float().clamp(min=1) / exact) / math.log(max_distance / exact)
    far = (exact + (share * (num_buckets - exact)).long()).clamp(max=num_buckets - 1)
    return buckets + torch.where(back < exact, back, far)


class PositionBias(nn.Module):
    """What relative positions add to the scores of every layer of a stack.

    Args:
        bidirectional: whether queries see keys after them (an encoder).
    """

    def __init__(self, bidirectional: bool) -> None:
        super().__init__()
        self.bidirectional = bidirectional

    def distances(
        self, num_queries: int, num_keys: int, device: torch.device, start: int = 0
    ) -> Int[Tensor, "query key"]:
        """Position of the key minus position of the query; the first query stands at `start`."""
        keys = torch.arange(num_keys, device=device)
        return keys - torch.arange(start, start + num_queries, device=device).unsqueeze(1)


class RelativeBias(PositionBias):
    """T5's learned number for every head and every bucket of distances, shared by all layers of a stack."""

    def __init__(self, num_heads: int, bidirectional: bool) -> None:
        super().__init__(bidirectional)
        self.buckets = nn.Embedding(NUM_BUCKETS, num_heads)

    def forward(
        self, num_queries: int, num_keys: int, device: torch.device, start: int = 0
    ) -> Float[Tensor, "head query key"]:
        distances = self.distances(num_queries, num_keys, device, start)
        return self.buckets(relative_buckets(distances, self.bidirectional)).permute(2, 0, 1)


class Alibi(PositionBias):
    """Minus a slope for each head times the distance (Press et al. 2022); nothing is learned.

    The paper defines it for keys before the query; an encoder here counts the distance both ways alike.
    """

    def __init__(self, num_heads: int, bidirectional: bool) -> None:
        super().__init__(bidirectional)
        self.register_buffer("slopes", alibi_slopes(num_heads), persistent=False)

    def forward(
        self, num_queries: int, num_keys: int, device: torch.device, start: int = 0
    ) -> Float[Tensor, "head query key"]:
        distances = self.distances(num_queries, num_keys, device, start).abs()
        return -self.slopes.to(device).view(-1, 1, 1) * distances


def position_bias(config: TransformerConfig, bidirectional: bool) -> PositionBias | None:
    """The bias of a stack's self-attention; None where positions are told in another way."""
    if config.positions == "relative":
        return RelativeBias(config.num_heads, bidirectional)
    return Alibi(config.num_heads, bidirectional) if config.positions == "alibi" else None
