import csv
import gzip
import math
import shutil

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.training.tasks.small import SMALL
from transformer_core.__main__ import main
from transformer_core.model import LanguageModel, TransformerConfig
from transformer_core.text import Tokenizer
from transformer_core.trained import TrainedLanguageModel
from transformer_core.training.loop import train
from transformer_core.training.tasks.language import LanguageOptions, TextLoss, split_text, text_loss

TEXT = "".join(f"Speaker {n % 7}:\nWe have  {n % 5} of the {'wind' if n % 3 else 'sea'},\n\n" for n in range(150))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "text.txt.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    return path


def options_for(data, out, **changes) -> LanguageOptions:
    small = {"vocab_size": 330, "num_layers": 1, "max_length": 24, "batch_tokens": 96, "learning_rate": 0.01}
    return LanguageOptions(**SMALL | small | {"data": data, "out": out} | changes)


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("language") / "model"
    train(options_for(data, out, credit="made up"), "python -m transformer_core train ...")
    return out


def test_the_end_of_the_text_is_held_out():
    assert split_text("0123456789" * 10, 0.1) == ("0123456789" * 9, "0123456789")


def test_the_loss_of_a_model_that_knows_nothing():
    tokenizer = Tokenizer.train(TEXT.splitlines(keepends=True), 330, keep_lines=True)
    config = TransformerConfig.gpt2(
        vocab_size=tokenizer.vocab_size, d_model=8, num_heads=1, num_decoder_layers=1, d_ff=8, max_length=10, dropout=0
    )
    model = LanguageModel(config).eval()
    torch.nn.init.zeros_(model.embedding.tokens.weight)  # which is the output matrix, too
    text = TEXT[:300]
    tokens = len(tokenizer.encode(text))
    loss = text_loss(model, tokenizer, text)
    assert (loss.tokens, loss.characters) == (tokens, 300)
    assert loss.per_token == pytest.approx(math.log(tokenizer.vocab_size), rel=1e-5)
    assert loss.per_character == pytest.approx(tokens * math.log(tokenizer.vocab_size) / 300, rel=1e-5)


def test_a_loss_a_token_and_a_character():
    loss = TextLoss(nats=60.0, tokens=20, characters=50)
    assert (loss.per_token, loss.per_character) == (3.0, 1.2)


def test_the_loss_is_that_of_windows_that_begin_anew(finished):
    trained = TrainedLanguageModel.load(finished, "cpu")
    ids, length = trained.tokenizer.encode(TEXT[-500:]), trained.model.config.max_length
    expected = 0.0
    for start in range(0, len(ids), length):
        window = ids[start : start + length]
        with torch.no_grad():
            logits = trained.model(torch.tensor([[trained.tokenizer.bos_id, *window[:-1]]]))[0]
        expected -= logits.log_softmax(-1)[range(len(window)), window].sum().item()
    assert text_loss(trained.model, trained.tokenizer, TEXT[-500:]).nats == pytest.approx(expected, rel=1e-5)


