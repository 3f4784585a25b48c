"""A head's weights made small, and the pair that stands out in them."""

import numpy as np
from jaxtyping import Float


def thumbnails(weights: Float[np.ndarray, "head query key"], cells: int) -> Float[np.ndarray, "head row column"]:
    """The weights with at most `cells` cells a side; a cell shows the largest weight of the block it stands for."""
    for axis in (1, 2):
        length = weights.shape[axis]
        if length > cells:
            starts = np.arange(cells) * length // cells
            weights = np.maximum.reduceat(weights, starts, axis=axis)
    return weights


def strongest_pair(weights: Float[np.ndarray, "query key"]) -> tuple[int, int, float]:
    """Row, column and value of the largest weight; the first one in reading order if several are equal."""
    row, column = np.unravel_index(np.argmax(weights), weights.shape)
    return int(row), int(column), float(weights[row, column])
