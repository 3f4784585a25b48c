import json
from pathlib import Path

import pytest

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.training.presets import DEFAULT, PRESETS
from transformer_core.training.tasks.translation import TranslationOptions
from transformer_core.zoo.bundled import PRETRAINED

DATA = {"tatoeba-en-de", "shakespeare-gpt", "tatoeba-bert"}


def options_of(name: str, **changes):
    data = {"data": Path("data")} if name in DATA else {}
    return PRESETS[name].options(**PRESETS[name].defaults() | data | {"out": Path("out")} | changes)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_possible(name):
    assert options_of(name).task().options == options_of(name)


def test_the_default_is_the_translator_with_the_options_on_its_card():
    options = options_of(DEFAULT)
    assert options == TranslationOptions(data=Path("data"), out=Path("out"))
    shape = options.d_model, options.num_heads, options.num_encoder_layers, options.num_decoder_layers, options.d_ff
    assert shape == (256, 8, 4, 3, 1024)
    assert (options.vocab_size, options.max_length, options.norm, options.held_out) == (8000, 512, "post", 2000)
    assert (options.steps, options.warmup, options.label_smoothing, options.dropout) == (10_000, 2000, 0.1, 0.1)
    assert (options.schedule, options.lr_scale, options.weight_decay) == ("inverse_sqrt", 1.0, 0.0)
    assert (options.average, options.checkpoint_every, options.seed) == (10, 250, 1)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_makes_a_model_of_the_shipped_shape(name):
    options, config = options_of(name), json.loads((PRETRAINED / name / "config.json").read_text(encoding="utf-8"))
    if name == "digits-vit":
        assert options.vision_config() == VisionConfig.from_dict(config["vision_transformer"])
        return
    shipped = TransformerConfig.from_dict(config["transformer"])
    vocabulary = [shipped.vocab_size] if name in DATA else []
    assert options.transformer_config(*vocabulary) == shipped


def test_the_rate_of_a_schedule():
    assert options_of("shakespeare-gpt", warmup=100, steps=1100, learning_rate=1.0).rate(600) == pytest.approx(0.55)
    assert options_of("induction", warmup=10, learning_rate=1.0).rate(1000) == 1.0
    assert options_of(DEFAULT, warmup=400, d_model=64, num_heads=1).rate(400) == pytest.approx(1 / 160)


def test_induction_keeps_its_last_step():
    options = options_of("induction")
    assert options.snapshots[-1] == options.steps
    assert options.average == 1, "or the last snapshot would not be the model"
    assert len(options.snapshots) >= 30
