"""The formula against PyTorch's, and the layer against the formula and against nn.MultiheadAttention."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.model import MultiHeadAttention, causal_mask, padding_mask, scaled_dot_product_attention


def test_the_formula_by_hand():
    # One query, two keys, d_k = 1: scores 0 and ln 3, so weights 1/4 and 3/4.
    query = torch.tensor([[1.0]])
    key = torch.tensor([[0.0], [math.log(3)]])
    value = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    output, weights = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(weights, torch.tensor([[0.25, 0.75]]))
    torch.testing.assert_close(output, torch.tensor([[1.0, 6.0]]))


def test_scores_are_divided_by_the_root_of_d_k():
    # d_k = 4, scores 4 and 0 before scaling, 2 and 0 after it.
    query, key = torch.ones(1, 4), torch.stack([torch.ones(4), torch.zeros(4)])
    _, weights = scaled_dot_product_attention(query, key, torch.zeros(2, 1))
    assert weights[0, 0].item() == pytest.approx(math.exp(2) / (math.exp(2) + 1))


MASKS = {
    "none": None,
    "causal": torch.ones(5, 7).tril().bool(),
    "padding": torch.tensor([1, 1, 1, 1, 0, 0, 0]).bool().expand(5, 7),
    "one row closed": torch.ones(5, 7).index_fill(0, torch.tensor([2]), 0).bool(),
    "all closed": torch.zeros(5, 7).bool(),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
def test_the_formula_equals_the_fused_kernel(mask):
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 8)
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(output, F.scaled_dot_product_attention(query, key, value, attn_mask=mask))
    assert weights.isfinite().all()
    open_rows = torch.ones(5) if mask is None else mask.any(dim=-1).float()
    torch.testing.assert_close(weights.sum(dim=-1), open_rows.expand(2, 3, 5))


@pytest.mark.parametrize("closed", [torch.zeros(4, 4), torch.zeros(4, 4).long(), torch.zeros(4, 4).bool()])
def test_a_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients(closed):
    x = torch.randn(1, 4, 16, requires_grad=True)
    output, weights = scaled_dot_product_attention(x, x, x, closed)
    assert torch.equal(output, torch.zeros_like(output))
    assert torch.equal(weights, torch.zeros_like(weights))
    layer = MultiHeadAttention(16, 4)
    result = layer(x, x, x, closed)
    assert torch.equal(result, torch.zeros_like(result))
    (output.sum() + result.sum()).backward()
    assert x.grad.isfinite().all()


@given(rows=st.integers(1, 6), columns=st.integers(1, 6), seed=st.integers(0, 1000))
def test_weights_are_a_distribution_over_the_allowed_keys(rows, columns, seed):
    generator = torch.Generator().manual_seed(seed)
    query, key, value = (torch.randn(n, 3, generator=generator) for n in (rows, columns, columns))
    mask = torch.rand(rows, columns, generator=generator) < 0.6
    _, weights = scaled_dot_product_attention(query, key, value, mask)
    assert (weights[~mask] == 0).all()
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float())


@given(st.permutations(range(6)), st.integers(0, 100))
def test_the_order_of_the_keys_does_not_matter(order, seed):
    torch.manual_seed(seed)
    query, key, value = torch.randn(4, 5), torch.randn(6, 5), torch.randn(6, 5)
    output, weights = scaled_dot_product_attention(query, key, value)
    permuted_output, permuted_weights = scaled_dot_product_attention(query, key[list(order)], value[list(order)])
    torch.testing.assert_close(permuted_output, output)
    torch.testing.assert_close(permuted_weights, weights[:, list(order)])


def copy_of(layer: MultiHeadAttention) -> torch.nn.MultiheadAttention:
    """PyTorch's own layer with the same weights."""
    d_model = layer.w_o.weight.size(0)
    reference = torch.nn.MultiheadAttention(d_model, layer.num_heads, bias=False, batch_first=True)
    with torch.no_grad():
        reference.in_proj_weight.copy_(torch.cat([layer.w_q.weight, layer.w_k.weight, layer.w_v.weight]))
        reference.out_proj.weight.copy_(layer.w_o.weight)
    return reference


