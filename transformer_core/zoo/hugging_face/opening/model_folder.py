"""A model folder that may come from anywhere: which of its files are opened, and what in them is obeyed.

Nothing here runs what a folder holds. Every path is resolved, links included, and has to stay inside the folder.
transformers gets to see a copy of the small files, without the settings that name code, kernels or files elsewhere.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

MAX_JSON_BYTES = 256 * 2**20
"""More than any tokenizer.json. What is larger is refused before it is read."""

COPIED_SUFFIXES = (".json", ".txt", ".model", ".spm", ".tiktoken", ".jinja", ".codes")
"""Of the files that transformers reads a tokenizer or an image processor from."""

SETTINGS_OF_TRANSFORMERS = {
    "auto_map",
    "attn_implementation",
    "_attn_implementation",
    "_attn_implementation_internal",
    "experts_implementation",
    "_experts_implementation",
    "use_kernels",
    "kernel_config",
    "fusion_config",
    "distributed_config",
    "transformers_weights",
    "configuration_files",
    "_name_or_path",
    "name_or_path",
    "dtype",
    "torch_dtype",
    "output_attentions",
    "output_hidden_states",
    "return_dict",
    "use_return_dict",
    "torchscript",
}
"""Keys of config.json that say how to load and run a model, not what it is. Some name code or kernels on the hub."""

SETTINGS_OF_A_TOKENIZER = {"auto_map", "init_inputs", "name_or_path", "sp_model_kwargs", "tokenizer_object", "vocab"}
"""Keys of tokenizer_config.json and its like that are not obeyed, besides all that name files."""


class ModelFolder:
    """A folder with config.json and weights.

    Raises:
        ValueError: a file that is damaged, or that leads out of the folder (every method).
        OSError: a file that cannot be read (every method).
    """

    def __init__(self, folder: Path, name: str) -> None:
        """`name` stands for the folder in messages: where a downloaded model lies is nobody's business."""
        self.name = name
        if folder.is_file():
            raise ValueError(f"{name} is a file. Name the folder that holds it.")
        if not folder.is_dir():
            raise FileNotFoundError(f"There is no folder {name}.")
        self.root = folder.resolve()
        self._homes = [self.root]
        # In a Hugging Face cache, what a snapshot holds are links into the blobs of the same repository.
        repository = self.root.parent.parent
        if self.root.parent.name == "snapshots":
            self._homes.append(repository / "blobs")

    def path(self, name: str) -> Path | None:
        """Where a file really lies; None if the folder has no such file."""
        try:
            path = self.root / name
            resolved = path.resolve()
        except (ValueError, OSError, RuntimeError) as error:  # a null character, an overlong name, a loop of links
            raise ValueError(f"{self.name} names a file {name!a}, which cannot be opened.") from error
        if not any(resolved.is_relative_to(home) for home in self._homes):
            raise ValueError(
                f"{name!a} leads out of {self.name}. A model's files are read from its own folder only: copy the file "
                "there if it is yours."
            )
        if not resolved.exists():
            if path.is_symlink():
                raise FileNotFoundError(
                    f"{name} in {self.name} is a link to a file that is not there. Download the model again."
                )
            return None
        if not resolved.is_file():
            raise ValueError(f"{name} in {self.name} is no regular file.")
        return resolved

    def json(self, name: str) -> Any:
        """What a JSON file says; None if the folder has no such file."""
        path = self.path(name)
        if path is None:
            return None
        if path.stat().st_size > MAX_JSON_BYTES:
            raise ValueError(
                f"{name} in {self.name} is too large for what it should be: {path.stat().st_size:,} bytes."
            )
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{name} in {self.name} is not valid JSON ({error}). It is damaged: get it again."
            ) from error

    def settings(self, name: str) -> dict[str, Any] | None:
        """A JSON object with names for keys; None if the folder has no such file."""
        settings = self.json(name)
        if settings is not None and not isinstance(settings, dict):
            raise ValueError(f"{name} in {self.name} is not a JSON object. It is damaged: get it again.")
        return settings

    def config(self) -> dict[str, Any]:
        """config.json as it is written."""
        config = self.settings("config.json")
        if config is None:
            if self.path("adapter_config.json"):
                raise ValueError(
                    f"{self.name} holds an adapter (LoRA), which is a change to another model. Merge it into that "
                    "model and save the result (peft: merge_and_unload(), then save_pretrained())."
                )
            raise FileNotFoundError(
                f"There is no config.json in {self.name}. Name the folder of a Hugging Face model: it holds "
                "config.json and model.safetensors."
            )
        return config

    def weight_files(self) -> list[Path]:
        """The safetensors files, in a stable order."""
        if single := self.path("model.safetensors"):
            return [single]
        index = self.settings("model.safetensors.index.json")
        if index is None:
            raise ValueError(self._about_missing_weights())
        names = index.get("weight_map")
        if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
            raise ValueError(f"model.safetensors.index.json in {self.name} names no weight files. Get it again.")
        files = []
        for name in sorted(set(names.values())):
            if not name.endswith(".safetensors"):
                raise ValueError(
                    f"model.safetensors.index.json in {self.name} names {name!a}, which is no safetensors."
                )
            path = self.path(name)
            if path is None:
                raise FileNotFoundError(
                    f"{name} is missing in {self.name}: one of the {len(set(names.values())):,} weight files of this "
                    "model. Download it again."
                )
            files.append(path)
        return files

    def _about_missing_weights(self) -> str:
        names = sorted(path.name for path in self.root.iterdir())
        pickles = [name for name in names if name.endswith((".bin", ".pt", ".pth", ".ckpt", ".pkl"))]
        others = [name for name in names if name.endswith((".safetensors", ".gguf", ".h5", ".msgpack", ".onnx"))]
        message = f"There is no model.safetensors in {self.name}."
        if pickles:
            return (
                f"{message} It has {', '.join(pickles[:3])}, but such files can run any program when they are opened, "
                "so Headlight does not. If you trust its source, convert it: load the model with transformers and "
                "save it again with save_pretrained(), which writes model.safetensors."
            )
        if others:
            return (
                f"{message} It has {', '.join(others[:3])}, which cannot be opened by itself. Load the model where it "
                "comes from, and save it with save_pretrained()."
            )
        return f"{message} Its weights are missing: download or save the model again."

    def copy_small_files(self, target: Path, config: dict[str, Any]) -> None:
        """Put what a tokenizer, an image processor and generation settings are read from into another folder."""
        for entry in sorted(self.root.iterdir()):
            name = entry.name
            if not name.endswith(COPIED_SUFFIXES) or name == "config.json" or name.endswith(".index.json"):
                continue
            path = self.path(name)
            if path is not None and path.stat().st_size <= MAX_JSON_BYTES:
                shutil.copyfile(path, target / name)
        for name in ("tokenizer_config.json", "preprocessor_config.json", "processor_config.json"):
            if (settings := self.settings(name)) is not None:
                (target / name).write_text(json.dumps(_without(settings, _not_a_tokenizers_own)), encoding="utf-8")
        (target / "config.json").write_text(json.dumps(config), encoding="utf-8")


