"""intervene(): true heads, before W_O, of any model."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer_core.inspection import intervene, record
from transformer_core.model import Transformer, TransformerConfig

HEADS, D = 4, 8
QUERIES, KEYS = 5, 5


class Attention(nn.Module):
    """Self-attention, by the kernel or written out, with the output projection that mixes the heads."""

    def __init__(self, is_written_out: bool):
        super().__init__()
        self.is_written_out = is_written_out
        self.qkv = nn.Linear(HEADS * D, 3 * HEADS * D)
        self.out = nn.Linear(HEADS * D, HEADS * D)

    def heads(self, x):
        return (part.unflatten(-1, (HEADS, D)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))

    def forward(self, x, mask=None):
        query, key, value = self.heads(x)
        if self.is_written_out:
            scores = query @ key.transpose(-2, -1) / D**0.5
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            z = F.softmax(scores, dim=-1) @ value
        else:
            z = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(z.transpose(1, 2).flatten(2))


class Stack(nn.Module):
    def __init__(self, is_written_out: bool):
        super().__init__()
        self.layers = nn.ModuleList(Attention(is_written_out) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


@pytest.fixture(params=[False, True], ids=["fused", "written out"])
def attention(request) -> Attention:
    torch.manual_seed(0)
    return Attention(request.param).eval()


@pytest.fixture(params=[False, True], ids=["fused", "written out"])
def stack(request) -> Stack:
    torch.manual_seed(0)
    return Stack(request.param).eval()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, QUERIES, HEADS * D, generator=torch.Generator().manual_seed(1))


def with_heads(attention: Attention, x: torch.Tensor, edit) -> torch.Tensor:
    """The layer's output by hand: softmax and product of every head, after `edit(scores, z)` -> z."""
    query, key, value = (part.double() for part in attention.heads(x))
    scores = query @ key.transpose(-2, -1) / D**0.5
    z = edit(scores, value, torch.softmax(scores, dim=-1) @ value)
    return F.linear(z.transpose(1, 2).flatten(2), attention.out.weight.double(), attention.out.bias.double())


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual.double(), expected, atol=2e-6, rtol=1e-5)


@torch.no_grad()
def test_a_head_set_to_zero_contributes_nothing(attention, x):
    def edit(scores, value, z):
        z[:, 2] = 0
        return z

    with intervene(attention, zero_heads={(0, 2)}):
        changed = attention(x)
    close(changed, with_heads(attention, x, edit))


@torch.no_grad()
def test_the_heads_and_the_bias_sum_to_the_layers_output(attention, x):
    """The identity that zeroing rests on: output = sum over heads of z_h W_O[h] + b."""
    with record(attention) as trace:
        output = attention(x)
    projections = attention.out.weight.split(D, dim=1)
    parts = [F.linear(trace[0].output(head), projections[head]) for head in range(HEADS)]
    torch.testing.assert_close(sum(parts) + attention.out.bias, output, atol=1e-6, rtol=1e-5)
    for head in range(HEADS):
        with intervene(attention, zero_heads={(0, head)}):
            torch.testing.assert_close(output - attention(x), parts[head], atol=1e-6, rtol=1e-5)
    with intervene(attention, zero_heads={(0, head) for head in range(HEADS)}):
        assert torch.equal(attention(x), attention.out.bias.expand_as(x))


@torch.no_grad()
def test_mean_over_the_queries(attention, x):
    def edit(scores, value, z):
        z[:, 1] = z[:, 1].mean(dim=(0, 1))
        return z

    with intervene(attention, mean_heads={(0, 1)}):
        changed = attention(x)
    close(changed, with_heads(attention, x, edit))


@torch.no_grad()
def test_mean_leaves_out_queries_that_attend_to_nothing(attention, x):
    mask = torch.ones(2, 1, QUERIES, KEYS, dtype=torch.bool)
    mask[0, :, 1] = False
    with record(attention) as trace:
        attention(x, mask)
    z = trace[0].output(1)
    mean = torch.cat([z[0, [0, 2, 3, 4]], z[1]]).mean(dim=0)
    with intervene(attention, mean_heads={(0, 1): mean}):
        given_mean = attention(x, mask)
    with intervene(attention, mean_heads={(0, 1)}):
        own_mean = attention(x, mask)
    torch.testing.assert_close(own_mean, given_mean, equal_nan=True)
    assert not own_mean[1].isnan().any()


