"""Whole training runs, small enough for a test."""

import csv
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch

from transformer_core.trained import Translator
from transformer_core.training.data import read_pairs, split_pairs
from transformer_core.training.loop import train
from transformer_core.training.options import TrainingOptions
from transformer_core.training.schedule import learning_rate
from transformer_core.training.tasks import translation
from transformer_core.training.tasks.masked_words import MaskedWordsOptions
from transformer_core.training.tasks.translation import TranslationOptions

ROOT = Path(__file__).parents[2]
NOUNS = {"cat": "die Katze", "cow": "die Kuh", "bee": "die Biene", "duck": "die Ente", "mouse": "die Maus"}
VERBS = {"sees": "sieht", "hears": "hört", "likes": "mag", "follows": "verfolgt", "finds": "findet"}
OBJECTS = {"tree": "den Baum", "house": "das Haus", "flower": "die Blume", "brook": "den Bach", "stone": "den Stein"}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    words = itertools.product(NOUNS.items(), VERBS.items(), OBJECTS.items())
    lines = [f"the {n} {v} the {o}.\t{gn} {gv} {go}.\n" for (n, gn), (v, gv), (o, go) in words]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def options_for(data: Path, out: Path, **changes) -> TranslationOptions:
    options = TranslationOptions(
        data=data,
        out=out,
        held_out=10,
        vocab_size=400,
        d_model=32,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=1,
        d_ff=64,
        max_length=64,
        steps=12,
        batch_tokens=200,
        warmup=10,
        lr_scale=0.1,
        log_every=2,
        validate_every=4,
        checkpoint_every=3,
        average=2,
        device="cpu",
        precision="float32",
    )
    return replace(options, **changes)


def command_for(options: TrainingOptions) -> list[str]:
    given = {name: value for name, value in vars(options).items() if name != "snapshots"}
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    return ["-m", "transformer_core", "train", *arguments]


def rows_of(folder: Path) -> list[dict[str, str]]:
    with open(folder / "training.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def course_of(folder: Path) -> list[tuple[str, ...]]:
    """What must not depend on how often a run was interrupted: all but the times."""
    names = ("step", "learning_rate", "loss", "validation_loss", "validation_bleu")
    return [tuple(row[name] for name in names) for row in rows_of(folder)]


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory) -> Path:
    """The folder of an uninterrupted run."""
    out = tmp_path_factory.mktemp("uninterrupted") / "model"
    train(options_for(data, out), command="python -m transformer_core train ...")
    return out


def test_a_run_writes_a_translator_its_card_and_its_course(finished):
    assert Translator.load(finished, "cpu").translate(["the cat sees the tree."])
    card = (finished / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "python -m transformer_core train ..." in card
    assert "12 steps" in card
    rows = rows_of(finished)
    assert [int(row["step"]) for row in rows] == [2, 4, 6, 8, 10, 12]
    assert [row["step"] for row in rows if row["validation_loss"]] == ["4", "8", "12"]
    for row in rows:
        expected = learning_rate(int(row["step"]), d_model=32, warmup=10, scale=0.1)
        assert float(row["learning_rate"]) == pytest.approx(expected, rel=1e-5)
        assert float(row["tokens_per_second"]) > 0
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)


def test_the_model_is_the_mean_of_the_last_checkpoints(finished):
    checkpoints = [
        safetensors.torch.load_file(finished / "training_state" / f"step-{step:08d}.safetensors") for step in (9, 12)
    ]
    model = safetensors.torch.load_file(finished / "model.safetensors")
    for name, tensor in model.items():
        mean = (checkpoints[0][name].double() + checkpoints[1][name].double()) / 2
        torch.testing.assert_close(tensor, mean.float().half())


def test_the_last_step_counts_even_between_two_checkpoints(data, tmp_path):
    train(options_for(data, tmp_path, steps=4), "")
    state = tmp_path / "training_state"
    files = [state / "step-00000003.safetensors", state / "resume" / "model.safetensors"]
    checkpoints = [safetensors.torch.load_file(file) for file in files]
    for name, tensor in safetensors.torch.load_file(tmp_path / "model.safetensors").items():
        mean = (checkpoints[0][name].double() + checkpoints[1][name].double()) / 2
        torch.testing.assert_close(tensor, mean.float().half())
    assert "mean of 2 checkpoints, steps 3 to 4" in (tmp_path / "MODEL_CARD.md").read_text()


def test_what_a_run_that_never_saved_left_behind_is_not_averaged(data, tmp_path):
    train(options_for(data, tmp_path / "other", seed=2, steps=3), "")
    shutil.copytree(tmp_path / "other" / "training_state", tmp_path / "model" / "training_state")
    shutil.rmtree(tmp_path / "model" / "training_state" / "resume")
    train(options_for(data, tmp_path / "model", steps=2), "")
    assert "the weights after the last step" in (tmp_path / "model" / "MODEL_CARD.md").read_text()


