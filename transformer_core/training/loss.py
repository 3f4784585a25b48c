"""Cross entropy: of the next token, and with label smoothing (section 5.4; Szegedy et al. 2016)."""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.model import LanguageModel
from transformer_core.training.task import NO_LABEL
from transformer_core.training.windows import TokenBatch


def next_token_loss(model: LanguageModel, batch: TokenBatch) -> Float[Tensor, ""]:
    """Sum of the cross entropies, in nats, over all labels."""
    logits = model(batch.token_ids).flatten(0, 1).float()
    return F.cross_entropy(logits, batch.label_ids.flatten(), ignore_index=NO_LABEL, reduction="sum")


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
