"""What a model costs to hold and to run: bytes of its weights and its KV cache, floating-point operations a token."""

from typing import Literal

from transformer_core.model.config import TransformerConfig
from transformer_core.model.parameters import Part, Top, shape
from transformer_core.model.vision import VisionConfig

Precision = Literal["float32", "bfloat16"]

BYTES: dict[Precision, int] = {"float32": 4, "bfloat16": 2}
"""Of one number."""


def weight_bytes(num_parameters: int, precision: Precision) -> int:
    """Memory of the weights, in bytes. Training needs more: gradients and the optimiser's state."""
    return num_parameters * BYTES[precision]


def cache_bytes(
    config: TransformerConfig | VisionConfig, context: int, precision: Precision = "bfloat16"
) -> list[Part]:
    """Keys and values of all tokens so far, which a decoder keeps for the next one, in bytes; one text.

    An encoder reads all tokens at once and keeps none of them: it has no parts.

    Args:
        context: tokens written so far; after an encoder, its source has as many.
    """
    if isinstance(config, VisionConfig) or not config.num_decoder_layers:
        return []
    size = 2 * config.num_decoder_layers * config.num_heads * config.d_head * BYTES[precision] * context
    parts = [Part("Decoder", "keys and values of self-attention", "2·N_d·h·d_k·b·n", size)]
    if config.num_encoder_layers:
        parts.append(Part("Decoder", "keys and values of cross-attention", "2·N_d·h·d_k·b·n", size))
    return parts


def flops(config: TransformerConfig | VisionConfig, context: int, top: Top = "masked words") -> list[Part]:
    """Floating-point operations of a forward pass, for each token, or for an image: two for each multiply-add.

    Every matrix costs twice its parameters for each token, as Kaplan et al. 2020 ("Scaling Laws for Neural Language
    Models", Table 1) count. Attention to n tokens adds 2·n·h·d_k for the scores and as much for the weighted sum of
    the values in each layer, as in appendix B of Chowdhery et al. 2022 ("PaLM"), whose 12·L·H·Q·T is that and twice
    as much for the backward pass. Biases, normalisation, activations, softmax and look-ups are left out.

    Args:
        context: tokens that a token attends to, itself included: the length of the text, of the source and of the
            target alike. An image has its patches and the class token instead.
        top: as in `parameters`.
    """
    if isinstance(config, VisionConfig):
        return _of_an_image(config)
    kind = shape(config)
    if kind == "encoder-decoder":
        return [*_of_a_source_token(config, context), *_of_a_target_token(config, context)]
    if kind == "decoder only":
        return [*_of_a_stack(config, "N_d", context, "a token"), _output_matrix(config, "a token")]
    layer = 2 * config.d_model**2
    parts = _of_a_stack(config, "N_e", context, "a token")
    if not config.vocab_size or top == "none":
        return parts
    if top == "pooler":
        return [*parts, Part("a text", "layer before the output", "2·d·d", layer)]
    return [*parts, Part("a token", "layer before the output", "2·d·d", layer), _output_matrix(config, "a token")]


def _of_a_stack(config: TransformerConfig, symbol: Literal["N_e", "N_d"], context: int, unit: str) -> list[Part]:
    layers = config.num_encoder_layers if symbol == "N_e" else config.num_decoder_layers
    inner, d = config.num_heads * config.d_head, config.d_model
    parts = [
        Part(unit, "projections of self-attention", f"2·{symbol}·4·d·h·d_k", 2 * layers * 4 * d * inner),
        Part(unit, "scores and weighted sums", f"4·{symbol}·n·h·d_k", 4 * layers * context * inner),
        Part(unit, "feed-forward", f"2·{symbol}·2·d·d_ff", 2 * layers * 2 * d * config.d_ff),
    ]
    return [part for part in parts if part.count]


def _of_a_source_token(config: TransformerConfig, context: int) -> list[Part]:
    """The encoder, and what every decoder layer keeps of its output."""
    unit = "a source token"
    kept = Part(unit, "keys and values of cross-attention", "2·N_d·2·d·h·d_k", _half_of_cross_attention(config))
    return [*_of_a_stack(config, "N_e", context, unit), kept]


def _of_a_target_token(config: TransformerConfig, context: int) -> list[Part]:
    unit = "a target token"
    attended = 4 * config.num_decoder_layers * context * config.num_heads * config.d_head
    return [
        *_of_a_stack(config, "N_d", context, unit),
        Part(unit, "queries and output of cross-attention", "2·N_d·2·d·h·d_k", _half_of_cross_attention(config)),
        Part(unit, "scores and weighted sums of cross-attention", "4·N_d·n·h·d_k", attended),
        _output_matrix(config, unit),
    ]


def _half_of_cross_attention(config: TransformerConfig) -> int:
    """Two of its four matrices."""
    return 2 * config.num_decoder_layers * 2 * config.d_model * config.num_heads * config.d_head


def _output_matrix(config: TransformerConfig, unit: str) -> Part:
    return Part(unit, "output matrix", "2·d·V", 2 * config.d_model * config.vocab_size)


def _of_an_image(config: VisionConfig) -> list[Part]:
    """All tokens of the image together."""
    encoder, unit = config.encoder, "an image"
    d, tokens = encoder.d_model, encoder.max_length
    patches = 2 * (tokens - 1) * config.num_channels * config.patch_size**2 * d
    return [
        Part(unit, "patch projection", "2·(n_max - 1)·C·P·P·d", patches),
        *(
            Part(unit, part.name, "n_max·" + part.formula.replace("·n·", "·n_max·"), tokens * part.count)
            for part in _of_a_stack(encoder, "N_e", tokens, unit)
        ),
        Part(unit, "classes", "2·d·K", 2 * d * config.num_classes),
    ]
