"""The Vision Transformer (Dosovitskiy et al. 2021, arXiv 2010.11929): a ViTForImageClassification's weights."""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Float
from torch import Tensor
from transformers import ViTConfig
from transformers.modeling_outputs import ImageClassifierOutput

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.zoo.hugging_face.headlight.network import Network
from transformer_core.zoo.hugging_face.headlight.renaming import activation, layers, refuse, renamed

LAYER = {
    "add_and_norm_1.norm": "layernorm_before",
    "self_attention.w_q": "attention.q_proj",
    "self_attention.w_k": "attention.k_proj",
    "self_attention.w_v": "attention.v_proj",
    "self_attention.w_o": "attention.o_proj",
    "add_and_norm_2.norm": "layernorm_after",
    "feed_forward.w_1": "mlp.fc1",
    "feed_forward.w_2": "mlp.fc2",
}


def config_of(hf_config: ViTConfig) -> VisionConfig:
    """The sizes and choices of a Vision Transformer.

    Raises:
        InputError: the checkpoint uses what Headlight's Vision Transformer does not have.
    """
    image_size, patch_size = _sides(hf_config.image_size), _sides(hf_config.patch_size)
    refuse(
        "Vision Transformer",
        {
            "images that are not square": len(image_size) > 1,
            "patches that are not square": len(patch_size) > 1,
            "images that patches do not fill": any(side % patch for side in image_size for patch in patch_size),
            "projections without bias (qkv_bias false)": not hf_config.qkv_bias,
            "reading of images without classes (num_labels 0)": not hf_config.num_labels,
        },
    )
    (side,), (patch_side,) = image_size, patch_size
    return VisionConfig(
        image_size=side,
        patch_size=patch_side,
        num_channels=hf_config.num_channels,
        num_classes=hf_config.num_labels,
        encoder=TransformerConfig.vit(
            d_model=hf_config.hidden_size,
            num_heads=hf_config.num_attention_heads,
            num_encoder_layers=hf_config.num_hidden_layers,
            d_ff=hf_config.intermediate_size,
            dropout=hf_config.hidden_dropout_prob,
            max_length=(side // patch_side) ** 2 + 1,
            activation=activation("Vision Transformer", hf_config.hidden_act),
            norm_epsilon=hf_config.layer_norm_eps,
        ),
    )


def _sides(size: Any) -> set[int]:
    """The different side lengths of a size that is one number, or a height and a width."""
    return {size} if isinstance(size, int) else set(size)


def weights_of(tensors: Mapping[str, Tensor], config: VisionConfig) -> dict[str, Tensor]:
    """The state dict of a `VisionTransformer` from that of a ViTForImageClassification.

    Raises:
        ValueError: a tensor is missing or left over.
    """
    names = {
        "patches.weight": "vit.embeddings.patch_embeddings.projection.weight",
        "patches.bias": "vit.embeddings.patch_embeddings.projection.bias",
        "class_token": "vit.embeddings.cls_token",
        "positions": "vit.embeddings.position_embeddings",
        **layers("encoder.layers.{}", "vit.layers.{}", config.encoder.num_encoder_layers, LAYER),
        "encoder.norm.weight": "vit.layernorm.weight",
        "encoder.norm.bias": "vit.layernorm.bias",
        "head.weight": "classifier.weight",
        "head.bias": "classifier.bias",
    }
    weights = renamed(tensors, names)
    weights["class_token"] = weights["class_token"].flatten()
    weights["positions"] = weights["positions"].squeeze(0)
    return weights


class ViTNetwork(Network):
    """A `VisionTransformer` that is called like a ViTForImageClassification."""

    main_input_name = "pixel_values"

    def forward(
        self, pixel_values: Float[Tensor, "batch channel height width"], **kwargs: Any
    ) -> ImageClassifierOutput:
        return ImageClassifierOutput(logits=self.model(pixel_values))
