"""Bundled models: finding and loading them, and the snapshots of their training."""

import hashlib
import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from tests import tiny_trained
from transformer_core import zoo
from transformer_core.inspection import export
from transformer_core.model import TransformerConfig
from transformer_core.trained.folder import save_snapshot
from transformer_core.view.payload import build
from transformer_core.zoo import InputError, InspectionOptions
from transformer_core.zoo import bundled as bundled_module
from transformer_core.zoo.bundled.bundled_model import stacks_of

KINDS = {
    "gpt": ("causal", "LanguageModel", {"continue"}, tiny_trained.language_model),
    "symbols": ("causal", "LanguageModel", {"continue", "symbols"}, tiny_trained.symbol_model),
    "bert": ("masked", "MaskedLanguageModel", {"mask"}, tiny_trained.masked_language_model),
    "vit": ("image", "VisionTransformer", {"image", "drawing"}, tiny_trained.image_classifier),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrained")
    for name, (_, _, _, make) in KINDS.items():
        make().save(folder / name)
    for step in (300, 20):
        snapshot = tiny_trained.symbol_model().model
        snapshot.output.weight.data *= step
        save_snapshot(folder / "symbols", snapshot, step)
    return folder


@pytest.fixture
def all_kinds(folders, monkeypatch):
    monkeypatch.setattr(bundled_module, "PRETRAINED", folders)
    return folders


def test_available_lists_folders_with_a_model(pretrained, tmp_path, monkeypatch):
    assert zoo.available() == ["tiny-en-de"]
    for name in ("induction", "b-model", "a-model", "tatoeba-en-de", "digits-vit"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "no-model").mkdir()
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(bundled_module, "PRETRAINED", tmp_path)
    shipped = ["tatoeba-en-de", "digits-vit", "induction"]
    assert zoo.available() == [*shipped, "a-model", "b-model"], "those that come with Headlight are first"


def test_available_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled_module, "PRETRAINED", tmp_path / "missing")
    assert zoo.available() == []
    with pytest.raises(InputError, match="There are none in"):
        bundled_module.load("tiny-en-de")


@pytest.mark.parametrize(
    "name",
    ["../pretrained/tiny-en-de", "tiny-en-de/", "./tiny-en-de", "", ".", "..", "/etc", "no-such", "a\0b", "\ud800"],
)
def test_a_name_that_is_not_listed_is_refused(pretrained, name):
    with pytest.raises(InputError, match=r"There is no bundled model called .* There are: tiny-en-de\."):
        bundled_module.load(name, device="cpu")


