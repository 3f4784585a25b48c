"""Folders from anywhere: nothing in them is run, and nothing outside them is read."""

import json
import os
import pickle
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import tiny_checkpoints as tiny
from transformer_core.zoo.hugging_face.opening.checkpoint import open_checkpoint
from transformer_core.zoo.hugging_face.opening.model_folder import ModelFolder


def opened(folder: Path):
    return open_checkpoint(folder, folder.name, device="cpu")


class WhenUnpickled:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def trap(tmp_path) -> Path:
    """Made by whoever runs what a folder holds."""
    return tmp_path / "code-of-the-folder-was-run"


def write_code(folder: Path, trap: Path) -> None:
    code = f"import os\nos.makedirs({str(trap)!r}, exist_ok=True)\nclass Own: pass\n"
    for name in ("modeling_own.py", "tokenization_own.py", "__init__.py", "custom_generate/generate.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(code)


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("config.json", {"auto_map": {"AutoModelForMaskedLM": "modeling_own.Own", "AutoConfig": "modeling_own.Own"}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["tokenization_own.Own", "tokenization_own.Own"]}}),
        (
            "tokenizer_config.json",
            {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": [None, "modeling_own.Own"]}},
        ),
        ("tokenizer_config.json", {"auto_map": ["somebody/else--tokenization_own.Own", None]}),
    ],
)
def test_code_in_the_folder_is_not_run(copy_of, trap, no_network, file, settings):
    folder = copy_of("masked")
    write_code(folder, trap)
    tiny.change_json(folder / file, **settings)
    checkpoint = opened(folder)
    assert checkpoint.architecture == "BertForMaskedLM"
    assert checkpoint.tokenizer("the cat")["input_ids"][1:-1]
    assert not trap.exists()
    assert not no_network


def test_code_of_an_image_processor_is_not_run(copy_of, trap):
    folder = copy_of("image")
    write_code(folder, trap)
    tiny.change_json(folder / "preprocessor_config.json", auto_map={"AutoImageProcessor": "modeling_own.Own"})
    assert opened(folder).image_processor is not None
    assert not trap.exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "tf_model.h5", "rust_model.ot", "weights.ckpt"])
def test_a_pickle_is_never_opened(copy_of, trap, name):
    folder = copy_of("masked")
    (folder / "model.safetensors").rename(folder / "kept")
    (folder / name).write_bytes(pickle.dumps(WhenUnpickled(trap)))
    with pytest.raises(ValueError, match=r"There is no model\.safetensors in copy-of-masked"):
        opened(folder)
    (folder / "kept").rename(folder / "model.safetensors")
    opened(folder)
    assert not trap.exists()


def test_what_to_do_about_a_pickle(copy_of):
    folder = copy_of("masked")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"can run any program.*convert it.*save_pretrained\(\)"):
        opened(folder)


def test_an_index_that_names_a_pickle(copy_of, trap):
    folder = copy_of("masked")
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(WhenUnpickled(trap)))
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "pytorch_model.bin"}}')
    with pytest.raises(ValueError, match=r"'pytorch_model\.bin', which is no safetensors"):
        opened(folder)
    assert not trap.exists()


def test_distributed_checkpoints_and_adapters_beside_the_weights_are_left_alone(copy_of, trap):
    folder = copy_of("masked")
    (folder / ".metadata").write_bytes(pickle.dumps(WhenUnpickled(trap)))
    (folder / "distributed_checkpoint").mkdir()
    (folder / "distributed_checkpoint" / ".metadata").write_bytes(pickle.dumps(WhenUnpickled(trap)))
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "somebody/else", "peft_type": "LORA"}')
    assert opened(folder).architecture == "BertForMaskedLM"
    assert not trap.exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"attn_implementation": "somebody/kernel"},
        {"_attn_implementation": "somebody/kernel:function"},
        {"_attn_implementation_internal": "flash_attention_2"},
        {"experts_implementation": "somebody/kernel"},
        {"fusion_config": {"patch_embeddings": True}},
        {"use_kernels": True, "kernel_config": {"a": "b"}},
        {"transformers_weights": "../elsewhere.safetensors"},
        {"_name_or_path": "somebody/else", "name_or_path": "/etc"},
        {"output_attentions": True, "return_dict": False, "torchscript": True},
    ],
)
def test_config_json_says_what_the_model_is_and_not_how_to_run_it(copy_of, no_network, settings):
    model = opened(copy_of("masked", **settings)).model
    assert model.config._attn_implementation == "sdpa"
    assert not model.config.output_attentions
    assert model.config.return_dict
    assert not no_network


@pytest.fixture
def secret(tmp_path, copy_of) -> Path:
    """A file outside, which could be read."""
    outside = tmp_path / "outside"
    shutil.copytree(copy_of("encoder"), outside)
    return outside / "model.safetensors"


