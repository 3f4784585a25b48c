"""Attention: the formula of section 3.2.1, many heads of it (3.2.2), and the masks that say who may look at whom."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from transformer_core.model.positions import rotate


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
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O (section 3.2.2), with d_k = d_v.

    The projections are matrices without bias, as the paper writes them, Xavier-uniform at the start. The rest of the
    arguments are for the paper's descendants.

    Args:
        d_model: width of the model's vectors.
        num_heads: h, the number of heads.
        d_head: d_k = d_v; d_model / num_heads if not given.
        bias: whether the projections have a bias.
        scale_scores: whether the scores are divided by sqrt(d_k).
        rotary: whether queries and keys are turned by their positions (`transformer_core.model.positions.rotate`).

    Raises:
        ValueError: d_model is not divisible by num_heads, and there is no d_head.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_head: int | None = None,
        bias: bool = False,
        scale_scores: bool = True,
        rotary: bool = False,
    ) -> None:
        super().__init__()
        if num_heads < 1 or d_model < 1 or (d_head is None and d_model % num_heads):
            raise ValueError(f"d_model={d_model} cannot be divided among num_heads={num_heads} heads")
        inner = num_heads * (d_head or d_model // num_heads)
        self.num_heads = num_heads
        self.scale = None if scale_scores else 1.0
        self.rotary = rotary
        self.w_q = nn.Linear(d_model, inner, bias=bias)
        self.w_k = nn.Linear(d_model, inner, bias=bias)
        self.w_v = nn.Linear(d_model, inner, bias=bias)
        self.w_o = nn.Linear(inner, d_model, bias=bias)
        for projection in (self.w_q, self.w_k, self.w_v, self.w_o):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        mask: Shaped[Tensor, "..."] | None = None,
        bias: Float[Tensor, "head query key"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend from every query to every key that `mask` allows.

        Args:
            mask: true (or 1) where attention is allowed; (query, key), (batch, query, key) or
                (batch, head, query, key), each size but the last also 1.
            bias: added to the scores after they are scaled, as relative positions are.

        Raises:
            ValueError: the mask holds other values than true and false, or 1 and 0.
        """
        return self.attend(query, *self.project_keys_values(key, value), mask, bias)

    def project_keys_values(
        self,
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        start: int = 0,
    ) -> tuple[Float[Tensor, "batch head key d_k"], Float[Tensor, "batch head key d_k"]]:
        """K W^K and V W^V of every head: what a decoder keeps of earlier tokens instead of computing it again.

        Args:
            start: position of the first key; only rotary positions ask for it.
        """
        keys = self._split_heads(self.w_k(key))
        return rotate(keys, start) if self.rotary else keys, self._split_heads(self.w_v(value))

    def attend(
        self,
        query: Float[Tensor, "batch query d_model"],
        keys: Float[Tensor, "batch head key d_k"],
        values: Float[Tensor, "batch head key d_k"],
        mask: Shaped[Tensor, "..."] | None = None,
        bias: Float[Tensor, "head query key"] | None = None,
        start: int = 0,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend to keys and values that `project_keys_values` made.

        Args:
            start: position of the first query; only rotary positions ask for it.
        """
        queries = self._split_heads(self.w_q(query))
        if self.rotary:
            queries = rotate(queries, start)
        if mask is not None:
            mask = as_boolean_mask(mask)
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
        if bias is not None:
            mask = (bias if mask is None else torch.where(mask, bias, -torch.inf)).to(queries.dtype)
        heads = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=self.scale)
        return self.w_o(heads.transpose(1, 2).flatten(2))

    def _split_heads(self, x: Float[Tensor, "batch token inner"]) -> Float[Tensor, "batch head token d_k"]:
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
