"""What reads a model's input: its tokenizer, or its image processor."""

import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import transformers
from transformers import AutoImageProcessor, AutoTokenizer, MarianTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.image_processing_utils import BaseImageProcessor

from transformer_core.zoo.hugging_face.messages import first_line
from transformer_core.zoo.hugging_face.tokens.encoding import encode_plain

VOCABULARIES = re.compile(r"tokenizer\.json|vocab.*\.(json|txt)|.*\.(model|spm|tiktoken)|tekken\.json|dict\.txt")
"""Files that a tokenizer's vocabulary is in."""

WITHOUT_VOCABULARY = {"ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer"}
"""Tokenizers that read bytes or characters."""


def open_tokenizer(folder: Path, settings: Mapping[str, Any], name: str) -> PreTrainedTokenizerBase:
    """The tokenizer in a folder, fast or slow.

    Args:
        folder: which holds nothing but checked copies of files.
        settings: the model's config.json.
        name: what to call the model in messages.

    Raises:
        FileNotFoundError: there is none.
        ValueError: its files are damaged, or it is of a kind that is not opened.
    """
    classes = _named_classes(folder, settings)
    for class_name in classes:
        _check_class(class_name, name)
    has_vocabulary = any(VOCABULARIES.fullmatch(path.name) for path in folder.iterdir())
    if not has_vocabulary and not WITHOUT_VOCABULARY.intersection(classes):
        raise FileNotFoundError(
            f"There is no tokenizer in {name}: neither tokenizer.json nor a vocabulary. Save it beside the model with "
            "tokenizer.save_pretrained()."
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        # Some damaged settings show only in use.
        encode_plain(tokenizer, "a")
        return tokenizer
    except Exception as error:  # damaged files, classes that are no tokenizers, packages that are not there
        raise ValueError(
            f"The tokenizer of {name} cannot be opened: {first_line(error)} Save it again with "
            "tokenizer.save_pretrained()."
        ) from error


def _named_classes(folder: Path, settings: Mapping[str, Any]) -> list[object]:
    """What the folder says of its tokenizer's class."""
    file = folder / "tokenizer_config.json"
    own = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return [named for named in (own.get("tokenizer_class"), settings.get("tokenizer_class")) if named is not None]


def _check_class(class_name: object, name: str) -> None:
    """transformers calls whatever it has under the name that the folder gives for its tokenizer."""
    found = getattr(transformers, class_name, None) if isinstance(class_name, str) else class_name
    # A name that transformers does not have stands for a plain tokenizer.json.
    if found is not None and not (isinstance(found, type) and issubclass(found, PreTrainedTokenizerBase)):
        raise ValueError(f"{name} names {class_name!a} as its tokenizer, which is none that can be used here.")


def about_tokenizer(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> tuple[str, ...]:
    """What a reader has to know about a tokenizer, as plain sentences."""
    notes = []
    rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    if rows is not None and len(tokenizer) > rows:
        notes.append(
            f"The tokenizer knows {len(tokenizer):,} tokens and the model {rows:,}: texts with one of the others "
            "cannot be read."
        )
    if isinstance(tokenizer, MarianTokenizer) and find_spec("sacremoses") is None:
        notes.append(
            "The package sacremoses is not installed, so unusual punctuation, such as curly quotes, reaches the model "
            "as it is typed. The model was trained on text in which it is made uniform."
        )
    return tuple(notes)


def open_image_processor(folder: Path, name: str) -> BaseImageProcessor:
    """The image processor in a folder; arguments and errors as for `open_tokenizer`."""
    if not any((folder / file).exists() for file in ("preprocessor_config.json", "processor_config.json")):
        raise FileNotFoundError(
            f"There is no preprocessor_config.json in {name}, which says how large an image is and how its colours "
            "are scaled. Save it beside the model with image_processor.save_pretrained()."
        )
    try:
        return AutoImageProcessor.from_pretrained(folder, backend="pil", trust_remote_code=False, local_files_only=True)
    except Exception as error:  # as in `open_tokenizer`
        raise ValueError(
            f"The image processor of {name} cannot be opened: {first_line(error)} Get preprocessor_config.json again."
        ) from error