class TestPathsThatLeadOut:
    @pytest.mark.parametrize(
        "name",
        ["../outside/model.safetensors", "{outside}/model.safetensors", "a/../../outside/model.safetensors"],
    )
    def test_in_the_index(self, copy_of, secret, name):
        folder = copy_of("masked")
        (folder / "model.safetensors").unlink()
        index = {"weight_map": {"a": name.format(outside=secret.parent)}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        with pytest.raises(ValueError, match="leads out of copy-of-masked"):
            opened(folder)

    @pytest.mark.parametrize(
        "index", [{}, [], {"weight_map": {}}, {"weight_map": []}, {"weight_map": {"a": 7}}, {"weight_map": {"a": "\0"}}]
    )
    def test_an_index_of_something_else(self, copy_of, index):
        folder = copy_of("masked")
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        with pytest.raises(ValueError, match="copy-of-masked"):
            opened(folder)

    @pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"])
    def test_as_a_link(self, copy_of, secret, name):
        folder = copy_of("masked")
        (folder / name).unlink()
        (folder / name).symlink_to(secret.parent / name)
        with pytest.raises(ValueError, match=f"'{name}' leads out of copy-of-masked"):
            opened(folder)

    def test_through_a_linked_folder(self, copy_of, secret):
        folder = copy_of("masked")
        (folder / "model.safetensors").unlink()
        (folder / "inner").symlink_to(secret.parent)
        index = {"weight_map": {"a": "inner/model.safetensors"}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        with pytest.raises(ValueError, match="leads out"):
            opened(folder)

    @pytest.mark.parametrize("path", ["../outside", "/etc", "1_Pooling/../../outside"])
    def test_in_modules_json(self, secret, path):
        folder = secret.parent.with_name("copy-of-encoder")
        modules = [{"type": "m.Transformer", "path": ""}, {"type": "m.Pooling", "path": path}]
        (folder / "modules.json").write_text(json.dumps(modules))
        with pytest.raises(ValueError, match="leads out of copy-of-encoder"):
            opened(folder)

    @pytest.mark.parametrize("key", ["vocab_file", "tokenizer_file", "merges_file", "vocab", "init_inputs"])
    def test_in_tokenizer_config(self, tmp_path, copy_of, key):
        folder = copy_of("masked")
        words = tmp_path / "words.txt"
        words.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nsecretword\n")
        (folder / "tokenizer.json").rename(folder / "vocab.txt")
        tokenizer = tiny.wordpiece_tokenizer()
        (folder / "vocab.txt").write_text("\n".join(tokenizer.convert_ids_to_tokens(range(len(tokenizer)))))
        value = [str(words)] if key == "init_inputs" else str(words)
        tiny.change_json(folder / "tokenizer_config.json", **{key: value})
        vocabulary = opened(folder).tokenizer.get_vocab()
        assert "secretword" not in vocabulary
        assert "cat" in vocabulary

    def test_of_a_sentencepiece_model(self, tmp_path, copy_of):
        folder = copy_of("marian")
        outside = tmp_path / "outside.spm"
        shutil.copy(folder / "source.spm", outside)
        for options in ({"model_file": str(outside)}, {"enable_sampling": True, "alpha": 0.1, "nbest_size": -1}):
            tiny.change_json(folder / "tokenizer_config.json", sp_model_kwargs=options)
            tokenizer = opened(folder).tokenizer
            assert len({tuple(tokenizer("The cat drinks milk")["input_ids"]) for _ in range(20)}) == 1

    def test_a_loop_of_links(self, copy_of):
        folder = copy_of("masked")
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors").symlink_to(folder / "other")
        (folder / "other").symlink_to(folder / "model.safetensors")
        with pytest.raises(ValueError, match="cannot be opened"):
            opened(folder)

    def test_a_link_inside_the_folder_is_fine(self, copy_of):
        folder = copy_of("masked")
        (folder / "model.safetensors").rename(folder / "weights")
        (folder / "model.safetensors").symlink_to(folder / "weights")
        assert opened(folder).architecture == "BertForMaskedLM"

    def test_the_folder_itself_may_be_a_link(self, copy_of, tmp_path):
        (tmp_path / "link").symlink_to(copy_of("masked"))
        assert opened(tmp_path / "link").architecture == "BertForMaskedLM"


class TestHubCache:
    """A snapshot in the cache of the hub holds links into the blobs of its repository."""

    @pytest.fixture
    def snapshot(self, copy_of, tmp_path) -> Path:
        repository = tmp_path / "models--owner--name"
        snapshot = repository / "snapshots" / ("0" * 40)
        snapshot.mkdir(parents=True)
        (repository / "blobs").mkdir()
        for number, file in enumerate(sorted(copy_of("masked").iterdir())):
            blob = repository / "blobs" / f"{number:040}"
            shutil.move(file, blob)
            (snapshot / file.name).symlink_to(Path("../../blobs") / blob.name)
        return snapshot

    def test_is_opened(self, snapshot):
        assert opened(snapshot).architecture == "BertForMaskedLM"

    def test_a_link_past_the_blobs_is_not(self, snapshot, secret):
        (snapshot / "model.safetensors").unlink()
        (snapshot / "model.safetensors").symlink_to(secret)
        with pytest.raises(ValueError, match="leads out"):
            opened(snapshot)

    def test_blobs_that_are_elsewhere_are_not(self, snapshot, tmp_path):
        blobs = snapshot.parent.parent / "blobs"
        blobs.rename(tmp_path / "elsewhere")
        blobs.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ValueError, match="leads out"):
            opened(snapshot)

    def test_a_blob_that_is_missing(self, snapshot):
        (snapshot / "model.safetensors").resolve().unlink()
        with pytest.raises(FileNotFoundError, match=r"a link to a file that is not there\. Download the model again"):
            opened(snapshot)


class TestDamage:
    def test_no_folder_and_no_config(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="There is no folder nowhere"):
            opened(tmp_path / "nowhere")
        (tmp_path / "file").write_text("")
        with pytest.raises(ValueError, match=r"file is a file\. Name the folder"):
            opened(tmp_path / "file")
        (tmp_path / "empty").mkdir()
        with pytest.raises(FileNotFoundError, match=r"There is no config\.json in empty"):
            opened(tmp_path / "empty")

    def test_an_adapter_alone(self, tmp_path):
        (tmp_path / "lora").mkdir()
        (tmp_path / "lora" / "adapter_config.json").write_text("{}")
        with pytest.raises(ValueError, match="holds an adapter"):
            opened(tmp_path / "lora")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is not valid JSON"),
            (b'{"model_type": "bert"', "is not valid JSON"),
            (b"[" * 100_000, "is not valid JSON"),
            (b"\xff\xfe\x00", "is not valid JSON"),
            (b"[1, 2]", "is not a JSON object"),
            (b'"bert"', "is not a JSON object"),
            (b"null", "There is no config|is not a JSON object"),
            (b'{"model_type": 1' + b"0" * 5000 + b"}", "is not valid JSON"),
        ],
    )
    def test_a_config_that_is_none(self, copy_of, content, message):
        folder = copy_of("masked")
        (folder / "config.json").write_bytes(content)
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            opened(folder)

    def test_a_config_too_large_to_read(self, copy_of):
        folder = copy_of("masked")
        with (folder / "config.json").open("r+b") as file:
            file.truncate(300 * 2**20)
        with pytest.raises(ValueError, match="too large for what it should be"):
            opened(folder)

    def test_a_pipe_is_not_waited_for(self, copy_of):
        folder = copy_of("masked")
        (folder / "model.safetensors").unlink()
        os.mkfifo(folder / "model.safetensors")
        with pytest.raises(ValueError, match="no regular file"):
            opened(folder)

    def test_a_folder_in_place_of_a_file(self, copy_of):
        folder = copy_of("masked")
        (folder / "vocab.json").mkdir()
        with pytest.raises(ValueError, match=r"vocab\.json in copy-of-masked is no regular file"):
            opened(folder)

    @pytest.mark.parametrize("kept", [0, 4, 8, 100, -1, -1000])
    def test_weights_that_are_cut_off(self, copy_of, kept):
        folder = copy_of("masked")
        content = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(content[:kept])
        with pytest.raises(ValueError, match=r"model\.safetensors is damaged or cut off"):
            opened(folder)

    def test_a_header_that_promises_too_much(self, copy_of):
        folder = copy_of("masked")
        header = (
            b'{"bert.embeddings.word_embeddings.weight":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4]}}'
        )
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
        with pytest.raises(ValueError, match="damaged or cut off"):
            opened(folder)
        (folder / "model.safetensors").write_bytes((2**62).to_bytes(8, "little") + header)
        with pytest.raises(ValueError, match="damaged or cut off"):
            opened(folder)

    def test_the_path_of_a_downloaded_model_stays_out_of_messages(self, copy_of):
        folder = copy_of("masked")
        (folder / "model.safetensors").write_bytes(b"")
        with pytest.raises(ValueError) as raised:
            open_checkpoint(folder, "owner/name")
        assert str(folder.parent) not in str(raised.value)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 3000), value=st.integers(0, 255))
def test_a_damaged_byte_in_the_header_is_refused_in_words(copy_of, tmp_path, position, value):
    folder = tmp_path / "copy-of-masked"
    if not folder.exists():
        copy_of("masked")
        shutil.copy(folder / "model.safetensors", folder / "original")
    content = bytearray((folder / "original").read_bytes())
    content[position] = value
    (folder / "model.safetensors").write_bytes(content)
    try:
        opened(folder)
    except (ValueError, OSError) as error:
        assert "copy-of-masked" in str(error) or "model.safetensors" in str(error)


@given(name=st.text(max_size=30))
def test_any_name_stays_inside_or_is_refused(name):
    root = Path(__file__).parent.resolve()
    try:
        path = ModelFolder(root, "tests").path(name)
    except (ValueError, FileNotFoundError):
        return
    assert path is None or path.is_relative_to(root)
