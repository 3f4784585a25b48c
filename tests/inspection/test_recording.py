"""record(): what it sees, whom it leaves alone, and that it changes nothing."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_core.inspection import NoAttentionError, record
from transformer_core.model import Transformer, TransformerConfig

CONFIG = TransformerConfig(
    vocab_size=50, d_model=32, num_heads=4, num_encoder_layers=2, num_decoder_layers=2, d_ff=48, max_length=64
)


@pytest.fixture
def transformer() -> Transformer:
    torch.manual_seed(0)
    return Transformer(CONFIG).eval()


def random_ids(length: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(4, CONFIG.vocab_size, (1, length), generator=torch.Generator().manual_seed(seed))


class SelfAttention(nn.Module):
    """Attention of a hand-written model: no projections, options passed on to the kernel."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, query, key=None):
        key = query if key is None else key
        return F.scaled_dot_product_attention(query, key, key, **self.options)


class Wrapper(nn.Module):
    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        for module in self.children():
            x = module(x)
        return x


def test_names_and_kinds_of_the_transformer(transformer):
    with record(transformer) as trace:
        transformer(random_ids(7), random_ids(5))
    assert [(call.name, call.kind) for call in trace] == [
        ("encoder.layers.0.self_attention", "encoder"),
        ("encoder.layers.1.self_attention", "encoder"),
        ("decoder.layers.0.self_attention", "decoder"),
        ("decoder.layers.0.cross_attention", "cross"),
        ("decoder.layers.1.self_attention", "decoder"),
        ("decoder.layers.1.cross_attention", "cross"),
    ]
    assert [call.weights().shape for call in trace.of_kind("cross")] == [(1, 4, 5, 7)] * 2
    assert trace.unseen == ()


@pytest.mark.parametrize("grad", [True, False])
def test_output_is_the_same_bit_for_bit(transformer, grad):
    source, target = random_ids(9), random_ids(6)
    with torch.set_grad_enabled(grad):
        unrecorded = transformer(source, target)
        with record(transformer):
            recorded = transformer(source, target)
    assert torch.equal(recorded, unrecorded)


def test_gradients_are_the_same_bit_for_bit(transformer):
    source, target = random_ids(9), random_ids(6)

    def gradients() -> list[torch.Tensor]:
        transformer.zero_grad()
        transformer(source, target).square().mean().backward()
        return [parameter.grad.clone() for parameter in transformer.parameters()]

    unrecorded = gradients()
    with record(transformer) as trace:
        recorded = gradients()
    assert all(torch.equal(a, b) for a, b in zip(recorded, unrecorded, strict=True))
    assert not any(call.query.requires_grad or call.weights(0).requires_grad for call in trace)


def test_training_mode_draws_the_same_dropout():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.5, batch_first=True).train()
    x = torch.randn(2, 6, 16)
    torch.manual_seed(1)
    unrecorded = layer(x)
    torch.manual_seed(1)
    with record(layer):
        recorded = layer(x)
    assert torch.equal(recorded, unrecorded)


def test_inference_mode(transformer):
    with torch.inference_mode(), record(transformer) as trace:
        transformer(random_ids(4), random_ids(3))
    sums = trace[0].weights().sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_nothing_is_left_on_the_model_or_in_the_process(transformer):
    kernel = F.scaled_dot_product_attention
    before = [dict(vars(module)) for module in transformer.modules()]
    hooks = [key for key in before[0] if "hook" in key]
    with record(transformer):
        transformer(random_ids(4), random_ids(3))
        assert F.scaled_dot_product_attention is kernel
        assert torch.backends.mha.get_fastpath_enabled()
    after = [dict(vars(module)) for module in transformer.modules()]
    assert [list(module) for module in after] == [list(module) for module in before]
    assert hooks
    assert not any(module[hook] for module in after for hook in hooks)
    assert torch._C._len_torch_function_stack() == 0


def test_an_exception_inside_the_block_ends_the_recording(transformer):
    with pytest.raises(ZeroDivisionError), record(transformer) as trace:
        transformer(random_ids(4), random_ids(3))
        raise ZeroDivisionError
    transformer(random_ids(4), random_ids(3))
    assert len(trace) == 6
    assert torch._C._len_torch_function_stack() == 0


