"""A network from its settings and its weights: none without all of its layers, and none larger than its weights."""

import copy
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import CONFIG_MAPPING, PreTrainedConfig, PreTrainedModel

from transformer_core.zoo.hugging_face.messages import first_line, some
from transformer_core.zoo.hugging_face.opening.architectures import Choice

MAX_COUNT = 512
"""Of layers, experts, stages: as many may stand in config.json whatever the weights are."""

MAX_CLASSES = 1_000_000
"""A classifier of this many classes is refused."""

SLACK = 100_000_000
"""So many numbers may a network have beyond twice those of its weights: masks and tables of positions."""


def build(
    ways: Sequence[Choice],
    folder: Path,
    settings: Mapping[str, Any],
    tensors: Mapping[str, Any],
    dtype: torch.dtype,
    name: str,
) -> tuple[Choice, PreTrainedModel, tuple[str, ...]]:
    """Build the network in the first way that leaves no layer without weights.

    Args:
        ways: as `choices` gives them.
        folder: with a checked copy of config.json.
        settings: config.json as it is written.
        tensors: slices of the weights, by name.
        dtype: of the network's numbers.
        name: what to call the model in messages.

    Returns:
        the way, the network in evaluation mode, and notes for its readers.

    Raises:
        ValueError: the settings are damaged, or do not fit the weights; for the first way, which tensors are missing.
    """
    _check_counts(settings, len(tensors), name)
    refusals = []
    for choice in ways:
        model_class = getattr(transformers, choice.architecture)
        _check_input(model_class, settings, name)
        config = _config(folder, settings, model_class, name)
        options = _options(model_class, tensors)
        _check_size(model_class, config, options, tensors, name)
        try:
            model, info = model_class.from_pretrained(
                None,
                config=config,
                state_dict=dict(tensors),
                dtype=dtype,
                attn_implementation=_attention(model_class),
                local_files_only=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,  # they are refused below, by name
                output_loading_info=True,
                **options,
            )
        except Exception as error:  # whatever a damaged or made-up checkpoint brings about
            if isinstance(error, MemoryError) or "allocate memory" in str(error):
                raise ValueError(
                    f"This machine has too little free memory for {name}. Choose bfloat16, or a smaller model."
                ) from error
            raise ValueError(
                f"The weights of {name} do not fit a {choice.architecture}: {first_line(error)} They or config.json "
                "are another model's, or damaged: get them again."
            ) from error
        lacking = sorted(info["missing_keys"])
        lacking += sorted(
            f"{tensor} ({_shape(wanted)}, and not {_shape(there)})" for tensor, there, wanted in info["mismatched_keys"]
        )
        if not lacking:
            return choice, model, _about_unused(info["unexpected_keys"], choice, name)
        refusals.append(
            f"{name} lacks {len(lacking):,} of the {len(model.state_dict()):,} tensors of a {choice.architecture}: "
            f"{some(lacking)}. Headlight shows no layer with random numbers. Save the whole model with "
            'save_pretrained(), or name in config.json, under "architectures", the class that it was saved from.'
        )
    raise ValueError(refusals[0])


