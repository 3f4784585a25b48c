"""The whole model: its size by formula, its layers against PyTorch's, its masks, its cache."""

import pytest
import torch
from torch import nn

from transformer_core.model import Transformer, TransformerConfig
from transformer_core.model.embedding import Embedding
from transformer_core.model.layers import DecoderLayer, EncoderLayer


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


SMALL = TransformerConfig(
    vocab_size=50, d_model=32, num_heads=4, num_encoder_layers=2, num_decoder_layers=3, d_ff=64, max_length=64
)


def small(**changes) -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(**(SMALL.to_dict() | changes))).eval()


def test_parameters_of_the_base_model():
    with torch.device("meta"):
        model = Transformer(TransformerConfig.base(vocab_size=37_000))
        assert count(model.encoder.layers[0].self_attention) == 4 * 512**2 == 1_048_576
        assert count(model.encoder.layers[0].feed_forward) == 2 * 512 * 2048 + 2048 + 512 == 2_099_712
        assert count(model.encoder.layers[0]) == 3_150_336
        assert count(model.decoder.layers[0]) == 4_199_936
        assert count(model) == 63_045_632
        # Table 3 prints 65 M; no single vocabulary reproduces both its rows.
        assert count(model) == pytest.approx(65e6, rel=0.07)


def test_parameters_of_the_big_model():
    with torch.device("meta"):
        model = Transformer(TransformerConfig.big(vocab_size=37_000))
    assert (count(model.encoder.layers[0]), count(model.decoder.layers[0])) == (12_592_128, 16_788_480)
    assert count(model) == 214_171_648
    assert count(model) == pytest.approx(213e6, rel=0.07)


@pytest.mark.parametrize(
    ("change", "millions"),
    [
        ({"num_encoder_layers": 2, "num_decoder_layers": 2}, 33.64),
        ({"num_encoder_layers": 8, "num_decoder_layers": 8}, 77.75),
        ({"d_model": 256}, 26.82),
        ({"d_model": 1024}, 163.82),
        ({"d_ff": 1024}, 50.45),
        ({"d_ff": 4096}, 88.24),
    ],
)
def test_parameters_of_table_3_group_c(change, millions):
    with torch.device("meta"):
        model = Transformer(TransformerConfig.base(**change))
    # d_model 256 and 1024 keep d_k = 32 and 128 in the paper, which is 8 heads here too.
    assert count(model) / 1e6 == pytest.approx(millions, abs=0.005)


def copy_attention(ours, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]))
    theirs.out_proj.weight.copy_(ours.w_o.weight)
    theirs.in_proj_bias.zero_()
    theirs.out_proj.bias.zero_()


def copy_rest(ours, theirs, norms) -> None:
    for linear, reference in ((ours.feed_forward.w_1, theirs.linear1), (ours.feed_forward.w_2, theirs.linear2)):
        nn.init.normal_(linear.bias)
        reference.weight.copy_(linear.weight)
        reference.bias.copy_(linear.bias)
    for block, reference in norms:
        nn.init.normal_(block.norm.weight)
        nn.init.normal_(block.norm.bias)
        reference.weight.copy_(block.norm.weight)
        reference.bias.copy_(block.norm.bias)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_encoder_layer_equals_pytorchs(norm):
    torch.manual_seed(0)
    ours = EncoderLayer(TransformerConfig(**(SMALL.to_dict() | {"norm": norm}))).eval()
    theirs = nn.TransformerEncoderLayer(32, 4, 64, norm_first=norm == "pre", batch_first=True).eval()
    x, mask = torch.randn(2, 6, 32), torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    with torch.no_grad():
        copy_attention(ours.self_attention, theirs.self_attn)
        copy_rest(ours, theirs, [(ours.add_and_norm_1, theirs.norm1), (ours.add_and_norm_2, theirs.norm2)])
    expected = theirs(x, src_key_padding_mask=~mask)
    torch.testing.assert_close(ours(x, mask.unsqueeze(1))[mask], expected[mask], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_decoder_layer_equals_pytorchs(norm):
    torch.manual_seed(1)
    ours = DecoderLayer(TransformerConfig(**(SMALL.to_dict() | {"norm": norm}))).eval()
    theirs = nn.TransformerDecoderLayer(32, 4, 64, norm_first=norm == "pre", batch_first=True).eval()
    x, memory = torch.randn(2, 5, 32), torch.randn(2, 7, 32)
    causal = torch.ones(5, 5).tril().bool()
    memory_mask = torch.tensor([[True] * 7, [True] * 3 + [False] * 4])
    with torch.no_grad():
        copy_attention(ours.self_attention, theirs.self_attn)
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        norms = [ours.add_and_norm_1, ours.add_and_norm_2, ours.add_and_norm_3]
        copy_rest(ours, theirs, zip(norms, [theirs.norm1, theirs.norm2, theirs.norm3], strict=True))
    expected = theirs(x, memory, tgt_mask=~causal, memory_key_padding_mask=~memory_mask)
    torch.testing.assert_close(ours(x, memory, causal, memory_mask.unsqueeze(1)), expected, atol=1e-5, rtol=1e-4)


def test_embeddings_are_scaled_by_the_root_of_d_model_and_start_as_large_as_the_positions():
    config = TransformerConfig(vocab_size=2000, d_model=512, dropout=0.0)
    torch.manual_seed(0)
    embedding = Embedding(config)
    assert embedding.scale == pytest.approx(22.6274, abs=1e-4)
    token = torch.tensor([[3]])
    position_0 = torch.tensor([0.0, 1.0] * 256)
    torch.testing.assert_close(embedding(token)[0, 0], embedding.tokens.weight[3] * 22.627417 + position_0)
    assert (embedding.tokens.weight * embedding.scale).std().item() == pytest.approx(1, rel=0.01)


def test_source_target_and_output_share_one_matrix():
    model = small()
    assert sum(p.numel() for n, p in model.named_parameters() if p.size(0) == 50) == 50 * 32
    hidden = torch.randn(2, 32)
    torch.testing.assert_close(model.logits(hidden), hidden @ model.embedding.tokens.weight.T)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_target_token_never_sees_what_comes_after_it(norm):
    model = small(norm=norm)
    source = torch.randint(1, 50, (2, 6))
    target = torch.randint(1, 50, (2, 8))
    changed = target.clone()
    changed[:, 5:] = torch.randint(1, 50, (2, 3))
    before, after = model(source, target), model(source, changed)
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5:], after[:, 5:])


