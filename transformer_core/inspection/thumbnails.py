"""A head's weights made small, and the pair that stands out in them."""

import numpy as np
from jaxtyping import Float, Num


def thumbnails(weights: Num[np.ndarray, "head query key"], cells: int) -> Num[np.ndarray, "head row column"]:
    """The weights with at most `cells` cells a side; a cell shows the largest weight of the block it stands for."""
    for axis in (1, 2):
        length = weights.shape[axis]
        if length > cells:
            starts = np.arange(cells) * length // cells
            weights = np.maximum.reduceat(weights, starts, axis=axis)
    return weights


def strongest_pair(weights: Float[np.ndarray, "query key"]) -> tuple[int, int, float]:
    """Row, column and value of the largest weight; the first one in reading order if several are equal.

    A row with only one key that it may attend to has its whole weight there, which says nothing: it counts only where
    there are no others.
    """
    has_choice = (weights > 0).sum(axis=1, keepdims=True) > 1
    chosen = np.where(has_choice, weights, -1.0) if has_choice.any() else weights
    row, column = np.unravel_index(np.argmax(chosen), weights.shape)
    return int(row), int(column), float(weights[row, column])
