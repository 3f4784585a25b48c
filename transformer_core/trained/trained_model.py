"""What all trained models share: a folder that holds one is read and written in the same way."""

from abc import ABC
from pathlib import Path
from typing import Any, ClassVar, Self

from torch import nn

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.trained.folder import (
    TOKENIZER,
    check_files,
    check_size,
    check_vocabulary,
    num_weights,
    read_weights,
    reading_config,
    weights_path,
    write,
)


class TrainedModel(ABC):
    """A model with what it needs to read its input.

    A kind is a frozen dataclass of `model`, then `tokenizer` if it reads tokens, and whatever else stands in its
    config.json, from which `_parts` reads it and into which `_fields` writes it.
    """

    FORMAT: ClassVar[str]
    """The "format" in its config.json."""
    DESCRIPTION: ClassVar[str]
    """What it is, for messages: say "a translator"."""
    NETWORK: ClassVar[type[nn.Module]]
    """The class of `model`."""

    model: nn.Module

    @classmethod
    def load(cls, folder: Path, device: str = "auto", step: int | None = None) -> Self:
        """Read a folder: float32, ready for use.

        Args:
            device: "auto", "cuda", "mps" or "cpu".
            step: the weights of this snapshot of the training instead.

        Raises:
            FileNotFoundError: the folder or one of its files is missing.
            ValueError: a file is damaged, of another kind, or does not fit the others; or there is no such device.
        """
        folder = Path(folder)
        check_files(folder, step)
        weights = weights_path(folder, step)
        numbers = num_weights(weights)
        with reading_config(folder, cls.FORMAT, cls.DESCRIPTION) as fields:
            sizes, parts = cls.sizes(fields), cls._parts(fields)
            # Before it is built: a file can name sizes that no memory holds.
            check_size(sizes, numbers)
            model = cls.NETWORK(sizes)
        if isinstance(sizes, TransformerConfig):
            if "tokenizer" not in parts:
                parts["tokenizer"] = Tokenizer.load(folder / TOKENIZER)
            check_vocabulary(folder, parts["tokenizer"], sizes)
        return cls(read_weights(model, weights, device), **parts)

    def save(self, folder: Path) -> None:
        """Write what `load` reads, with the weights in half precision."""
        folder = Path(folder)
        write(folder, self.FORMAT, self._fields(), self.model)
        if isinstance(tokenizer := getattr(self, "tokenizer", None), Tokenizer):
            tokenizer.save(folder / TOKENIZER)

    @classmethod
    def sizes(cls, fields: dict[str, Any]) -> TransformerConfig | VisionConfig:
        """The model's config, from the fields of config.json.

        Raises:
            ValueError, KeyError, TypeError: the fields are not those that `save` writes.
        """
        return TransformerConfig.from_dict(fields["transformer"])

    @classmethod
    def _parts(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """What else the dataclass holds, as far as it stands in config.json; fails as `sizes` does."""
        return {}

    def _fields(self) -> dict[str, Any]:
        """What `sizes` and `_parts` read."""
        return {"transformer": self.model.config.to_dict()}
