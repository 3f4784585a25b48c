"""Attention that a model writes out itself: read back to queries, keys, scale, bias, mask, softcap and sinks."""

import gc
import math
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_core.inspection import NoAttentionError, record
from transformer_core.inspection.trace import ScoredAttention, StoredAttention

B, H, N, M, D = 2, 3, 5, 6, 4
LOWEST = torch.finfo(torch.float32).min


def tensors(seed: int = 0, keys: int = M):
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(B, H, N, D, generator=generator) * 2
    key = torch.randn(B, H, keys, D, generator=generator) * 2
    value = torch.randn(B, H, keys, D, generator=generator)
    return query, key, value


class Written(nn.Module):
    """A module whose attention is the function that it is made of."""

    def __init__(self, attend, **attributes):
        super().__init__()
        self.attend = attend
        for name, number in attributes.items():
            setattr(self, name, number)

    def forward(self, *tensors):
        return self.attend(*tensors)


def one_call(attend, *inputs, **attributes):
    """The record of the only attention call, having checked that recording changes no bit of the output."""
    model = Written(attend, **attributes)
    unrecorded = model(*(each.clone() for each in inputs))
    with record(model) as trace:
        recorded = model(*(each.clone() for each in inputs))
    assert torch.equal(recorded, unrecorded)
    (call,) = trace
    assert call.route == "written out"
    assert call.certificate() < 1e-6
    return call


def assert_weights(call, expected: torch.Tensor) -> None:
    torch.testing.assert_close(call.weights(), expected.float(), atol=1e-6, rtol=1e-5)


def softmax64(scores: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scores.double(), dim=-1)


SCALES = {
    "scores / c": lambda q, k: (q @ k.transpose(-2, -1)) / 2.0,
    "scores * c": lambda q, k: (q @ k.transpose(-2, -1)) * 0.5,
    "c * scores": lambda q, k: 0.5 * (q @ k.mT),
    "query * c": lambda q, k: (q * 0.5) @ k.mT,
    "key * c": lambda q, k: q @ (k * 0.5).mT,
    "a tensor": lambda q, k: torch.matmul(q, k.mT) / torch.tensor(2.0),
    "in place": lambda q, k: torch.matmul(q, k.mT).mul_(0.5),
    "divided in place": lambda q, k: torch.matmul(q, k.mT).div_(2),
    "einsum": lambda q, k: torch.einsum("bhid,bhjd->bhij", q, k) * 0.5,
    "einsum of others": lambda q, k: torch.einsum("... i d, ... j d -> ... i j", q, k) * 0.5,
    "einsum, swapped": lambda q, k: torch.einsum("bjhd,bihd->bhij", k.transpose(1, 2), q.transpose(1, 2)) * 0.5,
    "bmm": lambda q, k: torch.bmm(q.flatten(0, 1), k.flatten(0, 1).mT).view(B, H, N, M) / 2,
    "baddbmm": lambda q, k: torch.baddbmm(
        torch.empty(1, 1, 1).expand(B * H, N, M), q.flatten(0, 1), k.flatten(0, 1).mT, beta=0, alpha=0.5
    ).view(B, H, N, M),
    "twice": lambda q, k: (q @ k.mT) / 4 * 2,
    "clamped": lambda q, k: torch.max(q @ k.mT * 0.5, torch.tensor(LOWEST)),
    "in double precision": lambda q, k: (q @ k.mT).double() * 0.5,
    "with a shift that the softmax does not see": lambda q, k: (q @ k.mT) * 0.5 - (q @ k.mT).amax(-1, keepdim=True),
}


@pytest.mark.parametrize("scores", SCALES.values(), ids=SCALES)
def test_the_product_and_its_scale(scores):
    query, key, value = tensors()
    call = one_call(lambda q, k, v: torch.softmax(scores(q, k), dim=-1).to(v.dtype) @ v, query, key, value)
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(0.5 * query.double() @ key.double().mT))
    torch.testing.assert_close(call.scale * call.query @ call.key.mT, 0.5 * query @ key.mT)


SOFTMAXES = {
    "functional": lambda s: F.softmax(s, dim=-1),
    "functional, position": lambda s: F.softmax(s, 3),
    "in float32": lambda s: F.softmax(s, dim=-1, dtype=torch.float32).to(torch.float32),
    "torch": lambda s: torch.softmax(s, -1),
    "method": lambda s: s.softmax(dim=-1),
    "module": nn.Softmax(dim=-1),
    "then dropout that is off": lambda s: F.dropout(F.softmax(s, dim=-1), p=0.5, training=False),
    "then zeros where masked": lambda s: F.softmax(s, dim=-1).masked_fill(torch.zeros(N, M, dtype=torch.bool), 0.0),
    "then another shape": lambda s: F.softmax(s, dim=-1).view(B * H, N, M).view(B, H, N, M),
}


