"""Images that a visitor shows to a model."""

import hashlib
import io
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, UnidentifiedImageError

from transformer_core.zoo import InputError

FORMATS = ("PNG", "JPEG", "WEBP")
"""Pillow's names of the kinds of image that are read."""

MAX_MEGABYTES = 20
"""Of a file."""

DIGITS = Path(__file__).parent / "images" / "digits"
"""Handwritten digits, 8 x 8 pixels each, black on white. README.md there says where they are from."""


@dataclass(frozen=True)
class Picture:
    """An image, told from others by its name and digest."""

    name: str
    digest: str
    """SHA-256 of the file; of what is drawn here, whatever tells it from other drawings."""
    image: Image.Image = field(repr=False, compare=False)
    """That of a file may not be decoded yet: the model says what it cannot read."""


def read(name: str, data: bytes) -> Picture:
    """The picture in a PNG, JPEG or WebP file.

    Raises:
        InputError: it is none of these, damaged, or unfolds into far too many pixels.
    """
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise InputError(
            "This file is no PNG, JPEG or WebP image. Save it as one of these, or choose another."
        ) from error
    except (OSError, ValueError) as error:  # what Pillow raises on damaged files
        raise InputError(f"This image cannot be read ({error}). The file may be damaged: choose another.") from error
    except Image.DecompressionBombError as error:
        raise InputError(
            "This image has far too many pixels. Scale it down: a model sees a small copy anyway."
        ) from error
    return Picture(name, hashlib.sha256(data).hexdigest(), image)


@cache
def digits() -> dict[str, Picture]:
    """A handwritten example of each digit, by what it is."""
    pictures = {}
    for path in sorted(DIGITS.glob("*.png")):
        picture = read(f"a handwritten {path.stem}", path.read_bytes())
        picture.image.load()  # now: all sessions share it, and two threads must not decode it at a time
        pictures[path.stem] = picture
    return pictures


@cache
def drawn() -> Picture:
    """A picture to begin with: a red disc and a blue square, drawn here."""
    image = Image.new("RGB", (384, 384), "#f2efe6")
    draw = ImageDraw.Draw(image)
    draw.ellipse((36, 60, 204, 228), fill="#c0392b")
    draw.rectangle((216, 192, 348, 324), fill="#2c5aa0")
    return Picture("a drawn disc and square", "drawn", image)