def test_an_epoch_reads_windows_of_the_training_text_once(data, finished):
    task = options_for(data, finished).task()
    task.read()
    task.prepare()
    assert task.tokenizer.decode(task.stream.tolist()) == TEXT[: int(len(TEXT) * 0.9)]
    plans = [task.plan(epoch, processes=1) for epoch in (0, 0, 1)]
    assert plans[0] == plans[1] != plans[2]
    assert plans[0][0][0] % 24 != plans[2][0][0] % 24, "windows begin elsewhere"
    starts = sorted(start for rows in plans[0] for start in rows)
    assert np.diff(starts).tolist() == [24] * (len(starts) - 1)
    assert starts[0] < 24 and starts[-1] + 2 * 24 > len(task.stream)
    assert {len(rows) for rows in plans[0][:-1]} == {96 // 24}
    batch = task.batch(plans[0][0], np.random.default_rng(0))
    assert batch.label_ids[0].tolist() == task.stream[plans[0][0][0] :][:24].tolist()


def test_a_run_writes_the_model_its_course_and_its_card(finished):
    trained = TrainedLanguageModel.load(finished, "cpu")
    assert trained.tokenizer.decode(trained.tokenizer.encode("We have  5\n\n")) == "We have  5\n\n"
    with open(finished / "training.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    validation = split_text(TEXT, 0.1)[1]
    tokens = len(trained.tokenizer.encode(validation))
    per_token, per_character = (float(rows[-1][name]) for name in ("validation_loss", "validation_loss_per_character"))
    assert per_token * tokens == pytest.approx(per_character * len(validation), rel=1e-4)
    card = (finished / "MODEL_CARD.md").read_text(encoding="utf-8")
    loss = text_loss(trained.model, trained.tokenizer, validation)
    assert (
        f"| validation | {len(validation):,} | {tokens:,} | {loss.per_token:.3f} | {loss.per_character:.3f} |" in card
    )
    assert "- Data: made up" in card
    assert "The licence of these weights is yours to choose. They learned from this: made up." in card
    assert "Apache" not in card
    assert "publishes 1.47" in card and "python -m transformer_core train ..." in card


def test_an_interrupted_run_ends_like_an_uninterrupted_one(data, finished, tmp_path, monkeypatch):
    from transformer_core.training import loop

    with monkeypatch.context() as patch:
        # A stop after the second step, in whose row it is asked for.
        row = loop._log_row
        patch.setattr(loop, "_log_row", lambda *rest: (row(*rest), loop.signal.raise_signal(loop.signal.SIGINT)))
        assert not train(options_for(data, tmp_path), "")
    assert train(options_for(data, tmp_path), "")
    assert (tmp_path / "model.safetensors").read_bytes() == (finished / "model.safetensors").read_bytes()


def test_the_cosine_ends_where_the_run_ends(data, finished):
    with pytest.raises(ValueError, match="steps was 4, is 9"):
        train(options_for(data, finished, steps=9), "")


def test_another_task_cannot_go_on(data, finished, tmp_path):
    from transformer_core.training.tasks.digits import DigitsOptions

    shutil.copytree(finished, tmp_path / "model")
    with pytest.raises(ValueError, match="task was LanguageOptions, is DigitsOptions"):
        train(DigitsOptions(**SMALL | {"out": tmp_path / "model"}), "")


def test_snapshots_are_the_weights_after_their_step(data, finished, tmp_path):
    # Of a run that was killed before its first checkpoint.
    stale = tmp_path / "snapshots" / "step-00000003.safetensors"
    stale.parent.mkdir()
    stale.write_bytes(b"")
    train(options_for(data, tmp_path, snapshots=(0, 2, 4)), "")
    files = [tmp_path / "snapshots" / f"step-{step:08d}.safetensors" for step in (0, 2, 4)]
    assert sorted((tmp_path / "snapshots").iterdir()) == files
    first, middle, last = (safetensors.torch.load_file(file) for file in files)
    assert files[2].read_bytes() == (tmp_path / "model.safetensors").read_bytes()
    kept = safetensors.torch.load_file(tmp_path / "training_state" / "step-00000004.safetensors")
    for name, tensor in last.items():
        assert torch.equal(tensor, kept[name].half())
    assert not torch.equal(first["embedding.tokens.weight"], middle["embedding.tokens.weight"])


def test_evaluate_measures_the_figure_of_the_card(capsys, data, finished, tmp_path):
    options = ["evaluate", "--model", str(finished), "--device", "cpu"]
    assert main([*options, "--data", str(data)]) == 0
    trained = TrainedLanguageModel.load(finished, "cpu")
    loss = text_loss(trained.model, trained.tokenizer, split_text(TEXT, 0.1)[1])
    assert f"{loss.per_character:.4f} nats a character" in capsys.readouterr().out
    other = tmp_path / "other.txt"
    other.write_text(TEXT + "!", encoding="utf-8")
    for arguments, message in (
        ([], "was trained on a file: name it with --data"),
        (["--data", str(other)], "does not hold what the model was trained on"),
        (["--data", str(data), "--beam-size", "2"], "has a use for --beam-size"),
    ):
        assert main([*options, *arguments]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is empty"), (b"ab\xff", "byte 3 is not UTF-8"), (b"a few words\n" * 6, "too few for windows of 24")],
)
def test_an_unusable_text_is_named(tmp_path, content, message):
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        train(options_for(path, tmp_path / "model", vocab_size=280), "")


@pytest.mark.parametrize(
    "changes", [{"validation_share": 1.0}, {"batch_tokens": 23}, {"max_length": 1}, {"weight_decay": -1.0}]
)
def test_impossible_options_are_named(data, tmp_path, changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        options_for(data, tmp_path, **changes)
