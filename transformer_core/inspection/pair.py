"""Why one attention weight is what it is: from the products of a query and a key to the softmax of the row.

Scaled dot-product attention (Vaswani et al. 2017, equation 1, arXiv 1706.03762) gives the key j of the query i the
weight exp(s_ij - logsumexp_k s_ik), with the score s_ij = scale * q_i . k_j + mask_ij.
"""

import dataclasses
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from transformer_core.inspection.finite import finite
from transformer_core.inspection.inspection import AttentionStack
from transformer_core.inspection.trace import ScoredAttention, forbids


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnexplainedPair:
    """An attention weight of which is not known what it was computed from."""

    query: int
    """The place of the query in the stack's `query_tokens`."""
    key: int
    """The place of the key in the stack's `key_tokens`."""
    recorded_weight: float
    """The weight, as all other views show it."""
    reason: str
    """Why nothing more is known, in sentences for a reader."""

    def to_json(self) -> dict[str, Any]:
        """All fields, as strict JSON has them: a weight that is not a number (NaN) is None."""
        return finite(dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class PairScore:
    """One attention weight, step by step, in double precision from the numbers that the model computed with.

    `score` is `capped` + `mask`, and `weight` is exp(`score` - `logsumexp`).
    """

    query: int
    """The place of the query in the stack's `query_tokens`."""
    key: int
    """The place of the key in the stack's `key_tokens`."""
    query_vector: Float[np.ndarray, " d_k"]
    """The query vector as it enters the product: after rotary position embeddings, normalisation and the like."""
    key_vector: Float[np.ndarray, " d_k"]
    """The key vector, likewise; with grouped queries that of the key head that the query head reads."""
    products: Float[np.ndarray, " d_k"]
    """q_i * k_i, for each dimension i."""
    running_sum: Float[np.ndarray, " d_k"]
    """The sum of the products up to each dimension."""
    dot_product: float
    """The last running sum: q . k."""
    scale: float
    """What the dot product is multiplied by, mostly 1 / sqrt(d_k)."""
    scaled: float
    """`scale` * `dot_product`."""
    softcap: float | None
    """Where a model bounds its scores: they become softcap * tanh(score / softcap) (Gemma 2, arXiv 2408.00118)."""
    capped: float
    """`scaled`, bounded; the same where there is no softcap."""
    mask: float
    """What is added by the mask, a bias of positions included: 0 where there is none, -inf where the query may not
    attend to the key."""
    score: float
    """What the softmax reads."""
    row_scores: Float[np.ndarray, " key"]
    """The scores of all keys that the model had for this query, -inf where it may not attend."""
    column: int
    """Which of `row_scores` is that of this key. (A part of a stack shows some keys only; the softmax had them all.)"""
    sink_score: float | None
    """The score of the row's attention sink, which takes a part of the weight (gpt-oss, arXiv 2508.10925)."""
    logsumexp: float
    """The logarithm of the sum of the exponentials of all scores of the row, the sink's included."""
    weight: float
    """exp(`score` - `logsumexp`); 0 in a row that may attend to nothing."""
    recorded_weight: float
    """The weight as all other views show it, computed in float32 or in the model's own, higher precision."""

    @property
    def is_allowed(self) -> bool:
        """Whether the query may attend to the key."""
        return self.mask != -np.inf

    def to_json(self) -> dict[str, Any]:
        """All fields and `is_allowed`, in plain dicts, lists and numbers, as strict JSON has them.

        None stands for a number that is not finite. Where the query may not attend to a key, `mask`, `score` and the
        key's place in `row_scores` are -inf; in a row that may attend to nothing so is `logsumexp`. Other numbers are
        not finite where the model computed NaN. `softcap` and `sink_score` are None where there are none.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()}
        return finite(plain | {"is_allowed": self.is_allowed})


@torch.no_grad()
def explain(stack: AttentionStack, layer: int, head: int, query: int, key: int) -> PairScore | UnexplainedPair:
    """Why a head gives a key the weight that it gives it; an `UnexplainedPair` where only the weights were recorded.

    Args:
        stack: one text's attention.
        layer: counted from 0.
        head: counted from 0.
        query: a place in the stack's `query_tokens`.
        key: a place in its `key_tokens`.

    Raises:
        IndexError: a layer, a head or a token that the stack does not have.
    """
    call = stack[layer]
    row, column = stack.recorded_row(query), stack.recorded_column(key)
    recorded = call.weights(head, [row])[0, 0, column]
    if not isinstance(call, ScoredAttention):
        reason = (
            f"How this weight came about cannot be shown. Layer {layer + 1} computes its attention in steps of its "
            "own, not as the usual product of a query and a key, so its weights were recorded as its softmax gave them."
        )
        return UnexplainedPair(query=query, key=key, recorded_weight=float(recorded), reason=reason)
    call = _one_head(call, head)
    vectors = call.query[0, 0, row].numpy(), call.key[0, 0, column].numpy()
    products = vectors[0] * vectors[1]
    running_sum = products.cumsum()
    scaled = call.scale * running_sum[-1]
    capped = scaled if call.softcap is None else call.softcap * np.tanh(scaled / call.softcap)
    mask = _mask(call, row, column)
    row_scores = call.scores(slice(None), torch.tensor([row]))[0, 0, 0]
    sink = None if call.sinks is None else call.sinks[0]
    exponents = row_scores if sink is None else torch.cat([row_scores, sink[None]])
    logsumexp = float(exponents.logsumexp(dim=0))
    attends_to_nothing = bool((row_scores == -torch.inf).all())
    return PairScore(
        query=query,
        key=key,
        query_vector=vectors[0],
        key_vector=vectors[1],
        products=products,
        running_sum=running_sum,
        dot_product=float(running_sum[-1]),
        scale=call.scale,
        scaled=float(scaled),
        softcap=call.softcap,
        capped=float(capped),
        mask=mask,
        score=float(capped) + mask,
        row_scores=row_scores.numpy(),
        column=column,
        sink_score=None if sink is None else float(sink),
        logsumexp=logsumexp,
        weight=0.0 if attends_to_nothing else float(np.exp(capped + mask - logsumexp)),
        recorded_weight=float(recorded),
    )


def _one_head(call: ScoredAttention, head: int) -> ScoredAttention:
    """The call of one head, on the CPU in double precision."""
    one, key_head = slice(head, head + 1), head // (call.num_heads // call.key.size(1))
    mask = call.mask if call.mask is None or call.mask.size(1) == 1 else call.mask[:, one]
    return dataclasses.replace(
        call,
        query=call.query[:, one].cpu().double(),
        key=call.key[:, key_head : key_head + 1].cpu().double(),
        mask=None if mask is None else mask.cpu(),
        sinks=None if call.sinks is None else call.sinks[one].cpu().double(),
        logsumexp=None,
        checked_output=call.checked_output[:, one],
    )


def _mask(call: ScoredAttention, row: int, column: int) -> float:
    """What is added to a score of a call of one head."""
    if call.is_causal and column > row:
        return -np.inf
    if call.mask is None:
        return 0.0
    number = call.mask.expand(-1, -1, call.num_queries, call.num_keys)[0, 0, row, column]
    if forbids(number):
        return -np.inf
    return 0.0 if number.dtype == torch.bool else float(number)
