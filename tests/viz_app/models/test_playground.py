"""The fields of the playground: what they describe, and the link that holds them."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.parameters import parameters, total
from viz_app.models.playground import (
    BY_NAME,
    CHOICES,
    FIELDS,
    LARGEST,
    LEFT_OUT,
    SIZES,
    SWITCHES,
    design_of,
    fields_of,
    from_link,
    to_link,
)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_preset_unchanged_is_the_published_model(name):
    published = BY_NAME[name]
    design = design_of(published, fields_of(published))
    assert (design.config, design.top, design.problem) == (published.config, published.top, "")


def test_every_field_of_a_config_can_be_changed_or_is_named_as_left_out():
    shown = {*SIZES, *CHOICES, *SWITCHES}
    assert shown | set(LEFT_OUT.split(", ")) == {field.name for field in dataclasses.fields(TransformerConfig)}
    assert not shown & set(LEFT_OUT.split(", "))
    of_images = {field.name for field in dataclasses.fields(VisionConfig)} - {"encoder"}
    assert of_images < set(FIELDS)


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


def test_an_image_models_length_follows_from_its_patches():
    published = BY_NAME["ViT-B/16"]
    fields = fields_of(published)
    assert "max_length" not in fields
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
        ("ViT-B/16", {"vocab_size": 10}, "it reads no tokens"),
        ("ViT-B/16", {"positions": "alibi"}, "positions='alibi': an image model's are learned"),
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


def _changes(name: str) -> st.SearchStrategy:
    if name in CHOICES:
        return st.sampled_from(CHOICES[name][0])
    if name in SWITCHES:
        return st.booleans()
    sizes = st.integers(-LARGEST, LARGEST)
    return sizes | st.none() if name == "head_size" else sizes


@given(st.fixed_dictionaries({}, optional={name: _changes(name) for name in (*SIZES, *CHOICES, *SWITCHES)}))
def test_a_link_holds_the_changes_exactly(changes):
    assert from_link(to_link(changes), fields_of(BY_NAME["Transformer base"])) == (changes, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("d_model-wide", "d_model cannot be “wide”; it is 512."),
        ("d_model-1e5", "d_model cannot be “1e5”; it is 512."),
        ("d_model-99999999", "d_model cannot be “99999999”; it is 512."),
        ("d_model-²", "d_model cannot be “²”; it is 512."),
        ("d_model-null", "d_model cannot be “null”; it is 512."),
        ("d_model", "d_model cannot be “”; it is 512."),
        ("positions-absolute", "positions cannot be “absolute”; it is sinusoidal."),
        ("share_output-yes", "share_output cannot be “yes”; it is true."),
        ("top-hat", "top cannot be “hat”; it is pooler."),
        ("patch_size-16", "The link changes “patch_size”, which is no field of this model."),
        ("<b>-1", "The link changes “<b>”, which is no field of this model."),
    ],
)
def test_what_a_link_asks_for_in_vain_is_said(text, problem):
    changes, problems = from_link(f"num_heads-4.{text}", fields_of(BY_NAME["Transformer base"]))
    assert changes == {"num_heads": 4}
    assert problems == [problem]