def test_an_exception_inside_the_model_ends_the_recording(transformer):
    with pytest.raises(ValueError, match="max_length"), record(transformer):
        transformer(random_ids(CONFIG.max_length + 1), random_ids(3))
    assert torch._C._len_torch_function_stack() == 0


def test_nothing_is_recorded_after_the_block(transformer):
    with record(transformer) as trace:
        transformer(random_ids(4), random_ids(3))
    transformer(random_ids(4), random_ids(3))
    assert len(trace) == 6


def test_threads_on_one_model_keep_their_records_apart(transformer):
    """Two threads record their own texts and a third runs unrecorded, all of them inside their blocks at once."""
    everyone_is_inside = threading.Barrier(3)
    traces, unrecorded_stack = {}, []

    def record_text(length: int) -> None:
        with torch.no_grad(), record(transformer) as trace:
            everyone_is_inside.wait(timeout=60)
            for _ in range(5):
                transformer(random_ids(length, seed=length), random_ids(3))
                everyone_is_inside.wait(timeout=60)
        traces[length] = trace

    def run_unrecorded() -> None:
        everyone_is_inside.wait(timeout=60)
        for _ in range(5):
            with torch.no_grad():
                transformer(random_ids(11), random_ids(3))
            unrecorded_stack.append(torch._C._len_torch_function_stack())
            everyone_is_inside.wait(timeout=60)

    threads = [threading.Thread(target=record_text, args=(length,)) for length in (5, 8)]
    threads.append(threading.Thread(target=run_unrecorded))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert unrecorded_stack == [0] * 5
    for length in (5, 8):
        with torch.no_grad(), record(transformer) as alone:
            transformer(random_ids(length, seed=length), random_ids(3))
        assert len(traces[length]) == 5 * len(alone)
        for index, call in enumerate(traces[length]):
            expected = alone[index % len(alone)]
            assert call.name == expected.name
            assert torch.equal(call.weights(), expected.weights())


def test_recordings_nest(transformer):
    with record(transformer) as outer:
        transformer(random_ids(4), random_ids(3))
        with record(transformer) as inner:
            transformer(random_ids(6), random_ids(3))
    assert [call.num_keys for call in outer.of_kind("encoder")] == [4, 4, 6, 6]
    assert [call.num_keys for call in inner.of_kind("encoder")] == [6, 6]


def test_only_calls_inside_the_model_are_recorded(transformer):
    stranger = Transformer(CONFIG).eval()
    with record(transformer.encoder) as trace:
        stranger(random_ids(5), random_ids(3))
        transformer(random_ids(4), random_ids(3))
    assert [call.name for call in trace] == ["layers.0.self_attention", "layers.1.self_attention"]
    assert all(call.num_keys == 4 for call in trace)


def test_generation_steps_with_a_cache_are_recorded_one_by_one(transformer):
    """Each step has one query and the keys so far, with the rows of the one pass over all tokens."""
    source, target = random_ids(6), random_ids(4, seed=1)
    with torch.no_grad():
        memory, cache = transformer.encode(source), transformer.new_cache()
        with record(transformer) as steps:
            for token in target.T:
                transformer.decode(token.unsqueeze(0), memory, None, cache)
        with record(transformer) as once:
            transformer.decode(target, memory, None)
    first_layer = [call for call in steps if call.name == "decoder.layers.0.self_attention"]
    assert [(call.num_queries, call.num_keys) for call in first_layer] == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert {call.kind for call in first_layer} == {"decoder"}
    whole = once[0].weights(head=2)[0]
    for step, call in enumerate(first_layer):
        torch.testing.assert_close(call.weights(head=2)[0, 0], whole[step, : step + 1])