@torch.no_grad()
def test_a_given_mean(attention, x):
    mean = torch.arange(D, dtype=torch.float32)

    def edit(scores, value, z):
        z[:, 3] = mean.double()
        return z

    with intervene(attention, mean_heads={(0, 3): mean}):
        changed = attention(x)
    close(changed, with_heads(attention, x, edit))


@torch.no_grad()
@pytest.mark.parametrize("batch", [(), (1,), (2,)])
def test_a_pattern_in_place_of_the_heads_own(attention, x, batch):
    pattern = torch.rand(*batch, QUERIES, KEYS)

    def edit(scores, value, z):
        z[:, 0] = pattern.double() @ value[:, 0]
        return z

    with intervene(attention, patterns={(0, 0): pattern}):
        changed = attention(x)
    close(changed, with_heads(attention, x, edit))


@torch.no_grad()
@pytest.mark.parametrize("temperature", [0.25, 3.0])
def test_temperature(attention, x, temperature):
    def edit(scores, value, z):
        z[:, 2] = torch.softmax(scores[:, 2] / temperature, dim=-1) @ value[:, 2]
        return z

    with intervene(attention, temperatures={(0, 2): temperature}):
        changed = attention(x)
    close(changed, with_heads(attention, x, edit))


@torch.no_grad()
@given(head=st.integers(0, HEADS - 1), seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_the_heads_own_pattern_changes_nothing(head, seed):
    torch.manual_seed(seed)
    attention, x = Attention(is_written_out=False).eval(), torch.randn(2, QUERIES, HEADS * D)
    with record(attention) as trace:
        output = attention(x)
    with intervene(attention, patterns={(0, head): trace[0].weights(head)}):
        torch.testing.assert_close(attention(x), output, atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_other_heads_keep_their_outputs_bit_for_bit(stack, x):
    with record(stack) as before:
        stack(x)
    with intervene(stack, zero_heads={(1, 2)}), record(stack) as during:
        stack(x)
    assert torch.equal(during[0].checked_output, before[0].checked_output)
    others = [0, 1, 3]
    assert torch.equal(during[1].checked_output[:, others], before[1].checked_output[:, others])
    assert (during[1].checked_output[:, 2] == 0).all()
    assert not torch.equal(during[2].checked_output, before[2].checked_output)


@torch.no_grad()
def test_a_trace_marks_changed_heads_and_keeps_their_own_weights(stack, x):
    with record(stack) as before:
        stack(x)
    with intervene(stack, zero_heads={(1, 2)}), record(stack) as during:
        stack(x)
    assert [call.changed_heads for call in during] == [frozenset(), {2}, frozenset()]
    torch.testing.assert_close(during[1].weights(), before[1].weights())
    assert during.certificate() < 1e-6


@torch.no_grad()
def test_a_recording_outside_sees_what_follows_from_the_change(stack, x):
    with intervene(stack, zero_heads={(0, 0)}), record(stack) as inside:
        stack(x)
    with record(stack) as outside, intervene(stack, zero_heads={(0, 0)}):
        stack(x)
    assert outside[0].changed_heads == frozenset()
    assert torch.equal(outside[2].weights(), inside[2].weights())
    assert outside.certificate() < 1e-6


@torch.no_grad()
def test_calls_are_counted_anew_in_every_pass(stack, x):
    with intervene(stack, zero_heads={(1, 2)}):
        first = stack(x)
        second = stack(x)
    assert torch.equal(first, second)
    assert not torch.equal(first, stack(x))


@torch.no_grad()
def test_a_module_by_its_path_is_changed_wherever_it_is_called(stack, x):
    with intervene(stack, zero_heads={(1, 2)}):
        by_number = stack(x)
    with intervene(stack, zero_heads={("layers.1", 2)}):
        by_path = stack(x)
        alone = stack.layers[1](x)
    assert torch.equal(by_number, by_path)
    assert not torch.equal(alone, stack.layers[1](x))


def test_generation_with_a_cache_stays_changed():
    """A head that is off in every step of cached decoding gives what it gives in one uncached pass."""
    config = TransformerConfig(
        vocab_size=30, d_model=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=2, d_ff=16, max_length=16
    )
    torch.manual_seed(0)
    model = Transformer(config).eval()
    source, target = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9, 10]])
    off = {("decoder.layers.1.self_attention", 1), ("decoder.layers.0.cross_attention", 0)}
    with torch.no_grad(), intervene(model, zero_heads=off):
        memory = model.encode(source)
        at_once = model.decode(target, memory, None)
        cache = model.new_cache()
        steps = [model.decode(token.unsqueeze(0), memory, None, cache) for token in target.T]
        at_once_unchanged_outside = at_once.clone()
    torch.testing.assert_close(torch.cat(steps, dim=1), at_once)
    with torch.no_grad():
        assert not torch.allclose(model.decode(target, memory, None), at_once_unchanged_outside)


