"""Files of inspections: everything in them reads back, by the tools that people read such files with."""

import csv
import json
import os
import tomllib
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import transformer_core
from tests.inspection import examples
from transformer_core.inspection import export

SUFFIXES = (".npz", ".json", ".csv")


def saved(inspection, path: Path) -> Path:
    export.save(inspection, path)
    return path


def read_npz(path: Path) -> tuple[dict, dict]:
    """What `about` says, and the arrays."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    return json.loads(str(arrays.pop("about"))), arrays


def no_constant(name: str):
    raise AssertionError(f"{name} is no JSON")


def read_json(path: Path) -> dict:
    return json.loads(path.read_bytes().decode("utf-8"), parse_constant=no_constant)


def expected_weights() -> dict[tuple[str, int, int], np.ndarray]:
    """What PyTorch's softmax makes of the scores of `examples.odd`."""
    return {
        (stack, layer, head): torch.softmax(scores, dim=-1).numpy()
        for stack, layers in examples.odd_scores().items()
        for layer, heads in enumerate(layers)
        for head, scores in enumerate(heads)
    }


def assert_same_bits(actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(actual.view(np.uint32), expected.view(np.uint32))


def weights_in(path: Path) -> dict[tuple[str, int, int], np.ndarray]:
    """Every head's weights as the usual reader of that form gives them."""
    if path.suffix == ".npz":
        arrays = {name.rpartition("."): array for name, array in read_npz(path)[1].items()}
        return {
            (stack, int(layer), head): array[head]
            for (stack, _, layer), array in arrays.items()
            if layer.isdecimal()
            for head in range(len(array))
        }
    if path.suffix == ".json":
        return {
            (stack, layer, head): np.array(weights, dtype=np.float32)
            for stack, layers in read_json(path)["weights"].items()
            for layer, heads in enumerate(layers)
            for head, weights in enumerate(heads)
        }
    table = pd.read_csv(path, dtype={"weight": np.float32})
    return {
        place: rows.pivot(index="query", columns="key", values="weight").to_numpy()
        for place, rows in table.groupby(["stack", "layer", "head"])
    }


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".NPZ"])
def test_every_weight_reads_back_bit_for_bit(tmp_path, suffix):
    inspection = examples.odd()
    path = saved(inspection, tmp_path / f"seen{suffix}")
    assert os.listdir(tmp_path) == [path.name]
    actual, expected = weights_in(path.rename(path.with_suffix(suffix.lower()))), expected_weights()
    assert actual.keys() == expected.keys()
    assert len(expected) == 5
    for (stack, layer, head), weights in expected.items():
        assert_same_bits(actual[stack, layer, head], inspection.stacks[stack].weights(layer, head).numpy())
        np.testing.assert_allclose(actual[stack, layer, head], weights, rtol=1e-6, atol=0)
    smallest = actual["encoder", 0, 0]
    assert ((smallest > 0) & (smallest < np.finfo(np.float32).tiny)).any(), "denormals are in it"


