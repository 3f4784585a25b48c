"""The figures of a trained model, measured again: what each kind was judged by at the end of its training."""

from pathlib import Path

from transformer_core.text import SymbolTokenizer
from transformer_core.trained import (
    TrainedImageClassifier,
    TrainedLanguageModel,
    TrainedMaskedLanguageModel,
    TrainedModel,
)
from transformer_core.training.evaluation import BEAM_SIZE, LENGTH_PENALTY
from transformer_core.training.tasks import digits, induction, language, masked_words, translation


def measured(
    trained: TrainedModel,
    folder: Path,
    data: Path | None = None,
    beam_size: int | None = None,
    length_penalty: float | None = None,
) -> str:
    """The figures of a model, in words, on what its training held out.

    Args:
        folder: the model's, with split.json in it.
        data: the file that it was trained on; None for a model that was trained without.
        beam_size, length_penalty: of a translator, if not those of its card.

    Raises:
        ValueError: an argument too few or too many for this kind of model.
        DataError: split.json is missing, or the file is not what the model was trained on.
    """
    of_search = {"beam-size": beam_size, "length-penalty": length_penalty}
    if isinstance(trained, TrainedImageClassifier):
        _refuse(folder, {"data": data} | of_search)
        return digits.evaluate(trained, folder)
    if isinstance(trained, TrainedLanguageModel) and isinstance(trained.tokenizer, SymbolTokenizer):
        _refuse(folder, {"data": data} | of_search)
        return induction.evaluate(trained)
    if data is None:
        raise ValueError(f"{folder} was trained on a file: name it with --data")
    if isinstance(trained, TrainedLanguageModel):
        _refuse(folder, of_search)
        return language.evaluate(trained, folder, data)
    if isinstance(trained, TrainedMaskedLanguageModel):
        _refuse(folder, of_search)
        return masked_words.evaluate(trained, folder, data)
    beam_size = BEAM_SIZE if beam_size is None else beam_size
    length_penalty = LENGTH_PENALTY if length_penalty is None else length_penalty
    return translation.evaluate(trained, folder, data, beam_size, length_penalty)


def _refuse(folder: Path, options: dict[str, object]) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{folder} holds no model that has a use for --{name}: leave it out")