@pytest.mark.parametrize("softmax", SOFTMAXES.values(), ids=SOFTMAXES)
def test_the_softmax(softmax):
    query, key, value = tensors()
    call = one_call(lambda q, k, v: softmax(q @ k.mT) @ v, query, key, value)
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(query.double() @ key.double().mT))


VALUES = {
    "matmul": lambda a, v: torch.matmul(a, v),
    "bmm": lambda a, v: torch.bmm(a.view(B * H, N, M), v.flatten(0, 1)),
    "einsum": lambda a, v: torch.einsum("bhij,bhjd->bihd", a, v),
    "einsum, values first": lambda a, v: torch.einsum("bhjd,bhij->bhid", v, a),
    "einsum, batch inside": lambda a, v: torch.einsum("bnij,jbnd->ibnd", a, v.permute(2, 0, 1, 3)),
}


@pytest.mark.parametrize("product", VALUES.values(), ids=VALUES)
def test_the_product_with_the_values(product):
    query, key, value = tensors()
    call = one_call(lambda q, k, v: product(torch.softmax(q @ k.mT, dim=-1), v), query, key, value)
    expected = softmax64(query.double() @ key.double().mT)
    assert_weights(call, expected)
    for head in range(H):
        torch.testing.assert_close(call.output(head), (expected @ value.double())[:, head].float())


ALLOWED = torch.rand(B, 1, N, M, generator=torch.Generator().manual_seed(3)) > 0.3
ALLOWED[..., 0] = True

MASKS = {
    "masked_fill": lambda s: s.masked_fill(~ALLOWED, -torch.inf),
    "masked_fill with the lowest number": lambda s: s.masked_fill(~ALLOWED, LOWEST),
    "masked_fill with -1e9, in place": lambda s: s.masked_fill_(~ALLOWED, -1e9),
    "where": lambda s: torch.where(ALLOWED, s, torch.tensor(LOWEST)),
    "where, swapped": lambda s: torch.where(~ALLOWED, -torch.inf, s),
    "where as a method": lambda s: s.where(ALLOWED, -torch.inf),
    "added": lambda s: s + torch.zeros(B, 1, N, M).masked_fill(~ALLOWED, LOWEST),
    "added in place": lambda s: s.add_(torch.zeros(B, 1, N, M).masked_fill(~ALLOWED, -torch.inf)),
    "subtracted": lambda s: s - torch.zeros(B, 1, N, M).masked_fill(~ALLOWED, 65500.0),
    "through another shape": lambda s: (
        s.view(B * H, N, M).masked_fill(~ALLOWED.expand(B, H, N, M).reshape(B * H, N, M), LOWEST).view(B, H, N, M)
    ),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_the_mask(mask):
    query, key, value = tensors()
    call = one_call(lambda q, k, v: torch.softmax(mask(q @ k.mT), dim=-1) @ v, query, key, value)
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64((query.double() @ key.double().mT).masked_fill(~ALLOWED, -torch.inf)))
    assert (call.weights()[(~ALLOWED).expand(B, H, N, M)] == 0).all()


def test_a_query_that_may_attend_to_nothing_is_blank():
    """A model's own softmax makes equal weights of it, which mean nothing."""
    query, key, value = tensors()
    allowed = torch.ones(B, 1, N, M, dtype=torch.bool)
    allowed[1, :, 2] = False
    call = one_call(
        lambda q, k, v: torch.softmax((q @ k.mT).masked_fill(~allowed, LOWEST), dim=-1) @ v, query, key, value
    )
    assert (call.weights()[1, :, 2] == 0).all()
    assert call.row_sum_error() < 1e-6


def test_biases_add_up_and_are_scaled_with_the_scores():
    """As in XLNet: (content + position) * scale."""
    query, key, value = tensors()
    first, second = torch.randn(1, H, N, M), torch.randn(B, 1, N, M)
    call = one_call(
        lambda q, k, v: torch.softmax((q @ k.mT + first) * 0.5 + torch.add(second, 0), dim=-1) @ v, query, key, value
    )
    expected = (query.double() @ key.double().mT + first.double()) * 0.5 + second.double()
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(expected))


def test_a_bias_that_is_itself_a_product_of_queries():
    """As in Shaw's and DeBERTa's relative positions: the content comes first, what is added is a bias."""
    query, key, value = tensors(keys=N)
    relative = torch.randn(N, N, D)
    call = one_call(
        lambda q, k, v: torch.softmax(q @ k.mT + torch.einsum("bhid,ijd->bhij", q, relative), dim=-1) @ v,
        query,
        key,
        value,
    )
    bias = torch.einsum("bhid,ijd->bhij", query.double(), relative.double())
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(query.double() @ key.double().mT + bias))


