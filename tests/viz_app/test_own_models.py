"""Models of one's own on the Attention page: every family, against transformers itself."""

import base64
import dataclasses
import io
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from streamlit.delta_generator import DeltaGenerator

from tests.viz_app.reading import assert_calm, charts, has_view, heatmap, html, say, view, words
from transformer_core import zoo
from viz_app import library
from viz_app.examples import GENERAL

OWN = "Your own model"
CAT = "The cat sees the cat."
MAIN = Path(library.__file__).with_name("main.py")

FAMILIES = ["masked", "causal", "text-to-text", "marian", "classifier", "encoder", "image", "embedding"]
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "**b** $x^2$ :red[r] [l](http://x) `c`",
    "</div><script>alert(1)</script>",
    "a\u202eb\u2066c",
]


def show(app, folder, **query):
    app.query_params.update({"model": OWN, "own": str(folder), "exact": "true"} | query)
    return app.run()


def rows(app) -> list[str]:
    """Labels of the rows of the open stack."""
    return view(app).open_stack["queries"]


def bars(app):
    """Names and probabilities of what the model expects at the chosen place."""
    (chart,) = (chart["data"][0] for chart in charts(app) if chart["data"][0]["type"] == "bar")
    return list(chart["customdata"]), list(chart["x"])


@pytest.fixture
def eager(tiny_checkpoints):
    """`eager(family)`: the same checkpoint in transformers, which hands out its own attention weights."""

    def load(family: str, auto: type) -> transformers.PreTrainedModel:
        return auto.from_pretrained(tiny_checkpoints[family], attn_implementation="eager").eval()

    return load


def tokenizer(tiny_checkpoints, family: str) -> transformers.PreTrainedTokenizerBase:
    return transformers.AutoTokenizer.from_pretrained(tiny_checkpoints[family])


def test_nothing_is_opened_before_a_name_is_given(app, monkeypatch):
    app.run()
    loaded = []
    monkeypatch.setattr("transformer_core.zoo.load", lambda name, *_, **__: loaded.append(name))
    app.selectbox(key="model").set_value(OWN).run()
    assert_calm(app)
    assert not loaded and not has_view(app)
    assert "Nothing is loaded before" in app.info[0].value
    assert app.text_input(key="text").value


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_opens_with_its_sizes_and_its_check(app, tiny_checkpoints, family):
    show(app, tiny_checkpoints[family])
    assert_calm(app)
    config = json.loads((tiny_checkpoints[family] / "config.json").read_text())
    assert f"a {config['architectures'][0]}" in app.markdown[0].value
    assert re.search(r"\d (decoder )?layers × \d+ heads · [\d.,]+ (M )?parameters", app.caption[0].value)
    assert has_view(app)
    (badge,) = (text for text in app.markdown if "Weights checked: exact" in text.value)
    assert "green" in badge.value and "rows sum to 1" in badge.value
    assert "English" not in words(app) and "German" not in words(app)


def test_a_typed_name_is_not_opened_before_enter(app, tiny_checkpoints):
    show(app, tiny_checkpoints["causal"])
    app.text_input(key="own").set_value(str(tiny_checkpoints["encoder"]))
    app.text_input(key="text").set_value(CAT).run()
    assert "a GPT2LMHeadModel" in app.markdown[0].value
    app.text_input(key="own").set_value(str(tiny_checkpoints["encoder"]))
    app.button(key="open").click().run()
    assert "a BertModel" in app.markdown[0].value
    assert_calm(app)


def test_what_was_loaded_is_named_exactly(app, tiny_checkpoints, eager):
    show(app, tiny_checkpoints["causal"])
    model = eager("causal", transformers.AutoModelForCausalLM)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert app.caption[0].value == f"2 layers × 4 heads · {count:,} parameters"
    about = app.caption[0].proto.help.replace("\\", "")
    assert "GPT2LMHeadModel" in about and str(tiny_checkpoints["causal"]) in about and "float32 on cpu" in about


