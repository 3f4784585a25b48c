"""The Vision Transformer (Dosovitskiy et al. 2021): an image is 16x16 words."""

from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.model.config import TransformerConfig
from transformer_core.model.embedding import LEARNED_STD
from transformer_core.model.stacks import Encoder

OF_TOKENS = ("pad_id", "num_segments", "norm_embeddings", "scale_embeddings", "scale_logits", "share_output")
"""Fields of `TransformerConfig` that tell of token vectors: an image model has none, so they keep their defaults."""


@dataclass(frozen=True)
class VisionConfig:
    """Sizes of a Vision Transformer. The defaults are ViT-B/16 for 224 x 224 pixels.

    Raises:
        ValueError: sizes that do not fit together; the message names them.
    """

    image_size: int = 224
    """Height and width, in pixels."""
    patch_size: int = 16
    """Height and width of a patch, in pixels."""
    num_channels: int = 3
    num_classes: int = 1000
    encoder: TransformerConfig = field(default_factory=TransformerConfig.vit)
    """Its `max_length` is the number of patches and the class token."""

    def __post_init__(self) -> None:
        for name in ("image_size", "patch_size", "num_channels", "num_classes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
        if self.image_size % self.patch_size:
            raise ValueError(f"image_size={self.image_size} is not divisible by patch_size={self.patch_size}")
        if self.encoder.num_decoder_layers or self.encoder.vocab_size:
            raise ValueError("an image model has an encoder only, and vocab_size=0: it reads no tokens")
        for name in OF_TOKENS:
            if getattr(self.encoder, name) != getattr(TransformerConfig, name):
                raise ValueError(f"{name}={getattr(self.encoder, name)!r} is of token vectors: an image model has none")
        if self.encoder.positions != "learned":
            raise ValueError(f"positions={self.encoder.positions!r}: an image model's are learned")
        if self.encoder.max_length != self.num_patches + 1:
            raise ValueError(
                f"max_length={self.encoder.max_length} must be {self.num_patches + 1}: "
                f"{self.num_patches} patches and the class token"
            )

    @property
    def side(self) -> int:
        """Patches in a row, and rows of patches."""
        return self.image_size // self.patch_size

    @property
    def num_patches(self) -> int:
        return self.side**2

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "VisionConfig":
        """The config that `to_dict` wrote.

        Raises:
            ValueError: a name that is no field, or an impossible value.
        """
        unknown = sorted(set(values) - set(cls.__dataclass_fields__))
        if unknown:
            raise ValueError(f"unknown configuration fields: {', '.join(unknown)}")
        encoder = values.get("encoder", {})
        if not isinstance(encoder, dict):
            raise ValueError(f"encoder={encoder!r} are no configuration fields")
        return cls(**values | {"encoder": TransformerConfig.from_dict(encoder)})


class VisionTransformer(nn.Module):
    """Cuts an image into patches, reads them as an encoder reads tokens, and names the class of the image."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.config = config
        d_model = config.encoder.d_model
        self.patches = nn.Conv2d(config.num_channels, d_model, config.patch_size, stride=config.patch_size)
        nn.init.xavier_uniform_(self.patches.weight.view(d_model, -1))
        nn.init.zeros_(self.patches.bias)
        self.class_token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(torch.randn(config.num_patches + 1, d_model) * LEARNED_STD)
        self.dropout = nn.Dropout(config.encoder.dropout)
        self.encoder = Encoder(config.encoder)
        self.head = nn.Linear(d_model, config.num_classes)
        nn.init.xavier_uniform_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch class"]:
        """Logits of the classes, read from the class token's last vector.

        Raises:
            ValueError: images of another size, or another number of channels.
        """
        return self.head(self.hidden(images)[:, 0])

    def hidden(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch token d_model"]:
        """The last vectors: of the class token, then of the patches, row after row."""
        config = self.config
        wanted = (config.num_channels, config.image_size, config.image_size)
        if tuple(images.shape[1:]) != wanted:
            raise ValueError(
                f"images of (channels, height, width) {tuple(images.shape[1:])}; this model reads {wanted}"
            )
        patches = self.patches(images).flatten(2).transpose(1, 2)
        class_token = self.class_token.expand(len(images), 1, -1)
        return self.encoder(self.dropout(torch.cat([class_token, patches], dim=1) + self.positions))
