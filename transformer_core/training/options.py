"""What every training run can be told, whatever it trains."""

from abc import ABC, abstractmethod
from argparse import ArgumentTypeError
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from transformer_core.training.schedule import constant_learning_rate, cosine_learning_rate, learning_rate

if TYPE_CHECKING:
    from transformer_core.training.task import Task

CHANGEABLE = ("out", "data", "steps", "average", "device", "credit", "licence")
"""What may differ when a run is resumed; everything else would change what is trained, or what is recorded of it."""


def about(description: str, read: Any = None) -> dict[str, Any]:
    """What the command line has to know of a field: its help, and what makes its value of a text, if not its type."""
    return {"help": description, "read": read}


def option(description: str, default: Any, read: Any = None) -> Any:
    """A field that need not be given."""
    return field(default=default, metadata=about(description, read))


def step_list(text: str) -> tuple[int, ...]:
    """The steps in a text like "0,50,100".

    Raises:
        ArgumentTypeError: it is no such list.
    """
    try:
        return tuple(int(step) for step in text.split(",") if step)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no list of steps: write whole numbers with commas, as 0,50,100") from None


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(ABC):
    """Options that all tasks have; each task adds its own.

    Raises:
        ValueError: an impossible value; the message names it.
    """

    out: Path = field(metadata=about("folder for the model; an interrupted run goes on from what is in it"))
    credit: str = option("where the data comes from and its licence, for the model card", "")
    licence: str = option(
        "what the weights are under, for the model card, say 'the Apache License 2.0'; none: not decided yet", ""
    )
    d_model: int = option("width of the model", 256)
    num_heads: int = option("attention heads of a layer", 8)
    d_ff: int = option("inner width of the feed-forward layers", 1024)
    dropout: float = option("share of values set to zero in training", 0.1)
    steps: int = option("updates in all", 10_000)
    warmup: int = option("steps in which the learning rate rises", 2000)
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = option(
        "how the learning rate falls: as in the Transformer's paper, along a cosine to a tenth, or not", "inverse_sqrt"
    )
    lr_scale: float = option("factor on the paper's learning rate (inverse_sqrt)", 1.0)
    learning_rate: float = option("highest learning rate (cosine, constant)", 1e-3)
    weight_decay: float = option("decay of the matrices, apart from the gradient (AdamW)", 0.0)
    log_every: int = option("steps between two rows of training.csv", 100)
    validate_every: int = option("steps between two validations; a multiple of log-every", 1000)
    checkpoint_every: int = option("steps between two checkpoints", 250)
    average: int = option("last checkpoints whose mean is the final model", 10)
    snapshots: tuple[int, ...] = option(
        "steps whose weights are kept for good, in snapshots/: a list with commas, 0 the start", (), step_list
    )
    seed: int = option("the same seed gives the same split, the same start and the same order", 1)
    device: str = option("auto, cuda, mps or cpu", "auto")
    precision: Literal["auto", "float32", "bfloat16"] = option("matrix products; auto takes the faster one", "auto")

    @abstractmethod
    def task(self) -> "Task":
        """What is to be trained in this way."""

    def __post_init__(self) -> None:
        self.require_at_least(1, "steps", "warmup", "log_every", "validate_every", "checkpoint_every", "average")
        if not 0 <= self.weight_decay < float("inf"):
            raise ValueError(f"weight_decay={self.weight_decay} must be a number from 0 on")
        for name in ("lr_scale", "learning_rate"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name}={getattr(self, name)} must be greater than 0")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed={self.seed} must be from 0 to {2**32 - 1}")
        if any(step < 0 for step in self.snapshots):
            raise ValueError(f"snapshots={self.snapshots} must be steps from 0 on")
        if beyond := [step for step in self.snapshots if step > self.steps]:
            raise ValueError(
                f"snapshots from {min(beyond)} on come after the last of steps={self.steps}: name steps up to there "
                "with --snapshots, or ask for more --steps"
            )
        if self.out.exists() and not self.out.is_dir():
            raise ValueError(f"out={self.out} is a file, and a folder is needed")
        if self.validate_every % self.log_every:
            raise ValueError(
                f"validate_every={self.validate_every} must be a multiple of log_every={self.log_every}: "
                "validation figures stand in the rows of training.csv"
            )

    def require_at_least(self, least: int, *names: str) -> None:
        """Refuse smaller values of these options.

        Raises:
            ValueError: there is one.
        """
        for name in names:
            if not getattr(self, name) >= least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        if self.schedule == "cosine":
            return cosine_learning_rate(step, self.learning_rate, self.warmup, self.steps)
        if self.schedule == "constant":
            return constant_learning_rate(step, self.learning_rate, self.warmup)
        return learning_rate(step, self.d_model, self.warmup, self.lr_scale)

    def fixed(self) -> dict[str, Any]:
        """The options that a resumed run must share, as JSON values."""
        changeable = set(CHANGEABLE)
        if self.schedule == "cosine":
            changeable.remove("steps")  # the cosine ends where the run ends
        values = {name: value for name, value in asdict(self).items() if name not in changeable}
        return {"task": type(self).__name__} | values | {"snapshots": list(self.snapshots)}
