"""A Vision Transformer (Dosovitskiy et al. 2021) that names handwritten digits of 8 x 8 pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.model import TransformerConfig, VisionConfig, VisionTransformer
from transformer_core.trained import TrainedImageClassifier
from transformer_core.trained.digits import MOST, SIDE
from transformer_core.trained.image_classifier import inputs_of
from transformer_core.training.data import fingerprint_of_lines
from transformer_core.training.model_card import Card, stack_rows, table
from transformer_core.training.options import TrainingOptions, option
from transformer_core.training.record import Record
from transformer_core.training.task import Task

CLASS_NAMES = tuple("0123456789")

CREDIT = (
    "the 1,797 handwritten digits of scikit-learn: the test set of Optical Recognition of Handwritten Digits (Alpaydin "
    "and Kaynak 1998, UCI Machine Learning Repository), CC BY 4.0"
)


@dataclass(frozen=True, kw_only=True)
class DigitsOptions(TrainingOptions):
    """Options of the training of a Vision Transformer on scikit-learn's digits."""

    credit: str = option("where the data comes from and its licence, for the model card", CREDIT)
    num_layers: int = option("layers", 4)
    patch_size: int = option("height and width of a patch, in pixels", 2)
    held_out_share: float = option("share of the images, of every digit alike, that is held out", 0.2)
    batch_images: int = option("images of a process in one step", 64)
    shift: int = option("pixels by which training images are moved at most, up, down and to the sides", 1)
    noise: float = option("standard deviation of what is added to training pixels, which are from 0 to 1", 0.05)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "batch_images")
        self.require_at_least(0, "shift", "noise")
        if not 0 < self.held_out_share < 1:
            raise ValueError(f"held_out_share={self.held_out_share} is outside (0, 1)")
        self.vision_config()

    def task(self) -> "Digits":
        return Digits(self)

    def vision_config(self) -> VisionConfig:
        """ViT's shape for these images."""
        self.require_at_least(1, "patch_size")
        encoder = TransformerConfig.vit(
            d_model=self.d_model,
            num_heads=self.num_heads,
            num_encoder_layers=self.num_layers,
            d_ff=self.d_ff,
            dropout=self.dropout,
            max_length=(SIDE // self.patch_size) ** 2 + 1,
        )
        return VisionConfig(SIDE, self.patch_size, 1, len(CLASS_NAMES), encoder)


@dataclass(frozen=True)
class DigitsRecord(Record):
    """How the images were split."""

    held_out_share: float


@dataclass(frozen=True)
class ImageBatch:
    """Images with what they show."""

    images: Float[Tensor, "batch 1 row column"]
    label_ids: Int[Tensor, " batch"]


def read_digits() -> tuple[ImageBatch, str]:
    """All images of scikit-learn, from 0 (ground) to 1 (ink), and their fingerprint."""
    # Imported late: the other trainings do without scikit-learn, which takes a second.
    from sklearn.datasets import load_digits

    digits = load_digits()
    lines = (f"{label} {' '.join(map(str, image))}" for label, image in zip(digits.target, digits.data, strict=True))
    images = inputs_of(torch.tensor(digits.images, dtype=torch.float32))
    return ImageBatch(images, torch.tensor(digits.target)), fingerprint_of_lines(lines)


def split_digits(digits: ImageBatch, held_out_share: float, seed: int) -> tuple[ImageBatch, ImageBatch]:
    """Images for training and images held out, with the same share of every digit.

    Raises:
        ValueError: a side that is too small to hold every digit.
    """
    from sklearn.model_selection import train_test_split

    places, labels = np.arange(len(digits.label_ids)), digits.label_ids.numpy()
    try:
        sides = train_test_split(places, test_size=held_out_share, random_state=seed, stratify=labels)
    except ValueError as error:
        raise ValueError(
            f"held_out_share={held_out_share} of {len(places):,} images leaves one side without some of the digits: "
            "choose a share nearer to one half"
        ) from error
    train, held_out = (ImageBatch(digits.images[side], digits.label_ids[side]) for side in sides)
    return train, held_out


def shifted(
    images: Float[np.ndarray, "image 1 row column"], most: int, random: np.random.Generator
) -> Float[np.ndarray, "image 1 row column"]:
    """Every image moved by up to `most` pixels in each direction; ground comes in at the edge."""
    height, width = images.shape[-2:]
    around = np.pad(images, ((0, 0), (0, 0), (most, most), (most, most)))
    places = random.integers(0, 2 * most + 1, (len(images), 2))
    return np.stack([x[:, r : r + height, c : c + width] for x, (r, c) in zip(around, places, strict=True)])


@dataclass(frozen=True)
class Named:
    """How well images were named."""

    loss: float
    """Mean, in nats an image."""
    right: int
    images: int

    @property
    def accuracy(self) -> float:
        """Share of the images that were named rightly."""
        return self.right / self.images


@torch.inference_mode()
def named(model: VisionTransformer, digits: ImageBatch) -> Named:
    """Name images, without anything done to them."""
    device = model.class_token.device
    labels = digits.label_ids.to(device)
    logits = model(digits.images.to(device)).float()
    return Named(float(F.cross_entropy(logits, labels)), int((logits.argmax(-1) == labels).sum()), len(labels))


class Digits(Task[DigitsOptions]):
    """Naming handwritten digits."""

    columns = ("validation_accuracy",)
    data_name = "scikit-learn's load_digits"

    def read(self) -> list[str]:
        digits, self.fingerprint = read_digits()
        self.train, self.held_out = split_digits(digits, self.options.held_out_share, self.options.seed)
        return []

    def new_model(self) -> VisionTransformer:
        return VisionTransformer(self.options.vision_config())

    def description(self) -> str:
        config = self.options.vision_config()
        return (
            f"{len(self.train.label_ids):,} training images, {len(self.held_out.label_ids):,} held out; "
            f"{config.num_patches} patches and the class token"
        )

    def plan(self, epoch: int, processes: int) -> list[Int[np.ndarray, " image"]]:
        order = np.random.default_rng((self.options.seed, epoch)).permutation(len(self.train.label_ids))
        rows = self.options.batch_images * processes
        return [order[first : first + rows] for first in range(0, len(order), rows)]

    def batch(self, item: Sequence[int], random: np.random.Generator) -> ImageBatch:
        images = shifted(self.train.images[item].numpy(), self.options.shift, random)
        images = images + self.options.noise * random.standard_normal(images.shape, np.float32)
        return ImageBatch(torch.from_numpy(images.astype(np.float32)), self.train.label_ids[item])

    def loss(self, model: VisionTransformer, batch: ImageBatch) -> Float[Tensor, ""]:
        return F.cross_entropy(
            model(batch.images).float(), batch.label_ids, ignore_index=self.no_label, reduction="sum"
        )

    def tokens_read(self, batch: ImageBatch) -> int:
        return int((batch.label_ids != self.no_label).sum()) * self.options.vision_config().encoder.max_length

    def validate(self, model: VisionTransformer) -> dict[str, str]:
        result = named(model, self.held_out)
        return {"validation_loss": f"{result.loss:.5f}", "validation_accuracy": f"{result.accuracy:.4f}"}

    def save(self, model: VisionTransformer) -> None:
        TrainedImageClassifier(model, CLASS_NAMES).save(self.options.out)
        DigitsRecord(self.options.seed, self.fingerprint, self.options.held_out_share).save(self.options.out)

    def card(self, trained: TrainedImageClassifier) -> Card:
        options, config = self.options, trained.model.config
        sides = {"held out": self.held_out, "training": self.train}
        results = {name: named(trained.model, digits) for name, digits in sides.items()}
        judged = table(
            ("images", "number", "named rightly", "share", "loss in nats"),
            [
                (name, f"{result.images:,}", f"{result.right:,}", f"{result.accuracy:.1%}", f"{result.loss:.3f}")
                for name, result in results.items()
            ],
        )
        return Card(
            introduction="A Vision Transformer that names handwritten digits.",
            sizes={
                "images": f"{SIDE} x {SIDE} pixels, grey, cut into {config.num_patches} patches of {config.patch_size} "
                f"x {config.patch_size}, after a class token",
            }
            | stack_rows(config.encoder),
            quality=f"""{judged}

Measured on the float16 weights in this folder. {options.held_out_share:.0%} of the images, the same share of every
digit, were held out at random; the training never read them, and no checkpoint was chosen by them. They are by the same
writers as the others.""",
            measured_again="the share held out",
            data=[
                f"Data: {options.credit}",
                f"{len(self.train.label_ids):,} training images, each moved by up to {options.shift} pixel in both "
                f"directions and with noise of {options.noise:g} of the full ink, anew in every epoch.",
            ],
            course="accuracy on the images held out",
            limits=LIMITS,
            results=[_line(name, result) for name, result in results.items()],
        )


LIMITS = f"""It reads {SIDE} x {SIDE} pixels of up to {MOST} steps of ink, with a digit as large as the image. Whatever
else it is shown, it names a digit."""


def _line(name: str, result: Named) -> str:
    right = f"{result.right:,} of {result.images:,} images right, {result.accuracy:.2%}"
    return f"{name}: {right}; loss {result.loss:.4f} nats"


def evaluate(trained: TrainedImageClassifier, folder: Path) -> str:
    """How many of the images that its training held out a model names rightly.

    Raises:
        DataError: split.json is missing, or scikit-learn has other images now.
    """
    record = DigitsRecord.load(folder)
    digits, sha256 = read_digits()
    record.check(sha256, Digits.data_name)
    _, held_out = split_digits(digits, record.held_out_share, record.seed)
    return _line("held out", named(trained.model, held_out))
