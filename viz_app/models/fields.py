"""The fields of a config that the playground offers, and the model that they describe."""

import dataclasses
from typing import Any, get_args

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.config import Norm, Normalization, Positions
from transformer_core.model.parameters import Top
from transformer_core.model.published import Published

SIZES = {
    "d_model": "Width of the model's vectors.",
    "num_heads": "Attention heads of a layer, h.",
    "head_size": "Dimensions of a head; empty: d_model / num_heads.",
    "d_ff": "Inner width of the feed-forward layers; 0: none.",
    "num_encoder_layers": "0: decoder only, as GPT.",
    "num_decoder_layers": "0: encoder only, as BERT.",
    "vocab_size": "Different tokens; 0 only for a model that reads none.",
    "max_length": "Longest sequence. Only learned positions have parameters for it.",
    "num_segments": "Learned vectors that tell the texts of a pair apart; BERT has 2.",
}
"""Whole numbers. Here as below, with what is said of them on the page."""

IMAGE_SIZES = {
    "image_size": "Height and width of an image, in pixels.",
    "patch_size": "Height and width of a patch, in pixels.",
    "num_channels": "3: red, green and blue.",
    "num_classes": "Classes that an image can have.",
}
"""Those of an image model."""

TOP = "top"
"""What stands on an encoder without a decoder. Not a field of its config."""

CHOICES: dict[str, tuple[tuple[str, ...], str]] = {
    "positions": (get_args(Positions), "How the order of the tokens is told."),
    "norm": (get_args(Norm), "“post”: after each sub-layer, as in the paper; “pre”: before it, and once at the end."),
    "normalization": (get_args(Normalization), "“layer”: a gain and a bias for each dimension; “rms”: a gain only."),
    TOP: (get_args(Top), "What reads the encoder's vectors: BERT's pooler, or what guesses masked words."),
}

SWITCHES = {
    "attention_bias": "Biases of the projections of queries, keys, values and output.",
    "feed_forward_bias": "Biases of the feed-forward layers.",
    "share_output": "Whether the output matrix is the matrix of token vectors.",
    "norm_embeddings": "A normalisation on the sum of the embeddings.",
}

NOT_OF_IMAGES = {
    *("num_decoder_layers", "vocab_size", "num_segments", "positions", "share_output", "norm_embeddings"),
    "max_length",
}
"""What an image model has no choice of: it reads patches, no tokens, and their number follows from their size."""

LEFT_OUT = "dropout, activation, norm_epsilon, pad_id, scale_embeddings, scale_scores, scale_logits"
"""Fields that change no number on the page."""

LARGEST = 10_000_000
"""Of any size: beyond every model, and small enough that all numbers on the page can be drawn."""

Fields = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Design:
    """What the fields describe."""

    preset: Published
    config: TransformerConfig | VisionConfig | None
    """None if they cannot be together."""
    top: Top
    problem: str = ""
    """Why they cannot."""


def fields_of(preset: Published) -> Fields:
    """The fields of a published model."""
    names = (*SIZES, *(name for name in CHOICES if name != TOP), *SWITCHES)
    if not isinstance(preset.config, VisionConfig):
        return {name: getattr(preset.config, name) for name in names} | {TOP: preset.top}
    fields = {name: getattr(preset.config.encoder, name) for name in names if name not in NOT_OF_IMAGES}
    return fields | {name: getattr(preset.config, name) for name in IMAGE_SIZES}


def design_of(preset: Published, fields: Fields) -> Design:
    """The model that starts from a published one and has these fields."""
    top = fields.get(TOP, preset.top)
    try:
        return Design(preset, _config(preset.config, fields), top)
    except ValueError as error:
        return Design(preset, None, top, str(error))


def _config(start: TransformerConfig | VisionConfig, fields: Fields) -> TransformerConfig | VisionConfig:
    """The config with these fields.

    Raises:
        ValueError: one is empty, or they cannot be together.
    """
    # Of the sizes, only that of a head may be left to the others.
    for name in (*SIZES, *IMAGE_SIZES):
        if name != "head_size" and name in fields and fields[name] is None:
            raise ValueError(f"{name} is empty: it must be a whole number")
    own = {name: value for name, value in fields.items() if name not in (*IMAGE_SIZES, TOP)}
    if not isinstance(start, VisionConfig):
        return dataclasses.replace(start, **own)
    image = {name: fields[name] for name in IMAGE_SIZES}
    patches = (image["image_size"] // image["patch_size"]) ** 2 if image["patch_size"] > 0 else 0
    return VisionConfig(**image, encoder=dataclasses.replace(start.encoder, **own, max_length=patches + 1))
