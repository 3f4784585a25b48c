"""split.json: how the data of a model was read and split, kept beside it, so that what was held out is found again."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypeVar

from transformer_core.training.data import DataError

FILE = "split.json"

AnyRecord = TypeVar("AnyRecord", bound="Record")


@dataclass(frozen=True)
class Record:
    """What every record says; each task's adds what it needs to split the data again."""

    seed: int
    data_sha256: str

    def save(self, folder: Path) -> None:
        """Write split.json."""
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls: type[AnyRecord], folder: Path) -> AnyRecord:
        """Read split.json.

        Raises:
            DataError: it is missing or damaged.
        """
        path = folder / FILE
        try:
            record = cls(**json.loads(path.read_text(encoding="utf-8")))
            for field in fields(cls):
                value = getattr(record, field.name)
                if isinstance(value, bool) or not isinstance(value, field.type):
                    raise TypeError(f"{field.name}={value!r} is no {field.type.__name__}")
                if isinstance(value, float) and not 0 < value < 1:
                    raise ValueError(f"{field.name}={value} is no share between 0 and 1")
                if isinstance(value, int) and value < (0 if field.name == "seed" else 1):
                    raise ValueError(f"{field.name}={value} is too small")
            return record
        except FileNotFoundError as error:
            raise DataError(f"{path} is missing: only `train` knows what it held out") from error
        except (ValueError, TypeError) as error:
            raise DataError(f"{path} is damaged: {error}") from error

    def check(self, sha256: str, data_name: str) -> None:
        """Make sure that these are the data.

        Raises:
            DataError: they are others.
        """
        if sha256 != self.data_sha256:
            raise DataError(f"{data_name} does not hold what the model was trained on")
