"""Which class of transformers opens a checkpoint, and what family that makes it, from what its config.json says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from transformer_core.zoo.interface import Family

Names = Mapping[str, str | tuple[str, ...]]
"""Class names by model type, as transformers keeps them for each of its Auto classes."""

HEADS: tuple[tuple[Family, Names], ...] = (
    ("text-to-text", modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
    ("masked", modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    ("causal", modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
    ("classifier", modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES),
    ("image", modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES),
)
"""Architectures whose answer is shown. The first counts: XLMWithLMHeadModel is in two of them."""

OTHER_HEADS: tuple[tuple[str, Names], ...] = (
    ("a label for each token", modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES),
    ("a part of the text", modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES),
    ("one of several texts", modeling_auto.MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES),
    ("whether a sentence follows", modeling_auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES),
    ("masked parts of an image", modeling_auto.MODEL_FOR_MASKED_IMAGE_MODELING_MAPPING_NAMES),
    ("its pretraining task", modeling_auto.MODEL_FOR_PRETRAINING_MAPPING_NAMES),
)
"""Architectures whose answer is not shown, while the layers below are."""

IMAGE_HALVES = {"clip": "CLIPVisionModel", "siglip": "SiglipVisionModel"}
"""Of models that compare images with texts."""

OTHER_INPUT = {
    "tapas": "a table and a question about it",
    "vit_mae": "a random part of an image's patches, in random order",
}
"""Types of models that are said to read texts or images, and read something else."""


@dataclass(frozen=True)
class Choice:
    """One way to open a checkpoint."""

    family: Family
    architecture: str
    """A class of transformers."""
    note: str = ""
    """What is not shown, as a plain sentence."""


def choices(config: Mapping[str, Any], name: str, sentence_embedding: bool = False) -> list[Choice]:
    """Ways to open a checkpoint, the best first; the next is for a checkpoint that lacks weights of the one before.

    Args:
        config: config.json.
        name: what to call the checkpoint.
        sentence_embedding: whether the token vectors are pooled into one for the sentence.

    Raises:
        ValueError: this kind of model cannot be shown, and why.
    """
    model_type = config.get("model_type")
    _check_model_type(model_type, config, name)
    if sentence_embedding:
        return [Choice("embedding", _encoder(model_type, config, name))]
    architectures = config.get("architectures") or [None]
    if not isinstance(architectures, list) or not isinstance(architectures[0], str | None):
        raise ValueError(f'config.json of {name} names no class under "architectures". It is damaged: get it again.')
    found = [] if model_type in OTHER_INPUT else list(_choices(model_type, architectures[0], config))
    if not found and "auto_map" in config:
        raise ValueError(_about_own_code(model_type, name))
    if not found:
        raise ValueError(
            f"{name} is a {architectures[0] or model_type}{_what_it_reads(model_type, architectures[0])}. That is none "
            "of the kinds of models that can be inspected here: language models, text-to-text models, encoders, "
            "classifiers, sentence embeddings, and Transformers that read an image."
        )
    return found


def _what_it_reads(model_type: str, architecture: str | None) -> str:
    """What is special about a model's input, as the end of a sentence."""
    if model_type in OTHER_INPUT:
        return f", which reads {OTHER_INPUT[model_type]}"
    modalities = getattr(getattr(transformers, architecture or "", None), "input_modalities", "text")
    reads = {modalities} if isinstance(modalities, str) else set(modalities)
    return "" if reads in ({"text"}, {"image"}) else f", which reads {' and '.join(sorted(reads))}"


def _check_model_type(model_type: Any, config: Mapping[str, Any], name: str) -> None:
    if not isinstance(model_type, str):
        raise ValueError(f'config.json of {name} does not say which model it is: it has no "model_type".')
    if model_type in CONFIG_MAPPING_NAMES:
        return
    if "auto_map" in config:
        raise ValueError(_about_own_code(model_type, name))
    raise ValueError(
        f"{name} is of the type {model_type!a}, which transformers {transformers.__version__} does not know. If the "
        "type is new, a newer transformers may know it."
    )


def _about_own_code(model_type: str, name: str) -> str:
    return (
        f'{name} is of the type {model_type!a} and brings a program of its own to run it ("auto_map" in config.json). '
        "Headlight runs no code from model folders. Use a model whose type transformers knows by itself."
    )


def _choices(model_type: str, architecture: str | None, config: Mapping[str, Any]) -> Iterator[Choice]:
    base = next(iter(_names(modeling_auto.MODEL_MAPPING_NAMES, model_type)), None)
    if model_type in IMAGE_HALVES and architecture in (None, base):
        half = IMAGE_HALVES[model_type]
        yield Choice("image", half, f"Of {base} only the half that reads images is shown ({half}).")
        return
    for family, names in HEADS:
        if architecture in _names(names, model_type):
            yield Choice(family, architecture)
            return
    if architecture in _names(modeling_auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES, model_type):
        yield Choice("encoder", architecture)
        return
    if architecture is None or architecture == base:
        yield from _without_a_known_head(model_type, architecture, base, config)
        return
    for answer, names in OTHER_HEADS:
        if architecture in _names(names, model_type):
            if names is modeling_auto.MODEL_FOR_PRETRAINING_MAPPING_NAMES:
                for masked in _names(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, model_type):
                    yield Choice("masked", masked)
            if base is not None and not _is_encoder_decoder(config):
                note = f"What {architecture} answers ({answer}) is not shown; its attention is ({base})."
                yield Choice("image" if _reads_images(base) else "encoder", base, note)
            return


def _without_a_known_head(
    model_type: str, architecture: str | None, base: str | None, config: Mapping[str, Any]
) -> Iterator[Choice]:
    """A checkpoint may have the weights of a head that its config.json does not mention, or share them (GPT-2)."""
    if _is_encoder_decoder(config):
        for head in _names(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, model_type):
            yield Choice("text-to-text", head)
        return
    for family, names in HEADS:
        # BERT without a named head is an encoder; that it could also be a language model or a classifier says nothing.
        if family == "classifier" or (family in ("masked", "image") and architecture is not None):
            continue
        if family == "causal" and model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
            continue
        for head in _names(names, model_type):
            yield Choice(family, head)
    if base is None:
        return
    if _reads_images(base):
        yield Choice("image", base)
        return
    note = "It has no weights for a language model's last layer, so it continues no text; its attention is shown."
    masked = model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    causal = model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    yield Choice("encoder", base, note if causal and not masked else "")


def _encoder(model_type: str, config: Mapping[str, Any], name: str) -> str:
    """The class that makes a vector of each token."""
    halves = modeling_auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES if _is_encoder_decoder(config) else {}
    for names in (halves, modeling_auto.MODEL_MAPPING_NAMES):
        for candidate in _names(names, model_type):
            return candidate
    raise ValueError(f"transformers has no bare encoder for the type {model_type!a}, which {name} needs.")


def _is_encoder_decoder(config: Mapping[str, Any]) -> bool:
    kinds = modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
    return bool(config.get("is_encoder_decoder", config.get("model_type") in kinds))


def _names(names: Names, model_type: str) -> tuple[str, ...]:
    found = names.get(model_type, ())
    return (found,) if isinstance(found, str) else tuple(found)


def _reads_images(architecture: str) -> bool:
    return getattr(transformers, architecture).main_input_name == "pixel_values"
