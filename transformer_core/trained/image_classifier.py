"""A Vision Transformer that names handwritten digits, and how an image becomes what it reads."""

from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from transformer_core.model import VisionConfig, VisionTransformer
from transformer_core.trained.folder import check_files, read_weights, reading_config, write

FORMAT = "headlight-image-classifier"

SIDE = 8
"""Pixels in a row, and rows of pixels."""

MOST = 16
"""The darkest value of a pixel: a block of 4x4 points, all of them ink (Alpaydin & Kaynak 1998)."""


def inputs_of(counts: Float[Tensor, "image 8 8"]) -> Float[Tensor, "image 1 8 8"]:
    """What the model reads of images whose pixels count ink from 0 to MOST, as scikit-learn's digits: 0 to 1."""
    return (counts / MOST).unsqueeze(1)


@dataclass(frozen=True)
class TrainedImageClassifier:
    """A model that names the class of a small grey image."""

    model: VisionTransformer
    class_names: tuple[str, ...]

    @classmethod
    def load(cls, folder: Path, device: str = "auto", step: int | None = None) -> "TrainedImageClassifier":
        """Read config.json and model.safetensors.

        Args:
            step: the weights of this snapshot of the training instead.

        Raises:
            FileNotFoundError: the folder or one of its files is missing.
            ValueError: a file is damaged, of another kind, or does not fit the other.
        """
        folder = Path(folder)
        check_files(folder)
        with reading_config(folder, FORMAT, "an image classifier") as config:
            model = VisionTransformer(VisionConfig.from_dict(config["vision_transformer"]))
            names, number = config["class_names"], model.config.num_classes
            if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
                raise ValueError(f"its class names are {names!r}, not names")
            if len(names) != number:
                raise ValueError(f"it has {len(names)} class names for {number} classes")
            if (model.config.num_channels, model.config.image_size) != (1, SIDE):
                raise ValueError(f"its images are not of one channel and {SIDE} x {SIDE} pixels")
        return cls(read_weights(model, folder, device, step), tuple(names))

    def save(self, folder: Path) -> None:
        """Write what `load` reads, with the weights in half precision."""
        fields = {"class_names": list(self.class_names), "vision_transformer": self.model.config.to_dict()}
        write(Path(folder), FORMAT, fields, self.model)
