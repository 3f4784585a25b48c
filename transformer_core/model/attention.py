"""Attention: the formula of section 3.2.1, many heads of it (3.2.2), and the masks that say who may look at whom."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Shaped[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]]:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V ("Attention Is All You Need", equation 1).

    The formula, to read. `MultiHeadAttention` computes the same with PyTorch's fused kernel.

    Args:
        query: what each position asks for.
        key: what each position offers to be found by.
        value: what each position hands over when it is attended to.
        mask: true (or 1) where attention is allowed; anything that broadcasts to (*batch, query, key).

    Returns:
        The weighted sums of the values, and the weights. A row of weights sums to 1; a query that may attend to
        nothing has weights and output of zero.

    Raises:
        ValueError: the mask holds other values than true and false, or 1 and 0.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        allowed = as_boolean_mask(mask)
        scores = scores.masked_fill(~allowed, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        # The softmax of a row of -inf is 0 / 0.
        weights = weights.masked_fill(~allowed, 0.0)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O (section 3.2.2), with d_k = d_v = d_model / h.

    The projections are matrices without bias, as the paper writes them, Xavier-uniform at the start.

    Args:
        d_model: width of the model's vectors.
        num_heads: h, the number of heads; must divide d_model.

    Raises:
        ValueError: d_model is not divisible by num_heads.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if num_heads < 1 or d_model < 1 or d_model % num_heads:
            raise ValueError(f"d_model={d_model} cannot be divided among num_heads={num_heads} heads")
        self.num_heads = num_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        for projection in (self.w_q, self.w_k, self.w_v, self.w_o):
            nn.init.xavier_uniform_(projection.weight)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        mask: Shaped[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend from every query to every key that `mask` allows.

        Args:
            mask: true (or 1) where attention is allowed; (query, key), (batch, query, key) or
                (batch, head, query, key), each size but the last also 1.

        Raises:
            ValueError: the mask holds other values than true and false, or 1 and 0.
        """
        return self.attend(query, *self.project_keys_values(key, value), mask)

    def project_keys_values(
        self, key: Float[Tensor, "batch key d_model"], value: Float[Tensor, "batch key d_model"]
    ) -> tuple[Float[Tensor, "batch head key d_k"], Float[Tensor, "batch head key d_k"]]:
        """K W^K and V W^V of every head: what a decoder keeps of earlier tokens instead of computing it again."""
        return self._split_heads(self.w_k(key)), self._split_heads(self.w_v(value))

    def attend(
        self,
        query: Float[Tensor, "batch query d_model"],
        keys: Float[Tensor, "batch head key d_k"],
        values: Float[Tensor, "batch head key d_k"],
        mask: Shaped[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend to keys and values that `project_keys_values` made."""
        queries = self._split_heads(self.w_q(query))
        if mask is not None:
            mask = as_boolean_mask(mask)
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
        heads = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
        return self.w_o(heads.transpose(1, 2).flatten(2))

    def _split_heads(self, x: Float[Tensor, "batch token d_model"]) -> Float[Tensor, "batch head token d_k"]:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


def as_boolean_mask(mask: Shaped[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
    """The mask with true for 1 and false for 0.

    Raises:
        ValueError: the mask holds other numbers, as one that is to be added to the scores does.
    """
    if mask.dtype == torch.bool:
        return mask
    if not ((mask == 0) | (mask == 1)).all():
        raise ValueError("a mask holds 1 where attention is allowed and 0 where it is not, and nothing else")
    return mask == 1


def padding_mask(token_ids: Int[Tensor, "batch key"], pad_id: int) -> Bool[Tensor, "batch 1 key"]:
    """True where a key is a real token, false where it only fills up the batch."""
    return (token_ids != pad_id).unsqueeze(1)


def causal_mask(length: int, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """True on and below the diagonal: a position sees itself and what came before (section 3.2.3)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