def test_gradients_of_the_other_heads(attention, x):
    """The gradient with head 1 off is that of a layer whose head 1 has no output projection."""
    inputs = x.clone().requires_grad_()
    with intervene(attention, zero_heads={(0, 1)}):
        attention(inputs).sum().backward()
    by_hand = x.clone().requires_grad_()
    query, key, value = attention.heads(by_hand)
    z = torch.softmax(query @ key.mT / D**0.5, dim=-1) @ value
    z = z * torch.tensor([1.0, 0.0, 1.0, 1.0]).view(1, HEADS, 1, 1)
    attention.out(z.transpose(1, 2).flatten(2)).sum().backward()
    torch.testing.assert_close(inputs.grad, by_hand.grad, atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_nothing_is_left_after_the_block(stack, x):
    before = stack(x)
    with pytest.raises(ZeroDivisionError), intervene(stack, zero_heads={(0, 0)}):
        stack(x)
        raise ZeroDivisionError
    assert torch.equal(stack(x), before)
    assert torch._C._len_torch_function_stack() == 0


@torch.no_grad()
@pytest.mark.parametrize("need_weights", [False, True])
def test_multihead_attention_of_pytorch(need_weights, x):
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(HEADS * D, HEADS, batch_first=True).eval()
    with record(attention) as trace:
        whole, _ = attention(x, x, x, need_weights=need_weights)
    with intervene(attention, zero_heads={(0, 3)}):
        changed, _ = attention(x, x, x, need_weights=need_weights)
    part = F.linear(trace[0].output(3), attention.out_proj.weight[:, 3 * D :])
    torch.testing.assert_close(whole - changed, part, atol=1e-6, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_hugging_face_model_with_shared_key_heads(implementation):
    """Also in cached decoding, where transformers puts query heads in the place of queries."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=32,
        attn_implementation=implementation,
    )
    model = LlamaForCausalLM(config).eval()
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    off = {("model.layers.0.self_attn", 3), ("model.layers.1.self_attn", 0)}
    with intervene(model, zero_heads=off):
        changed = model(ids).logits[:, -1]
        cache = model(ids[:, :4], use_cache=True).past_key_values
        stepped = model(ids[:, 4:], cache=cache).logits[:, -1]
    torch.testing.assert_close(stepped, changed, atol=1e-5, rtol=1e-5)
    columns = {0: slice(24, 32), 1: slice(0, 8)}
    for layer, off_columns in columns.items():
        model.model.layers[layer].self_attn.o_proj.weight[:, off_columns] = 0
    torch.testing.assert_close(model(ids).logits[:, -1], changed, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"zero_heads": {(7, 0)}}, r"attention call 7: .* made 3 attention calls"),
        ({"zero_heads": {("layers.9", 0)}}, r"no module 'layers\.9' in this Stack"),
        ({"zero_heads": {("layers", 0)}}, r"attention call 'layers'"),
        ({"zero_heads": {(0, 1)}, "temperatures": {(0, 1): 2.0}}, r"Head 1 of attention call 0 has two changes"),
        ({"temperatures": {(0, 1): 0.0}}, r"temperature is 0\.0; it has to be above 0"),
        ({"temperatures": {(0, 1): float("nan")}}, r"temperature is nan"),
        ({"patterns": {(0, 1): torch.ones(5, 4)}}, r"\(5, 4\); it attends with \(batch, query, key\) = \(2, 5, 5\)"),
        ({"patterns": {(0, 1): torch.ones(3, 5, 5)}}, r"shape \(3, 5, 5\)"),
        ({"mean_heads": {(0, 1): torch.ones(3)}}, r"has 8 numbers for each query"),
    ],
)
def test_changes_that_cannot_be_made(stack, x, changes, message):
    with pytest.raises(ValueError, match=message), intervene(stack, **changes):
        stack(x)


@pytest.mark.parametrize("head", [-1, HEADS])
def test_a_head_that_does_not_exist(stack, x, head):
    with pytest.raises(IndexError, match=rf"head {head} does not exist: 'layers\.0' has heads 0 to 3"):  # noqa: SIM117
        with intervene(stack, zero_heads={(0, head)}):
            stack(x)


def test_only_modules(x):
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"), intervene(lambda x: x, zero_heads={(0, 0)}):
        pass


def test_gradient_checkpointing_is_refused(stack, x):
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = stack

        def forward(self, x):
            return checkpoint(self.inner, x, use_reentrant=False)

    model = Checkpointed()
    with pytest.raises(NotImplementedError, match="Turn gradient checkpointing off"):  # noqa: SIM117
        with intervene(model, zero_heads={(0, 0)}):
            model(x.requires_grad_())


def test_a_head_that_does_more_than_weights_times_values_is_not_half_changed(x):
    """Relative positions of the values, as in Shaw et al. 2018: z = A V + A R."""
    positions = torch.randn(QUERIES, KEYS, D)

    class WithPositions(nn.Module):
        def forward(self, x):
            x = x.unflatten(-1, (HEADS, D)).transpose(1, 2)
            weights = torch.softmax(x @ x.mT, dim=-1)
            return weights @ x + torch.einsum("bhij,ijd->bhid", weights, positions)

    model = WithPositions()
    with pytest.raises(ValueError, match="do more than their weights times their values"):  # noqa: SIM117
        with intervene(model, zero_heads={(0, 0)}):
            model(x)


def test_heads_in_a_batch_that_cannot_be_told_from_texts_are_not_changed():
    heads_in_batch = torch.randn(2 * HEADS, QUERIES, D)

    class FromNothing(nn.Module):
        num_heads = HEADS

        def forward(self):
            return torch.softmax(heads_in_batch @ heads_in_batch.mT, dim=-1) @ heads_in_batch

    model = FromNothing()
    with pytest.raises(ValueError, match="one text at a time"), intervene(model, zero_heads={(0, 0)}):
        model()


@torch.no_grad()
def test_heads_that_are_counted_before_the_texts():
    """(head * batch): head 1 is off in both texts, and in them alone."""

    class HeadsFirst(nn.Module):
        n_head = HEADS

        def forward(self, x):
            x = x.unflatten(-1, (HEADS, D)).permute(2, 0, 1, 3).reshape(2 * HEADS, QUERIES, D)
            z = torch.bmm(torch.softmax(torch.bmm(x, x.mT), dim=-1), x)
            return z.view(HEADS, 2, QUERIES, D).permute(1, 2, 0, 3)

    model, x = HeadsFirst(), torch.randn(2, QUERIES, HEADS * D)
    before = model(x)
    with intervene(model, zero_heads={(0, 1)}):
        after = model(x)
    assert (after[:, :, 1] == 0).all()
    assert torch.equal(after[:, :, [0, 2, 3]], before[:, :, [0, 2, 3]])


@torch.no_grad()
def test_calls_of_a_model_that_calls_itself(x):
    """Numbers count through the outermost call, as in a trace."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.attention = Attention(is_written_out=False)

        def forward(self, x, times=2):
            return self.attention(x if times == 1 else self(x, times - 1))

    model = Twice().eval()
    with record(model) as trace:
        model(x)
    assert len(trace) == 2
    with intervene(model, zero_heads={(1, 0)}), record(model) as changed:
        model(x)
        model(x)
    assert [call.changed_heads for call in changed] == [frozenset(), {0}] * 2


@torch.no_grad()
def test_two_interventions_on_one_call_are_both_marked(stack, x):
    with intervene(stack, zero_heads={(1, 2)}), intervene(stack, zero_heads={(1, 0)}), record(stack) as trace:
        stack(x)
    assert trace[1].changed_heads == {0, 2}
    assert trace.certificate() < 1e-6
    with intervene(stack, zero_heads={(1, 0), (1, 2)}), record(stack) as at_once:
        stack(x)
    assert torch.equal(trace[2].weights(), at_once[2].weights())


@torch.no_grad()
def test_changed_heads_of_a_step_with_shared_key_heads_are_marked():
    """There, transformers puts query heads in the place of queries, and the output has another shape."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=50, attn_implementation="sdpa", **sizes, **heads)).eval()
    ids, mask = torch.tensor([[5, 6, 7, 8], [1, 2, 9, 9]]), torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1]])
    cache = model(ids[:, :3], attention_mask=mask[:, :3], use_cache=True).past_key_values
    with intervene(model, zero_heads={(0, 3)}), record(model) as trace:
        model(ids[:, 3:], attention_mask=mask, cache=cache)
    assert trace[0].changed_heads == {3}
    assert trace.certificate() < 1e-6