@pytest.mark.parametrize("causal", [False, True])
def test_the_layer_equals_pytorchs_multihead_attention(causal):
    torch.manual_seed(1)
    layer = MultiHeadAttention(d_model=32, num_heads=4)
    x = torch.randn(3, 6, 32)
    mask = causal_mask(6) if causal else None
    # nn.MultiheadAttention masks the other way round: true where attention is forbidden.
    expected, _ = copy_of(layer)(x, x, x, attn_mask=None if mask is None else ~mask)
    torch.testing.assert_close(layer(x, x, x, mask), expected)


def test_cross_attention_of_unequal_lengths_with_padding():
    torch.manual_seed(2)
    layer = MultiHeadAttention(32, 4)
    target, source = torch.randn(2, 5, 32), torch.randn(2, 9, 32)
    mask = padding_mask(torch.tensor([[7, 7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 7, 0, 0, 0, 0, 0, 0]]), pad_id=0)
    expected, _ = copy_of(layer)(target, source, source, key_padding_mask=~mask.squeeze(1))
    torch.testing.assert_close(layer(target, source, source, mask), expected)
    alone = layer(target[1:], source[1:, :3], source[1:, :3])
    torch.testing.assert_close(layer(target, source, source, mask)[1:], alone)


@pytest.mark.parametrize("shape", [(5, 5), (1, 5), (2, 5, 5), (2, 1, 5), (2, 1, 5, 5), (2, 4, 5, 5)])
def test_every_shape_of_mask_means_the_same(shape):
    torch.manual_seed(3)
    layer, x = MultiHeadAttention(16, 4), torch.randn(2, 5, 16)
    mask = torch.ones(shape)
    mask[..., -1] = 0
    torch.testing.assert_close(layer(x, x, x, mask), layer(x, x[:, :-1], x[:, :-1]))


def test_every_head_has_its_own_slice_of_the_model():
    torch.manual_seed(4)
    layer, x = MultiHeadAttention(12, 3), torch.randn(1, 5, 12)
    heads = []
    for head in range(3):
        rows = slice(4 * head, 4 * head + 4)
        query, key, value = (x @ w.weight[rows].T for w in (layer.w_q, layer.w_k, layer.w_v))
        heads.append(scaled_dot_product_attention(query, key, value)[0])
    torch.testing.assert_close(layer(x, x, x), torch.cat(heads, dim=-1) @ layer.w_o.weight.T)


def test_weights_start_xavier_uniform():
    torch.manual_seed(5)
    layer = MultiHeadAttention(256, 8)
    bound = math.sqrt(6 / (256 + 256))
    for projection in (layer.w_q, layer.w_k, layer.w_v, layer.w_o):
        assert projection.bias is None
        assert projection.weight.abs().max() <= bound
        assert projection.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)


def test_a_mask_that_is_meant_to_be_added_is_refused():
    x, added = torch.randn(1, 3, 8), torch.zeros(3, 3).masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf)
    with pytest.raises(ValueError, match="1 where attention is allowed"):
        scaled_dot_product_attention(x, x, x, added)
    with pytest.raises(ValueError, match="1 where attention is allowed"):
        MultiHeadAttention(8, 2)(x, x, x, added)


@pytest.mark.parametrize("sizes", [(10, 3), (0, 1), (8, 0), (8, -2)])
def test_heads_that_do_not_fit_are_refused(sizes):
    with pytest.raises(ValueError, match="num_heads"):
        MultiHeadAttention(*sizes)


def test_masks():
    assert torch.equal(causal_mask(3), torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool())
    assert torch.equal(padding_mask(torch.tensor([[5, 6, 0]]), 0), torch.tensor([[[True, True, False]]]))