@pytest.mark.parametrize(("layer", "head"), [(1, 1), (2, 4)])
def test_a_causal_model_continues_and_its_weights_are_transformers_own(app, tiny_checkpoints, eager, layer, head):
    show(app, tiny_checkpoints["causal"], text=CAT, layer=str(layer), head=str(head), new="3")
    assert_calm(app)
    model, tokens = eager("causal", transformers.AutoModelForCausalLM), tokenizer(tiny_checkpoints, "causal")
    prompt = tokens(CAT, return_tensors="pt").input_ids
    written = model.generate(prompt, max_new_tokens=3, do_sample=False)
    with torch.no_grad():
        outputs = model(written, output_attentions=True)
    np.testing.assert_allclose(heatmap(app)["data"][0]["z"], outputs.attentions[layer - 1][0, head - 1], atol=2e-6)
    assert f'<span class="headlight-prompt">{CAT}</span>' in words(app)
    assert tokens.decode(written[0, prompt.size(1) :]) in words(app)
    assert "itself and earlier ones, never later ones" in words(app)
    expected = outputs.logits[0, prompt.size(1) - 1].softmax(-1).topk(5).values
    np.testing.assert_allclose(bars(app)[1], expected, rtol=1e-4)
    app.selectbox(key="place").set_value("Probabilities: next token 3").run()
    expected = outputs.logits[0, prompt.size(1) + 1].softmax(-1).topk(5).values
    np.testing.assert_allclose(bars(app)[1], expected, rtol=1e-4)


def test_examples_are_offered_without_a_claim_about_languages(app, tiny_checkpoints):
    show(app, tiny_checkpoints["causal"], text=CAT)
    offered = app.get_by_key("example")
    assert offered.options == [example.topic for example in GENERAL.texts] and offered.value is None
    offered.set_value(GENERAL.texts[3].topic).run()
    assert_calm(app)
    assert app.text_input(key="text").value == GENERAL.texts[3].text
    assert GENERAL.texts[3].look_for in words(app)


def test_a_chat_model_replies_to_a_message_in_its_template(app, tiny_checkpoints, tmp_path):
    folder = tmp_path / "chat"
    shutil.copytree(tiny_checkpoints["causal"], folder)
    template = "{% for message in messages %}USER {{ message['content'] }} BOT {% endfor %}"
    (folder / "chat_template.jinja").write_text(template)
    show(app, folder, text="The cat", new="0")
    before = len(rows(app))
    assert "To let it write" in words(app)
    app.toggle(key="chat").set_value(True)
    app.number_input(key="new").set_value(2).run()
    assert_calm(app)
    assert len(rows(app)) > before + 2
    assert ">Reply<" in words(app) and "headlight-prompt" not in words(app)


def press_open(app):
    return app.button(key="open").click().run()


@pytest.mark.parametrize("name", ["someone/huge-model", r"\\server\share"])
def test_a_link_alone_opens_nothing_but_a_folder_of_this_machine(app, monkeypatch, name):
    loaded = []

    def load(name, *_, **__):
        loaded.append(name)
        raise OSError("not here")

    monkeypatch.setattr(zoo, "load", load)
    show(app, name, text=CAT)
    assert_calm(app)
    assert not loaded and "Press Open" in app.info[0].value
    assert app.text_input(key="text").value == CAT
    press_open(app)
    assert loaded == [name] and "not here" in app.error[0].value
    app.selectbox(key="dtype").set_value("bfloat16").run()
    assert loaded == [name] * 2, "what was asked for once is asked for"


