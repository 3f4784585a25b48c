"""What a bundled model is, told from its files without loading it: for a list of models."""

import json
from dataclasses import dataclass
from typing import Any

from transformer_core import trained
from transformer_core.trained.folder import CONFIG, check_size, num_weights, weights_path
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
    num_parameters = num_weights(weights_path(folder))
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config["format"] not in trained.KINDS:
            raise ValueError(f'its "format" is none of {", ".join(trained.KINDS)}')
        kind = trained.KINDS[config["format"]]
        sizes = kind.sizes(config)
        check_size(sizes, num_parameters)
        return Outline(
            family=bundled.INSPECTABLE[kind].family,
            abilities=_abilities(kind, config),
            languages=(config["source_language"], config["target_language"]) if kind is trained.Translator else None,
            stacks=stacks_of(sizes),
            num_parameters=num_parameters,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{folder / CONFIG} does not describe a model: {error!r}") from error


def _abilities(kind: type[trained.TrainedModel], config: dict[str, Any]) -> frozenset[Ability]:
    if kind is trained.TrainedLanguageModel:
        return ABILITIES_OF_SYMBOLS if "alphabet" in config else ABILITIES
    return bundled.INSPECTABLE[kind].abilities
