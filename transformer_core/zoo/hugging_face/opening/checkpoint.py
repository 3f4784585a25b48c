"""A Hugging Face model in a folder, opened safely: no pickle, no code of its own, no file outside the folder."""

import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.image_processing_utils import BaseImageProcessor
from transformers.utils import logging

from transformer_core.device import choose_device
from transformer_core.interrupting import stage
from transformer_core.zoo.device_memory import device_memory
from transformer_core.zoo.hugging_face.messages import first_line
from transformer_core.zoo.hugging_face.opening.architectures import choices
from transformer_core.zoo.hugging_face.opening.building import build
from transformer_core.zoo.hugging_face.opening.input_readers import (
    about_tokenizer,
    open_image_processor,
    open_tokenizer,
)
from transformer_core.zoo.hugging_face.opening.model_folder import ModelFolder, model_settings, open_weights
from transformer_core.zoo.hugging_face.opening.sentence_pooling import read_pooling
from transformer_core.zoo.interface import Family
from transformer_core.zoo.loading import DTYPES
from transformer_core.zoo.provenance import weights_hash

WEIGHT_DTYPES = {"F64": torch.float32, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
"""How to keep weights, by the name of their dtype in a safetensors file."""

_opening = threading.Lock()
"""While a model is built, transformers changes settings of the whole process, such as torch's default dtype.

Two models built at once would confuse each other. Inspecting meanwhile is safe: it does not depend on these settings.
"""


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model and what reads its input."""

    name: str
    """As it was asked for."""
    family: Family
    architecture: str
    """The class that was loaded, say "BertForMaskedLM"."""
    model: PreTrainedModel
    """In evaluation mode, on its device, in its dtype."""
    tokenizer: PreTrainedTokenizerBase | None
    """None for the family "image"."""
    image_processor: BaseImageProcessor | None
    """None for all families but "image"."""
    weights_hash: str
    """The first 12 hex digits of the SHA-256 of the weight files."""
    notes: tuple[str, ...]
    """What a reader has to know about how it was opened, as plain sentences."""
    pooling: str | None
    """How token vectors become one sentence vector (family "embedding"): "mean", "cls", ...; None for all others."""
    normalize: bool
    """Whether the sentence vector is scaled to length 1."""
    usual_length: int | None
    """Where the sentence-transformers library cuts a text, in tokens, special ones included; None if it does not."""


def open_checkpoint(folder: Path, name: str, device: str = "auto", dtype: str = "auto") -> Checkpoint:
    """Open a folder with config.json, safetensors weights and a tokenizer or image processor.

    Args:
        folder: where the files are.
        name: what to call the model.
        device: "auto", "cuda", "mps" or "cpu".
        dtype: "auto", "float32", "bfloat16" or "float16"; "auto" is float32 on a CPU, the checkpoint's own on a GPU.

    Raises:
        ValueError: the folder holds no model that can be opened safely and completely, or there is no such device.
        OSError: a file is missing or cannot be read.
        DeviceMemoryError: the model does not fit into the GPU's memory.
    """
    processor = choose_device(device)
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}: use one of {', '.join(DTYPES)}")
    files = ModelFolder(folder, name)
    settings = files.config()
    _refuse_quantised(settings, name)
    pooling = read_pooling(files)
    ways = choices(settings, name, sentence_embedding=pooling is not None)
    weight_files = files.weight_files()
    before = [file.stat() for file in weight_files]
    tensors = open_weights(weight_files)
    number_type = _dtype(dtype, processor, settings, tensors, name)

    stage(f"Opening {name}")
    with _opening, _quiet(), tempfile.TemporaryDirectory() as copies:
        files.copy_small_files(Path(copies), model_settings(settings))
        choice, model, notes = build(ways, Path(copies), settings, tensors, number_type, name)
        _set_generation(model, Path(copies), name)
        tokenizer = image_processor = None
        if choice.family == "image":
            image_processor = open_image_processor(Path(copies), name)
        else:
            tokenizer = open_tokenizer(Path(copies), settings, name)
            notes += about_tokenizer(tokenizer, model)
    with device_memory():
        model = model.to(processor)
    hashed = weights_hash(weight_files)
    after = [file.stat() for file in weight_files]
    if [(each.st_size, each.st_mtime_ns) for each in before] != [(each.st_size, each.st_mtime_ns) for each in after]:
        raise OSError(f"The weights of {name} changed while they were read. Open it again when they are written.")
    embeds = choice.family == "embedding"
    return Checkpoint(
        name=name,
        family=choice.family,
        architecture=choice.architecture,
        model=model,
        tokenizer=tokenizer,
        image_processor=image_processor,
        weights_hash=hashed,
        notes=(*([choice.note] if choice.note else []), *notes, *(pooling.notes if pooling else ())),
        pooling=pooling.mode if embeds else None,
        normalize=embeds and pooling.normalize,
        usual_length=pooling.usual_length if embeds else None,
    )


def _refuse_quantised(settings: Mapping[str, Any], name: str) -> None:
    for part in (settings, *(value for value in settings.values() if isinstance(value, dict))):
        if part.get("quantization_config") or part.get("compression_config"):
            quantization = part.get("quantization_config") or part["compression_config"]
            method = quantization.get("quant_method") if isinstance(quantization, dict) else None
            raise ValueError(
                f"The weights of {name} are quantised{f' ({method})' if isinstance(method, str) else ''}: they need a "
                "package and kernels of their own. Use the same model with float32, bfloat16 or float16 weights."
            )


def _dtype(
    dtype: str, device: torch.device, settings: Mapping[str, Any], tensors: Mapping[str, Any], name: str
) -> torch.dtype:
    """The type of the model's numbers."""
    stored = [tensor.get_dtype() for tensor in tensors.values()]
    odd = sorted({each for each in stored if each not in WEIGHT_DTYPES and each.startswith(("F", "BF", "E"))})
    if odd:
        raise ValueError(
            f"The weights of {name} are {', '.join(odd)}, which is a quantised format. Use the same model with "
            "float32, bfloat16 or float16 weights."
        )
    if dtype != "auto":
        return getattr(torch, dtype)
    if device.type == "cpu":
        return torch.float32
    own = settings.get("dtype") or settings.get("torch_dtype")
    if isinstance(own, str) and own in DTYPES and own != "auto":
        return getattr(torch, own)
    return next((WEIGHT_DTYPES[each] for each in stored if each in WEIGHT_DTYPES), torch.float32)


def _set_generation(model: PreTrainedModel, folder: Path, name: str) -> None:
    """How the model ends and begins a text; older checkpoints say so in config.json."""
    if not model.can_generate():
        return
    try:
        if (folder / "generation_config.json").exists():
            model.generation_config = GenerationConfig.from_pretrained(folder, local_files_only=True)
        else:
            model.generation_config = GenerationConfig.from_pretrained(
                folder, config_file_name="config.json", _from_model_config=True, local_files_only=True
            )
    except Exception as error:  # as in `_config`
        raise ValueError(
            f"generation_config.json of {name} is not valid: {first_line(error)} Get it again, or delete it."
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what transformers logs and draws while it loads off the terminal; what matters is raised or noted."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
