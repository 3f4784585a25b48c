"""The folder of a trained model: config.json, model.safetensors, what reads its input, and snapshots of its training.

A folder may come from anybody, so nothing in it is run: it is read as JSON, safetensors and SentencePiece.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from transformer_core.device import choose_device
from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.parameters import parameters, total
from transformer_core.text import SymbolTokenizer, Tokenizer

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.model"
SNAPSHOTS = "snapshots"

MAX_LENGTH = 2**17
"""The longest sequence that a config.json may name: no weights show it, and sinusoids are made for each position."""

Model = TypeVar("Model", bound=nn.Module)


def format_of(folder: Path) -> str | None:
    """What a folder's config.json says that it holds, say "headlight-translator"; None if it does not say."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    kind = config.get("format") if isinstance(config, dict) else None
    return kind if isinstance(kind, str) else None


def check_files(folder: Path, step: int | None = None) -> None:
    """Make sure that config.json and the weights are there.

    Args:
        step: the weights of this snapshot of the training, too.

    Raises:
        ValueError: the folder is a file.
        FileNotFoundError: a file is missing.
    """
    if folder.is_file():
        raise ValueError(f"{folder} is a file: name the folder that holds {CONFIG} and the rest")
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder} holds no trained model: {name} is missing")
    if not (snapshot := weights_path(folder, step)).is_file():
        raise FileNotFoundError(f"{folder} holds no snapshot of step {step}: {snapshot.name} is missing")


@contextmanager
def reading_config(folder: Path, kind: str, what: str) -> Iterator[dict[str, Any]]:
    """The fields of config.json; whatever is wrong with them, in the block as well, becomes a ValueError.

    Args:
        kind: the format that the file has to have.
        what: the model in words, say "a translator".
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config.get("format") != kind:
            raise ValueError(f'its "format" is {config.get("format")!r}, not "{kind}"')
        yield config
    # RuntimeError: sizes that no memory holds. RecursionError: JSON nested without end.
    except (ValueError, KeyError, AttributeError, TypeError, RuntimeError, RecursionError) as error:
        raise ValueError(f"{folder / CONFIG} does not describe {what}: {error}") from error


def num_weights(path: Path) -> int:
    """How many numbers a file of weights holds. A matrix that a model uses twice is in it once.

    Raises:
        ValueError: the file is damaged.
        FileNotFoundError: there is none.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def check_size(config: TransformerConfig | VisionConfig, numbers: int) -> None:
    """Make sure that a model of these sizes has so many weights.

    Raises:
        ValueError: it has not, or it has far more positions than any text fills.
    """
    wanted = total(parameters(config))
    if wanted != numbers:
        raise ValueError(f"such a model has {wanted:,} parameters, and the file of weights holds {numbers:,} numbers")
    if isinstance(config, TransformerConfig) and config.max_length > MAX_LENGTH:
        raise ValueError(f"max_length={config.max_length:,} is more than {MAX_LENGTH:,}")


def check_vocabulary(folder: Path, tokenizer: Tokenizer | SymbolTokenizer, config: TransformerConfig) -> None:
    """Make sure that a tokenizer belongs to a model.

    Raises:
        ValueError: it has another number of tokens, or another padding token.
    """
    for name in ("vocab_size", "pad_id"):
        of_tokenizer, of_model = getattr(tokenizer, name), getattr(config, name)
        if of_tokenizer != of_model:
            raise ValueError(f"{folder}: {name} is {of_tokenizer} in the tokenizer and {of_model} in {CONFIG}")


def read_weights(model: Model, path: Path, device: str) -> Model:
    """Give a model the weights in a file, in float32, ready for use.

    Raises:
        ValueError: the file is of another model, or holds NaN or infinity; or there is no such device.
    """
    weights = safetensors.torch.load_file(path)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        # PyTorch lists every layer, one a line after a heading.
        reason = " ".join(str(error).splitlines()[:2])[:300]
        raise ValueError(f"{path} does not fit {CONFIG}: {reason}") from error
    read = model.state_dict()
    for name, tensor in weights.items():
        # As the model has it: what is finite in float64 need not be so in float32.
        if not tensor.is_floating_point() or not read[name].isfinite().all():
            raise ValueError(f"{path} is damaged: {name} holds values that are no numbers")
    return model.eval().to(choose_device(device))


def write(folder: Path, kind: str, fields: dict[str, Any], model: nn.Module) -> None:
    """Write config.json and the weights, in half precision.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(json.dumps({"format": kind, **fields}, indent=2) + "\n", encoding="utf-8")
    _write_weights(model, folder / WEIGHTS)


def save_snapshot(folder: Path, model: nn.Module, step: int) -> None:
    """Write the weights after a step of the training, in half precision.

    Raises:
        OSError: the file cannot be written.
    """
    path = weights_path(Path(folder), step)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_weights(model, path)


def snapshot_steps(folder: Path) -> list[int]:
    """The steps of the training whose weights were kept, in rising order."""
    steps = (path.stem.removeprefix("step-") for path in (Path(folder) / SNAPSHOTS).glob("step-*.safetensors"))
    return sorted(int(step) for step in steps if len(step) == 8 and step.isascii() and step.isdecimal())


def clear_snapshots(folder: Path) -> None:
    """Delete the snapshots that another training may have left in a folder."""
    for step in snapshot_steps(folder):
        weights_path(Path(folder), step).unlink()


def weights_path(folder: Path, step: int | None = None) -> Path:
    """The file with the weights of the finished model, or those after a step of its training."""
    return folder / WEIGHTS if step is None else folder / SNAPSHOTS / f"step-{step:08d}.safetensors"


def write_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Write a safetensors file.

    Raises:
        OSError: it cannot be written: say, the disk is full.
    """
    try:
        safetensors.torch.save_file(tensors, path)
    except SafetensorError as error:
        raise OSError(f"{path} cannot be written: {error}") from error


def _write_weights(model: nn.Module, path: Path) -> None:
    weights = {name: tensor.detach().to("cpu", torch.float16) for name, tensor in model.state_dict().items()}
    write_tensors(weights, path)
