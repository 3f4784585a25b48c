"""The weights of a recorded call, against PyTorch's own and against the formula in double precision."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer_core.inspection import record
from transformer_core.model import MultiHeadAttention


class Attention(nn.Module):
    """One call of the kernel with given options."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, **self.options)


def recorded(query, key, value=None, **options):
    """The call of the kernel on these inputs, and what the kernel returned."""
    model = Attention(**options)
    with record(model) as trace:
        output = model(query, key, key if value is None else value)
    return trace[0], output


def softmax_in_double(query, key, mask=None, scale=None):
    """softmax(scale * Q K^T + mask), equation 1, in double precision; mask boolean or additive."""
    scores = query.double() @ key.double().mT * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask.double()
    return torch.softmax(scores, dim=-1)


def assert_weights(call, expected):
    torch.testing.assert_close(call.weights().double(), expected.double(), atol=1e-6, rtol=1e-5)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_against_multihead_attention_of_pytorch():
    reference = nn.MultiheadAttention(24, 3, bias=False, batch_first=True)
    ours = MultiHeadAttention(24, 3)
    with torch.no_grad():
        for projection, weight in zip((ours.w_q, ours.w_k, ours.w_v), reference.in_proj_weight.chunk(3), strict=True):
            projection.weight.copy_(weight)
        ours.w_o.weight.copy_(reference.out_proj.weight)
    query, memory = torch.randn(2, 4, 24), torch.randn(2, 6, 24)
    padding = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    _, expected = reference(
        query, memory, memory, key_padding_mask=padding, need_weights=True, average_attn_weights=False
    )
    with record(ours) as trace:
        ours(query, memory, memory, ~padding.unsqueeze(1))
    assert_weights(trace[0], expected)


@pytest.mark.parametrize("scale", [None, 0.5])
def test_against_the_formula(scale):
    query, key = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 6, 8)
    call, _ = recorded(query, key, scale=scale)
    assert_weights(call, softmax_in_double(query, key, scale=scale))
    assert call.weights().dtype == torch.float32


def test_scaled_up_scores():
    """Scores of several hundred, where an unguarded exponential overflows."""
    query, key = 30 * torch.randn(1, 2, 5, 16), 30 * torch.randn(1, 2, 5, 16)
    call, _ = recorded(query, key)
    assert_weights(call, softmax_in_double(query, key))


def test_one_head_and_some_rows():
    query, key = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8)
    expected = softmax_in_double(query, key)
    call, _ = recorded(query, key)
    assert call.weights(head=1).shape == (2, 5, 7)
    for rows in (slice(1, 4), [1, 2, 3], range(1, 4), torch.tensor([1, 2, 3])):
        torch.testing.assert_close(call.weights(head=1, rows=rows).double(), expected[:, 1, 1:4], atol=1e-6, rtol=1e-5)
    assert call.weights(rows=[4]).shape == (2, 3, 1, 7)


def test_rows_of_a_causal_call_know_their_positions():
    query = torch.randn(1, 2, 6, 8)
    call, _ = recorded(query, query, is_causal=True)
    last_rows = call.weights(rows=[4, 5])
    assert (last_rows[:, :, 0, 5] == 0).all()
    torch.testing.assert_close(last_rows, call.weights()[:, :, 4:])


@pytest.mark.parametrize("additive", [False, True])
def test_some_rows_of_a_masked_call(additive):
    query = torch.randn(2, 3, 5, 8)
    mask = torch.ones(5, 5, dtype=torch.bool).tril() & (torch.arange(5) != 1)
    call, _ = recorded(query, query, attn_mask=torch.zeros(5, 5).masked_fill(~mask, -math.inf) if additive else mask)
    expected = softmax_in_double(query, query, mask)[:, 2, [4, 0]]
    torch.testing.assert_close(call.weights(head=2, rows=[4, 0]).double(), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("head", [-1, 3, 100])
def test_a_head_that_does_not_exist(head):
    call, _ = recorded(torch.randn(1, 3, 4, 8), torch.randn(1, 3, 4, 8))
    with pytest.raises(IndexError, match=f"head {head} does not exist.*0 to 2"):
        call.weights(head=head)


def test_a_row_that_does_not_exist():
    call, _ = recorded(torch.randn(1, 3, 4, 8), torch.randn(1, 3, 4, 8))
    with pytest.raises(IndexError):
        call.weights(head=0, rows=[4])


def test_rows_are_queries_and_columns_are_keys():
    """Cross attention of unequal lengths with a planted weight: query 1 looks at key 4, the other queries at key 0."""
    key = torch.eye(5)[None, None]
    query = 100 * torch.stack([key[0, 0, 0], key[0, 0, 4], key[0, 0, 0]])[None, None]
    call, _ = recorded(query, key)
    expected = torch.zeros(3, 5)
    expected[0, 0] = expected[1, 4] = expected[2, 0] = 1.0
    torch.testing.assert_close(call.weights(head=0)[0], expected)


@pytest.mark.parametrize(
    "shape", [(4, 6), (2, 1, 4, 6), (1, 3, 4, 6), (2, 3, 4, 6), (2, 1, 1, 6), (1, 6)], ids=lambda shape: str(shape)
)
@pytest.mark.parametrize("additive", [False, True])
def test_masks_of_every_shape(shape, additive):
    query, key = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 6, 8)
    mask = torch.randn(shape) if additive else torch.rand(shape) < 0.6
    if not additive:
        mask[..., 2] = True  # no row without any key
    call, _ = recorded(query, key, attn_mask=mask)
    assert_weights(call, softmax_in_double(query, key, mask))
    assert call.certificate() < 1e-6