def test_npz_has_an_array_for_each_layer_and_one_for_the_tokens_of_each_axis(tmp_path):
    about, arrays = read_npz(saved(examples.odd(), tmp_path / "seen.npz"))
    assert {name: array.shape for name, array in arrays.items()} == {
        "cross.query_tokens": (3,),
        "cross.key_tokens": (len(examples.ODD_TOKENS),),
        "cross.0": (1, 3, len(examples.ODD_TOKENS)),
        "cross.1": (3, 3, len(examples.ODD_TOKENS)),
        "encoder.query_tokens": (60,),
        "encoder.key_tokens": (60,),
        "encoder.0": (1, 60, 60),
    }
    assert tuple(arrays["cross.query_tokens"].tolist()) == ("<s>", "Die", "Die")
    assert tuple(arrays["cross.key_tokens"].tolist()) == examples.ODD_TOKENS
    assert arrays["cross.0"].dtype == np.float32
    assert about["stacks"]["cross"]["layers"] == [{"module": "", "heads": 1}, {"module": "", "heads": 3}]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_the_file_says_about_itself(tmp_path, suffix):
    inspection = examples.pair()
    about = about_in(saved(inspection, tmp_path / f"seen{suffix}"))
    source = inspection.provenance
    assert about["format"] == "headlight-inspection"
    assert about["headlight_version"] == transformer_core.__version__
    assert (about["model"], about["weights_hash"]) == (source.model, source.weights_hash)
    assert (about["device"], about["dtype"], about["torch_version"]) == ("cpu", "float32", torch.__version__)
    assert pd.Timestamp.now("UTC") - pd.Timestamp(about["saved"]) < pd.Timedelta(hours=1)
    assert (about["text"], about["second_text"], about["answer"]) == ("ab", "cd", "Die Katze")
    assert about["options"] == {"masked": [2], "temperature": 0.5}
    assert about["predictions"] == [{"place": "class", "row": None, "candidates": [["yes", 0.75], ["<no>", 0.25]]}]
    assert about["notes"] == ["A note."]
    assert (about["certificate"], about["row_sum_error"], about["seconds"]) == (1.25e-7, 2.5e-7, 0.25)
    assert about["image"] is None
    assert "count from 0" in about["conventions"]["counting"]
    whole = about["stacks"].pop("self")
    assert about["stacks"] == {}, "parts are no stacks of their own"
    assert (whole["query_tokens"], whole["key_tokens"]) == (list("abcd"), list("abcd"))
    assert (whole["query_label"], whole["key_label"]) == ("German", "English")
    assert (whole["query_special"], whole["key_special"]) == ([0], [])
    assert (whole["query_words"], whole["key_words"]) == ([0, 1, 1, 2], None)
    assert "no words of the text" in about["conventions"]["special"] and "null" in about["conventions"]["words"]
    assert about["parts"] == {"B to A": {"of": "self", "rows": [2, 3], "columns": [0]}}


def about_in(path: Path) -> dict:
    if path.suffix == ".npz":
        return read_npz(path)[0]
    if path.suffix == ".json":
        return read_json(path)
    return json.loads(pd.read_csv(path)["about"][0])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_image_comes_with_the_place_of_its_patches(tmp_path, suffix):
    inspection = examples.image()
    path = saved(inspection, tmp_path / f"seen{suffix}")
    patches = {"height": 4, "width": 6, "patch_grid": {"rows": 2, "columns": 3}, "first_patch": 1}
    assert about_in(path)["image"] == patches
    if suffix == ".npz":
        np.testing.assert_array_equal(read_npz(path)[1]["image.pixels"], inspection.image.pixels)


def test_what_is_not_a_number_is_null_in_json_and_nan_elsewhere(tmp_path):
    paths = [saved(examples.broken(), tmp_path / f"seen{suffix}") for suffix in SUFFIXES]
    written = read_json(tmp_path / "seen.json")
    third = np.float32(1 / 3).item()
    assert written["weights"]["self"][0][1] == [pytest.approx([third] * 3)] * 2 + [[None] * 3]
    assert (written["certificate"], written["row_sum_error"]) == (None, None)
    assert "not a number" in written["conventions"]["null"]
    for path in paths:
        broken = weights_in(path)["self", 0, 1]
        assert np.isnan(broken[2]).all() and not np.isnan(broken[:2]).any()


def test_json_keeps_letters_readable_and_digits_short(tmp_path):
    content = saved(examples.odd(), tmp_path / "seen.json").read_bytes().decode("utf-8")
    for readable in ("“the”", "שלום", "▁Ä"):
        assert readable in content
    assert max(len(digits) for digits in content[content.index('"weights"') :].split(",")) < 60
    assert read_json(tmp_path / "seen.json")["stacks"]["cross"]["key_tokens"] == list(examples.ODD_TOKENS)


