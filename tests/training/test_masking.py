"""Devlin et al. 2019, section 3.1: 15 % of the tokens, of which 80 % masked, 10 % random, 10 % as they are."""

import numpy as np
import pytest

from transformer_core.training.masking import choose, disguise

MASK = 4
ORDINARY = np.arange(5, 105)


def test_fifteen_percent_of_the_ordinary_tokens_are_chosen():
    ordinary = np.ones((1000, 200), dtype=bool)
    ordinary[:, [0, -1]] = False
    chosen = choose(ordinary, np.random.default_rng(1))
    # 198,000 draws: a standard deviation of the share is 0.0008.
    assert chosen.sum() / ordinary.sum() == pytest.approx(0.15, abs=0.004)
    assert not chosen[~ordinary].any()
    # No place is preferred.
    np.testing.assert_allclose(chosen[:, 1:-1].mean(axis=0), 0.15, atol=0.06)


def test_at_least_one_token_of_every_row_that_has_any():
    ordinary = np.zeros((300, 6), dtype=bool)
    ordinary[:200, 1:4] = True
    chosen = choose(ordinary, np.random.default_rng(2), share=1e-9)
    assert (chosen[:200].sum(axis=1) == 1).all()
    assert not chosen[200:].any()
    # Which one is left to chance.
    assert (chosen[:200, 1:4].sum(axis=0) > 40).all()


def test_what_stands_in_the_place_of_chosen_tokens():
    random = np.random.default_rng(3)
    token_ids = random.integers(5, 105, (400, 500))
    chosen = random.random(token_ids.shape) < 0.5
    shown = disguise(token_ids, chosen, MASK, ORDINARY, random)
    assert (shown[~chosen] == token_ids[~chosen]).all()
    masked, kept = shown[chosen] == MASK, shown[chosen] == token_ids[chosen]
    # Of the tenth that is random, a hundredth draws the token itself.
    assert masked.mean() == pytest.approx(0.8, abs=0.006)
    assert kept.mean() == pytest.approx(0.1 + 0.001, abs=0.005)
    drawn = shown[chosen][~masked & ~kept]
    assert set(drawn) == set(ORDINARY)
