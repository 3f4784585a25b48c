"""Attention laid over an image."""

import numpy as np
import pytest

from transformer_core.inspection import PatchImage
from viz_app.figures.image import covers, image_attention, patch_weights, short_names

IMAGE = PatchImage(np.zeros((20, 30, 3), dtype=np.uint8), grid=(2, 3), first_patch=1)
WEIGHTS = np.array([0.4, 0.1, 0.2, 0.05, 0.15, 0.06, 0.04], dtype=np.float32)


def test_every_weight_lies_on_its_patch():
    figure = image_attention(IMAGE, WEIGHTS, 0, "class")
    heatmap, markers = figure.data
    np.testing.assert_array_equal(heatmap.z, WEIGHTS[1:].reshape(2, 3))
    # Patches are 10 × 10 pixels, and a heatmap's coordinates are those of the middles of its cells.
    assert (heatmap.x0, heatmap.dx, heatmap.y0, heatmap.dy) == (5, 10, 5, 10)
    assert list(markers.customdata) == [1, 2, 3, 4, 5, 6]
    assert (markers.x[4], markers.y[4]) == (15, 15)
    assert markers.text[4] == f"patch in row 2, column 2<br>weight {WEIGHTS[5]:.9g}"
    assert figure.layout.yaxis.range == (20, 0) and figure.layout.xaxis.range == (0, 30)
    (image,) = figure.layout.images
    assert (image.sizex, image.sizey, image.layer) == (30, 20, "below")
    assert image.source.startswith("data:image/png;base64,")


def test_colours_run_to_the_rows_largest_weight_on_a_patch():
    figure = image_attention(IMAGE, WEIGHTS, 0, "class")
    assert figure.data[0].zmin == 0 and figure.data[0].zmax == pytest.approx(0.2)
    assert image_attention(IMAGE, np.eye(7, dtype=np.float32)[0], 0, "class").data[0].zmax == 1


def test_a_patch_that_reads_is_outlined_and_a_class_token_is_not():
    (outline,) = image_attention(IMAGE, WEIGHTS, 5, "row 2, column 2").layout.shapes
    assert (outline.x0, outline.x1, outline.y0, outline.y1) == (10, 20, 10, 20)
    assert not image_attention(IMAGE, WEIGHTS, 0, "class").layout.shapes


def test_the_reader_is_named_as_text():
    figure = image_attention(IMAGE, WEIGHTS, 0, "<b>x</b>")
    assert "<" not in figure.layout.xaxis.title.text


def test_tokens_that_are_no_patches_are_left_out():
    assert patch_weights(WEIGHTS, IMAGE).sum() == pytest.approx(0.6)
    assert covers(IMAGE, 7) and covers(IMAGE, 8) and not covers(IMAGE, 6)
    with pytest.raises(ValueError, match="6 weights do not cover 2 × 3 patches"):
        image_attention(IMAGE, WEIGHTS[:6], 0, "class")


def test_patches_are_named_by_row_and_column():
    names = short_names(["class", *(f"row {n}" for n in range(6)), "extra"], IMAGE)
    assert names == ("class", "1,1", "1,2", "1,3", "2,1", "2,2", "2,3", "extra")
