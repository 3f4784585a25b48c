"""The Transformer as plain PyTorch, in the order of the paper. Nothing in here knows about recording."""

from transformer_core.model.attention import (
    MultiHeadAttention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from transformer_core.model.config import TransformerConfig
from transformer_core.model.language_model import LanguageModel
from transformer_core.model.masked_language_model import MaskedLanguageModel
from transformer_core.model.positions import sinusoidal_encoding, wavelengths
from transformer_core.model.transformer import Transformer
from transformer_core.model.vision import VisionConfig, VisionTransformer

__all__ = [
    "LanguageModel",
    "MaskedLanguageModel",
    "MultiHeadAttention",
    "Transformer",
    "TransformerConfig",
    "VisionConfig",
    "VisionTransformer",
    "causal_mask",
    "padding_mask",
    "scaled_dot_product_attention",
    "sinusoidal_encoding",
    "wavelengths",
]
