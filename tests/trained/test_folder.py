"""Trained models of all kinds in their folders."""

import json
import shutil

import pytest
import safetensors.torch
import torch
from PIL import Image

from tests import tiny_trained
from transformer_core import trained
from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.trained.folder import format_of, save_snapshot, snapshot_steps

KINDS = {
    "words": tiny_trained.language_model,
    "symbols": tiny_trained.symbol_model,
    "masked": tiny_trained.masked_language_model,
    "image": tiny_trained.image_classifier,
}

FORMATS = {
    "words": "headlight-language-model",
    "symbols": "headlight-language-model",
    "masked": "headlight-masked-language-model",
    "image": "headlight-image-classifier",
}

COLOURED = VisionConfig(32, 16, 3, 10, TransformerConfig.vit(max_length=5)).to_dict()


@pytest.fixture(scope="module")
def models():
    return {kind: make() for kind, make in KINDS.items()}


@pytest.fixture(scope="module")
def folders(models, tmp_path_factory):
    folders = {kind: tmp_path_factory.mktemp("trained") / kind for kind in models}
    for kind, model in models.items():
        model.save(folders[kind])
    return folders


@pytest.fixture
def damaged(folders, tmp_path):
    """A copy of a folder, with a change to its config.json."""

    def damaged(kind: str, **changes: object):
        folder = shutil.copytree(folders[kind], tmp_path / kind)
        config = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value != "-"}))
        return folder

    return damaged


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_gives_back_the_model_in_half_precision(models, folders, kind):
    model = trained.load(folders[kind], "cpu")
    assert type(model) is type(models[kind]) is trained.KINDS[FORMATS[kind]]
    assert format_of(folders[kind]) == FORMATS[kind]
    assert not model.model.training
    before = models[kind].model.state_dict()
    on_disk = safetensors.torch.load_file(folders[kind] / "model.safetensors")
    assert list(model.model.state_dict()) == list(before)
    for name, tensor in model.model.state_dict().items():
        assert on_disk[name].dtype == torch.float16
        assert torch.equal(tensor, before[name].half().float())
    assert model.model.config == models[kind].model.config
    assert sorted(path.name for path in folders[kind].iterdir()) == sorted(
        ["config.json", "model.safetensors", *(["tokenizer.model"] if kind in ("words", "masked") else [])]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_saving_a_loaded_model_changes_no_file(folders, tmp_path, kind):
    trained.load(folders[kind], "cpu").save(tmp_path)
    for path in folders[kind].iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_what_a_model_reads_of_a_text(models):
    words, symbols, masked = models["words"], models["symbols"], models["masked"]
    assert words.tokenizer.pieces(words.ids("Speak\n")) == ["<s>", *words.tokenizer.pieces(words.ids("Speak\n"))[1:]]
    assert words.tokenizer.decode(words.ids(" Speak\n\n")) == " Speak\n\n"
    assert symbols.ids("a B 7") == [1, 2, 6, 8]
    ids = masked.ids("The cat")
    assert (ids[0], ids[-1]) == (masked.tokenizer.bos_id, masked.tokenizer.eos_id)
    assert masked.tokenizer.decode(ids[1:-1]) == "The cat"


def test_a_loaded_model_reads_as_before(models, folders):
    for kind in ("words", "masked"):
        assert trained.load(folders[kind], "cpu").ids("Speak, the cat!") == models[kind].ids("Speak, the cat!")
    assert trained.load(folders["symbols"], "cpu").ids("c9 A") == models["symbols"].ids("c9 A")
    image = Image.new("L", (8, 8))
    image.putpixel((2, 3), 255)
    assert torch.equal(trained.load(folders["image"], "cpu").read(image), models["image"].read(image))


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in ("config.json", "model.safetensors")]
)
def test_a_missing_file_is_named(folders, tmp_path, kind, name):
    folder = shutil.copytree(folders[kind], tmp_path / kind)
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"holds no trained model: {name} is missing"):
        trained.load(folder)
    with pytest.raises(FileNotFoundError, match=name):
        type(KINDS[kind]()).load(folder)


