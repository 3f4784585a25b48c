"""What a bundled model is, told from its files without loading it: for a list of models."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from transformer_core import trained
from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.trained.folder import CONFIG, weights_path
from transformer_core.zoo import bundled
from transformer_core.zoo.bundled.bundled_model import stacks_of
from transformer_core.zoo.bundled.language_model import ABILITIES, ABILITIES_OF_SYMBOLS
from transformer_core.zoo.interface import Ability, Family, StackShape


@dataclass(frozen=True)
class Outline:
    """The same as the `InspectableModel` of this name says."""

    family: Family
    abilities: frozenset[Ability]
    languages: tuple[str, str] | None
    stacks: tuple[StackShape, ...]
    num_parameters: int


def outline(name: str) -> Outline:
    """What a bundled model is.

    Raises:
        InputError: there is no such model.
        ValueError: its files are damaged or of an unknown kind.
        OSError: one of them is missing.
    """
    folder = bundled.folder_of(name)
    num_parameters = _num_parameters(weights_path(folder))
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config["format"] not in trained.KINDS:
            raise ValueError(f'its "format" is none of {", ".join(trained.KINDS)}')
        kind = trained.KINDS[config["format"]]
        return Outline(
            family=bundled.INSPECTABLE[kind].family,
            abilities=_abilities(kind, config),
            languages=(config["source_language"], config["target_language"]) if kind is trained.Translator else None,
            stacks=stacks_of(_sizes(kind, config)),
            num_parameters=num_parameters,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{folder / CONFIG} does not describe a model: {error!r}") from error


def _abilities(kind: type[trained.TrainedModel], config: dict[str, Any]) -> frozenset[Ability]:
    if kind is trained.TrainedLanguageModel:
        return ABILITIES_OF_SYMBOLS if "alphabet" in config else ABILITIES
    return bundled.INSPECTABLE[kind].abilities


def _sizes(kind: type[trained.TrainedModel], config: dict[str, Any]) -> TransformerConfig | VisionConfig:
    if kind is trained.TrainedImageClassifier:
        return VisionConfig.from_dict(config["vision_transformer"])
    return TransformerConfig.from_dict(config["transformer"])


def _num_parameters(weights: Path) -> int:
    """Numbers in a file of weights. A matrix that a model uses twice is in it once."""
    try:
        with safe_open(weights, framework="pt") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{weights} is damaged: {error}") from error
