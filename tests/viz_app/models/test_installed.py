"""What the Models page says of the models in pretrained/, none of which it loads."""

import json
import re
import shutil

import pytest
import torch

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.training.presets import PRESETS
from transformer_core.zoo import bundled
from viz_app.models.installed import MAX_CARD, harmless, installed


def add(folder, name: str, config: dict | str) -> None:
    """A model of this config, with weights that nobody reads."""
    (folder / name).mkdir()
    text = config if isinstance(config, str) else json.dumps(config)
    (folder / name / "config.json").write_text(text)
    (folder / name / "model.safetensors").write_bytes(bytes(1500))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    return tmp_path


def test_a_translators_facts(pretrained):
    from transformer_core.zoo import load

    model = installed("tiny-en-de")
    loaded = load("tiny-en-de", "cpu")
    assert model.purpose == "Encoder and decoder: turns one text into another, English into German"
    assert model.facts["parameters"] == f"{loaded.num_parameters:,}"
    assert model.facts["layers"] == "2 encoder + 2 decoder, post-norm"
    assert model.facts["heads"] == "4 a layer, of 8 dimensions"
    assert model.facts["d_model, d_ff"] == "32, 64"
    assert model.facts["reads"] == f"{loaded.config.vocab_size} different tokens, 64 at most"
    size = (pretrained / "tiny-en-de" / "model.safetensors").stat().st_size
    assert model.facts["weights"] == f"{size / 1000:.4g} kB on disk"
    assert "snapshots" not in model.facts
    assert model.card == "\n**tiny-en-de**\n\n\nA model of the tests."


def test_other_families(folder):
    attention_only = TransformerConfig.gpt2(num_decoder_layers=2, d_ff=0, d_model=24, positions="rotary")
    add(folder, "writer", {"transformer": attention_only.to_dict()})
    add(folder, "reader", {"transformer": TransformerConfig.bert(num_encoder_layers=3).to_dict()})
    encoder = TransformerConfig.vit(max_length=17, d_model=24, num_encoder_layers=1)
    digits = VisionConfig(8, 2, num_channels=1, num_classes=10, encoder=encoder)
    add(folder, "eyes", {"vision_transformer": digits.to_dict()})
    (folder / "writer" / "snapshots").mkdir()
    for step in (1, 2, 30):
        (folder / "writer" / "snapshots" / f"step-{step:08d}.safetensors").touch()
    writer, reader, eyes = map(installed, ("writer", "reader", "eyes"))
    assert writer.purpose.startswith("Decoder only") and reader.purpose.endswith("guesses masked words")
    assert writer.facts["d_model, d_ff"] == "24, none" and writer.facts["layers"] == "2 decoder, pre-norm"
    assert writer.facts["snapshots"] == "3 of its training" and writer.facts["weights"] == "1.5 kB on disk"
    assert eyes.facts["reads"] == "8 x 8 pixels in 16 patches; 10 classes"
    assert (writer.card, reader.card, eyes.card) == ("", "", "")
    from transformer_core.model import LanguageModel, MaskedLanguageModel, VisionTransformer

    with torch.device("meta"):
        built = LanguageModel(attention_only), MaskedLanguageModel(TransformerConfig.bert(num_encoder_layers=3))
        models = zip((writer, reader, eyes), (*built, VisionTransformer(digits)), strict=True)
    for facts, model in models:
        assert facts.facts["parameters"] == f"{sum(parameter.numel() for parameter in model.parameters()):,}"


@pytest.mark.parametrize(
    "config",
    [
        "{",
        "[]",
        "3",
        "{}",
        '{"transformer": 3}',
        '{"transformer": [1]}',
        '{"transformer": {"d_modle": 1}}',
        '{"transformer": {"d_model": 7}}',
        '{"vision_transformer": {"encoder": 1}}',
        "[" * 100_000,
    ],
)
def test_a_damaged_config_is_named(folder, config):
    add(folder, "broken", config)
    with pytest.raises(ValueError, match=r"its config\.json does not describe a model"):
        installed("broken")


def test_missing_weights_are_named(folder, tiny_translator_folder):
    shutil.copytree(tiny_translator_folder, folder / "bare")
    (folder / "bare" / "model.safetensors").unlink()
    with pytest.raises(OSError, match=r"model\.safetensors"):
        installed("bare")


def test_a_long_card_is_cut_with_a_word_and_a_binary_one_is_no_failure(folder):
    add(folder, "long", {"transformer": {}})
    (folder / "long" / "MODEL_CARD.md").write_text("é" * (MAX_CARD + 1), encoding="utf-8")
    card = installed("long").card
    assert card.startswith("é" * MAX_CARD + "\n\n… cut off here") and "50,000" in card
    (folder / "long" / "MODEL_CARD.md").write_bytes(bytes(range(256)))
    assert "�" in installed("long").card


CARD = """# writer

| what | value |
|---|---|
| layers | 2 |

## How good it is

Of [all](http://x):

| text | loss |
|---|---|
| held out | 1.5 |
| ![a](http://x/y.png) | 2 |

Measured twice.

| another | table |
|---|---|

## Training

- Data: a book (by
  somebody), CC BY
- 1,200 steps, 3 min in them, 1 x CPU;
  torch 2.
- dropout 0.1
"""


def test_what_a_card_says_first(folder):
    add(folder, "writer", {"transformer": {}})
    path = folder / "writer" / "MODEL_CARD.md"
    path.write_text(CARD)
    model = installed("writer")
    assert model.quality == "| text | loss |\n|---|---|\n| held out | 1.5 |\n| ! [a](http://x/y.png) | 2 |\n"
    assert model.training == ["Data: a book (by somebody), CC BY", "1,200 steps, 3 min in them, 1 x CPU; torch 2."]
    for card in (CARD.replace("How good", "Not"), CARD.split("Of [all]")[0] + "## Training\n\n| a | b |\n|---|---|\n"):
        path.write_text(card)
        assert installed("writer").quality == ""
    path.unlink()
    assert (installed("writer").quality, installed("writer").training) == ("", [])


@pytest.mark.parametrize("name", PRESETS)
def test_every_shipped_card_says_how_good_the_model_is_and_how_it_was_trained(name):
    model = installed(name)
    assert re.search(r"\d", model.quality.split("\n")[2])
    data, course = model.training
    assert data.startswith("Data: ") and " min in them, 1 x " in course


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("![a](http://x/y.png)", "! [a](http://x/y.png)"),
        ("a\n## How *good* ##\nb", "a\n\n**How *good***\n\nb"),
        ("#no heading\n    # code", "#no heading\n    # code"),
        ("```\n# a comment\n```\n# a heading", "```\n# a comment\n```\n\n**a heading**\n"),
        ("| a | b |\n|---|---|", "| a | b |\n|---|---|"),
        ("\ud800", "?"),
    ],
)
def test_a_card_fetches_nothing_and_has_no_headings(markdown, expected):
    assert harmless(markdown) == expected
