"""Images from visitors: what is read, and what is refused in words."""

import dataclasses
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from transformer_core.zoo import InputError
from viz_app.pictures import digits, drawn, read


def saved(image: Image.Image, format: str) -> bytes:
    file = io.BytesIO()
    image.save(file, format, lossless=True)
    return file.getvalue()


@pytest.mark.parametrize("format", ["PNG", "WEBP"])
def test_an_image_is_read_as_it_is(format):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    picture = read("cat.png", saved(Image.fromarray(pixels), format))
    assert picture.name == "cat.png"
    np.testing.assert_array_equal(np.asarray(picture.image.convert("RGB")), pixels)


def test_a_jpeg_is_read():
    assert read("cat.jpg", saved(Image.new("RGB", (9, 4)), "JPEG")).image.size == (9, 4)


def test_pictures_are_told_apart_by_their_bytes_and_can_be_keys():
    red, blue = (saved(Image.new("RGB", (4, 4), colour), "PNG") for colour in ("red", "blue"))
    assert read("a", red) == read("a", red) != read("a", blue)
    assert len({read("a", red), read("a", red), read("a", blue), drawn()}) == 3


@pytest.mark.parametrize(
    "data", [b"", b"not an image", b"<svg xmlns='http://www.w3.org/2000/svg'/>", saved(Image.new("L", (3, 3)), "GIF")]
)
def test_another_kind_of_file_is_refused(data):
    with pytest.raises(InputError, match="no PNG, JPEG or WebP"):
        read("x.png", data)


def chunk(kind: bytes, data: bytes) -> bytes:
    """A piece of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = saved(Image.new("RGB", (20, 20)), "PNG")
HEADER_END = len(PNG) - len(PNG.partition(b"IHDR")[2]) + 17
LONG_TEXT = chunk(b"zTXt", b"text\0\0" + zlib.compress(bytes(3_000_000)))


@pytest.mark.parametrize(
    "data",
    [PNG[:28], saved(Image.new("RGB", (20, 20)), "JPEG")[:300], PNG[:HEADER_END] + LONG_TEXT + PNG[HEADER_END:]],
    ids=["PNG cut off", "JPEG cut off", "PNG with a text that unfolds too far"],
)
def test_a_damaged_file_is_refused(data):
    with pytest.raises(InputError, match=r"cannot be read \(.+\)\. The file may be damaged: choose another\."):
        read("x.png", data)


def test_a_bomb_is_refused_before_it_is_decoded():
    """A PNG of 100 bytes that claims 60,000 × 60,000 pixels."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    with pytest.raises(InputError, match="far too many pixels"):
        read("bomb.png", bomb)


def test_the_digits_that_sessions_share_are_decoded():
    # Pillow decodes an image at its first use, and two threads must not do that at a time.
    assert all(picture.image.fp is None for picture in digits.__wrapped__().values())


def test_the_example_digits_are_images_that_training_held_out():
    from transformer_core.training.tasks.digits import DigitsOptions, read_digits, split_digits

    options = {field.name: field.default for field in dataclasses.fields(DigitsOptions)}
    _, held_out = split_digits(read_digits()[0], options["held_out_share"], options["seed"])
    known = {
        (str(int(label)), (image[0] * 16).round().byte().numpy().tobytes())
        for image, label in zip(held_out.images, held_out.label_ids, strict=True)
    }
    assert list(digits()) == list("0123456789")
    for label, picture in digits().items():
        grey = np.asarray(picture.image.convert("L")).astype(float)
        assert (label, np.round(16 * (1 - grey / 255)).astype(np.uint8).tobytes()) in known
