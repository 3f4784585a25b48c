import json
import shutil

import pytest
import safetensors.torch
import torch

from transformer_core.trained import Translator


def test_it_translates_what_it_learned(tiny_translator_folder):
    translator = Translator.load(tiny_translator_folder, "cpu")
    assert translator.translate(["The cat sleeps.", "", "   ", "I see the dog."]) == [
        "Die Katze schläft.",
        "",
        "",
        "Ich sehe den Hund.",
    ]
    assert translator.translate(["The cat sleeps."], beam_size=1) == ["Die Katze schläft."]
    assert translator.translate([]) == []


def test_the_weights_on_disk_are_half_precision_and_load_as_float32(tiny_translator_folder):
    on_disk = safetensors.torch.load_file(tiny_translator_folder / "model.safetensors")
    assert {tensor.dtype for tensor in on_disk.values()} == {torch.float16}
    translator = Translator.load(tiny_translator_folder, "cpu")
    assert {parameter.dtype for parameter in translator.model.parameters()} == {torch.float32}
    assert not translator.model.training


def test_saving_a_loaded_translator_changes_no_file(tiny_translator_folder, tmp_path):
    Translator.load(tiny_translator_folder, "cpu").save(tmp_path / "copy")
    for name in ("config.json", "model.safetensors", "tokenizer.model"):
        assert (tmp_path / "copy" / name).read_bytes() == (tiny_translator_folder / name).read_bytes()


def test_source_ids_end_on_the_end_token(tiny_translator_folder):
    translator = Translator.load(tiny_translator_folder, "cpu")
    ids = translator.source_ids("The cat sleeps.")
    assert translator.tokenizer.pieces(ids)[-1] == "</s>"
    assert translator.tokenizer.decode(ids[:-1]) == "The cat sleeps."


def test_a_sentence_at_the_limit_and_one_token_over_it(tiny_translator_folder):
    translator = Translator.load(tiny_translator_folder, "cpu")
    assert translator.max_source_tokens == 64
    at_limit = next(text for n in range(200) if len(translator.source_ids(text := "the" + " the" * n)) == 64)
    assert translator.translate([at_limit], beam_size=1)[0]
    with pytest.raises(ValueError, match=r"sentence 2 is 65 tokens long; the model reads 64"):
        translator.translate(["The cat sleeps.", at_limit + " the"])
    assert translator.shorten(at_limit + " the") == at_limit


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.model"])
def test_a_missing_file_is_named(tiny_translator_folder, tmp_path, name):
    folder = shutil.copytree(tiny_translator_folder, tmp_path / "model")
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        Translator.load(folder)


def change_config(folder, change) -> None:
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))


def change_weights(folder, change) -> None:
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    change(weights)
    safetensors.torch.save_file(weights, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "config.json").write_text("{"), "config.json"),
        (lambda f: (f / "config.json").write_text("[]"), "config.json"),
        (lambda f: change_config(f, lambda c: c.pop("format")), "format"),
        (lambda f: change_config(f, lambda c: c["transformer"].update(d_model=33)), "not divisible"),
        (lambda f: change_config(f, lambda c: c["transformer"].update(layers=3)), "unknown configuration fields"),
        (lambda f: change_config(f, lambda c: c["transformer"].update(vocab_size=9)), "such a model has"),
        (lambda f: change_config(f, lambda c: c["transformer"].update(pad_id=3)), "pad_id is 0 in the tokenizer and 3"),
        (lambda f: change_config(f, lambda c: c["transformer"].update(d_ff=128)), "such a model has"),
        (lambda f: change_config(f, lambda c: c["transformer"].update(num_decoder_layers=5)), "such a model has"),
        (lambda f: change_config(f, lambda c: c["transformer"].update(d_model=10**12)), "config.json"),
        (lambda f: change_config(f, lambda c: c.update(transformer=None)), "config.json"),
        (lambda f: change_config(f, lambda c: c.update(source_language=5)), "not names"),
        (lambda f: (f / "config.json").write_text("[" * 100_000), "config.json"),
        (lambda f: change_weights(f, lambda w: w.pop("encoder.layers.0.feed_forward.w_1.bias")), "such a model has"),
        (
            lambda f: change_weights(f, lambda w: w.update(other=w.pop("encoder.layers.0.feed_forward.w_1.bias"))),
            "Missing",
        ),
        (lambda f: change_weights(f, lambda w: w["embedding.tokens.weight"].fill_(torch.nan)), "damaged: embedding"),
        (lambda f: (f / "model.safetensors").write_bytes(b"\x80\x04pickle"), r"model\.safetensors is damaged"),
        (lambda f: (f / "tokenizer.model").write_bytes(b""), "tokenizer.model"),
    ],
)
def test_a_damaged_folder_says_which_file_and_why(tiny_translator_folder, tmp_path, damage, message):
    folder = shutil.copytree(tiny_translator_folder, tmp_path / "model")
    damage(folder)
    with pytest.raises(ValueError, match=message) as error:
        Translator.load(folder)
    assert "\n" not in str(error.value)


def test_a_file_in_place_of_the_folder(tiny_translator_folder):
    with pytest.raises(ValueError, match="is a file"):
        Translator.load(tiny_translator_folder / "config.json")


@pytest.mark.parametrize("options", [(0, 0.6), (17, 0.6), (4, -0.1), (4, 5.1), (1, float("nan"))])
def test_decoding_outside_its_range_is_refused(tiny_translator_folder, options):
    with pytest.raises(ValueError, match="it has to be from"):
        Translator.load(tiny_translator_folder, "cpu").translate(["The cat sleeps."], *options)


def test_an_unknown_device_is_refused(tiny_translator_folder):
    with pytest.raises(ValueError, match="unknown device 'tpu'"):
        Translator.load(tiny_translator_folder, "tpu")
