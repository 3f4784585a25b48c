"""How a model of the sentence-transformers library makes one vector of a sentence, from the files beside it."""

from dataclasses import dataclass
from typing import Any

from transformer_core.zoo.hugging_face.opening.model_folder import ModelFolder

MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Names of the switches in a Pooling module's config.json, and those of the newer "pooling_mode"."""


@dataclass(frozen=True)
class SentencePooling:
    """How token vectors become a sentence's vector."""

    mode: str
    """A value of `MODES`."""
    normalize: bool
    """Whether the vector is scaled to length 1."""
    usual_length: int | None
    """Where this library cuts a text, in tokens, special ones included; None if it is not said."""
    notes: tuple[str, ...]
    """What this library would do beyond that, as plain sentences."""


def read_pooling(folder: ModelFolder) -> SentencePooling | None:
    """None if the folder has no modules.json, or its modules are no plain encoder and pooling.

    Raises:
        ValueError: a file is damaged, or the encoder is not in the folder itself.
    """
    modules = folder.json("modules.json")
    if modules is None:
        return None
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ValueError(f"modules.json in {folder.name} is not a list of modules. It is damaged: get it again.")
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"]:
        return None
    if path := modules[0].get("path"):
        raise ValueError(
            f"modules.json of {folder.name} says that the model lies in its folder {path!a}. Name that one."
        )
    settings = folder.settings(f"{modules[1].get('path', '')}/config.json")
    if settings is None:
        raise FileNotFoundError(f"{folder.name} has no {modules[1].get('path')}/config.json, which says how it pools.")
    mode = _mode(settings, folder.name)
    notes = []
    further = [kind for kind in kinds[2:] if kind != "Normalize"]
    if further:
        notes.append(
            f"sentence-transformers would change the sentence's vector further ({', '.join(further)}). That is left "
            "out here; the attention is the same."
        )
    prompts = folder.settings("config_sentence_transformers.json") or {}
    if prompts.get("default_prompt_name"):
        notes.append(
            f"sentence-transformers would put the prompt {prompts['default_prompt_name']!r} before every text. Here "
            "the text is read as it is."
        )
    length = (folder.settings("sentence_bert_config.json") or {}).get("max_seq_length")
    return SentencePooling(
        mode,
        normalize="Normalize" in kinds and not further,
        usual_length=length if isinstance(length, int) and length > 0 else None,
        notes=tuple(notes),
    )


def _mode(settings: dict[str, Any], name: str) -> str:
    mode = settings.get("pooling_mode")
    chosen = [mode] if isinstance(mode, str) else [mode for key, mode in MODES.items() if settings.get(key)]
    if len(chosen) != 1 or chosen[0] not in MODES.values():
        raise ValueError(
            f"{name} pools its token vectors in a way that is not read here ({', '.join(chosen) or 'none is given'}). "
            f"It has to be one of {', '.join(MODES.values())}."
        )
    return chosen[0]
