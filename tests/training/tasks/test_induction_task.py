import csv
import math

import numpy as np
import pytest
import torch

from tests.training.tasks.small import SMALL
from transformer_core.__main__ import main
from transformer_core.model import LanguageModel
from transformer_core.text import SymbolTokenizer
from transformer_core.trained import TrainedLanguageModel
from transformer_core.training.loop import train
from transformer_core.training.task import NO_LABEL
from transformer_core.training.tasks.induction import (
    HeadScore,
    InductionOptions,
    head_scores,
    highest,
    random_blocks,
    repeated_sequences,
    repeating,
)


def options_for(out, **changes) -> InductionOptions:
    small = {"d_ff": 0, "length": 21, "max_length": 128, "shortest": 3, "longest": 10, "batch_sequences": 8}
    return InductionOptions(**SMALL | small | {"out": out} | changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("induction") / "model"
    train(options_for(out, snapshots=(0, 2, 4)), "python -m transformer_core train --preset induction")
    return out


def test_what_is_repeated_and_what_counts():
    batch = repeated_sequences(np.array([[5, 6, 7, 8], [9, 3, 4, 2]]), np.array([3, 2]), 6, bos_id=1)
    assert batch.token_ids.tolist() == [[1, 5, 6, 7, 5, 6], [1, 9, 3, 9, 3, 9]]
    no = NO_LABEL
    assert batch.label_ids.tolist() == [[no, no, no, no, 6, 7], [no, no, no, 3, 9, 3]]


def test_blocks_hold_symbols_of_the_alphabet_only():
    tokenizer = SymbolTokenizer("abcdef")
    different = random_blocks(300, 6, tokenizer, True, np.random.default_rng(0))
    assert (np.sort(different) == np.arange(2, 8)).all()
    any_symbols = random_blocks(300, 6, tokenizer, False, np.random.default_rng(0))
    assert set(any_symbols.flatten()) == set(range(2, 8))
    assert any(len(set(row)) < 6 for row in any_symbols)


def test_the_length_of_what_is_repeated_varies(tmp_path):
    task = options_for(tmp_path).task()
    task.read()
    item = task.plan(0, processes=50)[0]
    assert item == 400
    batch = task.batch(item, np.random.default_rng(0))
    assert batch.token_ids.shape == (400, 21)
    lengths = (batch.label_ids == NO_LABEL).sum(dim=1) - 1
    assert set(lengths.tolist()) == set(range(3, 11))
    for row, labels, length in zip(batch.token_ids, batch.label_ids, lengths.tolist(), strict=True):
        assert row[0] == 1
        assert labels[length + 1 : -1].tolist() == row[length + 2 :].tolist()
        assert torch.equal(labels[length + 1 :], row[2 : 21 - length + 1])


class _Ideal(LanguageModel):
    """Says that what follows is what followed when the token stood there before."""

    def forward(self, token_ids):
        logits = torch.zeros(*token_ids.shape, self.config.vocab_size)
        for row, ids in enumerate(token_ids.tolist()):
            for place, token in enumerate(ids):
                earlier = [i for i in range(place) if ids[i] == token]
                if earlier:
                    logits[row, place, ids[earlier[-1] + 1]] = 50.0
        return logits


def test_repeating_is_judged_where_symbols_come_again(tmp_path):
    options = options_for(tmp_path)
    tokenizer = SymbolTokenizer(options.symbols)
    ideal = _Ideal(options.transformer_config())
    result = repeating(ideal, tokenizer)
    assert result.accuracy == 1
    assert result.loss < 1e-6
    model = options.task()
    model.read()
    blank = model.new_model().eval()
    torch.nn.init.zeros_(blank.output.weight)
    assert repeating(blank, tokenizer).loss == pytest.approx(math.log(64), rel=1e-5)


def test_heads_that_look_everywhere_alike_score_by_chance(tmp_path):
    options = options_for(tmp_path)
    model = LanguageModel(options.transformer_config()).eval()
    for name, parameter in model.named_parameters():
        if name.endswith("w_q.weight"):
            torch.nn.init.zeros_(parameter)
    scores = head_scores(model, SymbolTokenizer(options.symbols))
    assert [(score.layer, score.head) for score in scores] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    # Of t + 1 tokens that query t sees one stands before it, and one or more followed its symbol, each 25 tokens apart.
    previous = np.mean([1 / (t + 1) for t in range(1, 101)])
    matching = np.mean([((t - 1) // 25) / (t + 1) for t in range(26, 101)])
    for score in scores:
        assert score.previous_token == pytest.approx(previous, rel=1e-4)
        assert score.prefix_matching == pytest.approx(matching, rel=1e-4)


def test_the_highest_score_of_all_heads():
    scores = [HeadScore(0, 0, 0.9, 0.1), HeadScore(0, 1, 0.2, 0.3), HeadScore(1, 0, 0.1, 0.8)]
    assert highest(scores, "previous_token") == 0.9
    assert highest(scores, "prefix_matching") == 0.8


def test_a_run_keeps_its_snapshots_and_the_scores_of_their_heads(finished):
    with open(finished / "heads.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(int(row["step"]), int(row["layer"]), int(row["head"])) for row in rows] == [
        (step, layer, head) for step in (0, 2, 4) for layer in (0, 1) for head in (0, 1)
    ]
    trained = TrainedLanguageModel.load(finished, "cpu")
    for row, score in zip(rows[-4:], head_scores(trained.model, trained.tokenizer), strict=True):
        assert float(row["previous_token"]) == pytest.approx(score.previous_token, abs=1e-4)
        assert float(row["prefix_matching"]) == pytest.approx(score.prefix_matching, abs=1e-4)
    card = (finished / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "| snapshots | 3, steps 0 to 4 |" in card
    assert f"| 2 | 2 | {score.previous_token:.2f} | {score.prefix_matching:.2f} |" in card


def test_evaluate_needs_no_file(capsys, finished):
    assert main(["evaluate", "--model", str(finished), "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    trained = TrainedLanguageModel.load(finished, "cpu")
    score = head_scores(trained.model, trained.tokenizer)[2]
    assert lines[2] == (
        f"layer 2, head 1: previous token {score.previous_token:.4f}, prefix matching {score.prefix_matching:.4f}"
    )
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"longest": 20}, "longest=20"),
        ({"shortest": 11}, "shortest=11"),
        ({"length": 200}, "length=200"),
        ({"max_length": 100}, "max_length=100 must be at least 101, so that heads can be scored"),
        ({"symbols": "abc"}, "longest=10 is more than there are different symbols: 3"),
        ({"symbols": "aabcdefghijk"}, "has to be different characters"),
        ({"positions": "odd"}, "positions='odd'"),
    ],
)
def test_impossible_options_are_named(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        options_for(tmp_path, **changes)