def test_an_additive_mask_of_minus_infinity_excludes():
    query = torch.randn(1, 2, 5, 8)
    allowed = torch.ones(5, 5, dtype=torch.bool).tril()
    call, _ = recorded(query, query, attn_mask=torch.zeros(5, 5).masked_fill(~allowed, -math.inf))
    assert (call.weights().triu(1) == 0).all()
    assert_weights(call, softmax_in_double(query, query, allowed))


@pytest.mark.parametrize("num_keys", [3, 5, 8])
def test_causal_calls_align_at_the_top_left(num_keys):
    """As the kernel documents it: query i sees keys 0 to i, whatever the number of keys."""
    query, key = torch.randn(1, 2, 5, 8), torch.randn(1, 2, num_keys, 8)
    call, _ = recorded(query, key, is_causal=True)
    assert_weights(call, softmax_in_double(query, key, torch.ones(5, num_keys, dtype=torch.bool).tril()))
    assert call.certificate() < 1e-6


@pytest.mark.parametrize("additive", [False, True])
def test_a_query_that_may_attend_to_nothing_has_a_row_of_zeros(additive):
    query = torch.randn(1, 2, 4, 8)
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[2] = False
    given_mask = torch.zeros(4, 4).masked_fill(~mask, -math.inf) if additive else mask
    call, output = recorded(query, query, attn_mask=given_mask)
    weights = call.weights()
    assert (weights[:, :, 2] == 0).all()
    torch.testing.assert_close(weights[:, :, [0, 1, 3]].sum(-1), torch.ones(1, 2, 3))
    torch.testing.assert_close(weights @ query, output)
    assert call.row_sum_error() < 1e-6
    assert call.certificate() < 1e-6


def test_a_nan_of_the_model_is_not_hidden():
    query, key = torch.randn(1, 1, 3, 8), torch.randn(1, 1, 3, 8)
    query[0, 0, 1, 0] = math.nan
    call, _ = recorded(query, key)
    assert call.weights()[0, 0, 1].isnan().all()
    assert math.isnan(call.certificate())
    assert math.isnan(call.row_sum_error())


@pytest.mark.parametrize("key_heads", [1, 2, 6])
def test_grouped_query_attention(key_heads):
    query, key = torch.randn(2, 6, 4, 8), torch.randn(2, key_heads, 5, 8)
    call, output = recorded(query, key, enable_gqa=True)
    repeated = key.repeat_interleave(6 // key_heads, dim=1)
    assert call.num_heads == 6
    assert_weights(call, softmax_in_double(query, repeated))
    torch.testing.assert_close(call.weights() @ repeated, output)
    assert call.certificate() < 1e-6


def test_dropout_is_not_in_the_weights():
    query = torch.randn(2, 3, 6, 8)
    call, output = recorded(query, query, dropout_p=0.5)
    assert_weights(call, softmax_in_double(query, query))
    assert not torch.allclose(call.weights() @ query, output, atol=0.05)
    assert call.dropout == 0.5
    assert call.certificate() is None


def test_training_mode_of_pytorch_layers():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.4, batch_first=True)
    x = torch.randn(1, 6, 16)
    with record(layer.eval()) as evaluated:
        layer(x)
    with record(layer.train()) as trained:
        layer(x)
    assert trained[0].dropout == 0.4
    assert torch.equal(trained[0].weights(), evaluated[0].weights())


def test_a_padded_batch_has_the_weights_of_its_single_texts():
    attention = MultiHeadAttention(16, 4)
    short, long = torch.randn(1, 3, 16), torch.randn(1, 5, 16)
    batch = torch.cat([F.pad(short, (0, 0, 0, 2), value=7.0), long])
    mask = torch.tensor([[[True] * 3 + [False] * 2], [[True] * 5]])
    with record(attention) as batched:
        attention(batch, batch, batch, mask)
    with record(attention) as single:
        attention(short, short, short)
    torch.testing.assert_close(batched[0].weights()[:1, :, :3, :3], single[0].weights(), atol=1e-6, rtol=1e-5)
    assert (batched[0].weights()[0, :, :, 3:] == 0).all()


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((5, 8), (1, 1, 5, 5)), ((3, 5, 8), (3, 1, 5, 5)), ((2, 3, 5, 8), (2, 3, 5, 5)), ((2, 2, 3, 5, 8), (4, 3, 5, 5))],
)
@pytest.mark.parametrize("full_mask", [False, True])
def test_any_number_of_dimensions(shape, expected, full_mask):
    query = torch.randn(shape)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    call, output = recorded(query, query, attn_mask=mask.expand(*shape[:-2], 5, 5) if full_mask else mask)
    assert call.weights().shape == expected
    assert_weights(call, softmax_in_double(query, query, mask).reshape(expected))
    torch.testing.assert_close((call.weights() @ query.reshape(*expected[:-2], 5, 8)).reshape(shape), output)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions(dtype):
    """From the same inputs, float32 weights are exact whatever the kernel computed in."""
    query = torch.randn(1, 2, 6, 8).to(dtype)
    call, _ = recorded(query, query)
    assert call.weights().dtype == torch.float32
    assert_weights(call, softmax_in_double(query, query))
    assert call.certificate() < 1e-2


