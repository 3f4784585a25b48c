"""Which tokens a masked language model has to guess, and what it sees in their place (Devlin et al. 2019, 3.1)."""

import numpy as np
from jaxtyping import Bool, Int

SHARE = 0.15
"""Of the tokens, that are to be guessed."""

MASKED, RANDOM = 0.8, 0.1
"""Of those, shown as the mask, and as any token; the rest is shown as it is."""


def choose(
    ordinary: Bool[np.ndarray, "row token"], random: np.random.Generator, share: float = SHARE
) -> Bool[np.ndarray, "row token"]:
    """Tokens to be guessed: each ordinary one with the probability `share`, and at least one in a row that has any."""
    draws = np.where(ordinary, random.random(ordinary.shape), np.inf)
    chosen = draws < share
    lowest = draws.argmin(axis=1)[:, None] == np.arange(ordinary.shape[1])
    return chosen | (lowest & ordinary & ~chosen.any(axis=1, keepdims=True))


def disguise(
    token_ids: Int[np.ndarray, "row token"],
    chosen: Bool[np.ndarray, "row token"],
    mask_id: int,
    ordinary_ids: Int[np.ndarray, " ordinary"],
    random: np.random.Generator,
) -> Int[np.ndarray, "row token"]:
    """The tokens as the model sees them in training: of the chosen ones, 80 % masked, 10 % any token, 10 % as they are.

    Args:
        ordinary_ids: of which a random token is drawn.
    """
    draws = random.random(token_ids.shape)
    others = random.choice(ordinary_ids, token_ids.shape)
    shown = np.where(chosen & (draws < MASKED), mask_id, token_ids)
    return np.where(chosen & (draws >= MASKED) & (draws < MASKED + RANDOM), others, shown)
