"""What `record` sees of every model of this package, and what position biases are in it."""

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import nn

from transformer_core.inspection import AttentionStack, Trace, explain, record
from transformer_core.model import (
    LanguageModel,
    MaskedLanguageModel,
    Transformer,
    TransformerConfig,
    VisionConfig,
    VisionTransformer,
)

SIZES = {"vocab_size": 50, "d_model": 16, "num_heads": 4, "d_ff": 32, "max_length": 24}
POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "relative", "none")


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(1, 50, shape, generator=torch.Generator().manual_seed(1))


def layers(encoder: int, decoder: int) -> dict[str, int]:
    return SIZES | {"num_encoder_layers": encoder, "num_decoder_layers": decoder}


def padded() -> torch.Tensor:
    return torch.cat([ids(1, 7), nn.functional.pad(ids(1, 4), (0, 3))])


def t5() -> tuple[nn.Module, tuple]:
    return Transformer(TransformerConfig.t5(**layers(2, 2) | {"head_size": 6})), (padded(), ids(2, 5))


def language_model(positions: str, text: torch.Tensor | None = None) -> tuple[nn.Module, tuple]:
    text = ids(2, 7) if text is None else text
    return LanguageModel(TransformerConfig(**layers(0, 2), positions=positions)), (text,)


def masked_language_model(positions: str, text: torch.Tensor | None = None) -> tuple[nn.Module, tuple]:
    text = padded() if text is None else text
    return MaskedLanguageModel(TransformerConfig(**layers(2, 0), positions=positions)), (text,)


def attention_only() -> tuple[nn.Module, tuple]:
    return LanguageModel(TransformerConfig(**layers(0, 2) | {"d_ff": 0, "norm": "pre"})), (ids(2, 7),)


def vision() -> tuple[nn.Module, tuple]:
    encoder = TransformerConfig.vit(d_model=16, num_heads=4, num_encoder_layers=2, d_ff=32, max_length=10)
    model = VisionTransformer(VisionConfig(image_size=6, patch_size=2, num_classes=5, encoder=encoder))
    return model, (torch.randn(2, 3, 6, 6),)


def recorded(make: Callable, *arguments) -> tuple[nn.Module, Trace]:
    torch.manual_seed(0)
    model, inputs = make(*arguments)
    with torch.inference_mode():
        unrecorded = model.eval()(*inputs)
        with record(model) as trace:
            assert torch.equal(model(*inputs), unrecorded)
    return model, trace


MODELS = {
    "T5": (t5, (), ["encoder"] * 2 + ["decoder", "cross"] * 2, (7, 7)),
    **{f"GPT, {kind}": (language_model, (kind,), ["decoder"] * 2, (7, 7)) for kind in POSITIONS},
    **{f"BERT, {kind}": (masked_language_model, (kind,), ["encoder"] * 2, (7, 7)) for kind in POSITIONS},
    "attention only": (attention_only, (), ["decoder"] * 2, (7, 7)),
    "ViT": (vision, (), ["encoder"] * 2, (10, 10)),
}


@pytest.mark.parametrize(("make", "arguments", "kinds", "shape"), MODELS.values(), ids=MODELS)
def test_every_call_is_seen_and_exact(make, arguments, kinds, shape):
    _, trace = recorded(make, *arguments)
    assert [call.kind for call in trace] == kinds
    assert trace.gaps() == ()
    assert trace[0].weights().shape == (2, 4, *shape)
    assert trace.certificate() < 1e-6
    assert trace.row_sum_error() < 1e-6


def bias_of(model: nn.Module, positions: str, head: int, distance: int) -> float:
    """What a stack adds where the key stands `distance` tokens after the query, for up to six of them."""
    if positions == "alibi":
        # Four heads have the slopes 1/4, 1/16, 1/64, 1/256.
        return -abs(distance) / 4 ** (head + 1)
    (table,) = [parameter for name, parameter in model.named_parameters() if "buckets" in name]
    # So near, every distance has a bucket of its own; those of keys after the query begin at 16.
    return table[16 + distance if distance > 0 else -distance, head].item()


@pytest.mark.parametrize("positions", ["alibi", "relative"])
@pytest.mark.parametrize("make", [language_model, masked_language_model])
def test_the_mask_of_a_pair_is_the_bias_of_its_distance(make, positions):
    model, trace = recorded(make, positions, ids(1, 7))
    tokens = tuple("abcdefg")
    stack = AttentionStack("self", tuple(trace), tokens, tokens, "rows", "columns")
    for layer, head, query, key in itertools.product(range(2), range(4), (0, 3, 6), range(7)):
        pair = explain(stack, layer, head, query, key)
        assert pair.is_allowed == (make is masked_language_model or key <= query)
        if pair.is_allowed:
            assert pair.mask == bias_of(model, positions, head, key - query)
            assert pair.score == pytest.approx(pair.dot_product / 2 + pair.mask, abs=1e-12)
        assert pair.recorded_weight == pytest.approx(pair.weight, rel=3e-6)


def test_padding_stays_forbidden_beside_a_bias():
    _, trace = recorded(masked_language_model, "alibi")
    for call in trace:
        weights = call.weights()
        assert (weights[1, :, :, 4:] == 0).all()
        assert (weights[1, :, :, :4] > 0).all()
        assert (weights[0] > 0).all()


def test_t5_does_not_scale_its_scores():
    _, trace = recorded(t5)
    assert [call.scale for call in trace] == [1.0] * 6
    assert [call.mask is None for call in trace.of_kind("cross")] == [False, False]
    assert all(call.mask.dtype == torch.bool for call in trace.of_kind("cross"))