def test_a_folder_that_goes_away_is_missed_by_name(app, tiny_checkpoints, tmp_path):
    folder = shutil.copytree(tiny_checkpoints["encoder"], tmp_path / "model")
    show(app, folder, text=CAT)
    shutil.rmtree(folder)
    app.text_input(key="text").set_value("The dog sleeps.").run()
    (error,) = app.error
    assert "There is no folder" in error.value and not app.info and not app.exception
    assert app.text_input(key="text").value == "The dog sleeps."
    shutil.copytree(tiny_checkpoints["encoder"], folder)
    app.run()
    assert_calm(app)
    assert rows(app)[1:4] == ["the", "dog", "sleeps"]


def test_a_link_alone_does_not_open_what_may_be_a_network_share(app, tiny_checkpoints):
    show(app, f"/{tiny_checkpoints['encoder']}")
    assert_calm(app)
    assert "Press Open" in app.info[0].value
    press_open(app)
    assert_calm(app)
    assert "a BertModel" in app.markdown[0].value


def test_a_download_is_shown(app, monkeypatch, tiny_checkpoints):
    original, shown = zoo.load, []

    def load(name, *precision, progress, **options):
        while not shown:
            progress("", 250_000_000, 1_000_000_000)
            time.sleep(0.01)
        return original(str(tiny_checkpoints["encoder"]), *precision, **options)

    monkeypatch.setattr(zoo, "load", load)
    drawn = DeltaGenerator.progress
    monkeypatch.setattr(DeltaGenerator, "progress", lambda self, *args: shown.append(args) or drawn(self, *args))
    show(app, "owner/name")
    press_open(app)
    assert_calm(app)
    share, text = shown[0]
    assert share == 0.25 and re.fullmatch(r"Downloading\\: 250 of 1\\,000 MB · \d+\.\d s", text)


def test_a_repeated_word_is_masked_alone(app, tiny_checkpoints, eager):
    show(app, tiny_checkpoints["masked"], text=CAT)
    pills = app.get_by_key("mask")
    assert pills.options == ["the · 1", "cat · 2", "sees", "the · 4", "cat · 5", r"\."]
    assert "No word is masked" in words(app)
    pills.set_value(["cat · 5"]).run()
    assert_calm(app)
    labels = rows(app)
    assert labels == ["[CLS]", "the", "cat", "sees", "the", "[MASK]", ".", "[SEP]"]
    model, tokens = eager("masked", transformers.AutoModelForMaskedLM), tokenizer(tiny_checkpoints, "masked")
    ids = tokens("the cat sees the [MASK].", return_tensors="pt").input_ids
    with torch.no_grad():
        expected = model(ids).logits[0, 5].softmax(-1).topk(5)
    names, probabilities = bars(app)
    np.testing.assert_allclose(probabilities, expected.values, rtol=1e-4)
    assert names == tokens.convert_ids_to_tokens(expected.indices.tolist())
    assert "earlier and later ones alike" in words(app)


def test_masks_stay_with_words_that_stay(app, tiny_checkpoints):
    show(app, tiny_checkpoints["masked"], text="The cat sleeps.", mask="cat")
    assert app.get_by_key("mask").value == ["cat"]
    app.text_input(key="text").set_value("The dog sees the cat.").run()
    assert_calm(app)
    assert rows(app).index("[MASK]") == 5
    app.text_input(key="text").set_value("The dog sleeps.").run()
    assert_calm(app)
    assert "[MASK]" not in rows(app)


def test_of_a_very_long_text_the_first_tokens_are_offered_and_it_says_so(app, tiny_checkpoints, monkeypatch):
    monkeypatch.setattr("viz_app.attention.masks.MOST_WORDS", 3)
    show(app, tiny_checkpoints["masked"], text=CAT)
    assert_calm(app)
    assert app.get_by_key("mask").options == ["the · 1", "cat · 2", "sees"]
    assert "The first 3 of the text's 6 words can be masked." in words(app)