def test_a_model_without_weights_says_so(tmp_path, monkeypatch):
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text("{}")
    monkeypatch.setattr(bundled_module, "PRETRAINED", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors is missing"):
        zoo.load("half", device="cpu")


def test_an_unknown_device_says_so(pretrained):
    with pytest.raises(ValueError, match="unknown device"):
        zoo.load("tiny-en-de", device="toaster")


def test_a_bundled_model_runs_in_float32_and_says_so(pretrained):
    assert zoo.load("tiny-en-de", device="cpu", dtype="float32").dtype == torch.float32
    for dtype in ("bfloat16", "float16", "int8"):
        with pytest.raises(ValueError, match=f"in float32 only, not in {dtype}"):
            zoo.load("tiny-en-de", device="cpu", dtype=dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_opens_by_name_and_by_folder(all_kinds, tiny_translator_folder, kind):
    family, architecture, abilities, make = KINDS[kind]
    by_name, by_folder = zoo.load(kind, "cpu"), zoo.load(all_kinds / kind, "cpu", hub=False)
    for model in (by_name, by_folder):
        assert (model.family, model.architecture, model.abilities) == (family, architecture, abilities)
        assert (str(model.device), model.dtype, model.languages, model.notes) == ("cpu", torch.float32, None, ())
        assert [(stack.name, stack.heads) for stack in model.stacks] == [("self", (4, 4))]
        assert model.num_parameters == sum(tensor.numel() for tensor in make().model.state_dict().values())
    assert (by_name.name, by_folder.name) == (kind, str(all_kinds / kind))
    digest = hashlib.sha256((all_kinds / kind / "model.safetensors").read_bytes()).hexdigest()
    assert by_name.weights_hash == by_folder.weights_hash == digest[:12]


INPUTS = {
    "gpt": ("Speak,\n the cat", InspectionOptions(new_tokens=3, temperature=1.0)),
    "symbols": ("a B 7 a", InspectionOptions()),
    "bert": ("The cat sleeps.", InspectionOptions(masked=(1,))),
    "vit": (Image.linear_gradient("L").resize((8, 8)), InspectionOptions()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_and_exported(all_kinds, tmp_path, kind):
    inspection = zoo.load(kind, "cpu").inspect(*INPUTS[kind])
    stack = inspection.stacks["self"]
    payload = build(inspection)
    (sent,) = payload.meta["stacks"]
    assert (sent["name"], sent["heads"], len(sent["queries"])) == ("self", [4, 4], len(stack.query_tokens))
    assert (payload.meta["image"] is not None) == (kind == "vit")
    for suffix in ("npz", "json", "csv", "html"):
        export.save(inspection, tmp_path / f"seen.{suffix}")
    with np.load(tmp_path / "seen.npz") as arrays:
        assert np.array_equal(arrays["self.1"], stack.weights(1).numpy())


def test_a_decoders_layers_attend_to_the_encoder_each():
    config = TransformerConfig(num_encoder_layers=3, num_decoder_layers=2)
    stacks = [(stack.name, stack.heads) for stack in stacks_of(config)]
    assert stacks == [("encoder", (8, 8, 8)), ("decoder", (8, 8)), ("cross", (8, 8))]


def test_an_outline_says_what_the_model_says(all_kinds, tiny_translator_folder):
    shutil.copytree(tiny_translator_folder, all_kinds / "translator", dirs_exist_ok=True)
    for name in zoo.available():
        model, outline = zoo.load(name, "cpu"), zoo.outline(name)
        assert vars(outline) == {field: getattr(model, field) for field in vars(outline)}


def test_the_outline_of_what_is_no_model_says_why(all_kinds, tmp_path, monkeypatch):
    shutil.copytree(all_kinds / "gpt", tmp_path / "gpt")
    monkeypatch.setattr(bundled_module, "PRETRAINED", tmp_path)
    with pytest.raises(InputError, match=r"There is no bundled model called '\.\./gpt'\. There are: gpt\."):
        zoo.outline("../gpt")
    config = tmp_path / "gpt" / "config.json"
    fields = json.loads(config.read_text())
    fields["transformer"]["num_decoder_layers"] = 10**9
    config.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=r"config\.json does not describe a model: .*such a model has"):
        zoo.outline("gpt")
    config.write_text('{"format": "headlight-language-model", "transformer": {"num_heads": "four"}}')
    with pytest.raises(ValueError, match=r"config\.json does not describe a model: .*num_heads='four'"):
        zoo.outline("gpt")
    config.write_text('{"format": "headlight-oracle"}')
    with pytest.raises(ValueError, match=r"does not describe a model: .*format.* is none of headlight-translator"):
        zoo.outline("gpt")
    (tmp_path / "gpt" / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
        zoo.outline("gpt")


def test_snapshots_open_by_their_step(all_kinds):
    assert zoo.snapshots("symbols") == (20, 300)
    assert zoo.snapshots("gpt") == ()
    assert not any("@" in name for name in zoo.available())
    finished, snapshot = zoo.load("symbols", "cpu"), zoo.load("symbols@300", "cpu")
    assert snapshot.name == "symbols@300"
    note = "This is the model as it was after step 300 of its training."
    assert snapshot.notes == (note,)
    file = all_kinds / "symbols" / "snapshots" / "step-00000300.safetensors"
    assert snapshot.weights_hash == hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    ours = tiny_trained.symbol_model().model.output.weight
    torch.testing.assert_close(finished.trained.model.output.weight, ours, atol=2e-3, rtol=1e-3)
    torch.testing.assert_close(snapshot.trained.model.output.weight, 300 * ours, atol=0.6, rtol=1e-3)
    inspection = snapshot.inspect("a b c")
    assert inspection.provenance.model == "symbols@300"
    assert inspection.provenance.weights_hash == snapshot.weights_hash
    assert inspection.notes == (note,)


@pytest.mark.parametrize("step", ["7", "-20", "20.0", "020", "", "x", "020\u0660", "../symbols", "9" * 5000])
def test_a_step_that_was_not_kept(all_kinds, step):
    with pytest.raises(InputError, match=r"symbols was not kept at the step .* There are: 20, 300\."):
        zoo.load(f"symbols@{step}", "cpu")


def test_a_step_of_a_model_without_snapshots(all_kinds):
    with pytest.raises(InputError, match=r"gpt was not kept at the step '20' of its training\. There are none\."):
        zoo.load("gpt@20", "cpu")
    with pytest.raises(InputError, match="There is no bundled model called 'no-such'"):
        zoo.snapshots("no-such")


def test_a_folder_of_an_unknown_kind_is_not_taken_for_a_trained_model(all_kinds, tmp_path):
    (tmp_path / "config.json").write_text('{"format": "headlight-oracle"}')
    assert not bundled_module.is_trained(tmp_path)
    assert not bundled_module.is_trained(tmp_path / "missing")
    assert bundled_module.is_trained(all_kinds / "vit")
