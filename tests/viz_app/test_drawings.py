"""Drawings as text: what the pad packs is what the model gets, and nothing else is a drawing."""

import base64

import numpy as np
import pytest

from viz_app.drawings import picture_of


def packed(ink: np.ndarray) -> str:
    return base64.urlsafe_b64encode(np.packbits(ink).tobytes()).decode().rstrip("=")


def test_every_point_is_where_it_was_drawn():
    ink = np.random.default_rng(0).integers(0, 2, (32, 32), dtype=np.uint8)
    picture = picture_of(packed(ink))
    np.testing.assert_array_equal(np.asarray(picture.image), 255 * (1 - ink))
    other = ink.copy()
    other[31, 31] ^= 1
    assert picture == picture_of(packed(ink)) != picture_of(packed(other))


@pytest.mark.parametrize(
    "text",
    ["", "A", "AAAA", packed(np.zeros((32, 32), np.uint8)), packed(np.ones((32, 33), np.uint8)), "é" * 171, "<b>"],
)
def test_what_is_no_drawing_is_none(text):
    assert picture_of(text) is None
