"""What a head does, as a number: how much of its attention goes where a rule says."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def previous_token_scores(weights: Float[Tensor, "batch head query key"]) -> Float[Tensor, " head"]:
    """Mean weight of the token just before the query (Clark et al. 2019; Olsson et al. 2022).

    The first query has none before it and does not count. 1: the head does nothing else.

    Raises:
        ValueError: fewer than two tokens, or other queries than keys.
    """
    length = _length(weights)
    if length < 2:
        raise ValueError("one token has no token before it")
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=(0, 2))


def prefix_matching_scores(
    weights: Float[Tensor, "batch head query key"], token_ids: Int[Tensor, "batch token"]
) -> Float[Tensor, " head"]:
    """Mean weight of the tokens that followed the query's token wherever it stood before (Olsson et al. 2022).

    Mean over all queries whose token stood somewhere before. 1: an ideal induction head. Over 25 random tokens four
    times, uniform causal attention scores 0.03.

    Raises:
        ValueError: no token occurs twice, or the weights have another length than the text.
    """
    if _length(weights) != token_ids.size(1) or len(weights) != len(token_ids):
        raise ValueError(f"weights of shape {tuple(weights.shape)} are not those of {tuple(token_ids.shape)} tokens")
    induced = followers_of_earlier_occurrences(token_ids)
    repeats = induced.any(dim=-1)
    if not repeats.any():
        raise ValueError("no token stands in the text twice, so there is nothing to match")
    found = (weights * induced.unsqueeze(1)).sum(dim=-1)
    return (found * repeats.unsqueeze(1)).sum(dim=(0, 2)) / repeats.sum()


def followers_of_earlier_occurrences(token_ids: Int[Tensor, "batch token"]) -> Bool[Tensor, "batch query key"]:
    """True where the key comes right after an earlier occurrence of the query's token."""
    same = token_ids.unsqueeze(2) == token_ids.unsqueeze(1)
    follows = torch.zeros_like(same)
    follows[:, :, 1:] = same[:, :, :-1]
    # The token right after the earlier occurrence may be the query itself, never one after it.
    return follows.tril()


def _length(weights: Float[Tensor, "batch head query key"]) -> int:
    if weights.size(-1) != weights.size(-2):
        raise ValueError(f"weights of shape {tuple(weights.shape)} do not go from a text to itself")
    return weights.size(-1)