def test_alibi_by_baddbmm():
    """As in BLOOM: the bias comes in with the product itself."""
    query, key, value = tensors()
    alibi = torch.arange(M).repeat(B * H, 1, 1) * torch.tensor([1.0, 0.5, 0.25]).repeat(B).view(B * H, 1, 1)

    def attend(q, k, v):
        scores = alibi.baddbmm(batch1=q.flatten(0, 1), batch2=k.flatten(0, 1).mT, beta=1.0, alpha=0.5)
        return torch.bmm(torch.softmax(scores.view(B, H, N, M), dim=-1).view(B * H, N, M), v.flatten(0, 1))

    call = one_call(attend, query, key, value)
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(0.5 * query.double() @ key.double().mT + alibi.double().view(B, H, 1, M)))


def test_softcap():
    """Gemma 2: cap * tanh(scores / cap), then the mask."""
    query, key, value = tensors()

    def attend(q, k, v):
        scores = (q @ k.mT) * 0.5
        scores = scores / 3.0
        scores = torch.tanh(scores)
        scores = scores * 3.0
        return F.softmax(scores.masked_fill(~ALLOWED, LOWEST), dim=-1) @ v

    call = one_call(attend, query, key, value)
    expected = 3 * torch.tanh(0.5 * query.double() @ key.double().mT / 3)
    assert (call.softcap, call.scale) == (pytest.approx(3.0), pytest.approx(0.5))
    assert_weights(call, softmax64(expected.masked_fill(~ALLOWED, -torch.inf)))


def test_sinks():
    """gpt-oss: one more score in every row, whose share goes to no value."""
    query, key, value = tensors()
    sinks = torch.tensor([1.0, -2.0, 30.0])

    def attend(q, k, v):
        column = sinks.reshape(1, -1, 1, 1).expand(B, -1, N, -1)
        scores = torch.cat([q @ k.mT, column], dim=-1)
        scores = scores - scores.max(dim=-1, keepdim=True).values
        return F.softmax(scores, dim=-1)[..., :-1] @ v

    call = one_call(attend, query, key, value)
    column = sinks.double().view(1, H, 1, 1).expand(B, H, N, 1)
    expected = softmax64(torch.cat([query.double() @ key.double().mT, column], dim=-1))[..., :-1]
    assert torch.equal(call.sinks, sinks)
    assert_weights(call, expected)
    assert call.weights().sum(-1).min() < 0.5
    assert call.row_sum_error() < 1e-6
    torch.testing.assert_close(call.tile(2, slice(1, 4), slice(2, 6)), expected[:, 2, 1:4, 2:6].float())


def test_a_temperature_for_each_head():
    """Swin v2: cosines times a learned factor."""
    query, key, value = tensors()
    factor = torch.tensor([1.0, 5.0, 10.0]).view(H, 1, 1)

    def attend(q, k, v):
        return torch.softmax(F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * factor, dim=-1) @ v

    call = one_call(attend, query, key, value)
    cosines = F.normalize(query.double(), dim=-1) @ F.normalize(key.double(), dim=-1).mT
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(cosines * factor.double()))


def test_key_heads_that_query_heads_share():
    """Grouped queries as five dimensions, (batch, key head, group, query, d)."""
    query, key, value = torch.randn(B, 2, 3, N, D), torch.randn(B, 2, 1, M, D), torch.randn(B, 2, 1, M, D)
    call = one_call(lambda q, k, v: torch.softmax(q @ k.mT, dim=-1) @ v, query, key, value, num_heads=6)
    assert call.num_heads == 6
    assert_weights(call, softmax64(query.double() @ key.double().mT).flatten(1, 2))


@pytest.mark.parametrize(("attributes", "batch", "heads"), [({"num_heads": H}, B, H), ({}, B * H, 1)])
def test_heads_counted_into_the_batch(attributes, batch, heads):
    query, key, value = (each.flatten(0, 1) for each in tensors())
    call = one_call(lambda q, k, v: torch.bmm(torch.softmax(q @ k.mT, dim=-1), v), query, key, value, **attributes)
    assert (call.batch_size, call.num_heads) == (batch, heads)
    assert_weights(call, softmax64(query.double() @ key.double().mT).view(batch, heads, N, M))


def test_one_head_of_a_blackboard_sketch():
    """(token, d) without batch and heads, as in a first lesson."""
    query, key, value = torch.randn(N, D), torch.randn(M, D), torch.randn(M, D)
    call = one_call(lambda q, k, v: torch.softmax(q @ k.T / math.sqrt(D), dim=-1) @ v, query, key, value)
    assert_weights(call, softmax64(query.double() @ key.double().T / 2)[None, None])


