"""Every part of the sum against its formula, the modules that are built, and the originals in transformers."""

import dataclasses
import math

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.formulas import evaluated
from transformer_core.model import LanguageModel, MaskedLanguageModel, Transformer, TransformerConfig
from transformer_core.model.config import Activation, Norm, Normalization, Positions
from transformer_core.model.parameters import parameters, shape, symbols, total
from transformer_core.model.published import BY_NAME, PUBLISHED
from transformer_core.model.stacks import Encoder
from transformer_core.model.vision import VisionConfig, VisionTransformer

CLASSES = {
    "encoder-decoder": Transformer,
    "decoder only": LanguageModel,
    "encoder only": MaskedLanguageModel,
    "image": VisionTransformer,
}


def built(config) -> int:
    """The parameters of our own class for this config."""
    with torch.device("meta"):
        model = CLASSES[shape(config)](config)
    return sum(parameter.numel() for parameter in model.parameters())


def assert_formulas_hold(parts, values):
    for part in parts:
        assert evaluated(part.formula, values) == part.count, part


def heads_and_width() -> st.SearchStrategy[dict]:
    """A width, a number of heads, and a head size where the first is not divisible by the second."""
    return st.tuples(st.integers(1, 5), st.integers(1, 7), st.none() | st.integers(1, 9)).map(
        lambda drawn: {"num_heads": drawn[0], "d_model": drawn[0] * drawn[1] * 2, "head_size": drawn[2]}
    )


def configs(encoder: st.SearchStrategy[int], decoder: st.SearchStrategy[int]) -> st.SearchStrategy[TransformerConfig]:
    choices = {"norm": Norm, "normalization": Normalization, "activation": Activation, "positions": Positions}
    fields = {name: st.sampled_from(kind.__args__) for name, kind in choices.items()}
    switches = ("attention_bias", "feed_forward_bias", "share_output", "norm_embeddings", "scale_logits")
    fields |= {name: st.booleans() for name in switches}
    fields |= {"num_encoder_layers": encoder, "num_decoder_layers": decoder, "vocab_size": st.integers(1, 40)}
    fields |= {"d_ff": st.integers(0, 9), "max_length": st.integers(1, 20), "num_segments": st.integers(0, 3)}
    drawn = st.tuples(st.fixed_dictionaries(fields), heads_and_width()).map(lambda parts: parts[0] | parts[1])
    # Rotary positions turn pairs of dimensions.
    even = drawn.filter(lambda each: each["positions"] != "rotary" or (each["head_size"] or 2) % 2 == 0)
    odd = even.filter(lambda each: each["positions"] != "rotary" or each["head_size"] or _even_head(each))
    return odd.map(lambda each: TransformerConfig(**each))


def _even_head(fields: dict) -> bool:
    return fields["d_model"] // fields["num_heads"] % 2 == 0


SHAPES = {
    "encoder-decoder": configs(st.integers(1, 3), st.integers(1, 3)),
    "decoder only": configs(st.just(0), st.integers(1, 3)),
    "encoder only": configs(st.integers(1, 3), st.just(0)),
}


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=25)
@given(data=st.data())
def test_the_parts_of_any_config_add_up_to_what_is_built(name, data):
    config = data.draw(SHAPES[name])
    parts = parameters(config)
    assert shape(config) == name
    assert total(parts) == built(config)
    assert all(part.count > 0 for part in parts)
    assert_formulas_hold(parts, symbols(config))


@settings(max_examples=25)
@given(
    side=st.integers(1, 4),
    patch_size=st.integers(1, 5),
    num_channels=st.integers(1, 4),
    num_classes=st.integers(1, 9),
    layers=st.integers(1, 3),
    norm=st.sampled_from(["pre", "post"]),
)
def test_the_parts_of_any_image_model_add_up_to_what_is_built(side, patch_size, layers, norm, **sizes):
    encoder = TransformerConfig.vit(
        d_model=6, num_heads=3, d_ff=5, num_encoder_layers=layers, norm=norm, max_length=side**2 + 1
    )
    config = VisionConfig(side * patch_size, patch_size, encoder=encoder, **sizes)
    assert shape(config) == "image"
    assert total(parameters(config)) == built(config)
    assert_formulas_hold(parameters(config), symbols(config))


def test_a_stack_that_reads_no_tokens_is_counted_alone():
    config = TransformerConfig.vit(d_model=12, num_heads=3, d_ff=7, num_encoder_layers=2, max_length=5)
    with torch.device("meta"):
        stack = Encoder(config)
    assert total(parameters(config)) == sum(parameter.numel() for parameter in stack.parameters())


@pytest.mark.parametrize("name", [name for name in BY_NAME if not name.startswith("BERT")])
def test_a_published_shape_is_what_our_class_builds(name):
    published = BY_NAME[name]
    assert total(published.parts) == built(published.config)
    assert_formulas_hold(published.parts, symbols(published.config))


