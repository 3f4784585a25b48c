import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.tasks.small import SMALL
from transformer_core.__main__ import main
from transformer_core.model import MaskedLanguageModel, TransformerConfig
from transformer_core.text import Tokenizer
from transformer_core.trained import TrainedMaskedLanguageModel
from transformer_core.training.data import read_pairs
from transformer_core.training.loop import train
from transformer_core.training.task import NO_LABEL
from transformer_core.training.tasks.masked_words import (
    Guesses,
    MaskedWordsOptions,
    encode_sentences,
    guesses,
    sources,
    split_sentences,
)

SENTENCES = [f"the {a} sees the {b} {n}." for a in ("cat", "dog", "cow") for b in ("tree", "brook") for n in range(20)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    # Every other sentence has two translations.
    lines = [f"{s}\tx{i}\n" + (f"{s}\ty{i}\n" if i % 2 else "") for i, s in enumerate(SENTENCES)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def options_for(data, out, **changes) -> MaskedWordsOptions:
    small = {"vocab_size": 330, "num_layers": 1, "max_length": 32, "batch_tokens": 128, "held_out": 10}
    return MaskedWordsOptions(**SMALL | small | {"data": data, "out": out} | changes)


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("masked") / "model"
    train(options_for(data, out, credit="made up"), "python -m transformer_core train ...")
    return out


def test_sentences_are_read_once(data):
    pairs, _ = read_pairs(data)
    assert len(pairs) > len(SENTENCES)
    assert sources(pairs) == SENTENCES


@given(number=st.integers(15, 60), held_out=st.integers(1, 5), seed=st.integers(0, 9))
def test_no_sentence_stands_on_two_sides(number, held_out, seed):
    sentences = [f"sentence {i}" for i in range(number)]
    split = split_sentences(sentences, held_out, seed)
    assert (len(split.validation), len(split.test)) == (held_out, held_out)
    assert sorted(split.train + split.validation + split.test) == sorted(sentences)
    assert split == split_sentences(sentences, held_out, seed)


def test_too_few_sentences_are_refused_with_the_cure():
    with pytest.raises(ValueError, match="--held-out"):
        split_sentences(["a", "b", "c", "d", "e"], held_out=2, seed=0)


def test_a_batch_shows_masks_and_asks_for_what_they_hide(data, finished):
    task = options_for(data, finished).task()
    task.read()
    task.prepare()
    tokenizer, (item, *_) = task.tokenizer, task.plan(0, 1)
    batches = [task.batch(item, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert torch.equal(batches[0].token_ids, batches[1].token_ids)
    assert not torch.equal(batches[0].label_ids, batches[2].label_ids), "chosen afresh"
    originals = [task.examples["train"][i] for i in item]
    assert all(len(ids) * len(item) <= 128 for ids in originals)
    for shown, labels, ids in zip(batches[0].token_ids, batches[0].label_ids, originals, strict=True):
        chosen = labels != NO_LABEL
        assert 1 <= chosen.sum() < len(ids)
        assert not chosen[0] and not chosen[len(ids) - 1 :].any(), "never the begin or the end token or padding"
        assert labels[chosen].tolist() == torch.tensor(ids)[chosen[: len(ids)]].tolist()
        assert shown[: len(ids)][~chosen[: len(ids)]].tolist() == torch.tensor(ids)[~chosen[: len(ids)]].tolist()
    assert (batches[0].token_ids == tokenizer.mask_id).any()


def test_the_loss_is_the_cross_entropy_of_the_chosen_tokens(data, finished):
    task = options_for(data, finished).task()
    task.read()
    task.prepare()
    model = task.new_model().eval()
    batch = task.batch(task.plan(0, 1)[0], np.random.default_rng(0))
    with torch.no_grad():
        logits = model(batch.token_ids)
        loss = task.loss(model, batch).item()
    expected = -sum(
        logits[row, place].log_softmax(-1)[batch.label_ids[row, place]].item()
        for row, place in (batch.label_ids != NO_LABEL).nonzero().tolist()
    )
    assert loss == pytest.approx(expected, rel=1e-5)


@pytest.fixture(scope="module")
def one_answer():
    """A model that says "sees" whatever is masked, and a tokenizer that has it as one piece."""
    tokenizer = Tokenizer.train(SENTENCES, 330, mask=True)
    config = TransformerConfig.bert(
        vocab_size=tokenizer.vocab_size, d_model=8, num_heads=1, num_encoder_layers=1, d_ff=8, max_length=32
    )
    model = MaskedLanguageModel(config).eval()
    (answer,) = (i for i in range(tokenizer.vocab_size) if tokenizer.pieces([i]) == ["▁sees"])
    torch.nn.init.zeros_(model.embedding.tokens.weight)
    torch.nn.init.zeros_(model.output_bias)
    model.output_bias.data[answer] = math.log(3)
    return model, tokenizer, answer


def test_guesses_are_counted_by_hand(one_answer):
    model, tokenizer, answer = one_answer
    right = [[tokenizer.bos_id, answer, tokenizer.eos_id]]
    wrong = [[tokenizer.bos_id, answer + 1, tokenizer.eos_id]]
    # The only ordinary token is always chosen. The answer's odds are 3 against 1 for each other token.
    result, options = guesses(model, tokenizer, right * 3 + wrong), tokenizer.vocab_size + 2
    assert (result.tokens, result.right, result.accuracy) == (4, 3, 0.75)
    assert 3 <= result.among_five <= 4
    expected = (3 * -math.log(3 / options) - math.log(1 / options)) / 4
    assert result.loss == pytest.approx(expected, rel=1e-5)


def test_judging_shows_masks_only_and_is_the_same_every_time(one_answer):
    model, tokenizer, _ = one_answer
    shown, hidden = [], model.hidden
    model.hidden = lambda ids: shown.append(ids) or hidden(ids)
    examples = encode_sentences(SENTENCES, tokenizer, 32)
    results = [guesses(model, tokenizer, examples) for _ in range(2)]
    del model.hidden
    assert results[0] == results[1]
    rows = [row for ids in shown[: len(shown) // 2] for row in ids.tolist()]
    masked = 0
    for row, ids in zip(rows, examples, strict=True):
        changed = [token for token, original in zip(row, ids, strict=False) if token != original]
        assert changed and set(changed) == {tokenizer.mask_id}
        masked += len(changed)
    assert masked == results[0].tokens


def test_shares():
    result = Guesses(nats=8.0, right=5, among_five=9, tokens=10)
    assert (result.loss, result.accuracy, result.accuracy_of_five) == (0.8, 0.5, 0.9)


def test_a_run_writes_the_model_and_its_card(data, finished):
    trained = TrainedMaskedLanguageModel.load(finished, "cpu")
    assert trained.tokenizer.mask_id is not None
    split = split_sentences(SENTENCES, 10, 1)
    result = guesses(trained.model, trained.tokenizer, encode_sentences(split.test, trained.tokenizer, 32))
    card = (finished / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"| test | 10 | {result.tokens} | {result.accuracy:.1%} | {result.accuracy_of_five:.1%} |" in card
    assert "100 training sentences" in card


def test_evaluate_measures_the_figures_of_the_card(capsys, data, finished, tmp_path):
    options = ["evaluate", "--model", str(finished), "--device", "cpu"]
    assert main([*options, "--data", str(data)]) == 0
    printed = capsys.readouterr().out
    split = split_sentences(SENTENCES, 10, 1)
    trained = TrainedMaskedLanguageModel.load(finished, "cpu")
    result = guesses(trained.model, trained.tokenizer, encode_sentences(split.test, trained.tokenizer, 32))
    assert f"of {result.tokens} masked tokens {result.accuracy:.2%} guessed first" in printed
    other = tmp_path / "other.tsv"
    other.write_text(data.read_text(encoding="utf-8") + "one more\tx\n", encoding="utf-8")
    assert main([*options, "--data", str(other)]) == 2
    assert "does not hold what the model was trained on" in capsys.readouterr().err


def test_sentences_longer_than_the_model_are_left_out_and_counted(data, tmp_path, capsys):
    long = tmp_path / "long.tsv"
    long.write_text(data.read_text(encoding="utf-8") + f"{'the cat ' * 30}\tx\n", encoding="utf-8")
    train(options_for(long, tmp_path / "model", steps=1), "")
    assert "1 train sentences of more than 32 tokens left out" in capsys.readouterr().err
