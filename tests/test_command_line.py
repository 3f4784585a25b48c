"""python -m transformer_core, as it is typed."""

import io
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from PIL import Image

from tests import tiny_trained
from tests.inspection import examples
from transformer_core import zoo
from transformer_core.__main__ import main
from transformer_core.inspection import Prediction
from transformer_core.training import loop
from transformer_core.training.data import fingerprint, read_pairs
from transformer_core.training.presets import DEFAULT, PRESETS
from transformer_core.training.tasks.induction import InductionOptions
from transformer_core.training.tasks.sentence_pairs import PairsRecord
from transformer_core.zoo import InspectionOptions, StackShape, bundled

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


def test_a_bundled_model_goes_by_its_name(monkeypatch, pretrained):
    content = b"The cat sleeps.\n"
    assert translate(monkeypatch, Path("tiny-en-de"), content) == ["Die Katze schl\u00e4ft."]


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
        (["train", "--preset", "digits-vit", "--out", "{out}", "--patch-size", "3"], "not divisible by patch_size=3"),
        (
            ["train", "--preset", "shakespeare-gpt", "--data", "no.txt", "--out", "{out}"],
            "there is no data file no.txt",
        ),
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
    PairsRecord(held_out=3, seed=1, max_words=250, data_sha256=fingerprint(read_pairs(data)[0])).save(folder)
    assert main(["evaluate", *options]) == 0
    assert capsys.readouterr().out.startswith("BLEU = ")


def test_train_shows_the_options_of_its_preset_with_their_defaults(capsys):
    shown = {}
    for preset in PRESETS:
        with pytest.raises(SystemExit) as exit_:
            main(["train", "--help", "--preset", preset])
        assert exit_.value.code == 0
        shown[preset] = " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert " ".join(capsys.readouterr().out.split()) == shown["tatoeba-en-de"]
    assert "--lr-scale LR_SCALE factor on the paper's learning rate (inverse_sqrt) (default: 1.0)" in shown[DEFAULT]
    assert "--num-encoder-layers" in shown[DEFAULT] and "--num-encoder-layers" not in shown["shakespeare-gpt"]
    assert "--dropout DROPOUT share of values set to zero in training (default: 0.2)" in shown["shakespeare-gpt"]
    assert "--data" in shown["tatoeba-bert"] and "--data" not in shown["digits-vit"]
    assert "(default:1,100,200,220," in shown["induction"].replace(" ", ""), "wherever a line is broken"


def test_an_unknown_preset_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["train", "--preset", "gpt-5", "--out", "out"])
    assert exit_.value.code == 2
    assert "invalid choice: 'gpt-5'" in capsys.readouterr().err


def test_an_option_of_train_is_typed_in_full(capsys):
    # "--preset" is looked for twice: a shortened one, found once, would train something else.
    with pytest.raises(SystemExit) as exit_:
        main(["train", "--pres", "digits-vit", "--data", "pairs.tsv", "--out", "out"])
    assert exit_.value.code == 2
    assert "unrecognized arguments: --pres digits-vit" in capsys.readouterr().err


