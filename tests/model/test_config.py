import pytest

from transformer_core.model import TransformerConfig


def test_the_defaults_are_the_papers_base_model():
    config = TransformerConfig.base()
    assert (config.num_encoder_layers, config.num_decoder_layers, config.d_model, config.d_ff) == (6, 6, 512, 2048)
    assert (config.num_heads, config.d_head, config.dropout, config.norm) == (8, 64, 0.1, "post")


def test_big_is_table_3s_last_row():
    config = TransformerConfig.big(vocab_size=32_000)
    assert (config.d_model, config.d_ff, config.num_heads, config.d_head, config.dropout) == (1024, 4096, 16, 64, 0.3)
    assert config.vocab_size == 32_000


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("num_heads", 7, "not divisible"),
        ("num_heads", 0, "at least 1"),
        ("d_model", -512, "at least 1"),
        ("d_model", 512.0, "whole number"),
        ("vocab_size", -1, "at least 0"),
        ("d_ff", -1, "at least 0"),
        ("num_encoder_layers", -1, "at least 0"),
        ("num_segments", -1, "at least 0"),
        ("head_size", 0, "at least 1"),
        ("head_size", 64.0, "whole number"),
        ("positions", "absolute", "none of: sinusoidal, learned, rotary, alibi, relative, none"),
        ("activation", "swish", "none of: relu, gelu, gelu_tanh"),
        ("normalization", "batch", "none of: layer, rms"),
        ("norm_epsilon", 1.0, "outside [0, 1)"),
        ("attention_bias", 1, "neither true nor false"),
        ("dropout", "0.1", "outside [0, 1)"),
        ("num_decoder_layers", True, "whole number"),
        ("max_length", 0, "at least 1"),
        ("dropout", 1.0, "outside [0, 1)"),
        ("dropout", -0.1, "outside [0, 1)"),
        ("dropout", float("nan"), "outside [0, 1)"),
        ("norm", "middle", "neither"),
        ("pad_id", 37_000, "not in a vocabulary"),
    ],
)
def test_an_impossible_value_is_named_with_its_reason(field, value, reason):
    with pytest.raises(ValueError, match=field) as error:
        TransformerConfig(**{field: value})
    assert reason in str(error.value)
    assert str(value) in str(error.value)


def test_a_config_survives_json():
    config = TransformerConfig.big(norm="pre")
    assert TransformerConfig.from_dict(config.to_dict()) == config


def test_an_unknown_field_is_refused_by_name():
    with pytest.raises(ValueError, match="d_modle"):
        TransformerConfig.from_dict({"d_modle": 512})


def test_a_model_without_any_layer_is_refused():
    with pytest.raises(ValueError, match="leave no layer"):
        TransformerConfig(num_encoder_layers=0, num_decoder_layers=0)


def test_rotary_positions_need_an_even_head():
    with pytest.raises(ValueError, match="d_head=3 is odd"):
        TransformerConfig(d_model=12, num_heads=4, positions="rotary")


def test_the_fields_of_an_older_config_are_enough():
    older = {"vocab_size": 8000, "d_model": 256, "num_heads": 8, "norm": "post"}
    assert TransformerConfig.from_dict(older) == TransformerConfig(vocab_size=8000, d_model=256)
