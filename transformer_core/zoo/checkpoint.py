"""A Hugging Face model in a folder, opened safely: no pickle, no code of its own, no file outside the folder."""

from dataclasses import dataclass
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.image_processing_utils import BaseImageProcessor

from transformer_core.zoo.interface import Family


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model and what reads its input."""

    name: str
    """As it was asked for."""
    folder: Path
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
    """How token vectors become one sentence vector: "mean", "cls", "max", ... (family "embedding"); None for the rest."""
    normalize: bool
    """Whether the sentence vector is scaled to length 1."""


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
    raise NotImplementedError
