"""Why a weight is what it is: every step against the formula, computed by hand in double precision."""

import dataclasses
import json
import math

import numpy as np
import pytest
import torch
from torch import nn

from transformer_core.inspection import AttentionStack, PairScore, UnexplainedPair, explain, record
from transformer_core.inspection.trace import ScoredAttention, StoredAttention

HEADS, QUERIES, KEYS, SIZE = 4, 5, 6, 8
random = torch.Generator().manual_seed(0)
QUERY = 2 * torch.randn(1, HEADS, QUERIES, SIZE, generator=random)
KEY = 2 * torch.randn(1, HEADS, KEYS, SIZE, generator=random)
ALLOWED = torch.rand(1, HEADS, QUERIES, KEYS, generator=random) > 0.4
ALLOWED[..., 0] = True
BIAS = torch.randn(1, HEADS, QUERIES, KEYS, generator=random)


class Attend(nn.Module):
    def forward(self, query, key, **options):
        return nn.functional.scaled_dot_product_attention(query, key, key, **options)


def stack_of(call) -> AttentionStack:
    tokens = tuple(map(str, range(max(call.num_queries, call.num_keys))))
    return AttentionStack("self", (call,), tokens[: call.num_queries], tokens[: call.num_keys], "rows", "columns")


def recorded(query=QUERY, key=KEY, **options) -> AttentionStack:
    model = Attend()
    with torch.no_grad(), record(model) as trace:
        model(query, key, **options)
    return stack_of(trace[0])


def made(**changes) -> AttentionStack:
    """A stack of a call that PyTorch's kernel does not know."""
    values = {
        "name": "layer",
        "kind": "self",
        "route": "written out",
        "value": KEY,
        "dropout": 0.0,
        "checked_rows": torch.zeros(0, dtype=torch.long),
        "checked_output": torch.zeros(1, HEADS, 0, SIZE),
        "query": QUERY,
        "key": KEY,
        "mask": None,
        "is_causal": False,
        "scale": SIZE**-0.5,
    }
    return stack_of(ScoredAttention(**values | changes))


def assert_explained(stack: AttentionStack, added, key=KEY, scale=SIZE**-0.5, softcap=None, sinks=None) -> None:
    """Every field of every pair is what the formula gives.

    Args:
        added: (head, query, key), what is added to the scores, -inf where attention is not allowed.
    """
    for head in range(HEADS):
        keys = key[0, head * key.size(1) // HEADS].double().numpy()
        for row in range(QUERIES):
            vector = QUERY[0, head, row].double().numpy()
            scaled = [scale * sum(vector * other) for other in keys]
            capped = scaled if softcap is None else [softcap * math.tanh(score / softcap) for score in scaled]
            scores = [one + float(other) for one, other in zip(capped, added[head, row], strict=True)]
            sums = sum(map(math.exp, scores)) + (0 if sinks is None else math.exp(sinks[head]))
            for column in range(KEYS):
                pair = explain(stack, 0, head, row, column)
                same = {"rel": 1e-12, "abs": 1e-12}
                assert (pair.query, pair.key) == (row, column)
                np.testing.assert_array_equal(pair.query_vector, vector)
                np.testing.assert_array_equal(pair.key_vector, keys[column])
                np.testing.assert_allclose(pair.products, [q * k for q, k in zip(vector, keys[column], strict=True)])
                np.testing.assert_allclose(
                    pair.running_sum, [sum(pair.products[: i + 1]) for i in range(SIZE)], rtol=1e-12, atol=1e-12
                )
                assert pair.dot_product == pytest.approx(sum(vector * keys[column]), **same)
                assert (pair.scale, pair.softcap) == (pytest.approx(scale), softcap)
                assert pair.scaled == pytest.approx(scaled[column], **same)
                assert pair.capped == pytest.approx(capped[column], **same)
                assert pair.mask == float(added[head, row, column])
                assert pair.is_allowed == (pair.mask > -math.inf)
                assert pair.score == pytest.approx(scores[column], **same)
                np.testing.assert_allclose(pair.row_scores, scores, rtol=1e-12, atol=1e-12)
                assert pair.column == column
                assert pair.sink_score == (None if sinks is None else float(sinks[head]))
                assert pair.logsumexp == pytest.approx(math.log(sums), **same)
                assert pair.weight == pytest.approx(math.exp(scores[column]) / sums, **same)
                assert pair.recorded_weight == float(stack.weights(0, head)[row, column])
                assert pair.recorded_weight == pytest.approx(pair.weight, rel=3e-6, abs=1e-9)


NOTHING = torch.zeros(HEADS, QUERIES, KEYS)


def forbidden(allowed: torch.Tensor) -> torch.Tensor:
    return torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf).expand(HEADS, QUERIES, KEYS)


def test_plain():
    assert_explained(recorded(), NOTHING)


def test_another_scale():
    assert_explained(recorded(scale=0.1), NOTHING, scale=0.1)


def test_causal():
    allowed = torch.ones(QUERIES, KEYS, dtype=torch.bool).tril()
    assert_explained(recorded(is_causal=True), forbidden(allowed))


@pytest.mark.parametrize("heads", [slice(0, 1), slice(None)], ids=["for all heads", "for each head"])
def test_a_boolean_mask(heads):
    assert_explained(recorded(attn_mask=ALLOWED[:, heads]), forbidden(ALLOWED[0, heads]))


def test_a_mask_of_keys():
    allowed = torch.tensor([True, True, False, True, False, True])
    assert_explained(recorded(attn_mask=allowed.view(1, 1, 1, KEYS)), forbidden(allowed))


def test_an_added_bias():
    assert_explained(recorded(attn_mask=BIAS), BIAS[0])