def test_autocast_records_what_the_kernel_reads():
    query, key = torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8)
    with torch.autocast("cpu", torch.bfloat16):
        call, output = recorded(query, key)
        weights = call.weights()
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(weights.double(), softmax_in_double(query.bfloat16(), key.bfloat16()))
    assert call.certificate() < 1e-2


def test_the_certificate_finds_a_wrong_scale():
    query = torch.randn(1, 4, 16, 8)
    call, _ = recorded(query, query, scale=0.35)
    assert call.certificate() < 1e-6
    object.__setattr__(call, "scale", 0.35 * 1.05)
    assert call.certificate() > 3e-3


def test_the_certificate_finds_an_overlooked_mask():
    query = torch.randn(1, 4, 16, 8)
    call, _ = recorded(query, query, is_causal=True)
    object.__setattr__(call, "is_causal", False)
    assert call.certificate() > 1e-2


def test_moving_to_a_device_keeps_the_call():
    query = torch.randn(1, 2, 3, 8)
    call, _ = recorded(query, query, attn_mask=torch.ones(3, 3, dtype=torch.bool).tril())
    moved = call.to("meta")
    assert moved.name == call.name
    tensors = [value for value in vars(moved).values() if isinstance(value, torch.Tensor)]
    assert len(tensors) == 6
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert call.query.device.type == "cpu"


lengths = st.integers(min_value=1, max_value=9)


@settings(max_examples=40)
@given(queries=lengths, keys=lengths, heads=st.integers(1, 4), seed=st.integers(0, 10**6), share=st.floats(0, 1))
def test_rows_sum_to_one_or_are_empty(queries, keys, heads, seed, share):
    """Law: a row sums to 1 if its query may attend to anything and is all zeros otherwise; no weight is negative."""
    generator = torch.Generator().manual_seed(seed)
    query = 3 * torch.randn(2, heads, queries, 4, generator=generator)
    key = 3 * torch.randn(2, heads, keys, 4, generator=generator)
    mask = torch.rand(2, 1, queries, keys, generator=generator) < share
    call, _ = recorded(query, key, attn_mask=mask)
    weights = call.weights()
    expected = mask.any(-1).expand(2, heads, queries).float()
    torch.testing.assert_close(weights.sum(-1), expected, atol=1e-6, rtol=0)
    assert (weights >= 0).all()
    assert (weights[~mask.expand_as(weights)] == 0).all()
    assert call.certificate() < 1e-5


@settings(max_examples=40)
@given(length=lengths, heads=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_causal_maps_are_zero_above_the_diagonal(length, heads, seed):
    """Law: no query attends to what comes later, and the first query attends to itself alone."""
    query = torch.randn(1, heads, length, 4, generator=torch.Generator().manual_seed(seed))
    call, _ = recorded(query, query, is_causal=True)
    weights = call.weights()
    assert (weights.triu(1) == 0).all()
    assert (weights[..., 0, 0] == 1).all()


@settings(max_examples=40)
@given(length=st.integers(2, 9), seed=st.integers(0, 10**6))
def test_reordering_keys_reorders_columns(length, seed):
    """Law: attention is equivariant to the order of the keys."""
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, 1, 1, length, 4, generator=generator)
    order = torch.randperm(length, generator=generator)
    straight, _ = recorded(query, key)
    reordered, _ = recorded(query, key[:, :, order])
    torch.testing.assert_close(reordered.weights(), straight.weights()[..., order], atol=1e-6, rtol=1e-5)


def test_weights_of_many_heads_at_once_and_one_by_one(monkeypatch):
    from transformer_core.inspection import trace as trace_module

    model, x = nn.MultiheadAttention(16, 4, batch_first=True), torch.randn(2, 5, 16)
    with record(model) as trace:
        model(x, x, x, need_weights=False)
    at_once = trace[0].weights()
    monkeypatch.setattr(trace_module, "AT_ONCE", 1)
    assert torch.equal(trace[0].weights(), at_once)


@pytest.mark.parametrize("broken", [0, 1])
def test_a_certificate_that_is_not_a_number_is_not_hidden_by_others(broken):
    class Model(nn.Module):
        def forward(self, x):
            for index in range(2):
                x = F.scaled_dot_product_attention(x * (torch.nan if index == broken else 1.0), x, x).nan_to_num()
            return x

    model = Model()
    with record(model) as trace:
        model(torch.randn(1, 2, 3, 4))
    assert [math.isnan(call.certificate()) for call in trace] == [index == broken for index in range(2)]
    assert math.isnan(trace.certificate())