def test_a_run_learns(data, tmp_path):
    train(options_for(data, tmp_path, steps=120, lr_scale=0.5, log_every=20, validate_every=120, dropout=0.0), "")
    losses = [float(row["loss"]) for row in rows_of(tmp_path)]
    assert losses[-1] < 0.6 * losses[0]
    test = split_pairs(read_pairs(data)[0], 10, 1).test
    translations = Translator.load(tmp_path, "cpu").translate([pair.source for pair in test])
    right = sum(translation == pair.target for translation, pair in zip(translations, test, strict=True))
    assert right >= 8, translations


def test_an_interrupted_run_ends_like_an_uninterrupted_one(data, finished, tmp_path):
    for steps in (5, 7, 12):
        train(options_for(data, tmp_path, steps=steps), "")
    assert (tmp_path / "model.safetensors").read_bytes() == (finished / "model.safetensors").read_bytes()


def test_ctrl_c_loses_nothing(data, finished, tmp_path):
    options = options_for(data, tmp_path, steps=2000)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, *command_for(options)], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    )
    # A row of training.csv is the sign that it is in the middle of its steps.
    deadline = time.monotonic() + 120
    while process.poll() is None and not (
        (tmp_path / "training.csv").exists() and len((tmp_path / "training.csv").read_text().splitlines()) > 1
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "nothing is lost" in errors
    assert "Traceback" not in errors
    stopped = int(errors.split("Stopped after step ")[1].split(";")[0].replace(",", ""))
    kept = course_of(tmp_path)
    train(replace(options, steps=max(stopped + 1, 12)), "")
    assert course_of(tmp_path)[: len(kept)] == kept
    # Up to its last step the uninterrupted run logged the same losses.
    same = [row[:3] for row in course_of(tmp_path) if int(row[0]) <= 12]
    assert same == [row[:3] for row in course_of(finished)]


def test_a_stop_before_the_last_step_is_judged_leaves_the_judging_for_later(data, finished, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        # Ctrl-C arrives while the last step's validation runs.
        patch.setattr(translation, "mean_loss", lambda *_: signal.raise_signal(signal.SIGINT) or 1.0)
        assert not train(options_for(data, tmp_path, validate_every=12), "")
    assert not (tmp_path / "model.safetensors").exists()
    assert train(options_for(data, tmp_path, validate_every=12), "")
    assert (tmp_path / "model.safetensors").read_bytes() == (finished / "model.safetensors").read_bytes()


def test_rows_after_the_last_saved_step_are_done_again_and_not_twice(data, finished, tmp_path):
    train(options_for(data, tmp_path, steps=6), "")
    with open(tmp_path / "training.csv", "a", encoding="utf-8") as file:
        file.write("8,0.1,9.9,1,1,,\n1")  # a run that was killed in the row after this and before its next checkpoint
    train(options_for(data, tmp_path), "")
    # The run of six steps validated at its end, which the run of twelve did not.
    assert [row[:3] for row in course_of(tmp_path)] == [row[:3] for row in course_of(finished)]


@pytest.mark.parametrize("content", ["", "step;loss\n2;3.5\n", "step,loss\n2,3.5\n"])
def test_rows_that_cannot_be_read_again_are_not_overwritten(data, finished, tmp_path, content):
    out = shutil.copytree(finished, tmp_path / "model")
    (out / "training.csv").write_text(content)
    with pytest.raises(ValueError, match=r"training\.csv does not begin with step,learning_rate,.*: put the file back"):
        train(options_for(data, out), "")
    assert (out / "training.csv").read_text() == content


def test_going_on_with_other_options_is_refused_by_name(data, finished):
    with pytest.raises(ValueError, match=r"dropout was 0\.1, is 0\.2"):
        train(options_for(data, finished, dropout=0.2), "")


def test_going_on_with_other_data_is_refused(data, finished, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text(data.read_text(encoding="utf-8") + "one\tmore\n", encoding="utf-8")
    with pytest.raises(ValueError, match="does not hold the same data"):
        train(options_for(other, finished), "")
    # The same pairs elsewhere are welcome.
    moved = tmp_path / "moved.tsv"
    moved.write_bytes(data.read_bytes())
    assert train(options_for(moved, finished), "")


def test_going_on_with_another_number_of_processes_is_refused(data, finished):
    state = finished / "training_state" / "resume" / "progress.json"
    before = state.read_text()
    state.write_text(before.replace('"processes": 1', '"processes": 2'))
    with pytest.raises(ValueError, match="processes were 2, are 1"):
        train(options_for(data, finished), "")
    state.write_text(before)


@pytest.mark.parametrize("content", ["[]", "null", "{}", '{"options": [], "progress": {"step": 1}, "processes": 1}'])
def test_a_state_that_says_nothing_is_refused(data, finished, content):
    state = finished / "training_state" / "resume" / "progress.json"
    before = state.read_text()
    state.write_text(content)
    with pytest.raises(ValueError, match="does not say how its training was begun"):
        train(options_for(data, finished), "")
    state.write_text(before)


def test_going_back_is_refused(data, finished):
    with pytest.raises(ValueError, match="is at step 12: ask for at least as many --steps"):
        train(options_for(data, finished, steps=6), "")


def test_pairs_longer_than_the_model_are_left_out_on_every_side_and_counted(data, tmp_path, capsys):
    long = tmp_path / "long.tsv"
    words = " ".join(["the stone"] * 20)
    extra = "".join(f"{words} {i}\t{words} {i}\n" for i in range(30))
    long.write_text(data.read_text(encoding="utf-8") + extra, encoding="utf-8")
    train(options_for(long, tmp_path / "model", max_length=24), "")
    errors = capsys.readouterr().err
    counts = {
        name: int(errors.split(f" {name} pairs of more than 24")[0].split()[-1])
        for name in ("train", "validation", "test")
        if f" {name} pairs of more than 24" in errors
    }
    assert sum(counts.values()) == 30
    assert counts.keys() - {"train"}, "none was held out: choose another seed"
    with pytest.raises(ValueError, match="use a larger --max-length"):
        train(options_for(long, tmp_path / "none", max_length=2), "")


def test_a_run_that_diverges_is_stopped_with_the_cure(data, tmp_path):
    with pytest.raises(ValueError, match=r"the loss is nan at step \d: .* smaller --lr-scale"):
        train(options_for(data, tmp_path, lr_scale=1e30), "")
    assert not (tmp_path / "model.safetensors").exists()


def test_a_finished_model_is_not_overwritten(data, tiny_translator_folder):
    before = (tiny_translator_folder / "model.safetensors").read_bytes()
    with pytest.raises(ValueError, match="already holds a model"):
        train(options_for(data, tiny_translator_folder), "")
    assert (tiny_translator_folder / "model.safetensors").read_bytes() == before


def test_bad_lines_are_named_and_skipped(data, tmp_path, capsys):
    bad = tmp_path / "bad.tsv"
    bad.write_text("no tab\n" + data.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ValueError, match="line 1: there is no tab"):
        train(options_for(bad, tmp_path / "model"), "")
    train(options_for(bad, tmp_path / "model", bad_lines="skip", steps=1), "")
    assert "line 1: there is no tab between source and target; skipped" in capsys.readouterr().err


def test_bfloat16_products_learn_as_well(data, finished, tmp_path):
    train(options_for(data, tmp_path, precision="bfloat16"), "")
    for row, exact in zip(rows_of(tmp_path), rows_of(finished), strict=True):
        assert float(row["loss"]) == pytest.approx(float(exact["loss"]), rel=0.01)
    weights = safetensors.torch.load_file(tmp_path / "training_state" / "resume" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}


def in_two_processes(options: TrainingOptions, *more: str) -> subprocess.CompletedProcess:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    return subprocess.run(
        [sys.executable, *launcher, "--rdzv-endpoint=localhost:0", *command_for(options), *more],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.slow
def test_two_processes_end_together_when_the_first_finds_a_fault(finished, data):
    result = in_two_processes(options_for(data, finished))
    assert result.returncode != 0
    assert result.stderr.count("the processes were 1, are 2") == 1
    assert "Connection closed" not in result.stderr


@pytest.mark.slow
def test_two_processes_train_like_one_with_the_doubled_batch(data, tmp_path):
    one = options_for(data, tmp_path / "one", dropout=0.0, batch_tokens=200)
    two = replace(one, out=tmp_path / "two", batch_tokens=100)
    train(one, "")
    result = in_two_processes(two)
    assert result.returncode == 0, result.stderr
    for row, same in zip(rows_of(tmp_path / "two"), rows_of(tmp_path / "one"), strict=True):
        assert float(row["loss"]) == pytest.approx(float(same["loss"]), rel=1e-4)
        assert row["learning_rate"] == same["learning_rate"]
    models = [safetensors.torch.load_file(tmp_path / name / "model.safetensors") for name in ("one", "two")]
    for name, tensor in models[0].items():
        torch.testing.assert_close(models[1][name].float(), tensor.float(), atol=2e-3, rtol=1e-2)


@pytest.mark.slow
def test_two_processes_share_masked_words_too(data, tmp_path):
    # Batches of one sentence leave the second process without a row, and only some tokens count: the mean is over them.
    options = MaskedWordsOptions(
        **{"data": data, "held_out": 10, "vocab_size": 400, "d_model": 16, "num_heads": 2, "d_ff": 32, "num_layers": 1}
        | {"max_length": 64, "steps": 6, "warmup": 2, "dropout": 0.0, "average": 1, "checkpoint_every": 6}
        | {"log_every": 2, "validate_every": 6, "device": "cpu", "precision": "float32", "schedule": "cosine"}
        | {"weight_decay": 0.1, "batch_tokens": 20, "out": tmp_path / "one"}
    )
    train(options, "")
    result = in_two_processes(replace(options, out=tmp_path / "two", batch_tokens=10), "--preset=tatoeba-bert")
    assert result.returncode == 0, result.stderr
    for row, same in zip(rows_of(tmp_path / "two"), rows_of(tmp_path / "one"), strict=True):
        assert float(row["loss"]) == pytest.approx(float(same["loss"]), rel=1e-4)