def test_a_cache_that_is_overwritten_does_not_change_the_record():
    cache = torch.randn(1, 1, 4, 8)

    class WithStaticCache(nn.Module):
        def forward(self, query):
            return F.scaled_dot_product_attention(query, cache, cache)

    model = WithStaticCache()
    query = torch.randn(1, 1, 3, 8)
    with record(model) as trace:
        model(query)
    expected = torch.softmax(query @ cache.mT / 8**0.5, dim=-1)
    query.zero_()
    cache.zero_()
    torch.testing.assert_close(trace[0].weights(), expected)


def test_views_do_not_keep_a_larger_buffer():
    fused = torch.randn(1, 5, 3 * 2 * 8)

    class FusedProjection(nn.Module):
        def forward(self, x):
            query, key, value = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in x.chunk(3, dim=-1))
            return F.scaled_dot_product_attention(query, key, value)

    model = FusedProjection()
    with record(model) as trace:
        model(fused)
    for tensor in (trace[0].query, trace[0].key, trace[0].value):
        assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()


def test_a_mask_that_layers_share_is_kept_once(transformer):
    with record(transformer) as trace:
        transformer(random_ids(4), random_ids(6))
    first, second = trace.of_kind("decoder")
    assert first.mask is second.mask
    assert torch.equal(first.mask[0, 0], torch.ones(6, 6, dtype=torch.bool).tril())


def test_an_expanded_mask_is_kept_small():
    mask = torch.tensor([True, True, False, True, True]).expand(2, 3, 5, 5)
    model = SelfAttention(attn_mask=mask)
    with record(model) as trace:
        model(torch.randn(2, 3, 5, 8))
    assert trace[0].mask.shape == (1, 1, 1, 5)
    assert (trace[0].weights()[..., 2] == 0).all()


def test_a_function_imported_by_name_is_seen():
    """`from torch.nn.functional import scaled_dot_product_attention` before the recording began."""
    imported = F.scaled_dot_product_attention

    class Model(nn.Module):
        def forward(self, x):
            return imported(x, x, x)

    model = Model()
    with record(model) as trace:
        model(torch.randn(1, 2, 3, 4))
    assert [(call.name, call.kind) for call in trace] == [("", "self")]


