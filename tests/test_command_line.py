"""python -m transformer_core, as it is typed."""

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_core.__main__ import main
from transformer_core.training.data import SplitRecord, fingerprint, read_pairs

ROOT = Path(__file__).parents[1]


class Stream:
    """Stands in for sys.stdin or sys.stdout: only its bytes are used."""

    def __init__(self, content: bytes = b"") -> None:
        self.buffer = io.BytesIO(content)


def translate(monkeypatch, folder: Path, content: bytes, *options: str) -> list[str]:
    output = Stream()
    monkeypatch.setattr(sys, "stdin", Stream(content))
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["translate", "--model", str(folder), "--device", "cpu", *options]) == 0
    text = output.buffer.getvalue().decode()
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"The cat sleeps.\n", ["Die Katze schl\u00e4ft."]),
        (b"The cat sleeps.", ["Die Katze schl\u00e4ft."]),
        (b"\nThe cat sleeps.\n\n  \nI see the dog.\n", ["", "Die Katze schl\u00e4ft.", "", "", "Ich sehe den Hund."]),
        (b"The cat sleeps.\r\n", ["Die Katze schl\u00e4ft."]),
        ("\u200b\ufeff\u200e\x01\n\r\n".encode(), ["", ""]),
    ],
)
def test_one_line_out_for_each_line_in(monkeypatch, tiny_translator_folder, content, lines):
    assert translate(monkeypatch, tiny_translator_folder, content) == lines
    assert translate(monkeypatch, tiny_translator_folder, content, "--beam-size", "1") == lines


def test_odd_lines_stay_single_lines(monkeypatch, tiny_translator_folder):
    odd = ["a\fb", "a\u2028b", "a\x00b", "\U0001f642", "\u05e9\u05dc\u05d5\u05dd", "<script>alert(1)</script>", "</s>"]
    content = "\n".join(odd).encode() + b"\n\xff\xfe not UTF-8\n"
    assert len(translate(monkeypatch, tiny_translator_folder, content)) == len(odd) + 1


def test_a_line_that_is_not_utf8_is_named(monkeypatch, capfd, tiny_translator_folder):
    assert len(translate(monkeypatch, tiny_translator_folder, b"The cat sleeps.\nThe d\xf6g sleeps.\n")) == 2
    assert capfd.readouterr().err == "line 2 is not UTF-8: what cannot be read of it is left out\n"


def test_a_line_over_the_limit_is_cut_with_the_count_shown(monkeypatch, capfd, tiny_translator_folder):
    content = b"The cat sleeps.\n" + b"the cat " * 2000 + b"\n"
    assert len(translate(monkeypatch, tiny_translator_folder, content)) == 2
    assert "line 2 is 4000 tokens long: only its first 63 are read" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "--model", "nowhere"], "holds no trained model"),
        (["translate", "--model", "nowhere", "--device", "tpu"], "holds no trained model"),
        (["train", "--data", "nowhere.tsv", "--out", "{out}"], "there is no data file nowhere.tsv"),
        (["train", "--data", "nowhere.tsv", "--out", "{out}", "--num-heads", "7"], "not divisible"),
        (["evaluate", "--model", "nowhere", "--data", "nowhere.tsv"], "holds no trained model"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(capsys, tmp_path, arguments, message):
    assert main([argument.format(out=tmp_path / "out") for argument in arguments]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1


def test_evaluate_prints_bleu(capsys, tmp_path, tiny_translator_folder):
    folder = shutil.copytree(tiny_translator_folder, tmp_path / "model")
    data = tmp_path / "pairs.tsv"
    lines = [f"The cat sleeps {i}.\tDie Katze schl\u00e4ft {i}.\n" for i in range(12)]
    data.write_text("".join(lines), encoding="utf-8")
    options = ["--model", str(folder), "--data", str(data), "--device", "cpu"]
    assert main(["evaluate", *options]) == 2
    assert "split.json is missing" in capsys.readouterr().err
    SplitRecord(held_out=3, seed=1, max_words=250, data_sha256=fingerprint(read_pairs(data)[0])).save(folder)
    assert main(["evaluate", *options]) == 0
    assert capsys.readouterr().out.startswith("BLEU = ")


def test_the_help_lists_the_commands():
    result = subprocess.run(
        [sys.executable, "-m", "transformer_core", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for command in ("train", "translate", "evaluate"):
        assert command in result.stdout
