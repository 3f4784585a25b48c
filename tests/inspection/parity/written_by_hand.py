"""A small causal model in the ways in which people write attention, all of which compute the same."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention  # bound before anything could replace it

D_MODEL, NUM_HEADS = 32, 4
D_K = D_MODEL // NUM_HEADS
SCALE = D_K**-0.5

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""From q, k, v (batch, head, token, d_k) and what is allowed (token, token) to (batch, head, token, d_k)."""


class Attention(nn.Module):
    def __init__(self, attend: Attend) -> None:
        super().__init__()
        self.attend, self.n_head = attend, NUM_HEADS
        self.c_attn = nn.Linear(D_MODEL, 3 * D_MODEL)
        self.c_proj = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.heads(x)
        allowed = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
        return self.c_proj(self.attend(q, k, v, allowed).transpose(1, 2).flatten(2))

    def heads(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(
            part.unflatten(-1, (NUM_HEADS, D_K)).transpose(1, 2) for part in self.c_attn(x).split(D_MODEL, dim=-1)
        )


class Decoder(nn.Module):
    def __init__(self, attend: Attend) -> None:
        super().__init__()
        self.embedding = nn.Embedding(90, D_MODEL)
        self.layers = nn.ModuleList(Attention(attend) for _ in range(2))

    def forward(self, input_ids: Tensor) -> Tensor:
        x = self.embedding(input_ids)
        for layer in self.layers:
            x = x + layer(x)
        return x

    def maps(self, input_ids: Tensor) -> list[Tensor]:
        """The weights by the formula, without a matrix product or a softmax of PyTorch's."""
        x, maps = self.embedding(input_ids), []
        for layer in self.layers:
            q, k, _ = layer.heads(x)
            exponentials = (q.unsqueeze(3) * k.unsqueeze(2)).sum(-1).mul(SCALE).exp().tril()
            maps.append(exponentials / exponentials.sum(-1, keepdim=True))
            x = x + layer(x)
        return maps


def early_bound_kernel(q, k, v, allowed):
    return scaled_dot_product_attention(q, k, v, is_causal=True)


def nano_gpt(q, k, v, allowed):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(allowed == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att @ v


def in_place(q, k, v, allowed):
    scores = torch.matmul(q, k.transpose(2, 3))
    scores /= math.sqrt(D_K)
    scores.masked_fill_(~allowed, -torch.inf)
    return torch.matmul(scores.softmax(-1), v)


def in_place_division_after_the_mask(q, k, v, allowed):
    scores = q.matmul(k.mT)
    scores.masked_fill_(~allowed, torch.finfo(scores.dtype).min)
    scores.div_(math.sqrt(D_K))
    return scores.softmax(dim=-1).matmul(v)


def added_mask(q, k, v, allowed):
    mask = torch.zeros(allowed.shape, dtype=q.dtype).masked_fill(~allowed, torch.finfo(q.dtype).min)
    return torch.softmax(q @ k.mT * SCALE + mask, dim=-1) @ v


def where_mask(q, k, v, allowed):
    scores = torch.where(allowed, q @ k.mT * SCALE, torch.full([], -1e9, dtype=q.dtype))
    return torch.softmax(scores, -1) @ v


def scaled_query(q, k, v, allowed):
    scores = (q / math.sqrt(D_K)) @ k.mT
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v


def scaled_key(q, k, v, allowed):
    scores = q @ (k * SCALE).mT
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v


def scaled_both(q, k, v, allowed):
    scores = (q * SCALE**0.5) @ (k * SCALE**0.5).mT
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v


def einsum(q, k, v, allowed):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * SCALE
    return torch.einsum("bhqk,bhkd->bhqd", scores.masked_fill(~allowed, -torch.inf).softmax(-1), v)


def einsum_heads_last(q, k, v, allowed):
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))  # (batch, token, head, d_k), as many keep it
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * SCALE
    weights = torch.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1)
    return torch.einsum("bhij,bjhd->bihd", weights, v).transpose(1, 2)


def batched_product(q, k, v, allowed):
    merged = [each.flatten(0, 1) for each in (q, k, v)]
    scores = torch.bmm(merged[0], merged[1].transpose(1, 2)) * SCALE
    weights = F.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1)
    return torch.bmm(weights, merged[2]).unflatten(0, q.shape[:2])


def batched_product_added_to_the_mask(q, k, v, allowed):
    merged = [each.flatten(0, 1) for each in (q, k, v)]
    mask = torch.zeros(allowed.shape, dtype=q.dtype).masked_fill(~allowed, -torch.inf)
    scores = torch.baddbmm(mask.expand(len(merged[0]), -1, -1), merged[0], merged[1].mT, alpha=SCALE)
    return torch.bmm(scores.softmax(-1), merged[2]).unflatten(0, q.shape[:2])


def key_kept_transposed(q, k, v, allowed):
    k = k.permute(0, 1, 3, 2).contiguous()
    scores = torch.matmul(q, k) * SCALE
    return torch.matmul(F.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1), v)


def softmax_in_float32(q, k, v, allowed):
    scores = (q @ k.mT * SCALE).masked_fill(~allowed, -torch.inf)
    return F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ v


def masked_twice(q, k, v, allowed):
    """With the mask applied to the weights too."""
    scores = (q @ k.mT * SCALE).masked_fill(~allowed, torch.finfo(q.dtype).min)
    return scores.softmax(-1).masked_fill(~allowed, 0.0) @ v


def one_head_after_the_other(q, k, v, allowed):
    outputs = []
    for head in range(NUM_HEADS):
        scores = (q[:, head] @ k[:, head].mT * SCALE).masked_fill(~allowed, -torch.inf)
        outputs.append(scores.softmax(-1) @ v[:, head])
    return torch.stack(outputs, dim=1)


def exponentials_by_hand(q, k, v, allowed):
    """No softmax is called: what attends here cannot be told from any other product."""
    weights = (q @ k.mT * SCALE).exp().tril()
    return weights / weights.sum(-1, keepdim=True) @ v


WAYS: tuple[Attend, ...] = (
    nano_gpt,
    in_place,
    in_place_division_after_the_mask,
    added_mask,
    where_mask,
    scaled_query,
    scaled_key,
    scaled_both,
    einsum,
    einsum_heads_last,
    batched_product,
    batched_product_added_to_the_mask,
    key_kept_transposed,
    softmax_in_float32,
    masked_twice,
)
"""Those that call a softmax, once for all heads."""


class MultiHead(nn.Module):
    """An nn.MultiheadAttention as people call it."""

    def __init__(self, need_weights: bool, **options) -> None:
        super().__init__()
        self.need_weights = need_weights
        self.self_attention = nn.MultiheadAttention(D_MODEL, NUM_HEADS, **options)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        if not self.self_attention.batch_first:
            x = x.transpose(0, 1)
        return self.self_attention(x, x, x, key_padding_mask=padding, need_weights=self.need_weights)[0]
