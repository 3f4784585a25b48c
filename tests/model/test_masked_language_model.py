"""The encoder-only model: it reads both ways, tells texts of a pair apart, and does not see padding."""

import pytest
import torch
import torch.nn.functional as F

from transformer_core.model import MaskedLanguageModel, TransformerConfig

SMALL = {
    "vocab_size": 50,
    "d_model": 16,
    "num_heads": 4,
    "num_encoder_layers": 2,
    "num_decoder_layers": 0,
    "d_ff": 32,
    "max_length": 24,
    "positions": "learned",
    "activation": "gelu",
    "attention_bias": True,
    "num_segments": 2,
    "norm_embeddings": True,
    "scale_embeddings": False,
}


def small(**changes) -> MaskedLanguageModel:
    torch.manual_seed(0)
    return MaskedLanguageModel(TransformerConfig(**SMALL | changes)).eval()


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(1, 50, shape, generator=torch.Generator().manual_seed(1))


@torch.inference_mode()
def test_every_token_sees_every_other():
    model, text = small(), ids(1, 7)
    before = model.hidden(text)
    assert model(text).shape == (1, 7, 50)
    for place in (0, 6):
        changed = text.clone()
        changed[:, place] = text[:, place] % 49 + 1
        assert not torch.isclose(model.hidden(changed), before).all(dim=-1).any()


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "relative", "none"])
@torch.inference_mode()
def test_padding_changes_nothing(positions):
    model, text, longer = small(positions=positions), ids(1, 5), ids(1, 11)
    batch = torch.cat([F.pad(text, (0, 6)), longer])
    torch.testing.assert_close(model(batch)[:1, :5], model(text), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(model(batch)[1:], model(longer), atol=1e-5, rtol=1e-4)


@torch.inference_mode()
def test_segments():
    model, text = small(), ids(1, 6)
    first = model(text)
    assert torch.equal(model(text, torch.zeros_like(text)), first)
    assert not torch.allclose(model(text, torch.tensor([[0, 0, 0, 1, 1, 1]])), first)
    with pytest.raises(ValueError, match="num_segments=0"):
        small(num_segments=0)(text, torch.zeros_like(text))


@torch.inference_mode()
def test_the_head_by_hand():
    model = small()
    for parameter in (model.dense.bias, model.output_bias, model.dense_norm.weight, model.dense_norm.bias):
        parameter.normal_()
    hidden = torch.randn(2, 5, 16)
    x = F.gelu(hidden @ model.dense.weight.T + model.dense.bias)
    x = F.layer_norm(x, (16,), model.dense_norm.weight, model.dense_norm.bias)
    expected = x @ model.embedding.tokens.weight.T + model.output_bias
    torch.testing.assert_close(model.logits(hidden), expected)


def test_bert_has_its_published_size():
    with torch.device("meta"):
        model = MaskedLanguageModel(TransformerConfig.bert())
    # transformers' BertForMaskedLM of BERT-base, uncased, has 109,514,298 parameters.
    assert sum(parameter.numel() for parameter in model.parameters()) == 109_514_298


@pytest.mark.parametrize("change", [{"num_decoder_layers": 1}, {"vocab_size": 0}])
def test_what_is_no_encoder_only_model_is_refused(change):
    with pytest.raises(ValueError, match="num_decoder_layers=0 and a vocabulary"):
        small(**change)
