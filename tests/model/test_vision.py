"""The image model: its patches, its class token, and images that do not fit."""

import re

import pytest
import torch
import torch.nn.functional as F

from transformer_core.model import TransformerConfig, VisionConfig, VisionTransformer


def config(encoder: dict | None = None, **changes) -> VisionConfig:
    """A model of 8 x 6 pixels would be refused: images are square, here 6 x 6 pixels in 3 x 3 patches."""
    sizes = {"d_model": 16, "num_heads": 4, "num_encoder_layers": 2, "d_ff": 32, "max_length": 10}
    vit = TransformerConfig.vit(**sizes | (encoder or {}))
    return VisionConfig(
        **{"image_size": 6, "patch_size": 2, "num_channels": 3, "num_classes": 5, "encoder": vit} | changes
    )


def small() -> VisionTransformer:
    torch.manual_seed(0)
    return VisionTransformer(config()).eval()


@torch.inference_mode()
def test_shapes():
    model, images = small(), torch.randn(4, 3, 6, 6)
    assert model(images).shape == (4, 5)
    assert model.hidden(images).shape == (4, 10, 16)


@torch.inference_mode()
def test_patches_are_words_row_after_row():
    model, images = small(), torch.randn(2, 3, 6, 6)
    model.class_token.normal_()
    # unfold: (batch, channel * height * width of a patch, patch), patches row after row.
    words = F.unfold(images, kernel_size=2, stride=2).transpose(1, 2) @ model.patches.weight.flatten(1).T
    words = words + model.patches.bias
    tokens = torch.cat([model.class_token.expand(2, 1, 16), words], dim=1) + model.positions
    expected = model.encoder(tokens)
    torch.testing.assert_close(model.hidden(images), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(model(images), expected[:, 0] @ model.head.weight.T + model.head.bias)


def test_vit_b_has_its_published_size():
    with torch.device("meta"):
        model = VisionTransformer(VisionConfig())
    # Dosovitskiy et al. 2021, Table 1: 86 M. transformers' ViTForImageClassification, 1000 classes: 86,567,656.
    assert sum(parameter.numel() for parameter in model.parameters()) == 86_567_656


@pytest.mark.parametrize("shape", [(3, 6, 8), (3, 8, 6), (3, 12, 12), (1, 6, 6), (4, 6, 6)])
def test_another_size_of_image_is_refused(shape):
    message = f"images of (channels, height, width) {shape}; this model reads (3, 6, 6)"
    with pytest.raises(ValueError, match=re.escape(message)):
        small()(torch.zeros(2, *shape))


@pytest.mark.parametrize(
    ("change", "encoder", "reason"),
    [
        ({"image_size": 0}, {}, "image_size=0 must be a whole number of at least 1"),
        ({"patch_size": 2.0}, {}, "patch_size=2.0 must be a whole number"),
        ({"num_channels": True}, {}, "num_channels=True must be a whole number"),
        ({"num_classes": -1}, {}, "num_classes=-1 must be"),
        ({"image_size": 7}, {}, "image_size=7 is not divisible by patch_size=2"),
        ({}, {"num_decoder_layers": 1}, "an encoder only"),
        ({}, {"vocab_size": 10}, "vocab_size=0: it reads no tokens"),
        ({}, {"pad_id": 1}, "pad_id=1 is of token vectors: an image model has none"),
        ({}, {"num_segments": 2}, "num_segments=2 is of token vectors"),
        ({}, {"norm_embeddings": True}, "norm_embeddings=True is of token vectors"),
        ({}, {"scale_embeddings": False}, "scale_embeddings=False is of token vectors"),
        ({}, {"scale_logits": True}, "scale_logits=True is of token vectors"),
        ({}, {"share_output": False}, "share_output=False is of token vectors"),
        ({}, {"positions": "sinusoidal"}, "positions='sinusoidal': an image model's are learned"),
        ({}, {"max_length": 9}, "max_length=9 must be 10: 9 patches and the class token"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change, encoder, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        config(encoder, **change)


def test_a_config_survives_json():
    assert VisionConfig.from_dict(config().to_dict()) == config()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"patches": 3}, "unknown configuration fields: patches"),
        ({"encoder": 3}, "encoder=3 are no configuration fields"),
        ({"encoder": {"d_modle": 3}}, "d_modle"),
    ],
)
def test_other_fields_are_refused_by_name(values, reason):
    with pytest.raises(ValueError, match=reason):
        VisionConfig.from_dict(values)
