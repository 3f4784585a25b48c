"""The models in pretrained/ are as good as their cards say, and the heads of one of them do what it was trained for."""

import csv
import re

import numpy as np
import pytest
import torch

from transformer_core import trained, zoo
from transformer_core.inspection import record
from transformer_core.training.presets import PRESETS
from transformer_core.training.tasks import digits, induction
from transformer_core.zoo import InspectionOptions
from transformer_core.zoo.bundled import PRETRAINED

MOST_BYTES = 45e6
"""Of all models together: a clone of the repository has them."""


def card(name: str) -> str:
    return (PRETRAINED / name / "MODEL_CARD.md").read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of a card's tables."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def test_they_are_small():
    assert sum(path.stat().st_size for path in PRETRAINED.rglob("*") if path.is_file()) <= MOST_BYTES


@pytest.mark.parametrize("name", PRESETS)
def test_a_card_names_data_time_and_hardware(name):
    text = " ".join(card(name).split())
    for heading in ("## How good it is", "## Training", "## Licence and attribution", "## Limits"):
        assert heading in text
    assert re.search(r"- Data: .+ steps, (\d+ h )?\d+ min in them, 1 x \S+ .+ threads?; torch \d", text)


def test_the_readme_quotes_the_cards():
    readme = (PRETRAINED.parent / "README.md").read_text(encoding="utf-8")
    quoted = {row[0]: row[-1] for row in rows(readme) if "/MODEL_CARD.md" in row[0]}
    assert [re.match(r"\[(.+)\]\(pretrained/\1/MODEL_CARD.md\)", link)[1] for link in quoted] == list(PRESETS)
    for name, link in zip(PRESETS, quoted, strict=True):
        figures = re.findall(r"\d+\.\d+", quoted[link])
        in_card = {float(number) for number in re.findall(r"\d+\.\d+", card(name))}
        for figure in figures:
            decimals = len(figure.partition(".")[2])
            # Cards have a digit more, or the same.
            nearest = min(in_card, key=lambda number: abs(number - float(figure)))
            assert abs(nearest - float(figure)) <= 0.5001 * 10**-decimals, f"{name}: {figure}"
        assert figures


def test_digits_held_out_are_named_as_the_card_says():
    model = trained.load(PRETRAINED / "digits-vit", "cpu")
    said = digits.evaluate(model, PRETRAINED / "digits-vit")
    right, images = map(int, re.match(r"held out: (\d+) of (\d+) images right", said).groups())
    assert images == 360 and right / images >= 0.97
    (held_out,) = (row for row in rows(card("digits-vit")) if row[0] == "held out")
    assert held_out[1:3] == [str(images), str(right)]


def scores(step: int | None) -> dict[str, np.ndarray]:
    """Mean weights of every head, by layer and head, on sequences of 25 symbols that come four times; by hand."""
    model = trained.load(PRETRAINED / "induction", "cpu", step)
    symbols = np.random.default_rng(7).permuted(np.tile(np.arange(2, 62), (4, 1)), axis=1)[:, :25]
    ids = np.concatenate([np.ones((4, 1), int), *[symbols] * 4], axis=1)
    with torch.inference_mode(), record(model.model) as trace:
        model.model(torch.from_numpy(ids))
    weights = np.stack([np.stack([call.weights(head=head).numpy() for head in range(4)]) for call in trace])
    queries = range(26, ids.shape[1])
    previous = np.mean([weights[..., query, query - 1] for query in range(1, ids.shape[1])], axis=(0, -1))
    followers = [weights[..., query, query - 24 : 1 : -25].sum(axis=-1) for query in queries]
    return {"previous_token": previous, "prefix_matching": np.mean(followers, axis=(0, -1))}


def test_induction_heads_have_formed_as_the_card_says():
    now, start = scores(None), scores(1)
    assert now["prefix_matching"][1].max() >= 0.9 and now["prefix_matching"][0].max() < 0.1
    assert now["previous_token"][0].max() >= 0.75 and now["previous_token"][1].max() < 0.1
    assert all(each.max() < 0.1 for each in start.values())
    for layer in range(2):
        for head in range(4):
            (row,) = (row for row in rows(card("induction")) if row[:2] == [str(layer + 1), str(head + 1)])
            # On other sequences than the card's.
            for name, value in zip(("previous_token", "prefix_matching"), row[2:], strict=True):
                assert now[name][layer, head] == pytest.approx(float(value), abs=0.03)


def test_every_snapshot_has_the_scores_of_its_heads():
    steps = zoo.snapshots("induction")
    assert len(steps) >= 30 and steps[0] == 1
    with (PRETRAINED / "induction" / "heads.csv").open(encoding="utf-8") as file:
        found = {(int(row["step"]), int(row["layer"]), int(row["head"])): row for row in csv.DictReader(file)}
    assert list(found) == [(step, layer, head) for step in steps for layer in range(2) for head in range(4)]
    middle = steps[len(steps) // 2]
    model = trained.load(PRETRAINED / "induction", "cpu", middle)
    for score in induction.head_scores(model.model, model.tokenizer):
        row = found[middle, score.layer, score.head]
        for name in ("previous_token", "prefix_matching"):
            assert float(row[name]) == pytest.approx(getattr(score, name), abs=2e-3)


def test_the_translator_translates():
    answer = zoo.load("tatoeba-en-de", "cpu").inspect("I have a car.").answer
    assert answer == "Ich habe ein Auto."


def test_the_masked_model_guesses_a_verb_that_agrees():
    model = zoo.load("tatoeba-bert", "cpu")
    text = "The children are playing."
    place = model.tokens(text).index("▁are")
    (guess,) = model.inspect(text, InspectionOptions(masked=(place,))).predictions
    assert [name for name, _ in guess.candidates[:2]] == ["▁are", "▁were"]


SPEECH = """PETRUCHIO:
Signior Baptista, my business asketh haste,
And every day I cannot come to woo.
You knew my father well, and in him me,
Left solely heir to all his lands and goods,
Which I have better'd rather than decreased:
Then tell me, if I get your daughter's love,
What dowry shall I have with her to wife?
"""
"""Of what validation held out."""


def test_the_language_model_knows_its_poet():
    model = trained.load(PRETRAINED / "shakespeare-gpt", "cpu")

    def nats_a_character(text: str) -> float:
        ids = torch.tensor([model.ids(text)])
        with torch.inference_mode():
            likelihoods = model.model(ids)[0, :-1].log_softmax(-1).gather(-1, ids[0, 1:, None])
        return -float(likelihoods.sum()) / len(text)

    assert nats_a_character(SPEECH) < 1.8
    backwards = " ".join(reversed(SPEECH.split(" ")))
    assert nats_a_character(backwards) > 1.2 * nats_a_character(SPEECH), "the order counts"
