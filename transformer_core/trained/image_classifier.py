"""A Vision Transformer that names handwritten digits."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from transformer_core.model import VisionConfig, VisionTransformer
from transformer_core.trained.digits import MOST, SIDE, ink_counts
from transformer_core.trained.trained_model import TrainedModel


def inputs_of(counts: Float[Tensor, "image 8 8"]) -> Float[Tensor, "image 1 8 8"]:
    """What the model reads, 0 to 1, of images whose pixels count ink from 0 to MOST, as scikit-learn's digits do."""
    return (counts / MOST).unsqueeze(1)


@dataclass(frozen=True)
class TrainedImageClassifier(TrainedModel):
    """A model that names the class of a small grey image."""

    FORMAT = "headlight-image-classifier"
    DESCRIPTION = "an image classifier"
    NETWORK = VisionTransformer

    model: VisionTransformer
    class_names: tuple[str, ...]

    @classmethod
    def sizes(cls, fields: dict[str, Any]) -> VisionConfig:
        return VisionConfig.from_dict(fields["vision_transformer"])

    @classmethod
    def _parts(cls, fields: dict[str, Any]) -> dict[str, Any]:
        sizes, names = cls.sizes(fields), fields["class_names"]
        if (sizes.num_channels, sizes.image_size) != (1, SIDE):
            raise ValueError(f"its images are not of one channel and {SIDE} x {SIDE} pixels")
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise ValueError(f"its class names are {names!r}, not names")
        if len(names) != sizes.num_classes:
            raise ValueError(f"it has {len(names)} class names for {sizes.num_classes} classes")
        return {"class_names": tuple(names)}

    def _fields(self) -> dict[str, Any]:
        return {"class_names": list(self.class_names), "vision_transformer": self.model.config.to_dict()}

    def read(self, image: Image.Image) -> Float[Tensor, "1 1 8 8"]:
        """What the model reads of an image; see `ink_counts`.

        Raises:
            ValueError: nothing stands out from the image's ground.
        """
        return inputs_of(torch.from_numpy(ink_counts(image)).float().unsqueeze(0))