class CausalSelfAttention(nn.Module):
    """As nanoGPT writes it: one projection, a buffer for the mask, dropout."""

    def __init__(self):
        super().__init__()
        self.n_head, self.n_embd = H, H * D
        self.c_attn = nn.Linear(self.n_embd, 3 * self.n_embd)
        self.c_proj = nn.Linear(self.n_embd, self.n_embd)
        self.attn_dropout = nn.Dropout(0.3)
        self.register_buffer("bias", torch.tril(torch.ones(8, 8)).view(1, 1, 8, 8))

    def forward(self, x):
        batch, length, _ = x.size()
        q, k, v = (
            part.view(batch, length, self.n_head, -1).transpose(1, 2) for part in self.c_attn(x).split(self.n_embd, 2)
        )
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        att = self.attn_dropout(att)
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(batch, length, self.n_embd))


@pytest.mark.parametrize("training", [False, True])
def test_nano_gpt(training):
    """Also while it trains: the weights are those before dropout, and the same dropout is drawn."""
    torch.manual_seed(0)
    model = nn.Sequential(CausalSelfAttention(), CausalSelfAttention()).train(training)
    x = torch.randn(B, N, H * D)
    torch.manual_seed(1)
    unrecorded = model(x)
    torch.manual_seed(1)
    with record(model) as trace:
        recorded = model(x)
    assert torch.equal(recorded, unrecorded)
    assert [(call.name, call.kind) for call in trace] == [("0", "decoder"), ("1", "decoder")]
    assert trace.gaps() == ()
    query, key, _ = (
        part.unflatten(-1, (H, D)).transpose(1, 2) for part in model[0].double().c_attn(x.double()).chunk(3, -1)
    )
    scores = (query @ key.mT / 2).masked_fill(~torch.ones(N, N).tril().bool(), -torch.inf)
    assert_weights(trace[0], torch.softmax(scores, -1).detach())
    if training:
        assert trace[0].dropout == pytest.approx(0.3)
        assert trace.certificate() is None
    else:
        assert trace.certificate() < 1e-6


def test_bfloat16_is_closer_to_the_truth_than_the_models_own_weights():
    query, key, value = (each.bfloat16() for each in tensors())
    model = Written(lambda q, k, v: torch.softmax(q @ k.mT, dim=-1) @ v)
    with record(model) as trace:
        model(query, key, value)
    expected = softmax64(query.double() @ key.double().mT).float()
    own = torch.softmax(query @ key.mT, dim=-1).float()
    assert (trace[0].weights() - expected).abs().max() < 1e-6 < (own - expected).abs().max()
    assert trace.row_sum_error() < 1e-6
    assert trace.certificate() < 2e-2