def test_a_typed_mask_is_one_token_where_it_is_read_as_one(app, tiny_checkpoints):
    show(app, tiny_checkpoints["masked"], text="the [MASK] sees a cat", special="true")
    assert app.get_by_key("mask").options == ["the", r"\[MASK\]", "sees", "a", "cat"]
    app.get_by_key("mask").set_value(["cat"]).run()
    assert_calm(app)
    labels = rows(app)
    assert labels == ["[CLS]", "the", "[MASK]", "sees", "a", "[MASK]", "[SEP]"]
    assert app.selectbox(key="place").options == ["Probabilities: mask 1", "Probabilities: mask 2"]


def test_a_text_that_cannot_be_read_is_refused_beside_its_masks(app, tiny_checkpoints):
    show(app, tiny_checkpoints["masked"], text="The cat sleeps.")
    app.text_input(key="text").set_value("").run()
    assert not app.exception
    assert "no text" in app.error[0].value


def test_a_pair_is_read_together_and_in_parts(app, tiny_checkpoints, eager):
    pair = {"text": "The cat sleeps.", "second": "The dog sees the cat."}
    show(app, tiny_checkpoints["classifier"], stack="B to A", layer="2", head="3", **pair)
    assert_calm(app)
    assert [stack["title"] for stack in view(app).meta["stacks"]] == ["Self", "A to A", "A to B", "B to A", "B to B"]
    model = eager("classifier", transformers.AutoModelForSequenceClassification)
    tokens = tokenizer(tiny_checkpoints, "classifier")
    inputs = tokens(pair["text"], pair["second"], return_tensors="pt")
    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True)
    start = inputs.token_type_ids[0].tolist().index(1)
    part = outputs.attentions[1][0, 2, start:, :start]
    np.testing.assert_allclose(heatmap(app)["data"][0]["z"], part, atol=2e-6)
    assert "a token of text B" in words(app) and "sums to less than 1" in words(app)
    order = outputs.logits[0].softmax(-1).sort(descending=True)
    names, probabilities = bars(app)
    np.testing.assert_allclose(probabilities, order.values, rtol=1e-4)
    assert names == [model.config.id2label[index] for index in order.indices.tolist()]
    assert f">{names[0]}<" in words(app)


def test_without_a_second_text_there_is_no_part_to_choose(app, tiny_checkpoints):
    show(app, tiny_checkpoints["classifier"], text=CAT, stack="B to A")
    assert_calm(app)
    assert [stack["title"] for stack in view(app).meta["stacks"]] == ["Self"]
    assert view(app).state["stack"] == "self"


def test_two_texts_are_compared(app, tiny_checkpoints):
    show(app, tiny_checkpoints["embedding"], text="A cat is asleep.", second="The cat sleeps.")
    assert_calm(app)
    assert "Cosine similarity 0." in words(app)
    assert ">Both texts<" in words(app)
    assert [stack["title"] for stack in view(app).meta["stacks"]] == ["Self", "Self, second text"]


def test_a_typed_special_token_is_text_unless_asked(app, tiny_checkpoints):
    show(app, tiny_checkpoints["encoder"], text="cat [SEP] dog")
    assert rows(app).count("[SEP]") == 1
    app.toggle(key="special").set_value(True).run()
    assert_calm(app)
    assert rows(app).count("[SEP]") == 2


def test_an_image_and_its_attention_reach_the_view(app, tiny_checkpoints, eager):
    show(app, tiny_checkpoints["image"], layer="2", head="2")
    assert_calm(app)
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    app.file_uploader(key="image").upload("noise.png", file.getvalue(), "image/png").run()
    assert_calm(app)
    model = eager("image", transformers.AutoModelForImageClassification)
    resized = Image.fromarray(pixels).resize((32, 32), Image.Resampling.BILINEAR)
    seen = torch.tensor(np.asarray(resized)).movedim(-1, 0)[None] / 127.5 - 1
    with torch.no_grad():
        outputs = model(seen.float(), output_attentions=True)
    np.testing.assert_allclose(heatmap(app)["data"][0]["z"], outputs.attentions[1][0, 1], atol=1e-5)
    np.testing.assert_array_equal(picture(app), np.asarray(resized))
    image = view(app).meta["image"]
    assert (image["rows"], image["columns"], image["first_patch"]) == (4, 4, 1)
    assert view(app).state["view"] == "image" and rows(app)[7] == "row 2, column 3"
    np.testing.assert_allclose(bars(app)[1], outputs.logits[0].softmax(-1).sort(descending=True).values, rtol=1e-3)