def test_the_name_is_that_of_the_innermost_registered_module():
    model = Wrapper(block=Wrapper(attention=SelfAttention()))
    with record(model) as trace:
        model(torch.randn(1, 2, 3, 4))
    assert trace[0].name == "block.attention"


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_transformer_encoder_of_pytorch(norm_first, grad):
    """Also without gradients, where unrecorded it takes a C++ path that hides query and key."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    x = torch.randn(2, 6, 16)
    padding = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    with torch.set_grad_enabled(grad):
        unrecorded = model(x, src_key_padding_mask=padding)
        with record(model) as trace:
            recorded = model(x, src_key_padding_mask=padding)
    torch.testing.assert_close(recorded[~padding], unrecorded[~padding], atol=2e-6, rtol=1e-5)
    assert [call.name for call in trace] == [f"layers.{layer}.self_attn" for layer in range(3)]
    for call in trace:
        weights = call.weights()
        assert weights.shape == (2, 4, 6, 6)
        assert (weights[1, :, :, 4:] == 0).all()
        assert call.certificate() < 2e-6


def test_transformer_of_pytorch():
    torch.manual_seed(0)
    model = nn.Transformer(16, 4, 2, 2, 32, batch_first=True).eval()
    source, target = torch.randn(2, 7, 16), torch.randn(2, 5, 16)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    with torch.no_grad():
        with record(model) as trace:
            recorded = model(source, target, tgt_mask=causal, tgt_is_causal=True)
        torch.testing.assert_close(recorded, model(source, target, tgt_mask=causal, tgt_is_causal=True))
    assert [call.name for call in trace] == [
        "encoder.layers.0.self_attn",
        "encoder.layers.1.self_attn",
        "decoder.layers.0.self_attn",
        "decoder.layers.0.multihead_attn",
        "decoder.layers.1.self_attn",
        "decoder.layers.1.multihead_attn",
    ]
    assert [call.kind for call in trace] == ["encoder"] * 2 + ["decoder", "cross"] * 2
    for call in trace.of_kind("decoder"):
        assert (call.weights().triu(1) == 0).all()
    assert [call.weights().shape for call in trace.of_kind("cross")] == [(2, 4, 5, 7)] * 2


def test_transformer_decoder_of_pytorch_is_told_by_its_mask():
    torch.manual_seed(0)
    model = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), 1).eval()
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    with record(model) as trace:
        model(torch.randn(1, 5, 16), torch.randn(1, 5, 16), tgt_mask=causal)
    assert [call.kind for call in trace] == ["decoder", "cross"]


@pytest.mark.parametrize(
    ("name", "queries", "keys", "options", "kind"),
    [
        ("attention", 4, 4, {}, "self"),
        ("attention", 4, 4, {"is_causal": True}, "decoder"),
        ("attention", 4, 4, {"attn_mask": torch.ones(4, 4, dtype=torch.bool).tril()}, "decoder"),
        ("attention", 4, 4, {"attn_mask": torch.zeros(4, 4)}, "self"),
        ("attention", 4, 6, {}, "cross"),
        ("self_attn", 4, 6, {}, "self"),
        ("attention", 1, 6, {}, "self"),
        ("crossattention", 4, 4, {}, "cross"),
        ("encoder_attn", 4, 4, {}, "cross"),
        ("EncDecAttention", 4, 4, {}, "cross"),
        ("encoder_block", 4, 4, {}, "encoder"),
        ("cross", 4, 4, {}, "cross"),
        ("cross_encoder", 4, 4, {}, "encoder"),
        ("crossover", 4, 4, {}, "self"),
        ("acrossformer", 4, 4, {}, "self"),
        ("multihead_attn", 4, 4, {}, "self"),
        ("decoder_block", 4, 4, {}, "decoder"),
    ],
)
def test_kind_by_name_and_mask(name, queries, keys, options, kind):
    attention = SelfAttention(**options)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module(name, attention)

        def forward(self, query, key):
            return attention(query, key)

    model = Model()
    with record(model) as trace:
        model(torch.randn(1, 2, queries, 8), torch.randn(1, 2, keys, 8))
    assert [(call.name, call.kind) for call in trace] == [(name, kind)]


def test_a_model_without_attention_is_named():
    model = nn.Sequential(nn.Linear(4, 4))
    with (
        pytest.raises(NoAttentionError, match=r"Sequential did not call .*scaled_dot_product_attention"),
        record(model),
    ):
        model(torch.randn(2, 4))


def test_a_model_that_was_not_run_is_named(transformer):
    with pytest.raises(NoAttentionError, match=r"it was not run there.*encoder\.layers\.0\.self_attention"):  # noqa: SIM117
        with record(transformer):
            pass


def test_attention_modules_that_left_no_call_are_listed():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = nn.MultiheadAttention(8, 2, batch_first=True)
            self.unseen = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x):
            return self.seen(x, x, x, need_weights=False)[0]

    model = Mixed()
    with record(model) as trace:
        model(torch.randn(1, 3, 8))
    assert [call.name for call in trace] == ["seen"]
    assert trace.unseen == ("unseen",)
    (gap,) = trace.gaps()
    assert gap.startswith("1 of 2 attention modules left no record")
    assert "unseen" in gap


def test_only_modules_can_be_recorded():
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"), record(lambda x: x):
        pass


def test_a_mask_that_cannot_be_read_is_refused():
    from torch.nn.attention.bias import causal_lower_right

    model = SelfAttention(attn_mask=causal_lower_right(3, 3))
    with pytest.raises(NotImplementedError, match="CausalBias"), record(model):
        model(torch.randn(1, 2, 3, 8))


@pytest.mark.parametrize(
    "mask",
    [
        None,
        "causal",
        torch.rand(1, 1, 40, 40, generator=torch.Generator().manual_seed(0)) > 0.3,
        torch.randn(2, 3, 40, 40, generator=torch.Generator().manual_seed(0)),
        (torch.arange(40) < 30).view(1, 1, 1, 40),
    ],
    ids=["none", "causal", "boolean", "added", "padding"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [None, 0.7])
def test_the_kernels_logsumexp(mask, dtype, scale):
    """It comes from the very kernel that would have run: not a bit of the output differs."""
    options = {"is_causal": True} if mask == "causal" else {"attn_mask": mask}
    if torch.is_tensor(mask) and mask.dtype != torch.bool:
        options["attn_mask"] = mask.to(dtype)
    model = SelfAttention(scale=scale, **options)
    x = torch.randn(2, 3, 40, 8, generator=torch.Generator().manual_seed(1)).to(dtype)
    with torch.no_grad():
        unrecorded = model(x)
        with record(model) as trace:
            recorded = model(x)
    assert torch.equal(recorded, unrecorded)
    (call,) = trace
    scores = x.double() @ x.double().mT * (8**-0.5 if scale is None else scale)
    if mask == "causal":
        scores = scores.masked_fill(torch.ones(40, 40).triu(1).bool(), -torch.inf)
    elif mask is not None:
        added = options["attn_mask"]
        scores = scores.masked_fill(~added, -torch.inf) if added.dtype == torch.bool else scores + added.double()
    if dtype == torch.float32:
        torch.testing.assert_close(call.logsumexp.double(), scores.logsumexp(-1), atol=1e-5, rtol=1e-6)
    else:
        assert call.logsumexp is None
    expected = torch.softmax(scores, -1).float()
    torch.testing.assert_close(
        call.tile(1, slice(5, 20), slice(10, 40)), expected[:, 1, 5:20, 10:40], atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize(
    ("query", "key", "options"),
    [
        (torch.randn(1, 4, 6, 8, requires_grad=True), torch.randn(1, 4, 6, 8), {}),
        (torch.randn(1, 4, 6, 8), torch.randn(1, 2, 6, 8), {"enable_gqa": True}),
        (torch.randn(4, 6, 8), torch.randn(4, 6, 8), {}),
        (torch.randn(1, 4, 6, 8), torch.randn(1, 4, 6, 8), {"dropout_p": 0.5}),
    ],
    ids=["gradients", "shared key heads", "three dimensions", "dropout"],
)
def test_a_tile_without_the_kernels_logsumexp(query, key, options):
    model = SelfAttention(**options)
    with record(model) as trace:
        model(query, key)
    (call,) = trace
    assert call.logsumexp is None
    groups = call.num_heads // call.key.size(1)
    scores = call.query.double() @ call.key.double().repeat_interleave(groups, 1).mT / 8**0.5
    expected = torch.softmax(scores, -1)[:, 0, 1:5, 2:4].float()
    torch.testing.assert_close(call.tile(0, slice(1, 5), slice(2, 4)), expected)


def test_a_compiled_model_is_recorded_uncompiled():
    """Its graph is not run and not built anew, and the trace says so; afterwards it runs compiled again."""
    torch.manual_seed(0)

    class Attention(SelfAttention):
        pass

    model = Wrapper(block=Wrapper(attention=Attention()))
    graphs = []

    def backend(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(model, backend=backend)
    x = torch.randn(1, 2, 3, 4)
    expected = compiled(x)
    assert len(graphs) == 1
    with record(compiled) as trace:
        recorded = compiled(x)
    assert torch.equal(recorded, expected)
    assert [call.name for call in trace] == ["block.attention"]
    assert trace.gaps() == ("The model is compiled (torch.compile); it was recorded uncompiled.",)
    runs = torch._dynamo.utils.counters["frames"]["total"]
    compiled(x)
    assert (len(graphs), torch._dynamo.utils.counters["frames"]["total"]) == (1, runs)
    with record(model) as trace:
        model(x)
    assert trace.gaps() == ()


def test_compiled_models_in_several_threads():
    """The first block that ends leaves the other one's model uncompiled, and the last one compiles again."""
    from torch._dynamo import eval_frame

    models = [torch.compile(Wrapper(attention=SelfAttention()), backend="eager") for _ in range(2)]
    x = torch.randn(1, 2, 3, 4)
    both_inside, first_is_out = threading.Barrier(2), threading.Event()
    seen = {}

    def first() -> None:
        with record(models[0]) as trace:
            both_inside.wait(timeout=60)
            models[0](x)
        seen["first"] = len(trace)
        first_is_out.set()

    def second() -> None:
        with record(models[1]) as trace:
            both_inside.wait(timeout=60)
            first_is_out.wait(timeout=60)
            models[1](x)
        seen["second"] = len(trace)

    threads = [threading.Thread(target=run) for run in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"first": 1, "second": 1}
    assert eval_frame._stance.stance == "default"


