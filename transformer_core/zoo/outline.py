"""What a bundled model is, told from its files without loading it: for a list of models."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from transformer_core.trained import image_classifier, language_model, masked_language_model, translator
from transformer_core.zoo import bundled
from transformer_core.zoo.interface import Ability, Family, InputError, StackShape


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
    if name not in bundled.available():
        raise InputError(f"There is no bundled model called {name!a}.")
    folder = Path(bundled.PRETRAINED) / name
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        family, abilities, languages, stacks = _described(config)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{folder / 'config.json'} does not describe a model: {error!r}") from error
    return Outline(family, frozenset(abilities), languages, stacks, _num_parameters(folder / "model.safetensors"))


def _described(config: dict[str, Any]) -> tuple[Family, set[Ability], tuple[str, str] | None, tuple[StackShape, ...]]:
    kind = config["format"]
    if kind == translator.FORMAT:
        sizes, languages = config["transformer"], (config["source_language"], config["target_language"])
        encoder, decoder = _stack(sizes, "encoder", "encoder"), _stack(sizes, "decoder", "decoder")
        return "text-to-text", {"beam search"}, languages, (encoder, decoder, StackShape("cross", decoder.heads))
    if kind == language_model.FORMAT:
        abilities = {"continue"} | ({"symbols"} if "alphabet" in config else set())
        return "causal", abilities, None, (_stack(config["transformer"], "decoder"),)
    if kind == masked_language_model.FORMAT:
        return "masked", {"mask"}, None, (_stack(config["transformer"], "encoder"),)
    if kind == image_classifier.FORMAT:
        return "image", {"image", "drawing"}, None, (_stack(config["vision_transformer"]["encoder"], "encoder"),)
    raise ValueError(f"its format is {kind!r}")


def _stack(sizes: dict[str, Any], side: str, name: str = "self") -> StackShape:
    return StackShape(name, (int(sizes["num_heads"]),) * int(sizes[f"num_{side}_layers"]))


def _num_parameters(weights: Path) -> int:
    """Numbers in a file of weights. A matrix that a model uses twice is in it once."""
    try:
        with safe_open(weights, framework="pt") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{weights} is damaged: {error}") from error