NOT_UNDERSTOOD = {
    "position biases of rows and columns": lambda s: (
        s.view(B, H, N, 2, M // 2) + torch.arange(float(N)).view(N, 1, 1) + torch.arange(3.0)
    ).view(B, H, N, M),
    "a function of the scores": lambda s: torch.relu(s),
    "some scores overwritten": lambda s: s.index_fill(3, torch.tensor([1]), 2.0),
    "a factor for each key": lambda s: s * torch.arange(1.0, M + 1),
    "columns in another order": lambda s: s.flip(-1),
}


@pytest.mark.parametrize("step", NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
def test_what_is_not_understood_keeps_the_models_own_weights(step):
    query, key, value = tensors()
    call = one_call(lambda q, k, v: torch.softmax(step(q @ k.mT), dim=-1) @ v, query, key, value)
    assert isinstance(call, StoredAttention)
    assert (call.query, call.key, call.sinks) == (None, None, None)
    scores = step(query.double() @ key.double().mT)
    assert_weights(call, torch.softmax(scores, dim=-1))
    torch.testing.assert_close(
        call.weights(1, temperature=2.0), torch.softmax(scores / 2, dim=-1)[:, 1].float(), atol=1e-6, rtol=1e-5
    )
    assert torch.equal(call.tile(1, slice(0, 3), slice(2, 4)), call.weights(1)[:, :3, 2:4])


def test_scores_overwritten_by_index_are_not_taken_for_the_product():
    query, key, value = tensors()

    def attend(q, k, v):
        scores = q @ k.mT
        scores[..., 1] = 7.0
        return torch.softmax(scores, dim=-1) @ v

    expected = query.double() @ key.double().mT
    expected[..., 1] = 7.0
    assert_weights(one_call(attend, query, key, value), softmax64(expected))


def test_a_query_that_changes_after_its_product_is_noticed():
    """The model may reuse the memory of its queries: then what was read does not explain its weights."""
    query, key, value = tensors()

    def attend(q, k, v):
        scores = q @ k.mT
        q.zero_()
        return torch.softmax(scores, dim=-1) @ v

    call = one_call(attend, query, key, value)
    assert isinstance(call, StoredAttention)
    assert_weights(call, softmax64(query.double() @ key.double().mT))


def test_nan_scores_stay_visible():
    query, key, value = tensors()
    query[0, 0, 0, 0] = torch.nan
    model = Written(lambda q, k, v: torch.softmax(q @ k.mT, dim=-1) @ v)
    with record(model) as trace:
        model(query, key, value)
    assert trace[0].weights()[0, 0, 0].isnan().all()
    assert not trace[0].weights()[1].isnan().any()
    assert math.isnan(trace.certificate())


ROUTER = nn.Linear(D, 4)

OTHER_USES = {
    "a classifier": lambda x: torch.softmax(x @ torch.randn(D, 7), dim=-1),
    "a linear layer by matmul": lambda x: torch.matmul(x, torch.randn(D, D)) @ torch.randn(D, 3),
    "a mixture of experts": lambda x: torch.softmax(ROUTER(x), dim=-1) @ torch.randn(4, D),
    "a mixture of experts by matmul": lambda x: torch.softmax(x @ ROUTER.weight.T, dim=-1) @ torch.randn(4, D),
    "linear attention": lambda x: x.softmax(dim=-1) @ (x.softmax(dim=-2).mT @ x),
    "a softmax over the queries": lambda x: torch.softmax(x @ x.mT, dim=-2) @ x,
    "weights that are changed": lambda x: (torch.softmax(x @ x.mT, dim=-1) * torch.rand(N, N)) @ x,
    "weights that are overwritten": lambda x: (
        torch.softmax(x @ x.mT, dim=-1).index_fill_(2, torch.tensor([1]), 0.0) @ x
    ),
}


@pytest.mark.parametrize("use", OTHER_USES.values(), ids=OTHER_USES)
def test_other_uses_of_softmax_and_products_are_no_attention(use):
    model = Written(use, router=ROUTER)
    with pytest.raises(NoAttentionError), record(model):
        model(torch.randn(B, N, D))


def test_the_models_own_maps_do_not_outlive_its_forward_pass():
    """Recorded are queries and keys: the squares are free again, while the block still runs."""
    squares = []

    def attend(q, k, v):
        scores = q @ k.mT
        weights = torch.softmax(scores, dim=-1)
        squares.extend(map(weakref.ref, (scores, weights)))
        return F.dropout(weights, 0.1) @ v

    model = Written(attend)
    with record(model):
        model(*tensors())
        gc.collect()
        assert [square() for square in squares] == [None, None]


WRITTEN_OVER = {
    "a part of the scores": lambda s: s[:, :, 1].fill_(0.0),
    "another form of the scores": lambda s: s.view(B * H, N, M).add_(torch.arange(float(M))),
    "the scores behind PyTorch's back": lambda s: s.data.mul_(2.0),
}


@pytest.mark.parametrize("write", WRITTEN_OVER.values(), ids=WRITTEN_OVER)
def test_scores_written_over_through_a_view_are_noticed(write):
    """Also if only one row differs."""
    query, key, value = tensors()

    def attend(q, k, v):
        scores = q @ k.mT
        write(scores)
        return torch.softmax(scores, dim=-1) @ v

    expected = query.double() @ key.double().mT
    write(expected)
    call = one_call(attend, query, key, value)
    assert isinstance(call, StoredAttention)
    assert_weights(call, softmax64(expected))


@pytest.mark.parametrize("dtype", [torch.long, torch.int32, torch.uint8, torch.bool])
def test_biases_that_are_whole_numbers(dtype):
    query, key, value = tensors()
    bias = (torch.arange(M) % 2).to(dtype)
    call = one_call(lambda q, k, v: torch.softmax(q @ k.mT + bias, dim=-1) @ v, query, key, value)
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(query.double() @ key.double().mT + bias.double()))


def test_masks_as_whole_numbers():
    query, key, value = tensors()
    call = one_call(
        lambda q, k, v: torch.softmax(q @ k.mT + (1 - ALLOWED.long()) * -10000, dim=-1) @ v, query, key, value
    )
    assert_weights(call, softmax64((query.double() @ key.double().mT).masked_fill(~ALLOWED, -torch.inf)))


def test_values_first():
    """As in the attention blocks of VQGAN and Stable Diffusion: V A^T."""
    query, key, value = (each.flatten(0, 1) for each in tensors())

    def attend(q, k, v):
        weights = torch.softmax(torch.bmm(q, k.permute(0, 2, 1)), dim=2)
        return torch.bmm(v.permute(0, 2, 1), weights.permute(0, 2, 1))

    call = one_call(attend, query, key, value)
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(query.double() @ key.double().mT)[:, None])


