"""Sampling against its definitions, hand computation and transformers."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation.logits_process import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from tests import tiny_trained
from transformer_core.interrupting import Stage, Stopped, between_steps
from transformer_core.text.sampling import MAX_TEMPERATURE, Sampler, distribution, sample

PROMPT = [2, 5, 9, 300, 7]

logits_of = st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=40).map(torch.tensor)
temperatures = st.floats(0.05, MAX_TEMPERATURE)


@pytest.fixture(scope="module")
def model():
    return tiny_trained.language_model().model


@given(logits_of, temperatures, st.integers(0, 50), st.floats(0.01, 1.0))
def test_what_is_left_follows_the_definitions(logits, temperature, top_k, top_p):
    left = distribution(logits, temperature, top_k, top_p).numpy()
    whole = np.exp(logits.double().numpy() / temperature - logits.max().item() / temperature)
    whole /= whole.sum()
    assert left.sum() == pytest.approx(1)
    # The likeliest, of equally likely ones the first, as many as top_k allows; of these the fewest that reach top_p.
    order = sorted(range(len(whole)), key=lambda token: (-whole[token], token))[: top_k or None]
    among = whole[order] / whole[order].sum()
    reached = np.cumsum(among)
    number = len(order) if top_p == 1 else int((reached < top_p - 1e-12).sum()) + 1
    # Where a sum is as good as p, rounding decides whether one more is taken.
    fewer = int((reached < top_p + 1e-12).sum()) + 1
    kept = int((left > 0).sum())
    possible = int((whole[order] > 0).sum())
    assert min(number, possible) <= kept <= min(max(fewer, number), len(order))
    expected = np.zeros_like(whole)
    expected[order[:kept]] = among[:kept] / among[:kept].sum()
    np.testing.assert_allclose(left, expected, rtol=1e-9, atol=1e-300)


@given(st.permutations(range(1, 13)), temperatures, st.integers(1, 12), st.sampled_from([0.1, 0.33, 0.5, 0.77, 0.9]))
def test_the_same_tokens_are_left_as_in_transformers(values, temperature, top_k, top_p):
    logits = torch.tensor(values).double().log()
    scores = logits.unsqueeze(0)
    for warper in (TemperatureLogitsWarper(temperature), TopKLogitsWarper(top_k), TopPLogitsWarper(top_p)):
        scores = warper(None, scores)
    torch.testing.assert_close(distribution(logits, temperature, top_k, top_p), scores[0].softmax(dim=-1))


def test_the_token_that_crosses_p_is_the_last_one_left():
    logits = torch.tensor([0.5, 0.25, 0.15, 0.1]).log()
    for top_p, kept in ((0.3, 1), (0.49, 1), (0.51, 2), (0.74, 2), (0.76, 3), (0.95, 4), (1.0, 4)):
        left = distribution(logits, 1.0, 0, top_p)
        assert (left > 0).tolist() == [True] * kept + [False] * (4 - kept)
    assert distribution(logits, 1.0, 2).tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])
    # top_p counts what top_k has left: 0.6 < 2/3.
    assert distribution(logits, 1.0, 2, 0.6).tolist() == [1, 0, 0, 0]
    assert distribution(logits, 0.5).tolist() == pytest.approx(np.square([0.5, 0.25, 0.15, 0.1]) / 0.345, rel=1e-6)


@given(st.permutations([0.0, 0.5, 1.0, 1.5, 3.0]))
def test_near_temperature_0_the_likeliest_is_chosen(values):
    logits = torch.tensor(values)
    for temperature in (0.0, 1e-12, 0.005):
        assert Sampler(temperature).choose(logits) == values.index(3.0)
    assert Sampler(MAX_TEMPERATURE, top_k=1).choose(logits) == values.index(3.0)
    assert Sampler(1.0, top_p=1e-9).choose(logits) == values.index(3.0)


def test_tokens_come_as_often_as_they_are_likely():
    logits = torch.tensor([1.0, -torch.inf, 0.0, 2.0, -1.0])
    sampler, draws, temperature = Sampler(1.5, seed=3), 20_000, 1.5
    counts = np.bincount([sampler.choose(logits) for _ in range(draws)], minlength=5)
    weights = [math.exp(value / temperature) for value in (1, 0, 2, -1)]
    expected = np.insert(np.array(weights) / sum(weights), 1, 0.0)
    assert counts[1] == 0
    # Five standard deviations of a binomial distribution.
    assert (np.abs(counts / draws - expected) <= 5 * np.sqrt(expected * (1 - expected) / draws)).all()


def test_a_seed_decides_the_text_and_nobody_else_does():
    logits = torch.linspace(0, 1, 50)

    def drawn(seed: int) -> list[int]:
        sampler = Sampler(1.0, seed=seed)
        torch.manual_seed(seed + 17)
        return [sampler.choose(logits) for _ in range(30)]

    before = torch.random.get_rng_state()
    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(5)}) == 5
    torch.random.set_rng_state(before)
    Sampler(1.0).choose(logits)
    assert torch.equal(torch.random.get_rng_state(), before), "the random numbers of others are left alone"


def test_broken_logits_choose_without_an_error():
    for logits in ([math.nan, 1.0], [-math.inf, -math.inf], [math.inf, 0.0]):
        assert Sampler(1.0).choose(torch.tensor(logits)) in (0, 1)


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": -0.1},
        {"temperature": 5.1},
        {"temperature": math.nan},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_p": math.nan},
    ],
)
def test_values_outside_their_range(values):
    with pytest.raises(ValueError, match="has to be"):
        Sampler(**values)


@torch.no_grad()
def test_at_temperature_0_every_token_is_the_likeliest(model):
    written, ids = sample(model, PROMPT, 6, Sampler(0.0)), list(PROMPT)
    for token in written:
        logits = model(torch.tensor([ids]))[0, -1]
        assert token == int(logits.argmax())
        ids.append(token)
    never = sample(model, PROMPT, 6, Sampler(0.0), forbidden=sorted(set(written)))
    assert not set(never) & set(written)


@settings(max_examples=8)
@given(st.integers(0, 99), st.sampled_from([0.0, 0.7, 2.0]))
def test_the_cache_changes_nothing(model, seed, temperature):
    with_cache, without = (
        sample(model, PROMPT, 10, Sampler(temperature, seed=seed), use_cache=use_cache) for use_cache in (True, False)
    )
    assert with_cache == without
    assert len(with_cache) == 10


def test_a_text_that_does_not_fit_is_refused_with_what_does(model):
    most = model.config.max_length - len(PROMPT)
    assert len(sample(model, PROMPT, most, Sampler(0.0))) == most
    with pytest.raises(ValueError, match=rf"{most + 1} new tokens do not fit behind 5 .* ask for at most {most},"):
        sample(model, PROMPT, most + 1, Sampler(0.0))
    with pytest.raises(ValueError, match="ask for at most 0,"):
        sample(model, PROMPT * 20, 1, Sampler(0.0))


def test_it_says_how_far_it_is_and_can_be_stopped(model):
    said = []

    def stop_at_the_third(stage: Stage) -> None:
        said.append(stage.words)
        if stage.words.startswith("Writing token 3"):
            raise Stopped

    with pytest.raises(Stopped), between_steps(stop_at_the_third, seconds=0):
        sample(model, PROMPT, 20, Sampler(1.0))
    told = [words for words, _ in itertools.groupby(said) if words]
    assert told == [f"Writing token {number} of 20" for number in (1, 2, 3)]