@pytest.mark.parametrize("name", ["BERT-base", "BERT-large"])
def test_berts_shape_is_our_encoder_with_another_top(name):
    config = BY_NAME[name].config
    pooler = config.d_model * (config.d_model + 1)
    head = pooler + 2 * config.d_model + config.vocab_size
    assert total(BY_NAME[name].parts) == built(config) - head + pooler
    assert total(parameters(config, "none")) == built(config) - head


def meta(build) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build().parameters())


@pytest.mark.parametrize(("name", "sizes"), [("BERT-base", (768, 12, 3072, 12)), ("BERT-large", (1024, 24, 4096, 16))])
def test_bert_is_as_large_as_in_transformers(name, sizes):
    width, layers, inner, heads = sizes
    config = transformers.BertConfig(
        hidden_size=width, num_hidden_layers=layers, intermediate_size=inner, num_attention_heads=heads
    )
    published = BY_NAME[name]
    assert total(published.parts) == meta(lambda: transformers.BertModel(config))
    assert total(parameters(published.config)) == meta(lambda: transformers.BertForMaskedLM(config))


@pytest.mark.parametrize(
    ("name", "width", "layers", "heads"),
    [
        ("GPT-2 small", 768, 12, 12),
        ("GPT-2 medium", 1024, 24, 16),
        ("GPT-2 large", 1280, 36, 20),
        ("GPT-2 XL", 1600, 48, 25),
    ],
)
def test_gpt2_is_as_large_as_in_transformers(name, width, layers, heads):
    config = transformers.GPT2Config(n_embd=width, n_layer=layers, n_head=heads)
    assert total(BY_NAME[name].parts) == meta(lambda: transformers.GPT2LMHeadModel(config))


@pytest.mark.parametrize(
    ("name", "width", "layers", "inner", "heads", "head_size"),
    [
        ("T5 small", 512, 6, 2048, 8, 64),
        ("T5 base", 768, 12, 3072, 12, 64),
        ("T5 large", 1024, 24, 4096, 16, 64),
        ("T5 3B", 1024, 24, 16_384, 32, 128),
        ("T5 11B", 1024, 24, 65_536, 128, 128),
    ],
)
def test_t5_is_as_large_as_in_transformers(name, width, layers, inner, heads, head_size):
    config = transformers.T5Config(
        vocab_size=32_128, d_model=width, num_layers=layers, d_ff=inner, num_heads=heads, d_kv=head_size
    )
    assert total(BY_NAME[name].parts) == meta(lambda: transformers.T5ForConditionalGeneration(config))


@pytest.mark.parametrize(
    ("name", "width", "layers", "inner", "heads", "patch_size"),
    [
        ("ViT-B/16", 768, 12, 3072, 12, 16),
        ("ViT-L/16", 1024, 24, 4096, 16, 16),
        ("ViT-H/14", 1280, 32, 5120, 16, 14),
    ],
)
def test_vit_is_as_large_as_in_transformers(name, width, layers, inner, heads, patch_size):
    config = transformers.ViTConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        intermediate_size=inner,
        num_attention_heads=heads,
        patch_size=patch_size,
        num_labels=1000,
    )
    assert total(BY_NAME[name].parts) == meta(lambda: transformers.ViTForImageClassification(config))


def counts(config, **options) -> dict[tuple[str, str], int]:
    return {(part.block, part.name): part.count for part in parameters(config, **options)}


def test_the_base_model_by_hand():
    """Of each layer: 4 d^2 for attention, 2 d 4 d + 5 d for feed-forward, 2 d for a normalisation."""
    assert counts(TransformerConfig.base()) == {
        ("Embeddings", "token vectors"): 18_944_000,
        ("Encoder", "self-attention"): 6 * 1_048_576,
        ("Encoder", "feed-forward"): 6 * 2_099_712,
        ("Encoder", "normalisation"): 6 * 2 * 1_024,
        ("Decoder", "self-attention"): 6 * 1_048_576,
        ("Decoder", "cross-attention"): 6 * 1_048_576,
        ("Decoder", "feed-forward"): 6 * 2_099_712,
        ("Decoder", "normalisation"): 6 * 3 * 1_024,
    }


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (TransformerConfig.base(), 63_045_632),
        (TransformerConfig.base(attention_bias=True), 63_082_496),
        (TransformerConfig.base(num_heads=1), 63_045_632),
        (TransformerConfig.base(num_encoder_layers=2, num_decoder_layers=2), 33_644_544),
        (TransformerConfig.base(d_ff=4096), 88_236_032),
        (TransformerConfig.big(), 214_171_648),
        (TransformerConfig.gpt2(), 124_439_808),
    ],
)
def test_known_totals(config, expected):
    assert total(parameters(config)) == expected


