"""Headlight's Vision Transformer with a ViT's weights, against that ViT."""

import pytest
import torch
from transformers import ViTConfig

from tests.zoo.hugging_face.headlight.comparison import assert_same_attention, assert_same_logits, run_both
from tests.zoo.hugging_face.headlight.originals import original
from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.zoo.hugging_face.headlight.vit import config_of
from transformer_core.zoo.interface import InputError


@pytest.mark.parametrize(
    "changes", [{}, {"hidden_act": "relu", "patch_size": [4, 4], "image_size": (8, 8), "num_channels": 1}]
)
def test_logits_and_attention(changes):
    theirs = original("ViTForImageClassification", **changes)
    side = 8 if changes else 12
    images = torch.randn(3, theirs.config.num_channels, side, side, generator=torch.Generator().manual_seed(1))
    expected, logits, trace = run_both(theirs, {"pixel_values": images}, images)
    assert logits.shape == (3, 5)
    assert_same_logits(logits, expected.logits)
    assert_same_attention(trace, "encoder", expected.attentions)


def test_the_published_sizes_are_vit_b_16():
    assert config_of(ViTConfig(num_labels=1000)) == VisionConfig(encoder=TransformerConfig.vit(dropout=0.0))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"image_size": [224, 192]}, "no images that are not square"),
        ({"patch_size": [16, 8]}, "no patches that are not square"),
        ({"image_size": 230}, "no images that patches do not fill"),
        ({"qkv_bias": False}, r"no projections without bias \(qkv_bias false\)"),
        ({"num_labels": 0}, r"no reading of images without classes \(num_labels 0\)"),
        ({"hidden_act": "silu"}, "no activation 'silu'"),
    ],
)
def test_what_headlights_vision_transformer_has_not_is_named(changes, what):
    with pytest.raises(InputError, match=rf"^Headlight's own Vision Transformer has {what}, .*\"transformers\"\.$"):
        config_of(ViTConfig(**changes))
