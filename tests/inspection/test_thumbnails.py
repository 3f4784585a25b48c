"""Weights made small."""

import numpy as np
import pytest

from transformer_core.inspection.thumbnails import strongest_pair, thumbnails

WEIGHTS = np.array([[0.7, 0.2, 0.1], [0.05, 0.05, 0.9]], dtype=np.float32)


def test_strongest_pair():
    assert strongest_pair(WEIGHTS) == (1, 2, pytest.approx(0.9))
    assert strongest_pair(np.full((2, 2), 0.5, dtype=np.float32)) == (0, 0, 0.5)


def test_short_texts_have_exact_thumbnails():
    np.testing.assert_array_equal(thumbnails(WEIGHTS[None], cells=32), WEIGHTS[None])


@pytest.mark.parametrize("n", [32, 33, 100, 1000])
def test_long_texts_have_thumbnails_in_which_nothing_large_is_lost(n):
    weights = np.zeros((2, n, n), dtype=np.float32)
    weights[0, n - 1, 0] = 0.75
    weights[1, 0, n - 1] = 0.5
    small = thumbnails(weights, cells=32)
    assert small.shape == (2, 32, 32)
    assert small[0, -1, 0] == 0.75 and small[0].sum() == 0.75
    assert small[1, 0, -1] == 0.5 and small[1].sum() == 0.5


def test_a_row_without_a_choice_is_not_the_strongest():
    """The first row of a causal head always has its whole weight on the only token that there is."""
    causal = np.array([[1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [0.1, 0.8, 0.1]], dtype=np.float32)
    assert strongest_pair(causal) == (2, 1, pytest.approx(0.8))
    one_token = np.array([[1.0]], dtype=np.float32)
    assert strongest_pair(one_token) == (0, 0, 1.0)
