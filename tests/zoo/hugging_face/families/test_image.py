"""Vision models: any image, its patches as tokens, and the picture that they lie on."""

import io

import numpy as np
import PIL.Image
import pytest
import torch
import transformers

from tests.zoo.hugging_face.families.checkpoints_in_memory import assert_weights, eager_copy, inspected, random_model
from transformer_core.zoo import InputError
from transformer_core.zoo.image_input import MAX_PIXELS, read_image

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
VISION = SIZES | {"image_size": 32, "patch_size": 8}
NAMES = {0: "cat", 1: "dog", 2: "street"}


def processor(**options):
    return transformers.ViTImageProcessorPil(**{"size": {"height": 32, "width": 32}} | options)


def vit(**options):
    config = transformers.ViTConfig(**VISION | {"id2label": NAMES} | options)
    return random_model(transformers.ViTForImageClassification, config)


def noise(width: int = 50, height: int = 40) -> PIL.Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return PIL.Image.fromarray(pixels)


@pytest.fixture(scope="module")
def network():
    return vit()


@pytest.fixture(scope="module")
def model(network):
    return inspected(network, None, "image", image_processor=processor())


@torch.no_grad()
def oracle(network, image: PIL.Image.Image, reader=None):
    pixel_values = (reader or processor())(images=image, return_tensors="pt")["pixel_values"].double()
    return eager_copy(network)(pixel_values=pixel_values, output_attentions=True)


def test_what_the_model_says_of_itself(model):
    assert [(stack.name, stack.heads) for stack in model.stacks] == [("self", (4, 4))]
    assert (model.family, model.architecture) == ("image", "ViTForImageClassification")
    assert model.abilities == {"image"}
    assert model.max_tokens is None
    assert model.notes == ()
    assert model.tokens("The cat") == ()


def test_an_image_with_its_attention_and_class(model, network):
    image = noise()
    inspection = model.inspect(image)
    outputs = oracle(network, image)
    assert_weights(inspection.stacks["self"], outputs.attentions)
    stack = inspection.stacks["self"]
    assert stack.query_tokens == stack.key_tokens
    assert stack.query_tokens[:3] == ("class", "row 1, column 1", "row 1, column 2")
    assert stack.query_tokens[-1] == "row 4, column 4"
    assert len(stack.query_tokens) == 17
    shares = outputs.logits[0].softmax(dim=-1)
    assert dict(inspection.predictions[0].candidates) == pytest.approx(
        {NAMES[index]: float(share) for index, share in enumerate(shares)}, rel=1e-4
    )
    assert inspection.answer == NAMES[int(shares.argmax())]
    assert (inspection.text, inspection.notes) == ("image", ())
    assert inspection.certificate < 2e-6
    assert inspection.row_sum_error < 1e-6


def test_the_classes_are_those_of_the_pipeline(model, network):
    pipeline = transformers.ImageClassificationPipeline(model=network, image_processor=processor())
    expected = pipeline(noise(), top_k=3)
    candidates = model.inspect(noise()).predictions[0].candidates
    assert [name for name, _ in candidates] == [each["label"] for each in expected]
    assert [share for _, share in candidates] == pytest.approx([each["score"] for each in expected], rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"do_normalize": False},
        {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4]},
        {"do_rescale": False, "do_normalize": False},
    ],
)
def test_the_picture_is_what_the_model_saw(network, options):
    image = noise(32, 32)  # of the model's own size: nothing is resized
    model = inspected(network, None, "image", image_processor=processor(**options))
    picture = model.inspect(image).image
    assert picture.pixels.dtype == np.uint8
    assert np.array_equal(picture.pixels, np.asarray(image))
    assert (picture.grid, picture.first_patch) == ((4, 4), 1)