def test_csv_is_a_tidy_table_that_stands_alone(tmp_path):
    inspection = examples.odd()
    path = saved(inspection, tmp_path / "seen.csv")
    table = pd.read_csv(path, keep_default_na=False, dtype={"query_token": str, "key_token": str})
    assert tuple(table.columns) == export.CSV_COLUMNS
    assert len(table) == 4 * 3 * len(examples.ODD_TOKENS) + 60 * 60
    for name, stack in inspection.stacks.items():
        rows = table[table["stack"] == name]
        assert (rows["query_token"] == rows["query"].map(lambda place, s=stack: s.query_tokens[place])).all()
        assert (rows["key_token"] == rows["key"].map(lambda place, s=stack: s.key_tokens[place])).all()
    for column, value in {
        "counts_from": 0,
        "model": "a-model",
        "weights_hash": "0123456789ab",
        "device": "cpu",
        "dtype": "float32",
        "torch_version": torch.__version__,
        "headlight_version": transformer_core.__version__,
    }.items():
        assert (table[column] == value).all(), column
    assert (table["about"] != "").tolist() == [True] + [False] * (len(table) - 1)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert [row["key_token"] for row in rows[: len(examples.ODD_TOKENS)]] == list(examples.ODD_TOKENS)
    assert path.read_bytes().count(b"\r\n") >= len(table) + 1


def test_text_that_utf8_cannot_hold_is_escaped(tmp_path):
    inspection = examples.inspection(
        examples.stack("self", [torch.zeros(1, 1, 1)], ["\udcff"], ["a\0"]), text="photo-\udcff.png"
    )
    for suffix in SUFFIXES:
        path = saved(inspection, tmp_path / f"seen{suffix}")
        assert about_in(path)["text"] == "photo-\udcff.png"
        # NumPy's arrays of text drop a final NUL, "about" does not.
        assert about_in(path)["stacks"]["self"]["key_tokens"] == ["a\0"]


@pytest.mark.parametrize("name", ["seen.txt", "seen", "seen.npz.gz", ".npz"])
def test_an_unknown_suffix_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"the suffix has to be \.npz, \.json, \.csv or \.html"):
        export.save(examples.pair(), tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"seen\.npz cannot be written: there is no folder .*missing"):
        export.save(examples.pair(), tmp_path / "missing" / "seen.npz")


def test_a_folder_of_that_name_is_left_alone(tmp_path):
    (tmp_path / "seen.npz").mkdir()
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        export.save(examples.pair(), tmp_path / "seen.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_half_way_leaves_nothing_behind_and_the_old_file_whole(tmp_path, suffix):
    inspection = examples.odd()
    path = tmp_path / f"seen{suffix}"
    path.write_bytes(b"old")
    failing = examples.stack("encoder", [torch.zeros(1, 1, 1)] * 2, "a", "a")
    object.__setattr__(failing, "calls", (failing.calls[0], Unreadable(failing.calls[1])))
    inspection = examples.inspection(inspection.stacks["cross"], failing)
    with pytest.raises(RuntimeError, match="out of memory"):
        export.save(inspection, path)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"old"
    export.save(examples.pair(), path)
    assert path.read_bytes() != b"old"


class Unreadable:
    """A call whose weights cannot be computed."""

    def __init__(self, call) -> None:
        self.name, self.num_heads = call.name, call.num_heads

    def weights(self, *_):
        raise RuntimeError("out of memory")


def test_a_full_disk_is_a_clear_error(tmp_path, monkeypatch):
    def full(inspection, file):
        file.write(b"some")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(export._WRITERS, ".csv", full)
    with pytest.raises(OSError, match=r"seen\.csv cannot be written: No space left on device"):
        export.save(examples.pair(), tmp_path / "seen.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_it_does_not_hold_all_weights_at_once(tmp_path, suffix):
    layers, tokens = 60, 48
    stack = examples.stack("self", [torch.zeros(1, tokens, tokens)] * layers, ["x"] * tokens, ["x"] * tokens)
    inspection, path = examples.inspection(stack), tmp_path / f"seen{suffix}"
    export.save(inspection, path)
    tracemalloc.start()
    export.save(inspection, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 2


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert transformer_core.__version__ == project["project"]["version"]