def test_query_heads_that_share_one_key_head_by_einsum():
    """As in PaLM: keys and values without a dimension for heads."""
    query, key, value = torch.randn(B, H, N, D), torch.randn(B, M, D), torch.randn(B, M, D)

    def attend(q, k, v):
        weights = torch.einsum("bhid,bjd->bhij", q, k).softmax(dim=-1)
        return torch.einsum("bhij,bjd->bhid", weights, v)

    call = one_call(attend, query, key, value)
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(query.double() @ key.double()[:, None].mT))


@pytest.mark.parametrize("product", [torch.mm, lambda q, k: F.linear(q, k.T), torch.matmul], ids=["mm", "linear", "@"])
def test_products_of_two_dimensions(product):
    query, key, value = torch.randn(N, D), torch.randn(M, D), torch.randn(M, D)
    call = one_call(lambda q, k, v: torch.softmax(product(q, k.T), dim=-1) @ v, query, key, value)
    assert_weights(call, softmax64(query.double() @ key.double().T)[None, None])


def test_one_more_key_is_not_a_sink_if_it_has_a_value():
    query, key, value = tensors()
    memory = torch.randn(B, H, N, 1)

    def attend(q, k, v):
        weights = torch.softmax(torch.cat([q @ k.mT, memory], dim=-1), dim=-1)
        return weights @ torch.cat([v, v[:, :, :1]], dim=2)

    call = one_call(attend, query, key, value)
    assert call.sinks is None
    assert_weights(call, softmax64(torch.cat([query.double() @ key.double().mT, memory.double()], dim=-1)))


LOST = {
    "rows in another order": lambda a: a[:, :, torch.arange(N - 1, -1, -1)],
    "heads in another order": lambda a: a[:, [2, 0, 1]],
    "a row set to zero": lambda a: a.index_fill_(2, torch.tensor([1]), 0.0),
    "dropout in place": lambda a: F.dropout(a, 0.5, True, True),
    "a gate for each head": lambda a: a * torch.arange(1.0, H + 1).view(H, 1, 1),
    "heads that talk": lambda a: torch.einsum("bhij,hg->bgij", a, torch.randn(H, H)),
}


@pytest.mark.parametrize("change", LOST.values(), ids=LOST)
def test_weights_that_are_changed_before_they_meet_the_values_are_named(change):
    """None of these is attention by the softmax's weights: it is not recorded as that, and the trace says so."""
    model = nn.ModuleDict(
        {
            "plain": Written(lambda q, k, v: torch.softmax(q @ k.mT, dim=-1) @ v),
            "gated": Written(lambda q, k, v: change(torch.softmax(q @ k.mT, dim=-1)) @ v),
        }
    )
    with record(model) as trace:
        for name in ("plain", "gated"):
            model[name](*tensors(keys=N))
    assert [call.name for call in trace] == ["plain"]
    assert trace.pieces == ("gated",)


def test_a_softmax_over_the_queries_is_named():
    model = nn.ModuleDict(
        {
            "plain": Written(lambda x: torch.softmax(x @ x.mT, dim=-1) @ x),
            "swapped": Written(lambda x: torch.softmax(x @ x.mT, dim=-2) @ x),
        }
    )
    with record(model) as trace:
        for name in ("plain", "swapped"):
            model[name](torch.randn(B, H, N, D))
    assert trace.pieces == ("swapped",)


def test_heads_before_texts_in_one_dimension():
    """As in attention-is-all-you-need-pytorch: (head * batch), seen where the model made them one."""

    def attend(q, k, v):
        q, k, v = (each.transpose(0, 1).reshape(H * B, -1, D) for each in (q, k, v))
        return torch.bmm(torch.softmax(torch.bmm(q, k.mT), dim=-1), v).view(H, B, N, D).transpose(0, 1)

    query, key, value = tensors()
    call = one_call(attend, query, key, value, n_head=H)
    assert (call.batch_size, call.num_heads) == (B, H)
    assert_weights(call, softmax64(query.double() @ key.double().mT))


