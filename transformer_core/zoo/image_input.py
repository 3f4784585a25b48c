"""Images of any kind and size, for models that read one."""

from pathlib import Path

import numpy as np
import PIL.Image
from PIL import ImageOps

from transformer_core.zoo.interface import InputError

MAX_PIXELS = 100_000_000
"""Larger images are refused before they are decoded: a file of a few kilobytes can unfold into gigabytes."""

MAX_RATIO = 100
"""Thinner images are refused: a processor that scales the shorter side to a fixed size would make them huge."""


def name_of(image: PIL.Image.Image) -> str:
    """The name of an image's file, if it has one."""
    return Path(getattr(image, "filename", "")).name or "image"


def read_image(image: PIL.Image.Image) -> tuple[PIL.Image.Image, list[str]]:
    """The image in RGB, and what had to be done to it that a reader should know.

    Raises:
        InputError: no image, one that is damaged, or one that is too large or too thin.
    """
    image, notes = upright(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        if image.getextrema()[3][0] < 255:
            notes.append("The image is transparent in places. There it is read as white.")
        image = PIL.Image.alpha_composite(PIL.Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB"), notes


def upright(image: PIL.Image.Image) -> tuple[PIL.Image.Image, list[str]]:
    """The image's first frame, decoded, turned as its EXIF data say and in 8 bits a channel; and notes on that.

    Raises:
        InputError: no image, one that is damaged, or one that is too large or too thin.
    """
    if not isinstance(image, PIL.Image.Image):
        raise InputError("This model reads images. Choose an image file.")
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise InputError(
            f"This image has {width:,} × {height:,} pixels; at most {MAX_PIXELS // 10**6} million are read. Scale it "
            "down: the model sees a small copy anyway."
        )
    if max(width, height) > MAX_RATIO * min(width, height):
        raise InputError(
            f"This image has {width:,} × {height:,} pixels: one side is more than {MAX_RATIO} times the other. Cut a "
            "part of it out."
        )
    notes = []
    try:
        frames = getattr(image, "n_frames", 1)
        if frames > 1:
            image.seek(0)
            notes.append(f"The file holds {frames:,} pictures, of which the first is read.")
        image.load()
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):
            # Pillow would cut 16 bits off at 255, which leaves white.
            image = PIL.Image.fromarray((np.asarray(image) / 257).clip(0, 255).round().astype(np.uint8))
        return image, notes
    except (OSError, SyntaxError, ValueError, EOFError) as error:  # what Pillow raises on damaged files
        raise InputError(f"This image cannot be read ({error}). The file may be damaged: choose another.") from error