def test_an_image_is_still_looked_at_after_a_text_model(app, tiny_checkpoints):
    show(app, tiny_checkpoints["image"])
    assert "now the model looks at a drawn disc and square" in app.file_uploader(key="image").label
    file = io.BytesIO()
    Image.new("RGB", (40, 40), "white").save(file, "PNG")
    app.file_uploader(key="image").upload("**white**.png", file.getvalue(), "image/png").run()
    seen = picture(app)
    for family in ("causal", "image"):
        app.text_input(key="own").set_value(str(tiny_checkpoints[family]))
        press_open(app)
        assert_calm(app)
    np.testing.assert_array_equal(picture(app), seen)
    assert (seen == 255).all()
    assert app.file_uploader(key="image").label.endswith(r"\*\*white\*\*\.png")


def picture(app) -> np.ndarray:
    """The image that the model looked at, (height, width, 3), as the browser gets it."""
    _, data = view(app).meta["image"]["uri"].split("base64,")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_a_file_that_is_no_image_is_refused_and_another_can_be_chosen(app, tiny_checkpoints):
    show(app, tiny_checkpoints["image"])
    app.file_uploader(key="image").upload("x.png", b"no image", "image/png").run()
    assert not app.exception
    assert "no PNG, JPEG or WebP" in app.error[0].value.replace("\\", "")
    assert app.file_uploader(key="image")


def test_the_precision_is_chosen_and_comes_with_the_link(app, tiny_checkpoints):
    show(app, tiny_checkpoints["causal"], dtype="bfloat16")
    assert_calm(app)
    assert "bfloat16 on cpu" in app.caption[0].proto.help
    app.selectbox(key="dtype").set_value("float32").run()
    assert "float32 on cpu" in app.caption[0].proto.help


def test_headlights_own_implementation_computes_the_same_and_comes_with_the_link(app, tiny_checkpoints, eager):
    show(app, tiny_checkpoints["causal"], text=CAT, new="0", layer="1", head="1", implementation="headlight")
    assert_calm(app)
    assert "a decoder-only Transformer" in app.markdown[0].value.replace("\\", "")
    about = app.caption[0].proto.help.replace("\\", "")
    assert "Headlight's own LanguageModel computes here, with the weights of GPT2LMHeadModel" in about
    tokens = tokenizer(tiny_checkpoints, "causal")
    with torch.no_grad():
        outputs = eager("causal", transformers.AutoModelForCausalLM)(
            tokens(CAT, return_tensors="pt").input_ids, output_attentions=True
        )
    np.testing.assert_allclose(heatmap(app)["data"][0]["z"], outputs.attentions[0][0, 0], atol=2e-6)
    np.testing.assert_allclose(bars(app)[1], outputs.logits[0, -1].softmax(-1).topk(5).values, rtol=1e-4)
    app.selectbox(key="implementation").set_value("transformers").run()
    assert "a GPT2LMHeadModel" in app.markdown[0].value


def test_headlight_says_what_it_does_not_implement(app, tiny_checkpoints):
    show(app, tiny_checkpoints["classifier"], text=CAT, implementation="headlight")
    (error,) = app.error
    message = error.value.replace("\\", "")
    assert "is a BertForSequenceClassification, which Headlight does not implement" in message
    assert 'Open all others with the implementation "transformers"' in message
    app.selectbox(key="implementation").set_value("transformers").run()
    assert_calm(app)
    assert has_view(app) and app.text_input(key="text").value == CAT


