"""The parameters of a model counted part by part, from its config alone: no model is built.

A formula is written in the field's symbols (`symbols` gives their values), so that it can be checked by hand.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from transformer_core.model.config import TransformerConfig
from transformer_core.model.positions import NUM_BUCKETS
from transformer_core.model.vision import VisionConfig

Top = Literal["masked words", "pooler", "none"]
"""What stands on an encoder that reads tokens and has no decoder.

"masked words": the layer, normalisation, output matrix and bias of `MaskedLanguageModel`. "pooler": BERT's layer on the
first token's vector, from which a text is classified.
"""

Shape = Literal["encoder-decoder", "decoder only", "encoder only", "image"]


@dataclass(frozen=True)
class Part:
    """One line of a sum."""

    block: str
    """Where in the model it is, or for what it is paid."""
    name: str
    formula: str
    count: int


def total(parts: Iterable[Part]) -> int:
    """The sum of the counts."""
    return sum(part.count for part in parts)


def shape(config: TransformerConfig | VisionConfig) -> Shape:
    """Which stacks the model has."""
    if isinstance(config, VisionConfig):
        return "image"
    if config.num_encoder_layers and config.num_decoder_layers:
        return "encoder-decoder"
    return "encoder only" if config.num_encoder_layers else "decoder only"


SYMBOLS = {
    "V": "tokens of the vocabulary",
    "d": "d_model",
    "h": "heads",
    "d_k": "dimensions of a head",
    "d_ff": "inner width of the feed-forward layers",
    "N_e": "encoder layers",
    "N_d": "decoder layers",
    "n_max": "longest sequence",
    "S": "segments",
    "P": "height and width of a patch, in pixels",
    "C": "colour channels",
    "K": "classes",
    "n": "tokens of the context",
    "b": "bytes a number",
}
"""What the symbols of the formulas stand for."""


def symbols(config: TransformerConfig | VisionConfig) -> dict[str, int]:
    """The values of the symbols that a config settles. "n" and "b" are for whoever asks what a text costs."""
    encoder = config.encoder if isinstance(config, VisionConfig) else config
    values = {
        "V": encoder.vocab_size,
        "d": encoder.d_model,
        "h": encoder.num_heads,
        "d_k": encoder.d_head,
        "d_ff": encoder.d_ff,
        "N_e": encoder.num_encoder_layers,
        "N_d": encoder.num_decoder_layers,
        "n_max": encoder.max_length,
        "S": encoder.num_segments,
    }
    if isinstance(config, VisionConfig):
        values |= {"P": config.patch_size, "C": config.num_channels, "K": config.num_classes}
    return values


def parameters(config: TransformerConfig | VisionConfig, top: Top = "masked words") -> list[Part]:
    """Every part of the model with its number of parameters; a matrix that is shared counts once.

    They add up to what `Transformer`, `LanguageModel`, `MaskedLanguageModel` or `VisionTransformer` of this config has.

    Args:
        top: what stands on an encoder that reads tokens and has no decoder; nothing else asks for it.
    """
    if isinstance(config, VisionConfig):
        found = [*_patches(config), *_stack(config.encoder, "Encoder"), _classes(config)]
    else:
        stacks = [*_stack(config, "Encoder"), *_stack(config, "Decoder")]
        found = [*_embeddings(config), *stacks, *_output(config, top)]
    return [part for part in found if part.count]


def _embeddings(config: TransformerConfig) -> list[Part]:
    """Sections 3.4 and 3.5. A model that reads no tokens has none."""
    d = config.d_model
    if not config.vocab_size:
        return []
    parts = [Part("Embeddings", "token vectors", "V·d", config.vocab_size * d)]
    if config.positions == "learned":
        parts.append(Part("Embeddings", "positions", "n_max·d", config.max_length * d))
    parts.append(Part("Embeddings", "segments", "S·d", config.num_segments * d))
    if config.norm_embeddings:
        parts.append(_norms("Embeddings", config, "", 1))
    return parts


def _stack(config: TransformerConfig, block: Literal["Encoder", "Decoder"]) -> list[Part]:
    """All layers of the encoder, or of the decoder (section 3.1)."""
    is_decoder = block == "Decoder"
    layers, symbol = (config.num_decoder_layers, "N_d") if is_decoder else (config.num_encoder_layers, "N_e")
    if not layers:
        return []
    has_cross_attention = is_decoder and config.num_encoder_layers > 0
    parts = [_attention(block, "self-attention", config, layers, symbol)]
    if has_cross_attention:
        parts.append(_attention(block, "cross-attention", config, layers, symbol))
    biases = config.d_ff + config.d_model if config.feed_forward_bias else 0
    feed_forward = f"{symbol}·(2·d·d_ff{' + d_ff + d' if biases else ''})"
    if config.d_ff:
        parts.append(Part(block, "feed-forward", feed_forward, layers * (2 * config.d_model * config.d_ff + biases)))
    norms = 1 + has_cross_attention + (config.d_ff > 0)
    if config.norm == "pre":
        parts.append(_norms(block, config, f"({norms}·{symbol} + 1)·", norms * layers + 1))
    else:
        parts.append(_norms(block, config, f"{norms}·{symbol}·", norms * layers))
    if config.positions == "relative":
        parts.append(Part(block, "positions", f"{NUM_BUCKETS}·h", NUM_BUCKETS * config.num_heads))
    return parts


def _attention(block: str, name: str, config: TransformerConfig, layers: int, symbol: str) -> Part:
    """W^Q, W^K, W^V and W^O of all heads and layers (section 3.2.2)."""
    inner = config.num_heads * config.d_head
    biases = 3 * inner + config.d_model if config.attention_bias else 0
    formula = f"{symbol}·(4·d·h·d_k{' + 3·h·d_k + d' if biases else ''})"
    return Part(block, name, formula, layers * (4 * config.d_model * inner + biases))


def _norms(block: str, config: TransformerConfig, times: str, number: int) -> Part:
    """LayerNorm has a gain and a bias for every dimension, RMSNorm a gain only.

    Args:
        times: their number as the formula begins, say "2·N_e·".
    """
    has_bias = config.normalization == "layer"
    return Part(block, "normalisation", f"{times}{'2·' * has_bias}d", number * (1 + has_bias) * config.d_model)


def _output(config: TransformerConfig, top: Top) -> list[Part]:
    """From the last vectors to what the model says."""
    d, vocabulary = config.d_model, config.vocab_size
    matrix = Part("Output", "output matrix", "V·d", 0 if config.share_output else vocabulary * d)
    if shape(config) != "encoder only":
        return [matrix]
    if top == "none" or not vocabulary:
        return []
    layer = Part("Output", "layer before the output", "d·d + d", d * d + d)
    if top == "pooler":
        return [layer]
    return [layer, _norms("Output", config, "", 1), matrix, Part("Output", "output bias", "V", vocabulary)]


def _patches(config: VisionConfig) -> list[Part]:
    """Dosovitskiy et al. 2021, equation 1."""
    d = config.encoder.d_model
    return [
        Part("Embeddings", "patch projection", "C·P·P·d + d", (config.num_channels * config.patch_size**2 + 1) * d),
        Part("Embeddings", "class token", "d", d),
        Part("Embeddings", "positions", "n_max·d", config.encoder.max_length * d),
    ]


def _classes(config: VisionConfig) -> Part:
    return Part("Output", "classes", "d·K + K", (config.encoder.d_model + 1) * config.num_classes)
