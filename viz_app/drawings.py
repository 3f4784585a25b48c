"""Drawings of a visitor as text, for the link: as the pad packs them."""

import base64
import binascii

import numpy as np
from PIL import Image

from viz_app.pictures import Picture

SIDE = 32
"""Points in a row, and rows of points."""


def picture_of(drawing: str) -> Picture | None:
    """The drawing as a picture, black on white; None if there is no ink, or the text is no drawing.

    Args:
        drawing: eight points a byte, row by row, the first the highest bit, 1 for ink, in base64 for addresses.
    """
    try:
        packed = base64.b64decode(drawing + "=" * (-len(drawing) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):  # ValueError: characters beyond ASCII
        return None
    ink = np.unpackbits(np.frombuffer(packed, np.uint8))
    if ink.size != SIDE * SIDE or not ink.any():
        return None
    image = Image.fromarray((255 * (1 - ink)).astype(np.uint8).reshape(SIDE, SIDE))
    return Picture("your drawing", drawing, image)