def test_torchs_own_transformer_is_the_stacks_with_biases_and_two_more_normalisations():
    config = TransformerConfig.base(attention_bias=True)
    stacks = sum(part.count for part in parameters(config) if part.block in ("Encoder", "Decoder"))
    expected = meta(lambda: torch.nn.Transformer(512, 8, 6, 6, 2048))
    assert stacks + 2 * 2 * config.d_model == expected == 44_140_544


def test_a_shared_matrix_counts_once():
    config = TransformerConfig.base()
    untied = total(parameters(dataclasses.replace(config, share_output=False)))
    assert untied - total(parameters(config)) == 37_000 * 512


def test_published_totals_are_the_papers_numbers():
    expected = {
        "Transformer base": 65e6,
        "Transformer big": 213e6,
        "BERT-base": 110e6,
        "BERT-large": 340e6,
        "GPT-2 small": 117e6,
        "GPT-2 medium": 345e6,
        "GPT-2 large": 762e6,
        "GPT-2 XL": 1542e6,
        "GPT-3 175B": 175e9,
        "T5 small": 60e6,
        "T5 base": 220e6,
        "T5 large": 770e6,
        "T5 3B": 2.8e9,
        "T5 11B": 11e9,
        "ViT-B/16": 86e6,
        "ViT-L/16": 307e6,
        "ViT-H/14": 632e6,
    }
    assert {published.name: published.published_total for published in PUBLISHED} == expected
    for published in PUBLISHED:
        assert published.source and published.difference
        assert math.isclose(total(published.parts), published.published_total, rel_tol=0.07)


@pytest.mark.parametrize(("name", "released"), [("small", 124), ("medium", 355), ("large", 774), ("XL", 1558)])
def test_gpt2s_corrected_names_are_what_the_parts_add_up_to(name, released):
    published = BY_NAME[f"GPT-2 {name}"]
    assert round(total(published.parts) / 1e6) == released
    assert f"{released}M" in published.difference


def million(config, **options) -> float:
    return round(total(parameters(config, **options)) / 1e6, 1)


def test_the_vocabulary_that_each_of_the_papers_totals_would_need():
    for name, needed in (("Transformer base", 40_800), ("Transformer big", 35_900)):
        published = BY_NAME[name]
        missing = published.published_total - total(published.parts)
        assert published.config.vocab_size + missing / published.config.d_model == pytest.approx(needed, abs=50)
        assert f"{needed:,}" in published.difference


def test_berts_totals_fit_either_top_and_not_none():
    for name in ("BERT-base", "BERT-large"):
        for top in ("pooler", "masked words"):
            assert round(million(BY_NAME[name].config, top=top), -1) * 1e6 == BY_NAME[name].published_total
    assert million(BY_NAME["BERT-large"].config, top="none") == 334.1


def test_gpt2s_totals_lack_token_vectors():
    for name in ("small", "medium", "large", "XL"):
        published = BY_NAME[f"GPT-2 {name}"]
        missing = total(published.parts) - published.published_total
        assert 9_300 < missing / published.config.d_model < 9_800


def test_t5_large_alone_fits_an_output_matrix_of_its_own():
    def untied(name: str) -> float:
        return million(dataclasses.replace(BY_NAME[name].config, share_output=False))

    assert untied("T5 large") == 770.6
    assert "770.6M" in BY_NAME["T5 large"].difference
    assert (untied("T5 small"), untied("T5 base")) == (77.0, 247.6)
    assert round(total(BY_NAME["T5 3B"].parts) / 1e9, 2) == 2.85


def test_table_d1_of_gpt3_is_the_sum():
    assert round(total(BY_NAME["GPT-3 175B"].parts) / 1e6, -2) == 174_600
    assert "174,600M" in BY_NAME["GPT-3 175B"].difference


@pytest.mark.parametrize(
    ("name", "patch_size", "classes", "counted"),
    [("ViT-B/16", 16, False, "85.8M"), ("ViT-L/16", 32, True, "306.5M"), ("ViT-H/14", 14, True, "632.0M")],
)
def test_no_one_way_to_count_gives_all_of_vits_totals(name, patch_size, classes, counted):
    published = BY_NAME[name]

    def counts_as(patch_size: int, classes: bool) -> float:
        encoder = dataclasses.replace(published.config.encoder, max_length=(224 // patch_size) ** 2 + 1)
        parts = parameters(VisionConfig(patch_size=patch_size, encoder=encoder))
        return total(part for part in parts if classes or part.name != "classes") / 1e6

    assert f"{counts_as(patch_size, classes):.1f}M" == counted
    assert counted in published.difference
    assert round(counts_as(patch_size, classes)) * 1e6 == published.published_total
    if patch_size == published.config.patch_size:
        assert round(counts_as(patch_size, not classes)) * 1e6 != published.published_total
    else:
        both = (counts_as(published.config.patch_size, chosen) for chosen in (True, False))
        assert all(round(count) * 1e6 != published.published_total for count in both)