def test_a_bundled_model_has_no_precision_and_nothing_that_it_cannot_do(app):
    app.run()
    keys = {
        element.key for kind in ("selectbox", "toggle", "number_input", "text_input") for element in getattr(app, kind)
    }
    assert keys == {"model", "device", "beam", "penalty", "text"}


def test_the_options_are_those_of_the_model(app, tiny_checkpoints):
    show(app, tiny_checkpoints["causal"])
    assert {element.key for element in app.number_input} == {"new"}
    app.text_input(key="own").set_value(str(tiny_checkpoints["text-to-text"]))
    app.button(key="open").click().run()
    assert {element.key for element in app.number_input} == {"beam", "penalty"}


@pytest.mark.parametrize("damage", ["nothing", "pickle", "weights", "config"])
def test_a_model_that_cannot_be_opened_says_why_and_the_page_goes_on(app, tiny_checkpoints, tmp_path, damage):
    folder = tmp_path / "model"
    shutil.copytree(tiny_checkpoints["encoder"], folder)
    if damage == "nothing":
        shutil.rmtree(folder)
    if damage == "pickle":
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    if damage == "weights":
        (folder / "model.safetensors").write_bytes(b"not a model")
    if damage == "config":
        (folder / "config.json").write_text("{")
    show(app, folder, text=CAT)
    press_open(app)
    assert not app.exception
    assert "The model cannot be loaded" in app.error[0].value
    assert len(app.error[0].value) > 60 and "Traceback" not in app.error[0].value
    assert app.text_input(key="text").value == CAT and app.text_input(key="own").value == str(folder)
    app.selectbox(key="model").set_value("tiny-en-de").run()
    assert_calm(app)
    assert app.text_input(key="text").value == CAT
    assert has_view(app)