def test_steps_of_cached_decoding_with_shared_key_heads():
    """transformers then puts the query heads of a key head in the place of queries; the record has them as heads."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=50, attn_implementation="sdpa", **sizes, **heads)).eval()
    ids = torch.tensor([[5, 6, 7, 8], [1, 2, 9, 9]])
    mask = torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1]])
    with torch.no_grad():
        with record(model) as whole:
            model(ids, attention_mask=mask)
        cache = model(ids[:, :3], attention_mask=mask[:, :3], use_cache=True).past_key_values
        with record(model) as step:
            model(ids[:, 3:], attention_mask=mask, cache=cache)
    assert [(call.num_heads, call.num_queries, call.num_keys) for call in step] == [(4, 1, 4)] * 2
    for stepped, at_once in zip(step, whole, strict=True):
        torch.testing.assert_close(stepped.weights()[:, :, 0], at_once.weights()[:, :, 3], atol=1e-6, rtol=1e-5)
    assert step.certificate() < 1e-6


def test_a_model_without_softmax_attention_is_refused_with_its_reason():
    from transformers import FNetConfig, FNetModel

    model = FNetModel(FNetConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, intermediate_size=16)).eval()
    with pytest.raises(NoAttentionError, match=r"FNetModel mixes tokens without softmax attention"), record(model):
        model(torch.tensor([[5, 6, 7]]))


class InPieces(nn.Module):
    """Attention over the first half of the text, then over all of it."""

    def __init__(self, same_sizes: bool):
        super().__init__()
        self.same_sizes = same_sizes

    def forward(self, x):
        part = x if self.same_sizes else x[:, :, : x.size(2) // 2]
        first = F.scaled_dot_product_attention(part, part, part)
        return F.scaled_dot_product_attention(x, x, x) + first.mean()


class LongAttention(InPieces):
    pass


@pytest.mark.parametrize(
    ("module", "pieces"),
    [
        (LongAttention(same_sizes=False), ("attention",)),
        (LongAttention(same_sizes=True), ()),  # say, one head after the other
        (InPieces(same_sizes=False), ()),  # not an attention module, but a model that attends twice
    ],
    ids=["pieces", "same sizes", "a model"],
)
def test_modules_that_attend_in_pieces_are_named(module, pieces):
    model = Wrapper(attention=module)
    with record(model) as trace:
        model(torch.randn(1, 2, 6, 4))
        model(torch.randn(1, 2, 6, 4))
    assert trace.pieces == pieces
    assert [("in pieces" in gap, "attention" in gap) for gap in trace.gaps()] == [(True, True)] * len(pieces)


def test_texts_of_different_lengths_are_not_pieces():
    class Attention(SelfAttention):
        pass

    model = Wrapper(attention=Attention())
    with record(model) as trace:
        for length in (3, 5, 4):
            model(torch.randn(1, 2, length, 8))
    assert trace.gaps() == ()


def test_more_heads_than_the_module_has_are_pieces():
    """Blocks of the text that are taken for heads."""

    class BlockAttention(SelfAttention):
        num_heads = 2

    model = Wrapper(attention=BlockAttention())
    with record(model) as trace:
        model(torch.randn(1, 6, 4, 8))
    assert trace.pieces == ("attention",)


class SplitAttention(nn.Module):
    """Weights over two kinds of keys at once, of which each meets values of its own."""

    def forward(self, x):
        near, far = x @ x.mT, x @ x.flip(-2).mT
        weights = torch.softmax(torch.cat([near, far], dim=-1), dim=-1)
        return weights[..., : x.size(-2)] @ x + weights[..., x.size(-2) :] @ x.flip(-2)


def test_weights_that_do_not_meet_values_as_a_whole_are_named():
    model = Wrapper(whole=SelfAttention(), split=SplitAttention())
    with record(model) as trace:
        model(torch.randn(1, 2, 4, 8))
    assert [call.name for call in trace] == ["whole"]
    assert trace.pieces == ("split",)


def test_a_compiled_function_inside_of_a_model_runs_uncompiled():
    """Nothing on the model tells that there is one."""
    attend = torch.compile(lambda x: torch.softmax(x @ x.mT / 2, dim=-1) @ x, backend="eager")

    class Model(nn.Module):
        def forward(self, x):
            return attend(x)

    model, x = Model(), torch.randn(2, 3, 5, 4)
    with record(model) as trace:
        recorded = model(x)
    assert torch.equal(recorded, model(x))
    expected = torch.softmax(x.double() @ x.double().mT / 2, dim=-1).float()
    torch.testing.assert_close(trace[0].weights(), expected)


def test_the_kernel_behind_a_function_that_somebody_put_in_its_place(monkeypatch):
    """As profilers and other recorders do; also inside nn.MultiheadAttention."""
    kernel, seen = F.scaled_dot_product_attention, []

    def patched(*args, **kwargs):
        seen.append(args)
        return 2 * kernel(*args, **kwargs)

    torch.manual_seed(0)
    model, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(1, 3, 8)
    monkeypatch.setattr(F, "scaled_dot_product_attention", patched)
    expected = model(x, x, x, need_weights=False)[0]
    with record(model) as trace:
        recorded = model(x, x, x, need_weights=False)[0]
    assert torch.equal(recorded, expected)
    assert (len(seen), len(trace)) == (2, 1)
    assert trace.certificate() < 1e-6


@pytest.mark.parametrize("is_written_out", [False, True])
@pytest.mark.parametrize(
    ("shape", "heads", "expected"),
    [
        ((2, 3), 3, (2, 3)),
        ((6,), None, (6, 1)),
        ((2, 4, 3), 12, (2, 12)),
        ((2, 4, 3), 3, (8, 3)),
        ((2, 4, 3), None, (8, 3)),
    ],
)
def test_both_ways_to_attend_divide_texts_and_heads_alike(is_written_out, shape, heads, expected):
    class Model(nn.Module):
        num_heads = heads

        def forward(self, x):
            if is_written_out:
                return torch.softmax(x @ x.mT / 2, dim=-1) @ x
            return F.scaled_dot_product_attention(x, x, x)

    model, x = Model(), torch.randn(*shape, 5, 4)
    with record(model) as trace:
        model(x)
    assert (trace[0].batch_size, trace[0].num_heads) == expected
    by_hand = torch.softmax(x.double() @ x.double().mT / 2, dim=-1).float()
    torch.testing.assert_close(trace[0].weights(), by_hand.reshape(*expected, 5, 5))


def test_an_attention_module_below_another_one_that_attends_is_not_hidden_by_it():
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.sigmoid_attention = SigmoidAttention()

        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, x) + self.sigmoid_attention(x)

    class SigmoidAttention(nn.Module):
        def forward(self, x):
            return torch.sigmoid(x @ x.mT) @ x

    model = Root()
    with record(model) as trace:
        model(torch.randn(1, 2, 3, 4))
    assert [call.name for call in trace] == [""]
    assert trace.unseen == ("sigmoid_attention",)


def test_one_query_of_a_module_that_calls_itself_causal():
    """A step of decoding with a cache: neither the mask nor the sizes tell."""

    class Causal(SelfAttention):
        is_causal = True

    model = Causal()
    with record(model) as trace:
        model(torch.randn(1, 2, 1, 8), torch.randn(1, 2, 6, 8))
    assert trace[0].kind == "decoder"


def test_a_module_that_is_taken_out_of_the_model_after_its_call():
    model = Wrapper(attention=SelfAttention(), rest=nn.Identity())
    with record(model) as trace:
        model(torch.randn(1, 2, 3, 4))
        del model.attention
    assert [call.name for call in trace] == ["attention"]