@pytest.mark.parametrize("low", [-math.inf, torch.finfo(torch.float32).min])
def test_a_bias_that_forbids(low):
    bias = BIAS.masked_fill(~ALLOWED, low)
    assert_explained(recorded(attn_mask=bias), BIAS.masked_fill(~ALLOWED, -math.inf)[0])


@pytest.mark.parametrize("key_heads", [1, 2])
def test_heads_that_share_keys(key_heads):
    key = KEY[:, :key_heads].contiguous()
    assert_explained(recorded(key=key, enable_gqa=True), NOTHING, key=key)


def test_a_softcap_before_the_mask():
    stack = made(softcap=1.5, scale=0.7, mask=BIAS)
    assert_explained(stack, BIAS[0], scale=0.7, softcap=1.5)


def test_sinks_take_a_part_of_the_weight():
    sinks = torch.tensor([-1.0, 0.5, 2.0, 4.0])
    stack = made(sinks=sinks, is_causal=True)
    assert_explained(stack, forbidden(torch.ones(QUERIES, KEYS, dtype=torch.bool).tril()), sinks=sinks)
    pairs = [explain(stack, 0, 3, 1, key) for key in range(KEYS)]
    assert sum(pair.weight for pair in pairs) == pytest.approx(1 - math.exp(4.0 - pairs[0].logsumexp))


def test_half_precision_is_explained_with_the_numbers_that_the_model_had():
    query, key = QUERY.bfloat16(), KEY.bfloat16()
    pair = explain(recorded(query, key), 0, 1, 2, 3)
    np.testing.assert_array_equal(pair.query_vector, query[0, 1, 2].double().numpy())
    scores = (query[0, 1, 2].double() @ key[0, 1].double().T) * SIZE**-0.5
    assert pair.weight == pytest.approx(float(scores.softmax(dim=0)[3]), rel=1e-12)


def test_a_part_of_a_stack_has_its_own_places():
    whole = recorded(attn_mask=BIAS)
    part = whole.part("part", rows=(1, 3), columns=(2, 4, 5), query_label="B", key_label="A")
    for row, recorded_row in enumerate((1, 3)):
        for column, recorded_column in enumerate((2, 4, 5)):
            pair, same = explain(part, 0, 2, row, column), explain(whole, 0, 2, recorded_row, recorded_column)
            assert (pair.query, pair.key) == (row, column)
            places = {"query": recorded_row, "key": recorded_column}
            assert pair.to_json() | places == same.to_json()
            assert pair.recorded_weight == float(part.weights(0, 2)[row, column])
            assert len(pair.row_scores) == KEYS, "the softmax had all keys"
            assert pair.row_scores[pair.column] == pytest.approx(pair.score, rel=1e-12)


def test_a_row_that_may_attend_to_nothing():
    pair = explain(made(mask=torch.zeros(1, 1, 1, 1, dtype=torch.bool)), 0, 0, 0, 0)
    assert (pair.weight, pair.recorded_weight, pair.is_allowed) == (0.0, 0.0, False)
    assert (pair.mask, pair.score, pair.logsumexp) == (-math.inf, -math.inf, -math.inf)


def test_a_model_that_computed_nan():
    query = QUERY.clone()
    query[0, 0, 0, 3] = math.nan
    pair = explain(made(query=query), 0, 0, 0, 1)
    assert math.isnan(pair.weight) and math.isnan(pair.recorded_weight)
    plain = pair.to_json()
    assert plain["weight"] is None and plain["products"][3] is None
    assert None not in plain["products"][:3]


def test_the_json_holds_every_field_without_infinities():
    pair = explain(recorded(is_causal=True), 0, 0, 1, 4)
    plain = json.loads(json.dumps(pair.to_json(), allow_nan=False))
    assert plain.keys() == {field.name for field in dataclasses.fields(PairScore)} | {"is_allowed"}
    assert (plain["mask"], plain["score"], plain["is_allowed"], plain["weight"]) == (None, None, False, 0.0)
    assert plain["row_scores"] == [*pair.row_scores[:2], None, None, None, None]
    assert (plain["softcap"], plain["sink_score"], plain["column"]) == (None, None, 4)
    assert plain["running_sum"] == pair.running_sum.tolist()
    assert plain["dot_product"] == pair.dot_product


def test_weights_without_queries_and_keys_say_so():
    weights = torch.softmax(BIAS, dim=-1)
    call = StoredAttention(
        name="layer",
        kind="self",
        route="written out",
        value=KEY,
        dropout=0.0,
        checked_rows=torch.zeros(0, dtype=torch.long),
        checked_output=torch.zeros(1, HEADS, 0, SIZE),
        stored_weights=weights,
    )
    pair = explain(stack_of(call), 0, 1, 2, 3)
    assert isinstance(pair, UnexplainedPair)
    assert pair.recorded_weight == float(weights[0, 1, 2, 3])
    assert "Layer 1 computes its attention in steps of its own" in pair.reason
    assert pair.to_json() == {"query": 2, "key": 3, "recorded_weight": pair.recorded_weight, "reason": pair.reason}
    with pytest.raises(IndexError, match="head 4 does not exist"):
        explain(stack_of(call), 0, 4, 0, 0)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((1, 0, 0, 0), "layer 1 does not exist"),
        ((0, 4, 0, 0), "head 4 does not exist"),
        ((0, 0, 5, 0), "query 5 does not exist: the stack 'self' has 5 query tokens"),
        ((0, 0, 0, 6), "key 6 does not exist: the stack 'self' has 6 key tokens"),
        ((0, 0, -1, 0), "query -1 does not exist"),
    ],
)
def test_what_does_not_exist(place, message):
    with pytest.raises(IndexError, match=message):
        explain(recorded(), *place)
