"""The decoder-only model: what it sees, its cache with every kind of positions, and the model of attention only."""

from typing import get_args

import pytest
import torch
import torch.nn.functional as F

from transformer_core.model import LanguageModel, TransformerConfig
from transformer_core.model.config import Positions

SMALL = {
    "vocab_size": 50,
    "d_model": 16,
    "num_heads": 4,
    "num_encoder_layers": 0,
    "num_decoder_layers": 2,
    "d_ff": 32,
    "max_length": 24,
}
every_kind = pytest.mark.parametrize("positions", get_args(Positions))


def small(**changes) -> LanguageModel:
    torch.manual_seed(0)
    return LanguageModel(TransformerConfig(**SMALL | changes)).eval()


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(1, 50, shape, generator=torch.Generator().manual_seed(1))


@every_kind
@torch.inference_mode()
def test_a_later_token_changes_nothing_before_it(positions):
    model, text = small(positions=positions), ids(2, 9)
    changed = text.clone()
    changed[:, 6:] = text[:, 6:] % 49 + 1
    before, after = model(text), model(changed)
    assert before.shape == (2, 9, 50)
    torch.testing.assert_close(before[:, :6], after[:, :6])
    assert not torch.isclose(before[:, 6:], after[:, 6:]).all(dim=-1).any()


@every_kind
@torch.inference_mode()
def test_padding_changes_nothing(positions):
    model, text, longer = small(positions=positions), ids(1, 5), ids(1, 11)
    batch = torch.cat([F.pad(text, (0, 6)), longer])
    torch.testing.assert_close(model(batch)[:1, :5], model(text), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(model(batch)[1:], model(longer), atol=1e-5, rtol=1e-4)


@every_kind
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("steps", [[1] * 12, [5, 1, 1, 4, 1], [1, 11]])
@torch.inference_mode()
def test_with_a_cache_the_result_is_the_same(positions, norm, steps):
    model, text = small(positions=positions, norm=norm), ids(3, 12)
    cache = model.new_cache()
    hidden = [model.hidden(part, cache) for part in text.split(steps, dim=1)]
    torch.testing.assert_close(torch.cat(hidden, dim=1), model.hidden(text), atol=1e-5, rtol=1e-4)
    assert [layer.length for layer in cache] == [12, 12]


@pytest.mark.parametrize("positions", sorted(set(get_args(Positions)) - {"none"}))
@torch.inference_mode()
def test_the_order_of_the_tokens_counts(positions):
    model = small(positions=positions)
    if positions in ("learned", "relative"):
        # They start as small as weights do; what they mean is learned.
        for name, parameter in model.named_parameters():
            if "positions" in name or "buckets" in name:
                parameter.mul_(50)
    last = model(torch.tensor([[5, 6, 7, 8], [6, 5, 7, 8]]))[:, -1]
    assert (last[0] - last[1]).abs().max() > 1e-3


@torch.inference_mode()
def test_without_positions_the_order_of_earlier_tokens_does_not_count():
    # In the first layer; in the next ones, what a token has seen tells where it stands.
    model = small(positions="none", num_decoder_layers=1)
    last = model(torch.tensor([[5, 6, 7, 8], [6, 7, 5, 8]]))[:, -1]
    torch.testing.assert_close(last[0], last[1])


@torch.inference_mode()
def test_attention_only_by_hand():
    model = small(d_ff=0, num_decoder_layers=1, norm="pre", positions="none", share_output=False)
    assert not any("feed_forward" in name or "norm_3" in name for name, _ in model.named_parameters())
    text = ids(1, 6)
    layer = model.decoder.layers[0].self_attention
    x = model.embedding.tokens.weight[text[0]] * 4
    y = F.layer_norm(x, (16,))
    q, k, v = ((y @ w.weight.T).view(6, 4, 4).transpose(0, 1) for w in (layer.w_q, layer.w_k, layer.w_v))
    scores = (q @ k.transpose(1, 2) / 2).masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf)
    heads = scores.softmax(dim=-1) @ v
    x = x + heads.transpose(0, 1).reshape(6, 16) @ layer.w_o.weight.T
    expected = F.layer_norm(x, (16,)) @ model.output.weight.T
    torch.testing.assert_close(model(text)[0], expected, atol=1e-5, rtol=1e-4)


@torch.inference_mode()
def test_all_layers_of_a_stack_share_one_relative_bias():
    model = small(positions="relative", num_decoder_layers=3)
    (name,) = [name for name, _ in model.named_parameters() if "buckets" in name]
    assert name == "decoder.position_bias.buckets.weight"
    assert model.decoder.position_bias.buckets.weight.shape == (32, 4)


def test_alibi_and_rotary_positions_learn_nothing():
    plain = {name for name, _ in small(positions="none").named_parameters()}
    for positions in ("alibi", "rotary", "sinusoidal"):
        assert {name for name, _ in small(positions=positions).named_parameters()} == plain
        assert set(small(positions=positions).state_dict()) == plain


def test_gpt2_has_its_published_size():
    with torch.device("meta"):
        model = LanguageModel(TransformerConfig.gpt2())
    # Radford et al. 2019 print 117 M and corrected it later; the released weights are 124,439,808 numbers.
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808


@pytest.mark.parametrize("change", [{"num_encoder_layers": 1}, {"vocab_size": 0, "pad_id": 0}])
def test_what_is_no_decoder_only_model_is_refused(change):
    with pytest.raises(ValueError, match="num_encoder_layers=0 and a vocabulary"):
        small(**change)