def test_a_failure_that_nobody_foresaw_leaves_the_page_usable(app, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise KeyError("a secret of the machine")

    monkeypatch.setattr("transformer_core.zoo.load", fail)
    show(app, tmp_path)
    assert not app.exception
    assert "KeyError" in app.error[0].value and "secret" not in words(app)
    assert app.selectbox(key="model").value == OWN


def test_the_model_that_was_opened_is_still_named_after_another(app, tiny_checkpoints):
    show(app, tiny_checkpoints["encoder"])
    app.selectbox(key="model").set_value("tiny-en-de").run()
    app.selectbox(key="model").set_value(OWN).run()
    assert_calm(app)
    assert app.text_input(key="own").value == str(tiny_checkpoints["encoder"])
    assert "BertModel" in app.markdown[0].value


@pytest.mark.parametrize("text", HOSTILE)
def test_class_names_are_text(app, tiny_checkpoints, tmp_path, text):
    folder = tmp_path / "hostile"
    shutil.copytree(tiny_checkpoints["classifier"], folder)
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": text, "1": text, "2": text}
    (folder / "config.json").write_text(json.dumps(config))
    show(app, folder)
    assert_calm(app)
    shown = "".join(html(app))
    assert "<img" not in shown and "<script" not in shown and "</div></div>" not in shown
    assert not any("<" in name for name in bars(app)[0])
    bar = next(chart for chart in charts(app) if chart["data"][0]["type"] == "bar")
    assert not any("<" in name or "\u202e" in name for name in bar["layout"]["yaxis"]["ticktext"])


@pytest.mark.parametrize("text", HOSTILE)
def test_a_models_name_is_text(app, text):
    """Of a link that somebody else wrote."""
    show(app, f"/nowhere/{text}")
    press_open(app)
    assert not app.exception
    message = app.error[0].value
    for markup in ("**b**", "$x^2$", ":red[r]", "[l](", "`c`", "\u202e", "\u2066"):
        assert markup not in message
    assert not re.search(r"(?<!\\)<", message)


@pytest.mark.parametrize("text", HOSTILE)
def test_tokens_to_mask_are_text(app, tiny_checkpoints, text):
    show(app, tiny_checkpoints["masked"], text=text)
    assert_calm(app)
    for option in app.get_by_key("mask").options:
        # Every punctuation mark of ASCII is escaped, so none is markup.
        assert not re.search(r"(?<!\\)[!-/:-@\[\]-`{-~]", re.sub(r"\\.", "", option))
        assert "\u202e" not in option and "\u2066" not in option


@pytest.mark.parametrize(
    "link",
    [
        {
            "dtype": "float7",
            "new": "-4",
            "special": "perhaps",
            "place": "nowhere",
            "mask": "nothing",
            "view": "upside down",
        },
        {"query": "row 99", "new": "1000000", "chat": "yes", "stack": "C to D", "second": ""},
    ],
)
@pytest.mark.parametrize("family", ["masked", "causal", "image"])
def test_impossible_values_in_a_link_are_ignored(app, tiny_checkpoints, family, link):
    show(app, tiny_checkpoints[family], **link)
    assert_calm(app)
    assert has_view(app)


def test_weights_that_are_no_numbers_are_named(app, tiny_checkpoints, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_checkpoints["masked"], folder)
    weights = load_file(folder / "model.safetensors")
    weights["bert.encoder.layer.1.attention.self.query.weight"][:8] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    show(app, folder, text=CAT, layer="2", head="1")
    assert_calm(app)
    assert "are not numbers (NaN)" in app.warning[0].value
    assert np.isnan(view(app).weights("self", 1, 0)).all()
    assert "Do not rely on these weights" in words(app) and "nan" not in words(app)
    # The head beside it is whole.
    say(app, head=1, heads=[1])
    assert_calm(app)
    assert not app.warning and np.isfinite(heatmap(app)["data"][0]["z"]).all()


def test_a_continuation_that_ends_at_once_is_called_empty(app, tiny_checkpoints, monkeypatch):
    seen = zoo.load(str(tiny_checkpoints["causal"]), "cpu").inspect(CAT)
    monkeypatch.setattr(library, "inspect", lambda *_: dataclasses.replace(seen, answer=""))
    show(app, tiny_checkpoints["causal"], text=CAT, new="3")
    assert_calm(app)
    assert "(empty)" in words(app) and "To let it write" not in words(app)


def test_files_that_change_while_the_page_is_drawn_do_not_mix_two_models(pretrained, tiny_checkpoints, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_checkpoints["encoder"], folder)
    choice, options = library.settled(library.ModelChoice(str(folder), "cpu")), zoo.InspectionOptions()
    seen = library.inspect(choice, CAT, options)
    shutil.rmtree(folder)
    assert seen.provenance.weights_hash in library.view_payload(choice, CAT, options).meta["source"]
    assert library.inspect(choice, CAT, options) is seen


def test_replaced_weights_are_loaded_anew(pretrained, tiny_checkpoints, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_checkpoints["encoder"], folder)
    choice = library.ModelChoice(str(folder), "cpu")
    before = library.load(choice)
    assert library.load(choice) is before
    weights = load_file(folder / "model.safetensors")
    save_file({name: -tensor for name, tensor in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    assert library.load(choice).weights_hash != before.weights_hash


def test_the_first_page_does_without_transformers():
    """Nor the compiler: each takes seconds to import. The bundled model must not wait for it."""
    script = f"""
import sys
from streamlit.testing.v1 import AppTest
sys.argv = [{str(MAIN)!r}]
app = AppTest.from_file({str(MAIN)!r}, default_timeout=60).run()
assert len(app.get("bidi_component")) == 3
print(sorted({{"transformers", "huggingface_hub", "tokenizers", "torch._dynamo"}} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=MAIN.parents[1], capture_output=True, text=True)
    assert done.stdout.strip().splitlines()[-1:] == ["[]"], done.stderr