def test_train_says_how_steps_are_listed(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--preset", "induction", "--out", "out", "--snapshots", "1,x"])
    assert "'1,x' is no list of steps: write whole numbers with commas, as 0,50,100" in capsys.readouterr().err


def test_train_hands_on_what_was_typed(monkeypatch):
    runs = []
    monkeypatch.setattr(loop, "train", lambda options, command: runs.append((options, command)) or True)
    typed = ["train", "--preset", "induction", "--out", "folder", "--snapshots", "0,5,10", "--learning-rate", "0.5"]
    monkeypatch.setattr(sys, "argv", ["headlight", *typed])
    assert main() == 0
    ((options, command),) = runs
    assert isinstance(options, InductionOptions)
    assert (options.out, options.snapshots, options.learning_rate) == (Path("folder"), (0, 5, 10), 0.5)
    assert (options.d_ff, options.schedule) == (0, "constant"), "the preset's"
    assert command == "python -m transformer_core " + " ".join(typed)


def test_commands_do_without_the_modules_of_the_training():
    code = """
import sys
from transformer_core.__main__ import main
try:
    main(["inspect", "--help"])
except SystemExit:
    print("sklearn" in sys.modules, "torch" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "False False", result.stderr


def test_the_help_lists_the_commands():
    result = subprocess.run(
        [sys.executable, "-m", "transformer_core", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for command in ("train", "translate", "evaluate", "inspect"):
        assert command in result.stdout


def inspect(capsys, *arguments: str) -> dict[str, str]:
    """The lines that `inspect` prints, by their names."""
    assert main(["inspect", *arguments]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return {name: value.strip() for name, value in (line.split(":", 1) for line in output.out.splitlines())}


def refused(capsys, *arguments: str) -> str:
    """The one line that says why `inspect` did nothing."""
    assert main(["inspect", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ") and output.err.count("\n") == 1
    return output.err


@pytest.fixture
def pretrained(tiny_translator_folder, monkeypatch):
    """The folder of bundled models holds the tiny translator alone."""
    monkeypatch.setattr(bundled, "PRETRAINED", tiny_translator_folder.parent)


TINY = ["--model", "tiny-en-de", "--device", "cpu"]


def test_inspect_prints_what_was_loaded_seen_and_checked(capsys, pretrained):
    lines = inspect(capsys, *TINY, "--text", "The cat sleeps.")
    model = zoo.load("tiny-en-de", "cpu")
    assert lines["architecture"] == f"Transformer (text-to-text), {model.num_parameters:,} parameters"
    assert lines["encoder stack"] == lines["decoder stack"] == lines["cross stack"] == "2 layers x 4 heads"
    assert lines["model"].startswith(f"tiny-en-de (weights {model.weights_hash}, float32 on cpu, PyTorch ")
    assert (lines["text"], lines["answer"]) == ("The cat sleeps.", "Die Katze schl\u00e4ft.")
    assert float(lines["exactness"].split(" by at most ")[1].split()[0]) < 2e-6
    assert float(lines["row sums"].split(" by at most ")[1]) < 1e-6
    assert "written to" not in lines


def test_inspect_writes_the_same_attention_as_the_app_shows(capsys, pretrained, tmp_path):
    path = tmp_path / "seen.npz"
    lines = inspect(capsys, *TINY, "--text", "I see the dog.", "--out", str(path))
    assert lines["written to"] == f"{path} ({path.stat().st_size:,} bytes)"
    # The app's own request: `viz_app.app_pages.attention` sets these two from their fields, which begin with them.
    expected = zoo.load("tiny-en-de", "cpu").inspect("I see the dog.", InspectionOptions(4, 0.6))
    with np.load(path, allow_pickle=False) as file:
        for name, stack in expected.stacks.items():
            for layer in range(len(stack)):
                np.testing.assert_allclose(file[f"{name}.{layer}"], stack.weights(layer).numpy(), rtol=1e-5)
    for suffix in ("json", "csv"):
        inspect(capsys, *TINY, "--text", "I see the dog.", "--out", str(path.with_suffix(f".{suffix}")))
    assert json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["answer"] == "Ich sehe den Hund."
    assert pd.read_csv(path.with_suffix(".csv"))["layer"].max() == 1


@pytest.mark.parametrize("content", [b"The cat sleeps.", b"The cat sleeps.\n", b"The cat sleeps.\r\n"])
def test_inspect_reads_standard_input(capsys, monkeypatch, pretrained, content):
    monkeypatch.setattr(sys, "stdin", Stream(content))
    assert inspect(capsys, *TINY, "--text", "-")["text"] == "The cat sleeps."


def test_inspect_refuses_standard_input_that_is_not_utf8(capsys, monkeypatch, pretrained):
    monkeypatch.setattr(sys, "stdin", Stream(b"The d\xf6g"))
    assert "standard input is not UTF-8: byte 6 cannot be read" in refused(capsys, *TINY, "--text", "-")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", ""], "There is no text yet"),
        (["--text", "\udcff"], "only half of a character"),
        (["--text", "a", "--beam-size", "17"], "beam size is 17; it has to be a whole number from 1 to 16"),
        (["--text", "a", "--length-penalty", "nan"], "length penalty is nan"),
        (["--text", "a", "--device", "tpu"], "unknown device 'tpu'"),
        (["--text", "a", "--out", "seen.txt"], "the suffix has to be .npz, .json, .csv or .html, not .txt"),
        (["--text", "a", "--out", "nowhere/seen.npz"], "there is no folder nowhere"),
        (["--text", "a", "--masked", "0"], "tiny-en-de (Transformer) has no use for --masked"),
        (["--text", "a", "--second-text", ""], "has no use for --second-text"),
        (["--text", "a", "--new-tokens", "0"], "has no use for --new-tokens"),
        (["--text", "a", "--seed", "1"], "has no use for --seed, because it lacks the ability 'continue'"),
        (["--text", "a", "--temperature", "5.5"], "temperature is 5.5; it has to be a number from 0 to 5"),
        (["--text", "a", "--top-p", "0"], "top p is 0, which leaves no token to draw"),
        (["--text", "a", "--chat"], "has no use for --chat, because it lacks the ability 'chat'"),
        (["--text", "a", "--read-special-tokens"], "Its abilities: beam search."),
        (["--image", "docs/attention.png"], "reads texts: use --text instead of --image"),
        (["--image", "README.md"], "README.md is no image"),
        (["--image", "nowhere.png"], "the image nowhere.png cannot be read: No such file or directory"),
    ],
)
def test_inspect_refuses_what_it_cannot_do(capsys, monkeypatch, pretrained, arguments, message):
    monkeypatch.chdir(ROOT)
    assert message in refused(capsys, *TINY, *arguments)


def test_inspect_checks_where_to_write_before_it_loads_a_model(capsys):
    assert "the suffix has to be" in refused(capsys, "--model", "no-such", "--text", "a", "--out", "seen.txt")


class Model:
    """A model that keeps what it was asked for."""

    architecture, family, num_parameters = "AnyModel", "masked", 1234
    stacks = (StackShape("self", (2, 3)),)
    notes = ("One of 3 layers left no record.", "A note.")

    def __init__(self, abilities: set[str]) -> None:
        self.abilities = frozenset(abilities)
        self.asked: list = []

    def load(self, name, device, dtype, *, implementation):
        self.name = name
        self.loaded = name, device, dtype, implementation
        return self

    def tokens(self, text, read_special_tokens):
        return tuple(text.split())

    def inspect(self, content, options):
        self.asked.append((content, options))
        return examples.pair()


def test_every_option_reaches_the_model(capsys, monkeypatch):
    model = Model(set(zoo.NEEDED_ABILITIES.values()))
    monkeypatch.setattr(zoo, "load", model.load)
    inspect(capsys, "--model", "owner/name", "--text", "a b c")
    assert model.loaded == ("owner/name", "auto", "auto", "transformers")
    options = ["--second-text", "d", "--beam-size", "2", "--length-penalty", "0.5", "--new-tokens", "7", "--chat"]
    options += ["--masked", "0", "2", "--read-special-tokens", "--device", "cpu", "--dtype", "bfloat16"]
    options += [
        "--implementation",
        "headlight",
        "--temperature",
        "0.7",
        "--top-k",
        "40",
        "--top-p",
        "0.9",
        "--seed",
        "3",
    ]
    lines = inspect(capsys, "--model", "owner/name", "--text", "a b c", *options)
    assert model.loaded == ("owner/name", "cpu", "bfloat16", "headlight")
    assert model.asked == [
        ("a b c", InspectionOptions()),
        ("a b c", InspectionOptions(2, 0.5, 7, 0.7, 40, 0.9, 3, True, (0, 2), "d", True)),
    ]
    assert lines["self stack"] == "2 layers x 2 to 3 heads"
    assert lines["second text"] == "cd"
    assert lines["class"] == "\u201cyes\u201d 0.750, \u201c<no>\u201d 0.250"


def test_notes_of_the_model_and_of_the_result_are_printed_once(capsys, monkeypatch):
    monkeypatch.setattr(zoo, "load", Model(set()).load)
    assert main(["inspect", "--model", "m", "--text", "a"]) == 0
    output = capsys.readouterr().out
    assert output.count("One of 3 layers left no record.") == output.count("A note.") == 1


@pytest.mark.parametrize("number", ["-1", "3"])
def test_a_token_to_mask_that_does_not_exist(capsys, monkeypatch, number):
    monkeypatch.setattr(zoo, "load", Model({"mask"}).load)
    message = refused(capsys, "--model", "m", "--text", "a b c", "--masked", "0", number)
    assert f"there is no token {number} to mask; counted from 0, there are: 0 a, 1 b, 2 c" in message


def test_a_masked_model_that_is_shown_no_mask_says_how_to_mask(capsys, tmp_path):
    folder = tmp_path / "masked"
    tiny_trained.masked_language_model().save(folder)
    command = ["--model", str(folder), "--device", "cpu", "--text", "The cat sleeps"]
    tokens = zoo.load(folder, "cpu").tokens("The cat sleeps")
    there_are = ", ".join(f"{number} {token}" for number, token in enumerate(tokens))
    said = f"none, because no token is masked: give the numbers of some with --masked ({there_are})"
    assert inspect(capsys, *command)["answer"] == said
    lines = inspect(capsys, *command, "--masked", "0")
    assert "mask 1" in lines and "none, because" not in lines["answer"]


def test_inspect_hands_an_image_to_a_model_that_reads_images(capsys, monkeypatch, tmp_path):
    path = tmp_path / "red.png"
    Image.new("RGB", (3, 2), "red").save(path)
    model = Model({"image"})
    monkeypatch.setattr(zoo, "load", model.load)
    inspect(capsys, "--model", "m", "--image", str(path))
    ((image, _),) = model.asked
    assert (image.size, image.getpixel((0, 0))) == ((3, 2), (255, 0, 0))
    assert "reads images: use --image instead of --text" in refused(capsys, "--model", "m", "--text", "a")


def test_what_a_terminal_cannot_show_is_written_as_its_code(monkeypatch, pretrained):
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", output)
    # One text that the model knows by heart, and one whose translation is anybody's guess.
    assert main(["inspect", *TINY, "--text", "The cat sleeps."]) == 0
    assert main(["inspect", *TINY, "--text", "The cat sleeps.\x1b[2J\u202e"]) == 0
    printed = raw.getvalue().decode("ascii")
    assert "Die Katze schl\\xe4ft" in printed
    assert "The cat sleeps.\\x1b[2J\\u202e" in printed


@pytest.mark.parametrize(
    ("family", "options", "asked"),
    [
        ("masked", ["--masked", "1"], "masked (1,), read special tokens False"),
        (
            "causal",
            ["--new-tokens", "3", "--seed", "7"],
            "new tokens 3, temperature 0.0, top k 0, top p 1.0, seed 7, read special tokens False",
        ),
        ("text-to-text", ["--beam-size", "2"], "beam size 2, length penalty 0.6, read special tokens False"),
        ("classifier", ["--second-text", "the dog sleeps"], "read special tokens False"),
        ("embedding", [], "read special tokens False"),
        ("encoder", ["--read-special-tokens"], "read special tokens True"),
        ("image", [], ""),
    ],
)
def test_every_kind_of_model_is_inspected_and_written(capsys, tiny_checkpoints, tmp_path, family, options, asked):
    picture = tmp_path / "red.png"
    Image.new("RGB", (40, 30), "red").save(picture)
    content = ["--image", str(picture)] if family == "image" else ["--text", "the cat sleeps"]
    model = ["--model", str(tiny_checkpoints[family]), "--device", "cpu"]
    lines = inspect(capsys, *model, *content, *options, "--out", str(tmp_path / "seen.npz"))
    assert f"({family})" in lines["architecture"]
    assert lines.get("options", "") == asked
    assert lines.get("image") == ("red.png" if family == "image" else None)
    about, arrays = read_npz(tmp_path / "seen.npz")
    for name, stack in about["stacks"].items():
        heads = [layer["heads"] for layer in stack["layers"]]
        assert lines[f"{name} stack"] == f"{len(heads)} layers x {heads[0]} heads"
        size = len(arrays[f"{name}.query_tokens"]), len(arrays[f"{name}.key_tokens"])
        assert [arrays[f"{name}.{layer}"].shape for layer in range(len(heads))] == [(each, *size) for each in heads]


@pytest.mark.parametrize(
    ("implementation", "architecture"),
    [([], "BertForMaskedLM"), (["--implementation", "headlight"], "MaskedLanguageModel")],
)
def test_the_file_of_a_masked_model_holds_what_transformers_computes(
    capsys, tiny_checkpoints, tmp_path, implementation, architecture
):
    folder = str(tiny_checkpoints["masked"])
    options = ["--text", "the cat sleeps", "--masked", "1", "--device", "cpu"]
    lines = inspect(capsys, "--model", folder, *options, *implementation, "--out", str(tmp_path / "seen.npz"))
    assert lines["architecture"].startswith(f"{architecture} (masked), ")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
    batch = tokenizer("the cat sleeps", return_tensors="pt")
    batch["input_ids"][0, 2] = tokenizer.mask_token_id  # after [CLS] and "the"
    with torch.no_grad():
        outputs = network(**batch, output_attentions=True)
    about, arrays = read_npz(tmp_path / "seen.npz")
    assert arrays["self.query_tokens"][2] == "[MASK]"
    for layer, expected in enumerate(outputs.attentions):
        np.testing.assert_allclose(arrays[f"self.{layer}"], expected[0].numpy(), atol=1e-6)
    best = outputs.logits[0, 2].softmax(dim=-1).max().item()
    assert about["predictions"][0]["candidates"][0][1] == pytest.approx(best, rel=1e-5)
    assert f"{best:.3f}" in lines["mask 1"]


def read_npz(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """What `about` says, and the arrays."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    return json.loads(str(arrays.pop("about"))), arrays


def test_of_many_predictions_the_first_are_printed_and_the_others_counted(capsys, monkeypatch):
    candidates = tuple((str(number), 0.125) for number in range(8))
    predictions = tuple(Prediction(f"next token {number}", number, candidates) for number in range(1, 41))
    model = Model(set())
    model.inspect = lambda content, options: replace(examples.pair(), predictions=predictions)
    monkeypatch.setattr(zoo, "load", model.load)
    lines = inspect(capsys, "--model", "m", "--text", "a")
    assert [name for name in lines if name.startswith("next token")] == [f"next token {n}" for n in range(1, 11)]
    assert lines["next token 10"] == ", ".join(f"\u201c{number}\u201d 0.125" for number in range(5))
    assert lines["predictions"] == "30 more, and more candidates, in an .npz or .json file and in `predictions`"
