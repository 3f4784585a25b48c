"""Bundled image classifiers: the class of a digit, and attention over its patches."""

import io

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from sklearn.datasets import load_digits

from tests import tiny_trained
from transformer_core.zoo import InputError
from transformer_core.zoo.bundled import InspectableImageClassifier


@pytest.fixture(scope="module")
def model():
    return InspectableImageClassifier("tiny-vit", tiny_trained.image_classifier(), "0" * 12)


@pytest.fixture(scope="module")
def digit() -> Image.Image:
    return Image.fromarray(load_digits().images[3].astype(np.uint8))


@torch.no_grad()
def test_the_class_and_the_patches(model, digit):
    inspection = model.inspect(digit)
    counts = np.asarray(digit)
    probabilities = model.trained.model(torch.tensor(counts / 16).float()[None, None])[0].softmax(-1)
    (prediction,) = inspection.predictions
    assert (prediction.place, prediction.row) == ("class", None)
    best = probabilities.argsort(descending=True).tolist()
    assert [label for label, _ in prediction.candidates] == [str(index) for index in best]
    assert [value for _, value in prediction.candidates] == pytest.approx(probabilities[best].tolist(), rel=1e-4)
    assert inspection.answer == str(best[0])
    assert (inspection.text, inspection.notes) == ("image", ())
    image = inspection.image
    assert (image.grid, image.first_patch) == ((4, 4), 1)
    assert np.array_equal(image.pixels, np.repeat(np.round(255 * (1 - counts / 16)).astype(np.uint8)[..., None], 3, -1))
    (stack,) = inspection.stacks.values()
    assert stack.name == "self"
    assert stack.query_tokens == (
        "class",
        *(f"row {row}, column {column}" for row in (1, 2, 3, 4) for column in (1, 2, 3, 4)),
    )
    assert (stack.query_label, stack.query_special) == ("image", (0,))
    torch.testing.assert_close(stack.weights(1).sum(-1), torch.ones(4, 17))
    assert inspection.certificate < 2e-6
    assert model.tokens("text") == ()


@torch.no_grad()
def test_patches_are_counted_row_by_row(model, digit):
    """A change inside one patch changes that token's vector before the first layer, and no other's."""
    network, changed = model.trained.model, digit.copy()
    changed.putpixel((5, 2), 16 - digit.getpixel((5, 2)))
    tokens = [network.patches(model.trained.read(image)).flatten(2)[0].T for image in (digit, changed)]
    different = (tokens[0] != tokens[1]).any(dim=1).nonzero().flatten().tolist()
    labels = model.inspect(digit).stacks["self"].query_tokens
    assert [labels[1 + patch] for patch in different] == ["row 2, column 3"]


def test_the_name_of_a_file_is_the_text(model, digit, tmp_path):
    digit.save(tmp_path / "three.png")
    assert model.inspect(Image.open(tmp_path / "three.png")).text == "three.png"


def test_of_an_animation_the_first_frame_is_read(model):
    frames = [Image.new("L", (40, 40), "white") for _ in range(2)]
    ImageDraw.Draw(frames[0]).line([(20, 5), (20, 35)], fill="black", width=4)
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    inspection = model.inspect(Image.open(file))
    assert inspection.notes == ("The file holds 2 pictures, of which the first is read.",)
    assert inspection.image.pixels.min() == 0


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("text", "This model reads images"),
        (Image.new("L", (50, 50), "white"), "nothing on this image that stands out from its ground. Draw one digit"),
        (Image.new("L", (1001, 10)), "one side is more than 100 times the other"),
        (Image.new("1", (20_000, 20_000)), "at most 100 million are read"),
    ],
    ids=["text", "blank", "thin", "large"],
)
def test_images_that_cannot_be_read(model, image, message):
    with pytest.raises(InputError, match=message):
        model.inspect(image)


def test_a_damaged_file(model, digit):
    file = io.BytesIO()
    digit.resize((200, 200)).convert("RGB").save(file, "JPEG")
    with pytest.raises(InputError, match="cannot be read"):
        model.inspect(Image.open(io.BytesIO(file.getvalue()[: len(file.getvalue()) // 2])))