@pytest.mark.parametrize("kind", ["words", "masked"])
def test_a_missing_tokenizer_is_named(folders, tmp_path, kind):
    folder = shutil.copytree(folders[kind], tmp_path / kind)
    (folder / "tokenizer.model").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no tokenizer .*tokenizer\.model"):
        trained.load(folder)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("words", {"format": "pickle"}, r'config\.json describes no trained model: its "format" is none of'),
        ("words", {"format": ["a"]}, "describes no trained model"),
        ("words", {"transformer": None}, "does not describe a language model"),
        ("words", {"transformer": "-"}, "does not describe a language model: 'transformer'"),
        ("words", {"transformer": {"vocab_size": 5, "d_model": 33}}, "d_model=33 is not divisible"),
        ("words", {"transformer": {"vocab_size": 5}}, r"such a model has [\d,]+ parameters, and the file of weights"),
        ("words", {"alphabet": "ab"}, "vocab_size is 4 in the tokenizer and"),
        ("symbols", {"alphabet": "aa"}, "does not describe a language model: the alphabet 'aa'"),
        ("symbols", {"alphabet": 7}, "does not describe a language model"),
        ("masked", {"transformer": {"vocab_size": 5}}, r"and the file of weights holds [\d,]+ numbers"),
        ("image", {"class_names": ["0", "1"]}, "it has 2 class names for 10 classes"),
        ("image", {"class_names": "0123456789"}, "not names"),
        ("image", {"class_names": [*range(10)]}, "not names"),
        ("image", {"vision_transformer": {"image_size": 7}}, "image_size=7 is not divisible"),
        ("image", {"vision_transformer": COLOURED}, "not of one channel and 8 x 8 pixels"),
    ],
)
def test_a_config_that_does_not_fit_says_why(damaged, kind, changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        trained.load(damaged(kind, **changes), "cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000, "\x80"])
def test_a_config_that_is_no_json_object(damaged, content):
    folder = damaged("image")
    (folder / "config.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"config\.json describes no trained model"):
        trained.load(folder)
    with pytest.raises(ValueError, match=r"config\.json does not describe an image classifier"):
        trained.TrainedImageClassifier.load(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_weights_are_refused(damaged, kind):
    folder = damaged(kind)
    path = folder / "model.safetensors"
    weights = safetensors.torch.load_file(path)
    name = next(iter(weights))
    for value, dtype in (
        (torch.nan, torch.float16),
        (torch.inf, torch.float16),
        (torch.nan, torch.float8_e4m3fn),
        (1e300, torch.float64),  # which float32 does not hold
    ):
        safetensors.torch.save_file(
            weights | {name: torch.full(weights[name].shape, value, dtype=torch.float64).to(dtype)}, path
        )
        with pytest.raises(ValueError, match=f"is damaged: {name} holds values that are no numbers"):
            trained.load(folder, "cpu")
    others = {key: tensor for key, tensor in weights.items() if key != name}
    safetensors.torch.save_file(others, path)
    left = sum(tensor.numel() for tensor in others.values())
    with pytest.raises(ValueError, match=f"and the file of weights holds {left:,} numbers"):
        trained.load(folder, "cpu")
    safetensors.torch.save_file(others | {"renamed": weights[name]}, path)
    with pytest.raises(ValueError, match=r"model\.safetensors does not fit config\.json: .*Missing key"):
        trained.load(folder, "cpu")
    path.write_bytes(b"\x80\x04pickle")
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
        trained.load(folder, "cpu")


@pytest.mark.parametrize(
    ("kind", "sizes", "message"),
    [
        *((kind, {"d_model": 10**9}, "such a model has") for kind in ("words", "symbols", "masked")),
        ("words", {"num_decoder_layers": 10**9}, "such a model has"),
        ("words", {"num_decoder_layers": 10**400}, "such a model has"),
        ("masked", {"vocab_size": 10**9}, "such a model has"),
        ("masked", {"d_ff": 10**12}, "such a model has"),
        ("symbols", {"max_length": 10**9}, "max_length=1,000,000,000 is more than 131,072"),
        ("image", {"d_model": 10**9}, "such a model has"),
        ("image", {"num_encoder_layers": 10**9}, "such a model has"),
    ],
)
def test_sizes_that_no_memory_holds_are_refused_before_a_model_is_built(damaged, monkeypatch, kind, sizes, message):
    folder = damaged(kind)
    config = json.loads((folder / "config.json").read_text())
    (config["vision_transformer"]["encoder"] if kind == "image" else config["transformer"]).update(sizes)
    (folder / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(trained.KINDS[FORMATS[kind]], "NETWORK", lambda _: pytest.fail("it was built"))
    with pytest.raises(ValueError, match=rf"config\.json does not describe .*: {message}"):
        trained.load(folder, "cpu")


def test_weights_that_cannot_be_written_are_named(models, tmp_path):
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(OSError, match=r"model\.safetensors cannot be written: .*directory"):
        models["symbols"].save(tmp_path)
    (tmp_path / "snapshots" / "step-00000020.safetensors").mkdir(parents=True)
    with pytest.raises(OSError, match=r"step-00000020\.safetensors cannot be written: .*directory"):
        save_snapshot(tmp_path, models["symbols"].model, 20)


def test_a_masked_model_needs_a_mask(damaged, folders):
    folder = damaged("masked")
    shutil.copy(folders["words"] / "tokenizer.model", folder)
    with pytest.raises(ValueError, match="has no token <mask>"):
        trained.load(folder, "cpu")


def test_a_file_in_place_of_the_folder(folders):
    with pytest.raises(ValueError, match="is a file"):
        trained.load(folders["words"] / "config.json")


def test_snapshots_are_the_same_model_with_other_weights(models, folders, tmp_path):
    folder = shutil.copytree(folders["symbols"], tmp_path / "symbols")
    assert snapshot_steps(folder) == []
    states = {}
    for step in (20, 0, 123_456):
        snapshot = tiny_trained.symbol_model().model
        for parameter in snapshot.parameters():
            parameter.data += step / 1000
        save_snapshot(folder, snapshot, step)
        states[step] = snapshot.state_dict()
    for stray in ("step-1.safetensors", "step-0000000x.safetensors", "notes.txt"):
        (folder / "snapshots" / stray).write_text("stray")
    assert snapshot_steps(folder) == [0, 20, 123_456]
    assert (folder / "snapshots" / "step-00000020.safetensors").is_file()
    for step, state in states.items():
        loaded = trained.load(folder, "cpu", step)
        assert all(
            torch.equal(tensor, state[name].half().float()) for name, tensor in loaded.model.state_dict().items()
        )
    # The finished model is another.
    assert torch.equal(
        trained.load(folder, "cpu").model.output.weight, models["symbols"].model.output.weight.half().float()
    )
    with pytest.raises(FileNotFoundError, match=r"holds no snapshot of step 7: step-00000007\.safetensors is missing"):
        trained.load(folder, "cpu", 7)
