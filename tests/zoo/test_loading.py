"""Loading by name: bundled models, folders, and what is switched off."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_core import zoo
from transformer_core.zoo import bundled
from transformer_core.zoo.interface import InputError
from transformer_core.zoo.loading import local_folder


@pytest.fixture(autouse=True)
def pretrained(tiny_translator_folder, monkeypatch) -> Path:
    """The folder of bundled models holds the tiny translator alone."""
    monkeypatch.setattr(bundled, "PRETRAINED", tiny_translator_folder.parent)
    return tiny_translator_folder.parent


@pytest.fixture
def home(tiny_checkpoints, tmp_path, monkeypatch) -> Path:
    """The folder that one is in, and whose home it is, with a model in it."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine").symlink_to(tiny_checkpoints["masked"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_bundled_name_comes_first(home):
    (home / "tiny-en-de").mkdir()
    assert zoo.load("tiny-en-de", device="cpu").architecture == "Transformer"


@pytest.mark.parametrize(
    "name", ["models/mine", "./models/mine", "models/mine/", "~/models/mine", "{home}/models/mine"]
)
def test_a_folder_however_it_is_written(home, name):
    name = name.format(home=home)
    model = zoo.load(name, device="cpu", hub=False)
    assert (model.name, model.architecture) == (name, "BertForMaskedLM")


def test_device_and_dtype_reach_the_model(home):
    assert str(zoo.load("models/mine", device="cpu", dtype="bfloat16").dtype) == "torch.bfloat16"


@pytest.mark.parametrize("name", ["/no/such/folder", "./nothing", "~/nothing", "a/b/c", "no-such-user/", "C:\\models"])
def test_a_folder_that_is_not_there(home, no_network, name):
    with pytest.raises(InputError, match="There is no folder"):
        zoo.load(name, device="cpu")
    assert not no_network


def test_a_folder_that_is_switched_off_is_not_looked_at(home, no_network, monkeypatch):
    def looked_at(self, *arguments, **options):
        raise AssertionError(f"{self} was looked at")

    monkeypatch.setattr(bundled, "available", lambda: ["tiny-en-de"])
    messages = set()
    with monkeypatch.context() as patch:
        for method in ("exists", "is_dir", "stat", "resolve", "expanduser"):
            patch.setattr(Path, method, looked_at)
        for name in ("models/mine/", "./models/none", "~/models/mine", "/etc"):
            for hub in (True, False):
                with pytest.raises(InputError) as raised:
                    zoo.load(name, device="cpu", local_models=False, hub=hub)
                messages.add(str(raised.value).replace(ascii(name), "NAME"))
    start = "There is no model NAME here. Name a bundled model (tiny-en-de)"
    assert messages == {
        f"{start} or a model on the Hugging Face hub; folders are switched off here.",
        f"{start}; folders and hub names are switched off here.",
    }
    assert not no_network


def test_a_hub_name_that_is_switched_off_is_not_asked_for(home, no_network):
    with pytest.raises(InputError, match=r"There is no model 'owner/name' here.*hub names are switched off"):
        zoo.load("owner/name", device="cpu", hub=False)
    assert not no_network


@pytest.mark.parametrize("name", ["", "  "])
def test_no_name(name):
    with pytest.raises(InputError, match=r"^Name a model: a bundled model \(tiny-en-de\)"):
        zoo.load(name)


def test_nothing_bundled_and_everything_off(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path / "missing")
    with pytest.raises(InputError, match="there are no bundled models"):
        zoo.load("a", local_models=False, hub=False)


def test_a_device_that_is_not_there_is_said_before_anything_is_downloaded(no_network):
    with pytest.raises(ValueError, match="unknown device"):
        zoo.load("owner/name", device="toaster")
    with pytest.raises(ValueError, match="unknown dtype 'int8'"):
        zoo.load("owner/name", device="cpu", dtype="int8")
    assert not no_network


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000, "~nobody-of-this-name", "\n", "a" * 300 + "/b"])
def test_names_that_no_folder_can_have(name):
    assert local_folder(name) is None
    with pytest.raises((InputError, OSError)):
        zoo.load(name, device="cpu", hub=False)


def test_a_file_in_place_of_a_folder(home):
    with pytest.raises(ValueError, match=r"config\.json is a file\. Name the folder"):
        zoo.load("models/mine/config.json", device="cpu")


def test_the_bundled_models_do_without_transformers():
    code = (
        "import sys; from transformer_core import zoo; zoo.available(); "
        "print([name for name in ('transformers', 'huggingface_hub') if name in sys.modules])"
    )
    root = Path(__file__).parents[2]
    printed = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"


def test_a_folder_that_train_wrote_and_that_is_not_in_pretrained(home, tiny_translator_folder):
    shutil.copytree(tiny_translator_folder, home / "models" / "own-en-de")
    model = zoo.load("models/own-en-de", device="cpu", hub=False)
    assert (model.name, model.languages) == ("models/own-en-de", ("English", "German"))
    bundled_one = zoo.load("tiny-en-de", device="cpu")
    text = "The cat sleeps."
    assert model.inspect(text).answer == bundled_one.inspect(text).answer
    assert model.weights_hash == bundled_one.weights_hash


def test_a_path_is_as_good_as_its_name(home):
    path = home / "models" / "mine"
    assert zoo.load(path, device="cpu", hub=False).name == str(path)


def test_a_mistyped_bundled_name_lists_the_bundled_models(home, monkeypatch):
    from transformer_core.zoo.hugging_face.opening import hub

    def unreachable(name, progress):
        raise OSError("The Hugging Face hub cannot be reached.")

    monkeypatch.setattr(hub, "download", unreachable)
    with pytest.raises(OSError, match=r"cannot be reached\. If you meant a bundled model, there are: tiny-en-de\."):
        zoo.load("tiny-en", device="cpu")
    with pytest.raises(OSError, match=r"cannot be reached\.$"):
        zoo.load("owner/tiny-en", device="cpu")