@pytest.mark.parametrize("texts", [2, H])
def test_tokens_first(texts):
    """As in fairseq: (token, batch, features), of which the features are split into heads."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(length, texts, H * D, generator=generator) for length in (N, M, M))

    def attend(q, k, v):
        q, k, v = (each.contiguous().view(-1, texts * H, D).transpose(0, 1) for each in (q, k, v))
        z = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1), v)
        return z.transpose(0, 1).reshape(N, texts, H * D)

    model = Written(attend, num_heads=H)
    with record(model) as trace:
        model(query, key, value)
    assert trace.gaps() == ()
    scores = torch.einsum("ibhd,jbhd->bhij", query.double().unflatten(-1, (H, D)), key.double().unflatten(-1, (H, D)))
    assert_weights(trace[0], softmax64(scores))


def test_one_head_after_the_other_in_a_batch_of_as_many_texts():
    """Not to be taken for one text with all its heads."""

    class OneByOne(nn.Module):
        n_heads = 2

        def forward(self, x):
            return sum(torch.softmax(part @ part.mT, dim=-1) @ part for part in x.chunk(2, dim=-1))

    x = torch.randn(4, N, 2 * D)
    model = OneByOne()
    with record(model) as trace:
        model(x)
    assert [(call.batch_size, call.num_heads) for call in trace] == [(4, 1), (4, 1)]
    for call, part in zip(trace, x.double().chunk(2, dim=-1), strict=True):
        assert_weights(call, softmax64(part @ part.mT)[:, None])


def test_texts_and_heads_that_cannot_be_told_apart_are_said_to_be_guessed():
    """Built from the start as (batch * head): nothing tells in which order."""
    heads_in_batch = torch.randn(B * H, N, D)

    class FromNothing(nn.Module):
        num_heads = H

        def forward(self):
            return torch.softmax(heads_in_batch @ heads_in_batch.mT, dim=-1) @ heads_in_batch

    nothing = FromNothing()
    with record(nothing) as trace:
        nothing()
    assert (trace[0].batch_size, trace[0].num_heads) == (B, H)
    assert any("is a guess" in gap for gap in trace.gaps())


def test_blocks_of_a_text_are_pieces():
    """Five dimensions: without the module's number of heads the last one is the heads, as in the kernel."""

    class BlockAttention(Written):
        pass

    model = BlockAttention(lambda q: torch.softmax(q @ q.mT, dim=-1) @ q, num_heads=3)
    with record(model) as trace:
        model(torch.randn(B, 4, 3, N, D))
    assert (trace[0].batch_size, trace[0].num_heads) == (B * 4, 3)
    assert trace.pieces == ("",)
    assert any("in more than is recorded: the model itself." in gap for gap in trace.gaps())


def test_functions_called_with_names_alone():
    query, key, value = tensors()

    def attend(q, k, v):
        scores = torch.matmul(input=q, other=k.mT)
        scores = torch.add(input=scores, other=torch.flatten(input=torch.zeros(1, M)))
        return torch.matmul(input=torch.softmax(input=scores, dim=-1), other=v)

    assert_weights(one_call(attend, query, key, value), softmax64(query.double() @ key.double().mT))


def test_the_activations_of_a_network_are_not_kept():
    """Products with plain tensors, added up along a residual stream, are not the biases of one attention."""
    weights = [torch.randn(8, 8) for _ in range(12)]
    alive = []

    class Residual(nn.Module):
        def forward(self, x):
            for weight in weights:
                part = torch.matmul(x, weight)
                alive.append(weakref.ref(part))
                x = x + part
            scores = torch.softmax(x @ x.mT, dim=-1) @ x
            return scores

    model = Residual()
    with record(model):
        model(torch.randn(2, 3, 5, 8))
        gc.collect()
        assert [part() for part in alive] == [None] * 12


def test_gradients_are_saved_as_without_recording():
    """Gradient checkpointing compares how many tensors a part saves, in the forward and in the backward pass."""
    from torch.utils.checkpoint import checkpoint

    factor = torch.tensor([1.0, 5.0, 10.0]).view(H, 1, 1).requires_grad_()
    model = Written(lambda q, k, v: torch.softmax(q @ k.mT / factor, dim=-1) @ v)
    inputs = [each.requires_grad_() for each in tensors()]
    with record(model) as trace:
        output = checkpoint(model, *inputs, use_reentrant=False)
    output.sum().backward()
    assert len(trace) == 1
    assert factor.grad is not None


def test_attention_that_cannot_be_read_does_not_stop_the_model():
    model = nn.ModuleDict(
        {
            "plain": Written(lambda q, k, v: torch.softmax(q @ k.mT, dim=-1) @ v),
            "meta": Written(lambda q, k, v: F.scaled_dot_product_attention(q, k, v)),
        }
    )
    with record(model) as trace:
        model["plain"](*tensors())
        output = model["meta"](*(each.to("meta") for each in tensors()))
    assert output.shape == (B, H, N, D)
    assert [call.name for call in trace] == ["plain"]
    assert any("attention of meta could not be read" in gap for gap in trace.gaps())