def _shape(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def _config(
    folder: Path, settings: Mapping[str, Any], model_class: type[PreTrainedModel], name: str
) -> PreTrainedConfig:
    try:
        config = CONFIG_MAPPING[settings["model_type"]].from_pretrained(folder, local_files_only=True)
    except Exception as error:  # every model type checks its settings, or trips over them, in its own way
        raise ValueError(f"config.json of {name} is not valid: {first_line(error)} Get it again.") from error
    if not isinstance(config, model_class.config_class):
        # The half of a model that reads images.
        config = config.vision_config
    return config


def _check_counts(settings: Mapping[str, Any], num_tensors: int, name: str) -> None:
    """Refuse a number of layers or classes that no weights here stand for, before anything is built.

    Every layer has weights, or shares those of another (ALBERT). Sizes are compared later, on the built model.
    """
    limit = max(MAX_COUNT, num_tensors)
    for key, value in _settings_inside(settings):
        counted = re.search(r"layer|depth|block|expert|stage|group|head", key)
        numbers = value if isinstance(value, list) else [value]
        for number in numbers:
            if not isinstance(number, int) or isinstance(number, bool):
                continue
            if (counted and not key.endswith(("_id", "_size", "_dim")) and number > limit) or (
                key == "num_labels" and number > MAX_CLASSES
            ):
                raise ValueError(
                    f"config.json of {name} says {key} = {number:,}, and the weights are {num_tensors:,} tensors. It "
                    "is damaged, or not this model's: get it again."
                )


def _settings_inside(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        yield key, value
        if isinstance(value, dict):
            yield from _settings_inside(value)


def _check_input(model_class: type[PreTrainedModel], settings: Mapping[str, Any], name: str) -> None:
    if settings["model_type"] == "timm_wrapper" or settings.get("backbone") or settings.get("use_timm_backbone"):
        raise ValueError(f"{name} is built from another library's model (timm), which is not opened here.")
    modalities = model_class.input_modalities
    reads = {modalities} if isinstance(modalities, str) else set(modalities)
    composed = model_class.config_class.sub_configs.keys() - {"text_config"}
    # A part of a larger model, such as Gemma 3's for text, is said to read what the whole does.
    text = model_class.main_input_name == "input_ids" and "text" in reads and (reads == {"text"} or not composed)
    image = model_class.main_input_name == "pixel_values" and reads <= {"image", "text"}
    if not text and not image:
        raise ValueError(
            f"{name} is a {model_class.__name__}, which reads {' and '.join(sorted(reads))} "
            f"({model_class.main_input_name}). What can be given to a model here is a text alone, or the pixels of one "
            "image."
        )


def _attention(model_class: type[PreTrainedModel]) -> str:
    # Given explicitly, so that no name of a kernel on the hub in config.json counts.
    return "sdpa" if model_class._supports_sdpa else "eager"


def _options(model_class: type[PreTrainedModel], tensors: Mapping[str, Any]) -> dict[str, bool]:
    """Leave out BERT's pooler, which token vectors and attention do not need, where the checkpoint has none."""
    pooler = any(re.search(r"(^|\.)pooler\.", tensor) for tensor in tensors)
    return {"add_pooling_layer": pooler} if "add_pooling_layer" in inspect.signature(model_class).parameters else {}


def _check_size(
    model_class: type[PreTrainedModel],
    config: PreTrainedConfig,
    options: Mapping[str, bool],
    tensors: Mapping[str, Any],
    name: str,
) -> None:
    """Refuse a model much larger than its weights before memory is asked for.

    It is built without memory first, on the meta device.
    """
    try:
        with torch.device("meta"):
            model = model_class._from_config(
                copy.deepcopy(config), attn_implementation=_attention(model_class), **options
            )
    except Exception as error:  # as in `_config`
        raise ValueError(
            f"config.json of {name} describes no {model_class.__name__} that can be built: {first_line(error)} It is "
            "damaged: get it again."
        ) from error
    # Tied weights count once; a missing head at most doubles a small model.
    wanted = sum(parameter.numel() for parameter in model.parameters())
    wanted += sum(buffer.numel() for buffer in model.buffers())
    there = sum(torch.Size(tensor.get_shape()).numel() for tensor in tensors.values())
    if wanted > 2 * there + SLACK:
        raise ValueError(
            f"config.json of {name} describes a model of {wanted:,} numbers, but its weights are {there:,}. One of "
            "them is damaged or another model's: get them again."
        )


def _about_unused(tensors: Sequence[str], choice: Choice, name: str) -> tuple[str, ...]:
    if not tensors or choice.note:
        return ()
    return (f"Of the tensors of {name}, {choice.architecture} does not use {len(tensors):,}: {some(sorted(tensors))}.",)
