"""From images of digits to counts of ink."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from sklearn.datasets import load_digits

from tests import tiny_trained
from transformer_core.trained.digits import INK, ink_counts
from transformer_core.trained.image_classifier import inputs_of


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def drawn(mode: str, size: tuple[int, int], ground: object, ink: object, width: int = 12) -> Image.Image:
    """A seven, not in the middle."""
    image = Image.new(mode, size, ground)
    ImageDraw.Draw(image).line([(30, 25), (80, 25), (50, 110)], fill=ink, width=width, joint="curve")
    return image


def test_small_images_are_taken_as_they_are(digits):
    for counts in digits.images[:10]:
        assert np.array_equal(ink_counts(Image.fromarray(counts.astype(np.uint8))), counts)
        bright = np.round(counts / 16 * 255).astype(np.uint8)
        np.testing.assert_allclose(ink_counts(Image.fromarray(bright)), counts, atol=0.05)
        np.testing.assert_allclose(ink_counts(Image.fromarray(255 - bright)), counts, atol=0.05)
        colours = Image.fromarray(bright).convert("RGB")
        assert np.array_equal(ink_counts(colours), ink_counts(Image.fromarray(bright)))


def test_the_model_reads_counts_from_0_to_1(digits):
    image = Image.fromarray(digits.images[0].astype(np.uint8))
    expected = torch.tensor(digits.images[:1], dtype=torch.float32).unsqueeze(1) / 16
    assert torch.equal(tiny_trained.image_classifier().read(image), expected)
    assert torch.equal(inputs_of(torch.tensor(digits.images[:1], dtype=torch.float32)), expected)


def test_a_block_of_ink_fills_the_box_of_the_data_set():
    """Two thirds as wide as high: 20 x 32 points in the middle, which by hand is 6 points from the left."""
    image = Image.new("L", (300, 200), "white")
    ImageDraw.Draw(image).rectangle((40, 30, 40 + 69, 30 + 111), fill="black")
    counts = ink_counts(image)
    assert counts.sum(axis=0).tolist() != [0] * 8
    # A block is far too much ink, so it is made thinner, and fills the box again: nothing but a block can come of it.
    assert counts.tolist() == [[0, 8, 16, 16, 16, 16, 8, 0]] * 8


@pytest.mark.parametrize(
    "image",
    [
        drawn("L", (160, 140), 255, 0),
        drawn("L", (160, 140), 0, 255),
        drawn("L", (160, 140), 90, 180),
        drawn("RGB", (400, 300), "#f2efe6", "#1b2a4a"),
        drawn("RGBA", (160, 140), (0, 0, 0, 0), "black"),
        drawn("RGBA", (160, 140), (255, 255, 255, 0), "white"),
        drawn("LA", (160, 140), (255, 0), (20, 255)),
        drawn("1", (160, 140), 1, 0),
        drawn("P", (160, 140), 3, 0),
        drawn("CMYK", (160, 140), (0, 0, 0, 0), (0, 0, 0, 255)),
    ],
    ids=lambda image: f"{image.mode} {image.getpixel((0, 0))}",
)
def test_colours_ground_and_place_do_not_matter(image):
    if image.mode == "P":
        image.putpalette([0, 0, 0] * 3 + [250, 250, 250] * 253)
    np.testing.assert_array_equal(ink_counts(image), ink_counts(drawn("L", (160, 140), 255, 0)))


@pytest.mark.parametrize("width", [2, 4, 8, 12, 18])
def test_thin_and_thick_pens_leave_about_as_much_ink_as_in_the_data_set(width):
    counts = ink_counts(drawn("L", (160, 140), 255, 0, width))
    assert INK[0] - 40 <= counts.sum() <= INK[-1] + 40
    assert counts.min() >= 0
    assert counts.max() <= 16
    assert counts[0].any(), "it reaches the first row"
    assert counts[-1].any(), "and the last"
    seven = ink_counts(drawn("L", (160, 140), 255, 0))
    assert np.corrcoef(counts.ravel(), seven.ravel())[0, 1] > 0.8


@pytest.mark.parametrize(("side", "width"), [(100, 1), (280, 1), (280, 3), (2000, 1)])
def test_strokes_thinner_than_a_point_are_not_lost(side, width):
    def seven(width: int) -> np.ndarray:
        image = Image.new("L", (side, side), 255)
        places = [(0.2 * side, 0.1 * side), (0.7 * side, 0.1 * side), (0.4 * side, 0.9 * side)]
        ImageDraw.Draw(image).line(places, fill=0, width=width, joint="curve")
        return ink_counts(image)

    thin, thick = seven(width), seven(side // 12)
    assert INK[0] - 40 <= thin.sum() <= INK[-1] + 40
    assert np.corrcoef(thin.ravel(), thick.ravel())[0, 1] > 0.8


def test_specks_far_apart_are_not_lost():
    image = Image.new("L", (3000, 3000), 255)
    for place in ((10, 10), (2900, 2900)):
        image.putpixel(place, 0)
    counts = ink_counts(image)
    assert counts[0].any() and counts[-1].any()


def test_the_range_of_ink_is_that_of_the_data_set(digits):
    ink = digits.data.sum(axis=1)
    assert ((ink >= INK[0]) & (ink <= INK[-1])).mean() == pytest.approx(0.975, abs=0.002)


def test_a_stroke_stays_a_stroke():
    image = Image.new("L", (100, 200), "white")
    ImageDraw.Draw(image).line([(50, 20), (50, 180)], fill="black", width=8)
    columns = np.flatnonzero(ink_counts(image).any(axis=0))
    assert set(columns) <= {2, 3, 4, 5}
    assert {3, 4} <= set(columns)


def test_digits_come_back_from_large_pictures(digits):
    """As the data set has them, enlarged, moved and in black and white: their nearest neighbours are of their kind."""
    known, right, tried = digits.data[400:], 0, range(60)
    for index in tried:
        large = Image.fromarray((digits.images[index] / 16 * 255).astype(np.uint8)).resize((160, 160), Image.BICUBIC)
        page = Image.new("L", (400, 300), 255)
        page.paste(0, (40 + index, 30 + index // 2), large.point(lambda value: 255 * (value > 140)))
        counts = ink_counts(page).ravel()
        right += digits.target[400 + int(((known - counts) ** 2).sum(axis=1).argmin())] == digits.target[index]
    assert right >= 0.85 * len(tried)


@pytest.mark.parametrize(
    "image",
    [
        Image.new("L", (100, 100), "white"),
        Image.new("L", (8, 8), "black"),
        Image.new("RGBA", (60, 60), (10, 20, 30, 0)),
        Image.new("RGB", (50, 40), "#336699"),
        drawn("L", (160, 140), 120, 140),
    ],
)
def test_an_image_on_which_nothing_stands_out(image):
    with pytest.raises(ValueError, match="there is nothing on this image that stands out"):
        ink_counts(image)
