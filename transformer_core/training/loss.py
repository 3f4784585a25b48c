"""Cross entropy with label smoothing (section 5.4; Szegedy et al. 2016)."""

import math

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def label_smoothed_loss(
    logits: Float[Tensor, "*batch vocab"], target_ids: Int[Tensor, "*batch"], smoothing: float, pad_id: int
) -> Float[Tensor, ""]:
    """Sum of the cross entropies, in nats, over all targets that are not padding.

    The true token's probability should be 1 - smoothing + smoothing / V, every other token's smoothing / V: PyTorch's
    convention, in which the smoothed mass goes to all V tokens, the true one among them.
    """
    return F.cross_entropy(
        logits.flatten(0, -2).float(),
        target_ids.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
        reduction="sum",
    )


def label_smoothing_floor(vocab_size: int, smoothing: float) -> float:
    """The least loss, in nats a token, that any model can reach: the entropy of the smoothed target."""
    other = smoothing / vocab_size
    true = 1 - smoothing + other
    floor = -true * math.log(true)
    if other > 0:
        floor -= (vocab_size - 1) * other * math.log(other)
    return floor