def model_settings(config: dict[str, Any]) -> dict[str, Any]:
    """A config.json without what is not obeyed, in its parts (text_config, encoder, ...) too."""
    return _without(config, lambda key: key in SETTINGS_OF_TRANSFORMERS)


def _without(settings: Any, unwanted: Callable[[str], bool]) -> Any:
    """A JSON value without the keys that are unwanted, at any depth."""
    if isinstance(settings, list):
        return [_without(each, unwanted) for each in settings]
    if not isinstance(settings, dict):
        return settings
    return {key: _without(value, unwanted) for key, value in settings.items() if not unwanted(key)}


def _not_a_tokenizers_own(key: str) -> bool:
    return key in SETTINGS_OF_A_TOKENIZER or key.endswith(("_file", "_files", "_path"))


def open_weights(files: list[Path]) -> dict[str, Any]:
    """Every tensor's name with a slice that reads it, when it is asked to, into memory of its own.

    Not mapped into memory: a file that is overwritten later would change, or crash, the model that came from it.

    Raises:
        ValueError: a damaged file.
    """
    tensors = {}
    for file in files:
        try:
            opened = safe_open(file, framework="pt", backend="pread")
            tensors |= {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise ValueError(
                f"{file.name} is damaged or cut off ({error}). Download or save the model again."
            ) from error
    return tensors