def test_padding_changes_nothing():
    model = small()
    source, target = torch.randint(1, 50, (1, 6)), torch.randint(1, 50, (1, 4))
    other_source, other_target = torch.randint(1, 50, (1, 11)), torch.randint(1, 50, (1, 9))
    batch_source = torch.cat([nn.functional.pad(source, (0, 5)), other_source])
    batch_target = torch.cat([nn.functional.pad(target, (0, 5)), other_target])
    torch.testing.assert_close(model(batch_source, batch_target)[:1, :4], model(source, target), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_token_by_token_with_a_cache_equals_the_whole_sequence(norm):
    model = small(norm=norm)
    source, target = torch.randint(1, 50, (3, 6)), torch.randint(1, 50, (3, 7))
    source[1, 4:] = 0
    memory, mask = model.encode(source), model.source_mask(source)
    cache = model.new_cache()
    steps = [model.decode(target[:, i : i + 1], memory, mask, cache) for i in range(7)]
    torch.testing.assert_close(torch.cat(steps, 1), model.decode(target, memory, mask), atol=1e-5, rtol=1e-4)


@torch.inference_mode()
def test_the_cache_takes_several_tokens_at_once_too():
    model = small().eval()
    memory, target = model.encode(torch.ones(1, 3, dtype=torch.long)), torch.randint(4, 50, (1, 7))
    cache = model.new_cache()
    steps = [model.decode(part, memory, None, cache) for part in target.split([3, 1, 3], dim=1)]
    torch.testing.assert_close(torch.cat(steps, 1), model.decode(target, memory, None), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("missing", ["num_encoder_layers", "num_decoder_layers", "vocab_size"])
def test_an_encoder_decoder_has_both_and_a_vocabulary(missing):
    with pytest.raises(ValueError, match="of at least 1, and a vocabulary"):
        Transformer(TransformerConfig(**{missing: 0}))


def test_the_longest_sequence_and_one_more():
    model = small(max_length=8)
    model(torch.ones(1, 8, dtype=torch.long), torch.ones(1, 8, dtype=torch.long))
    with pytest.raises(ValueError, match="9 tokens"):
        model(torch.ones(1, 9, dtype=torch.long), torch.ones(1, 2, dtype=torch.long))


def test_a_forward_pass_leaves_nothing_on_the_modules():
    model = small()
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    model(torch.ones(1, 3, dtype=torch.long), torch.ones(1, 2, dtype=torch.long))
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_is_active_in_training_only(norm):
    model = small(norm=norm, dropout=0.5)
    arguments = torch.ones(1, 3, dtype=torch.long), torch.ones(1, 2, dtype=torch.long)
    assert torch.equal(model(*arguments), model(*arguments))
    model.train()
    assert not torch.equal(model(*arguments), model(*arguments))