def test_patches_lie_where_their_labels_say():
    """One bright patch is at its row and column in the picture, and the token so labelled is the one that holds it."""
    pixels = np.zeros((32, 32, 3), dtype=np.uint8)
    pixels[8:16, 24:32] = 255
    network = vit(num_hidden_layers=1)
    picture = inspected(network, None, "image", image_processor=processor()).inspect(PIL.Image.fromarray(pixels))
    rows, columns = picture.image.grid
    brightness = picture.image.pixels.reshape(rows, 8, columns, 8, 3).mean(axis=(1, 3, 4)).flatten()
    token = picture.image.first_patch + int(brightness.argmax())
    assert picture.stacks["self"].key_tokens[token] == "row 2, column 4"
    # In the model, that token's patch embedding is the one that differs from all the others.
    embeddings = network.vit.embeddings.patch_embeddings(
        processor()(images=PIL.Image.fromarray(pixels), return_tensors="pt")["pixel_values"]
    )[0]
    differs = (embeddings - embeddings.median(dim=0).values).norm(dim=-1)
    assert picture.image.first_patch + int(differs.argmax()) == token


def test_a_grid_that_is_not_square():
    reader = processor(size={"height": 16, "width": 48})
    network = vit(image_size=(16, 48), patch_size=(8, 16))
    inspection = inspected(network, None, "image", image_processor=reader).inspect(noise())
    assert inspection.image.grid == (2, 3)
    assert inspection.stacks["self"].key_tokens[1:] == tuple(
        f"row {row}, column {column}" for row in (1, 2) for column in (1, 2, 3)
    )
    assert_weights(inspection.stacks["self"], oracle(network, noise(), reader).attentions)


DEIT = (transformers.DeiTForImageClassification, transformers.DeiTConfig, {"id2label": NAMES})
DISTILLED = (transformers.DeiTForImageClassificationWithTeacher, transformers.DeiTConfig, {"id2label": NAMES})
BEIT = (transformers.BeitForImageClassification, transformers.BeitConfig, {"use_relative_position_bias": True})
REGISTERS = (transformers.Dinov2WithRegistersModel, transformers.Dinov2WithRegistersConfig, {"num_register_tokens": 3})


@pytest.mark.parametrize(
    ("model_class", "config_class", "options", "first"),
    [
        (*DEIT, ("class", "distillation")),
        (*DISTILLED, ("class", "distillation")),
        (*BEIT, ("class",)),
        (transformers.ViTModel, transformers.ViTConfig, {}, ("class",)),
        (transformers.Dinov2Model, transformers.Dinov2Config, {}, ("class",)),
        (*REGISTERS, ("class", "register 1", "register 2", "register 3")),
        (transformers.CLIPVisionModel, transformers.CLIPVisionConfig, {}, ("class",)),
        (transformers.IJepaModel, transformers.IJepaConfig, {}, ()),
    ],
)
def test_tokens_before_the_patches(model_class, config_class, options, first):
    network = random_model(model_class, config_class(**VISION | options))
    model = inspected(network, None, "image", image_processor=processor())
    inspection = model.inspect(noise())
    assert inspection.stacks["self"].query_tokens[: len(first) + 1] == (*first, "row 1, column 1")
    assert inspection.image.first_patch == len(first)
    assert inspection.stacks["self"].query_special == inspection.stacks["self"].key_special == tuple(range(len(first)))
    assert inspection.stacks["self"].query_words is None, "every patch stands alone"
    assert_weights(inspection.stacks["self"], oracle(network, noise()).attentions)
    assert bool(inspection.predictions) == ("ForImageClassification" in model_class.__name__)


def test_attention_that_pools_is_left_out_with_a_note():
    network = random_model(transformers.SiglipVisionModel, transformers.SiglipVisionConfig(**VISION))
    model = inspected(network, None, "image", image_processor=processor())
    (note,) = model.notes
    assert note.startswith("1 of 3 attention calls are left out: their maps, 1 × 16, do not fit the tokens")
    assert model.inspect(noise()).notes == model.notes
    assert len(model.stacks[0].heads) == 2


def test_windows_are_refused():
    config = transformers.SwinConfig(
        image_size=32, patch_size=2, embed_dim=16, depths=[2, 1], num_heads=[2, 4], window_size=4
    )
    with pytest.raises(ValueError, match=r"SwinModel cannot be laid over its patches: they are 16 × 16"):
        inspected(random_model(transformers.SwinModel, config), None, "image", image_processor=processor())


def test_convolutions_are_refused():
    config = transformers.ConvNextConfig(hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1])
    with pytest.raises(ValueError, match=r"ConvNextModel \(model type 'convnext'\) cannot be inspected"):
        inspected(random_model(transformers.ConvNextModel, config, "eager"), None, "image", image_processor=processor())


