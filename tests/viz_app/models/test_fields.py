"""The fields of the playground, and what they describe."""

import dataclasses

import pytest

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.parameters import parameters, total
from transformer_core.model.published import BY_NAME
from viz_app.models.fields import CHOICES, IMAGE_SIZES, LEFT_OUT, SIZES, SWITCHES, TOP, design_of, fields_of


@pytest.mark.parametrize("name", BY_NAME)
def test_a_preset_unchanged_is_the_published_model(name):
    published = BY_NAME[name]
    design = design_of(published, fields_of(published))
    assert (design.config, design.top, design.problem) == (published.config, published.top, "")


def test_every_field_of_a_config_can_be_changed_or_is_named_as_left_out():
    shown = {*SIZES, *CHOICES, *SWITCHES} - {TOP}
    assert shown | set(LEFT_OUT.split(", ")) == {field.name for field in dataclasses.fields(TransformerConfig)}
    assert not shown & set(LEFT_OUT.split(", "))
    assert {*IMAGE_SIZES, "encoder"} == {field.name for field in dataclasses.fields(VisionConfig)}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("dropout", 0.5),
        ("activation", "gelu"),
        ("norm_epsilon", 0.1),
        ("pad_id", 1),
        ("scale_embeddings", False),
        ("scale_scores", False),
        ("scale_logits", True),
    ],
)
def test_what_is_left_out_changes_no_number(name, changes):
    assert name in LEFT_OUT
    config = TransformerConfig.base()
    assert parameters(dataclasses.replace(config, **{name: changes})) == parameters(config)


def test_an_image_model_has_no_fields_of_tokens_and_its_length_follows_from_its_patches():
    published = BY_NAME["ViT-B/16"]
    fields = fields_of(published)
    assert {*SIZES, *CHOICES, *SWITCHES} - {*fields} == {
        *("max_length", "num_decoder_layers", "vocab_size", "num_segments", "positions"),
        *("share_output", "norm_embeddings", TOP),
    }
    design = design_of(published, fields | {"patch_size": 32})
    assert design.config.encoder.max_length == 50 and design.config.patch_size == 32


@pytest.mark.parametrize(
    ("preset", "changes", "message"),
    [
        ("Transformer base", {"num_heads": 7}, "d_model=512 is not divisible by num_heads=7"),
        ("Transformer base", {"num_encoder_layers": 0, "num_decoder_layers": 0}, "leave no layer"),
        ("GPT-2 small", {"d_model": -768}, "d_model=-768 is too small"),
        ("GPT-2 small", {"d_ff": None}, "d_ff is empty: it must be a whole number"),
        ("BERT-base", {"positions": "rotary", "head_size": 3}, "d_head=3 is odd"),
        ("ViT-B/16", {"patch_size": 15}, "image_size=224 is not divisible by patch_size=15"),
        ("ViT-B/16", {"patch_size": 0}, "patch_size=0 must be a whole number of at least 1"),
        ("ViT-B/16", {"image_size": None}, "image_size is empty"),
    ],
)
def test_what_cannot_be_together_is_said_in_the_configs_words(preset, changes, message):
    published = BY_NAME[preset]
    design = design_of(published, fields_of(published) | changes)
    assert design.config is None
    assert message in design.problem


def test_another_top_is_counted():
    published = BY_NAME["BERT-base"]
    design = design_of(published, fields_of(published) | {"top": "none"})
    assert total(published.parts) - total(parameters(design.config, design.top)) == 768 * 769
