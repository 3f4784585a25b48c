"""From an image of a handwritten digit to 8 x 8 counts of ink, as the UCI data set of digits was made.

"Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak, UCI Machine Learning Repository, 1998; it comes with
scikit-learn) holds bitmaps of 32 x 32 points that NIST's programs had normalised (Garris et al., NISTIR 5469, 1994):
each digit fills 20 x 32 points, and its strokes were thickened or thinned until a like amount of it was ink. The points
of ink in every block of 4 x 4 were counted, from 0 to 16.
"""

import numpy as np
from jaxtyping import Bool, Float, UInt8
from PIL import Image, ImageFilter

SIDE = 8
"""Pixels in a row, and rows of pixels."""

MOST = 16
"""The most ink that a pixel counts."""

BLOCK = 4
"""Points along a block's side."""

WIDTH, HEIGHT = 20, 32
"""Points that a digit fills."""

MOST_STRETCH = 2
"""A stroke, as "1" is one, becomes no block of ink: so many times can one direction grow more than the other."""

INK = range(240, 390)
"""Points of ink in a digit: of the 1,797 that come with scikit-learn, 97 % are in this range."""

PENS = (0, 1, -1, 2, -2, 3, -3, 4, 5)
"""Points by which strokes are widened (or, below 0, narrowed) on each side to come there: the first that does it."""

LEAST_CONTRAST = 32
"""Of 255: the least that ink and paper differ by."""

Bitmap = Bool[np.ndarray, "row column"]
"""True is ink."""

Redrawn = Bool[np.ndarray, "new_row new_column"]
"""The same of another size."""


def ink_counts(image: Image.Image) -> Float[np.ndarray, "8 8"]:
    """How much ink is where, 0 to 16.

    An image of 8 x 8 pixels is taken as it is: its brightness is the ink or, if it is bright for the most part, its
    darkness; pixels from 0 to 16 are the counts themselves, as scikit-learn has them. Of any other image the ink is
    what stands out from its ground, dark or bright; where it is transparent, nothing stands out.

    Raises:
        ValueError: nothing stands out.
    """
    grey = _on_ground(image)
    low, high = int(grey.min()), int(grey.max())
    if image.size == (SIDE, SIDE) and 0 < high <= MOST:
        return grey.astype(np.float64)
    if high - low < LEAST_CONTRAST:
        raise ValueError("there is nothing on this image that stands out from its ground")
    if image.size == (SIDE, SIDE):
        ink = grey / 255 * MOST
        return MOST - ink if np.median(grey) > 127 else ink
    points = grey > _threshold(grey)
    # Ink covers less than half of an image.
    return _block_counts(_normalized(~points if points.mean() > 0.5 else points))


def _on_ground(image: Image.Image) -> UInt8[np.ndarray, "row column"]:
    """The image in grey. Where it is transparent it is white or black, whichever its opaque part is less like."""
    if not image.has_transparency_data:
        return np.asarray(image.convert("L"))
    image = image.convert("RGBA")
    alpha, grey = np.asarray(image.getchannel("A"), float), np.asarray(image.convert("RGB").convert("L"), float)
    brightness = (grey * alpha).sum() / max(alpha.sum(), 1.0)
    ground = Image.new("RGBA", image.size, "white" if brightness < 128 else "black")
    return np.asarray(Image.alpha_composite(ground, image).convert("L"))


def _threshold(grey: UInt8[np.ndarray, "row column"]) -> int:
    """The brightness that parts the pixels best into two groups: whose means differ most (Otsu 1979)."""
    counts = np.bincount(grey.ravel(), minlength=256).astype(float)
    below = counts.cumsum()
    above = below[-1] - below
    brightness = (counts * np.arange(256)).cumsum()
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = brightness / below - (brightness[-1] - brightness) / above
    return int(np.nanargmax(below * above * difference**2))


def _normalized(points: Bitmap) -> Bool[np.ndarray, "32 32"]:
    """The digit in the middle of 32 x 32 points, as large and as thick as those of the data set."""
    fitted = _fitted(points)
    candidates = [_fitted(drawn) for pen in PENS if (drawn := _redrawn(fitted, pen)).any()]
    best = min(candidates, key=lambda bitmap: max(INK[0] - bitmap.sum(), bitmap.sum() - INK[-1], 0))
    square = np.zeros((SIDE * BLOCK, SIDE * BLOCK), dtype=bool)
    top, left = ((full - part) // 2 for full, part in zip(square.shape, best.shape, strict=True))
    square[top : top + best.shape[0], left : left + best.shape[1]] = best
    return square


def _fitted(points: Bitmap) -> Redrawn:
    """The ink's bounding box, scaled to WIDTH and HEIGHT as far as MOST_STRETCH lets it."""
    rows, columns = np.flatnonzero(points.any(axis=1)), np.flatnonzero(points.any(axis=0))
    box = points[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scale = min(WIDTH / box.shape[1], HEIGHT / box.shape[0])
    width, height = (
        max(1, round(min(full, side * scale * MOST_STRETCH)))
        for full, side in zip((WIDTH, HEIGHT), reversed(box.shape), strict=True)
    )
    # Of a point that is larger than the image's pixels, ink covers a share. Most points of an ordinary stroke are
    # covered whole, and half of one is ink; a thinner stroke covers no point whole, so half of its usual share counts.
    shares = np.asarray(Image.fromarray(box.astype(np.float32)).resize((width, height), Image.Resampling.BOX))
    return shares >= np.median(shares[shares > 0]) / 2


def _redrawn(points: Bitmap, pen: int) -> Redrawn:
    """The same with strokes that are wider by so many points on each side, or narrower."""
    image = Image.fromarray(np.pad(points, max(pen, 1)).astype(np.uint8) * 255)
    grow = ImageFilter.MaxFilter(3) if pen > 0 else ImageFilter.MinFilter(3)
    for _ in range(abs(pen)):
        image = image.filter(grow)
    return np.asarray(image) > 127


def _block_counts(points: Bool[np.ndarray, "32 32"]) -> Float[np.ndarray, "8 8"]:
    return points.reshape(SIDE, BLOCK, SIDE, BLOCK).sum(axis=(1, 3)).astype(np.float64)
