"""A Vision Transformer that names handwritten digits."""

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from transformer_core.model import VisionConfig, VisionTransformer
from transformer_core.trained.digits import MOST, SIDE, ink_counts
from transformer_core.trained.folder import check_files, read_weights, reading_config, write

FORMAT = "headlight-image-classifier"


def inputs_of(counts: Float[Tensor, "image 8 8"]) -> Float[Tensor, "image 1 8 8"]:
    """What the model reads, 0 to 1, of images whose pixels count ink from 0 to MOST, as scikit-learn's digits do."""
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
            shape = VisionConfig.from_dict(config["vision_transformer"])
            if (shape.num_channels, shape.image_size) != (1, SIDE):
                raise ValueError(f"its images are not of one channel and {SIDE} x {SIDE} pixels")
            names = config["class_names"]
            if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
                raise ValueError(f"its class names are {names!r}, not names")
            if len(names) != shape.num_classes:
                raise ValueError(f"it has {len(names)} class names for {shape.num_classes} classes")
            model = VisionTransformer(shape)
        return cls(read_weights(model, folder, device, step), tuple(names))

    def save(self, folder: Path) -> None:
        """Write what `load` reads, with the weights in half precision."""
        fields = {"class_names": list(self.class_names), "vision_transformer": self.model.config.to_dict()}
        write(Path(folder), FORMAT, fields, self.model)

    def read(self, image: Image.Image) -> Float[Tensor, "1 1 8 8"]:
        """What the model reads of an image; see `ink_counts`.

        Raises:
            ValueError: nothing stands out from the image's ground.
        """
        return inputs_of(torch.from_numpy(ink_counts(image)).float().unsqueeze(0))
