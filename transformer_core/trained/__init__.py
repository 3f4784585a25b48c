"""Trained models, each with what it needs to read its input: what a folder in pretrained/ holds."""

from pathlib import Path

from transformer_core.trained.folder import CONFIG, check_files, format_of
from transformer_core.trained.image_classifier import TrainedImageClassifier
from transformer_core.trained.language_model import TrainedLanguageModel
from transformer_core.trained.masked_language_model import TrainedMaskedLanguageModel
from transformer_core.trained.trained_model import TrainedModel
from transformer_core.trained.translator import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY, Translator

KINDS: dict[str, type[TrainedModel]] = {
    kind.FORMAT: kind for kind in (Translator, TrainedLanguageModel, TrainedMaskedLanguageModel, TrainedImageClassifier)
}
"""What reads a folder, by the "format" in its config.json."""

__all__ = [
    "KINDS",
    "MAX_BEAM_SIZE",
    "MAX_LENGTH_PENALTY",
    "TrainedImageClassifier",
    "TrainedLanguageModel",
    "TrainedMaskedLanguageModel",
    "TrainedModel",
    "Translator",
    "load",
]


def load(folder: Path, device: str = "auto", step: int | None = None) -> TrainedModel:
    """The trained model in a folder, of whichever kind; float32, ready for use.

    Args:
        device: "auto", "cuda", "mps" or "cpu".
        step: the weights of this snapshot of its training instead.

    Raises:
        FileNotFoundError: the folder or one of its files is missing.
        ValueError: a file is damaged, of an unknown kind, or does not fit the others.
    """
    folder = Path(folder)
    check_files(folder)
    kind = format_of(folder)
    if kind not in KINDS:
        raise ValueError(f'{folder / CONFIG} describes no trained model: its "format" is none of {", ".join(KINDS)}')
    return KINDS[kind].load(folder, device, step)