@pytest.mark.parametrize(
    "mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "I", "F", "LA", "PA", "I;16"]
)
def test_every_mode_is_read(model, mode):
    image = PIL.Image.new(mode, (20, 30)) if mode in ("LAB", "I", "F", "PA", "I;16") else noise(20, 30).convert(mode)
    inspection = model.inspect(image)
    assert inspection.image.grid == (4, 4)


def test_sixteen_bits_keep_their_grey():
    grey = PIL.Image.fromarray(np.full((8, 8), 128 * 257, dtype=np.uint16))
    assert grey.mode.startswith("I")
    assert read_image(grey)[0].getpixel((3, 3)) == (128, 128, 128)


def test_transparent_parts_are_white_with_a_note():
    image = PIL.Image.new("RGBA", (10, 10), (255, 0, 0, 255))
    image.putpixel((4, 5), (0, 0, 0, 0))
    image.putpixel((5, 5), (0, 0, 0, 51))
    read, notes = read_image(image)
    assert [read.getpixel(place) for place in ((0, 0), (4, 5), (5, 5))] == [(255, 0, 0), (255,) * 3, (204,) * 3]
    assert notes == ["The image is transparent in places. There it is read as white."]
    opaque = PIL.Image.new("RGBA", (10, 10), (255, 0, 0, 255))
    assert read_image(opaque)[1] == []
    palette = PIL.Image.new("P", (4, 4), 0)
    palette.info["transparency"] = 0
    assert read_image(palette)[0].getpixel((0, 0)) == (255, 255, 255)


def test_a_turned_photograph_stands_upright():
    image = PIL.Image.new("RGB", (30, 20), "red")
    image.paste("blue", (0, 0, 30, 10))  # blue above red
    exif = PIL.Image.Exif()
    exif[0x0112] = 3  # upside down
    file = io.BytesIO()
    image.save(file, "PNG", exif=exif)
    read, _ = read_image(PIL.Image.open(file))
    assert (read.getpixel((5, 2)), read.getpixel((5, 17))) == ((255, 0, 0), (0, 0, 255))


def test_the_first_frame_of_an_animation_is_read():
    file = io.BytesIO()
    PIL.Image.new("RGB", (9, 9), "red").save(
        file, "GIF", save_all=True, append_images=[PIL.Image.new("RGB", (9, 9), colour) for colour in ("blue", "green")]
    )
    image = PIL.Image.open(file)
    image.seek(1)
    read, notes = read_image(image)
    assert read.getpixel((0, 0)) == (255, 0, 0)
    assert notes == ["The file holds 3 pictures, of which the first is read."]


@pytest.mark.parametrize("size", [(1, 1), (1, 60), (60, 1), (2000, 3)])
def test_small_and_thin_images(model, size):
    if max(size) > 100 * min(size):
        with pytest.raises(InputError, match="one side is more than 100 times the other"):
            model.inspect(PIL.Image.new("RGB", size, "red"))
    else:
        assert model.inspect(PIL.Image.new("RGB", size, "red")).image.pixels.shape == (32, 32, 3)


def test_huge_images_are_refused_before_they_are_decoded(model):
    class Huge(PIL.Image.Image):
        size = (20_000, 20_000)

        def load(self):
            raise AssertionError("decoded")

    assert MAX_PIXELS < 20_000**2
    with pytest.raises(InputError, match=r"20,000 × 20,000 pixels; at most 100 million are read"):
        model.inspect(Huge())


def test_damaged_images_and_other_things(model):
    file = io.BytesIO()
    noise(200, 200).save(file, "PNG")
    with pytest.raises(InputError, match="This image cannot be read"):
        model.inspect(PIL.Image.open(io.BytesIO(file.getvalue()[:5000])))
    for nothing in (None, "cat.png", b"cat"):
        with pytest.raises(InputError, match="This model reads images"):
            model.inspect(nothing)


def test_the_name_of_the_file_is_the_text(model, tmp_path):
    noise().save(tmp_path / "my cat.png")
    with PIL.Image.open(tmp_path / "my cat.png") as image:
        assert model.inspect(image).text == "my cat.png"
