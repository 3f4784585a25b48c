"""Scores of heads: ideal heads, uniform ones, and a hand-computed one."""

import pytest
import torch

from transformer_core.inspection.metrics import (
    followers_of_earlier_occurrences,
    prefix_matching_scores,
    previous_token_scores,
)


def four_times(number: int = 25) -> torch.Tensor:
    """A begin token, then `number` different tokens four times."""
    return torch.cat([torch.zeros(1, 1, dtype=torch.long), torch.arange(1, number + 1).repeat(4).unsqueeze(0)], dim=1)


def looking_back(length: int, steps: int) -> torch.Tensor:
    """A head that looks so many tokens back, and at the first one where there are not so many."""
    keys = (torch.arange(length) - steps).clamp(min=0)
    return torch.nn.functional.one_hot(keys, length).float().view(1, 1, length, length)


def uniform_causal(length: int) -> torch.Tensor:
    lower = torch.ones(length, length).tril()
    return (lower / lower.sum(-1, keepdim=True)).view(1, 1, length, length)


def test_an_ideal_induction_head_scores_one_and_others_nothing():
    ids = four_times()
    heads = torch.cat([looking_back(101, 24), looking_back(101, 1), looking_back(101, 0)], dim=1)
    assert prefix_matching_scores(heads, ids).tolist() == [1.0, 0.0, 0.0]


def test_uniform_attention_has_the_published_baseline():
    assert prefix_matching_scores(uniform_causal(101), four_times()).item() == pytest.approx(0.0307, abs=5e-5)


def test_prefix_matching_by_hand():
    # a b a a: the third token (a) looks after the first (b: 0.2); the fourth (a) after the first and the third.
    ids = torch.tensor([[7, 8, 7, 7]])
    weights = torch.tensor([[[[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0.2, 0.3, 0], [0.1, 0.3, 0.2, 0.4]]]])
    assert prefix_matching_scores(weights, ids).item() == pytest.approx((0.2 + 0.3 + 0.4) / 2)


def test_sequences_of_a_batch_count_alike_by_their_queries():
    ids = torch.tensor([[1, 2, 1], [1, 1, 1]])
    weights = torch.tensor([[[[1, 0, 0], [1, 0, 0], [0, 1, 0]]], [[[1, 0, 0], [1, 0, 0], [1, 0, 0]]]]).float()
    # One query of the first sequence finds all of its mass, two of the second none.
    assert prefix_matching_scores(weights, ids).item() == pytest.approx(1 / 3)


def test_followers_never_lie_after_the_query():
    followers = followers_of_earlier_occurrences(torch.tensor([[5, 5, 5]]))
    assert followers.tolist() == [[[False, False, False], [False, True, False], [False, True, True]]]


def test_previous_token_scores():
    heads = torch.cat([looking_back(9, 1), looking_back(9, 0), uniform_causal(9)], dim=1)
    uniform = sum(1 / (row + 1) for row in range(1, 9)) / 8
    assert previous_token_scores(heads).tolist() == pytest.approx([1.0, 0.0, uniform])


def test_what_has_no_score_is_refused():
    with pytest.raises(ValueError, match="no token before"):
        previous_token_scores(torch.ones(1, 1, 1, 1))
    with pytest.raises(ValueError, match="to itself"):
        previous_token_scores(torch.ones(1, 1, 2, 3))
    with pytest.raises(ValueError, match="twice"):
        prefix_matching_scores(uniform_causal(3), torch.tensor([[1, 2, 3]]))
    with pytest.raises(ValueError, match="not those of"):
        prefix_matching_scores(uniform_causal(3), torch.tensor([[1, 2]]))