STEPS = {
    "a bias with a factor": lambda s: torch.add(s, torch.arange(float(M)), alpha=2),
    "a bias with a factor, subtracted": lambda s: torch.sub(s, torch.arange(float(M)), alpha=0.5),
    "subtracted from a number": lambda s: 1.0 - s,
    "subtracted from a bias": lambda s: torch.arange(float(M)) - s,
    "a number divided by scores": lambda s: 1.0 / (s + 100.0),
    "bounded above": lambda s: s.clamp(min=-1e5, max=1.0),
    "bounded below": lambda s: s.clamp(min=-1.0),
    "filled with a number that is not low": lambda s: s.masked_fill(~ALLOWED, -3.0),
    "scaled after the mask": lambda s: s.masked_fill(~ALLOWED, -2e4) * 1e-4,
    "a softcap after a bias": lambda s: 3 * torch.tanh((s + torch.arange(float(M))) / 3),
    "scaled after a softcap": lambda s: 0.5 * (3 * torch.tanh(s / 3)),
    "two sinks": lambda s: torch.cat([s, s[..., :1], s[..., 1:2]], dim=-1)[..., :M],
    "rounded": lambda s: torch.div(s, 0.5, rounding_mode="floor"),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_other_steps_are_exact_whether_they_are_understood_or_not(step):
    query, key, value = tensors()
    call = one_call(lambda q, k, v: torch.softmax(step(q @ k.mT), dim=-1) @ v, query, key, value)
    own = softmax64(step(query @ key.mT))  # in single precision: rounding steps would differ otherwise
    torch.testing.assert_close(call.weights(), own.float(), atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize(("beta", "alpha"), [(0.5, 1.0), (1.0, 2.0), (0.0, 0.5)])
def test_factors_of_baddbmm(beta, alpha):
    query, key, value = (each.flatten(0, 1) for each in tensors())
    bias = torch.randn(B * H, N, M)
    call = one_call(
        lambda q, k, v: torch.softmax(torch.baddbmm(bias, q, k.mT, beta=beta, alpha=alpha), dim=-1) @ v,
        query,
        key,
        value,
    )
    assert isinstance(call, ScoredAttention)
    assert_weights(call, softmax64(beta * bias.double() + alpha * query.double() @ key.double().mT)[:, None])


def test_dropout_twice():
    query, key, value = tensors()
    model = Written(lambda q, k, v: F.dropout(F.dropout(torch.softmax(q @ k.mT, dim=-1), 0.5), 0.2) @ v)
    with record(model) as trace:
        model(query, key, value)
    assert trace[0].dropout == pytest.approx(0.6)
    assert_weights(trace[0], softmax64(query.double() @ key.double().mT))


def test_heads_counted_into_the_batch_by_a_helper_of_the_module():
    """What the module was called with is what its forward got, not what its helper did."""

    class WithHelper(nn.Module):
        num_heads = H

        def forward(self, x):
            heads = torch.cat([*x.unflatten(-1, (H, D)).permute(0, 2, 1, 3)], dim=0)  # (batch * head, token, d)
            return self.attend(heads, heads, heads)

        def attend(self, q, k, v):
            return torch.softmax(q @ k.mT, dim=-1) @ v

    model, x = WithHelper(), torch.randn(B, N, H * D)
    with record(model) as trace:
        model(x)
    assert (trace[0].batch_size, trace[0].num_heads) == (B, H)
    heads = x.double().unflatten(-1, (H, D)).transpose(1, 2)
    assert_weights(trace[0], softmax64(heads @ heads.mT))


def test_queries_of_all_heads_in_one_row_of_tokens():
    """As in StarCoder: (batch, token * head, d) on one key head. The model runs, and what is a guess is said to be."""

    class MultiQuery(nn.Module):
        num_heads = H

        def forward(self, x):
            query = x.view(B, N * H, D)
            return torch.softmax(query @ x[..., :D].mT, dim=-1) @ x[..., :D]

    model, x = MultiQuery(), torch.randn(B, N, H * D)
    with record(model) as trace:
        recorded = model(x)
    assert torch.equal(recorded, model(x))
    assert any("is a guess" in gap for gap in trace.gaps())


def test_sparse_tensors_are_passed_over():
    class Graph(nn.Module):
        def forward(self, x):
            neighbours = torch.eye(N).to_sparse()
            x = neighbours @ x
            return torch.softmax(x @ x.mT, dim=-1) @ x

    model, x = Graph(), torch.randn(N, D)
    with record(model) as trace:
        recorded = model(x)
    assert torch.equal(recorded, model(x))
    assert_weights(trace[0], softmax64(x.double() @ x.double().mT)[None, None])


def test_a_router_whose_weights_are_cast_is_no_gap():
    """As in DeepSeek-V2: the weights of a linear layer, but not the parameter itself."""
    router = nn.Linear(D, 4)
    model = nn.ModuleDict(
        {
            "attention": Written(lambda q, k, v: torch.softmax(q @ k.mT, dim=-1) @ v),
            "gate": Written(lambda x: F.linear(x, router.weight.double().float()).softmax(dim=-1), router=router),
        }
    )
    with record(model) as trace:
        model["attention"](*tensors())
        model["gate"](torch.randn(B, N, D))
    assert trace.gaps() == ()
