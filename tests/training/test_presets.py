import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from transformer_core.__main__ import main
from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.parameters import parameters, total
from transformer_core.training import loop
from transformer_core.training.model_card import stack_rows
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


def shipped_config(name: str) -> TransformerConfig | VisionConfig:
    config = json.loads((PRETRAINED / name / "config.json").read_text(encoding="utf-8"))
    if name == "digits-vit":
        return VisionConfig.from_dict(config["vision_transformer"])
    return TransformerConfig.from_dict(config["transformer"])


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_makes_a_model_of_the_shipped_shape(name):
    options, shipped = options_of(name), shipped_config(name)
    if name == "digits-vit":
        assert options.vision_config() == shipped
    else:
        assert options.transformer_config(*([shipped.vocab_size] if name in DATA else [])) == shipped


@pytest.mark.parametrize("name", PRESETS)
def test_the_command_on_a_shipped_card_trains_what_the_card_says(name, monkeypatch):
    card = (PRETRAINED / name / "MODEL_CARD.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    python -m transformer_core (train .*)$", card, re.MULTILINE)
    runs = []
    monkeypatch.setattr(loop, "train", lambda options, command: runs.append(options) or True)
    monkeypatch.setattr(sys, "argv", ["headlight"])
    assert main(shlex.split(command)) == 0
    (options,) = runs
    where = {"data": options.data} if name in DATA else {}
    assert options == options_of(name, **where, out=Path("pretrained") / name, credit=options.credit)

    words, config = " ".join(card.split()), shipped_config(name)
    size = (PRETRAINED / name / "model.safetensors").stat().st_size
    rows = {"parameters": f"{total(parameters(config)):,}", "weights": f"float16, {size / 1e6:.1f} MB"}
    rows |= stack_rows(config.encoder if isinstance(config, VisionConfig) else config)
    for row in rows.items():
        assert "| {} | {} |".format(*row) in card
    rate = "" if options.schedule == "inverse_sqrt" else f" to a learning rate of {options.learning_rate:g}"
    weights, first = "the weights after the last step", options.steps - (options.average - 1) * options.checkpoint_every
    if options.average > 1:
        weights = f"mean of {options.average} checkpoints, steps {first:,} to {options.steps:,}"
    for said in (
        f"{options.steps:,} steps, ",
        f"warm-up {options.warmup:,} steps{rate}, ",
        f"dropout {options.dropout:g}; {weights}.",
        "The weights are under the Apache License 2.0, like the code.",
        f"python -m transformer_core evaluate --model pretrained/{name} "
        + (f"--data {options.data} " if name in DATA else ""),
    ):
        assert said in words


def test_the_rate_of_a_schedule():
    assert options_of("shakespeare-gpt", warmup=100, steps=1100, learning_rate=1.0).rate(600) == pytest.approx(0.55)
    assert options_of("induction", warmup=10, learning_rate=1.0).rate(1000) == 1.0
    assert options_of(DEFAULT, warmup=400, d_model=64, num_heads=1).rate(400) == pytest.approx(1 / 160)


def test_induction_keeps_its_last_step():
    options = options_of("induction")
    assert options.snapshots[-1] == options.steps
    assert options.average == 1, "or the last snapshot would not be the model"
    assert len(options.snapshots) >= 30
