"""What the training loop does not know: the data, the model, the loss, and what is written and judged at the end."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.trained import TrainedModel
from transformer_core.training.model_card import Card
from transformer_core.training.options import TrainingOptions

NO_LABEL = -100
"""In the place of a label: nothing is to be said here. PyTorch's own choice."""

Options = TypeVar("Options", bound=TrainingOptions)


class Task(ABC, Generic[Options]):
    """Something to be learned. The loop calls `read`, for a new run `begin`, then `prepare`, `new_model` and the rest.

    Batches are dataclasses of tensors whose first dimension is the batch's rows; one of them is `label_ids`.
    """

    columns: ClassVar[tuple[str, ...]] = ()
    """Validation figures in training.csv, beside the loss."""
    no_label: int = NO_LABEL
    """The label that counts for nothing."""
    data_name: str
    """What the data is called in messages."""
    fingerprint: str
    """Tells other data from this; known after `read`."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @abstractmethod
    def read(self) -> list[str]:
        """Read and split the data.

        Returns:
            What of it could not be used, a line each.

        Raises:
            ValueError: unusable data.
        """

    def begin(self) -> None:
        """Before the first step of a new run, in one process for all: write what the model builds on, a tokenizer."""

    def prepare(self) -> list[str]:
        """Turn the data into what the model reads, with what `begin` has written.

        Returns:
            What was left out, a line each.

        Raises:
            ValueError: nothing is left.
        """
        return []

    @abstractmethod
    def new_model(self) -> nn.Module:
        """The untrained model."""

    @abstractmethod
    def description(self) -> str:
        """The data and its tokens in a few words, for the line with which a run starts."""

    @abstractmethod
    def plan(self, epoch: int, processes: int) -> Sequence[Any]:
        """The batches of an epoch, each as that of which `batch` makes it. The same epoch has the same plan."""

    @abstractmethod
    def batch(self, item: Any, random: np.random.Generator) -> Any:
        """A batch of the plan. What it leaves to chance, it draws from `random`."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any) -> Float[Tensor, ""]:
        """Sum of the losses, in nats, over all labels of the batch."""

    @abstractmethod
    def tokens_read(self, batch: Any) -> int:
        """Tokens of a batch, padding not counted."""

    @abstractmethod
    def validate(self, model: nn.Module) -> dict[str, str]:
        """What stands in training.csv of the data held out: validation_loss, and a figure for each of `columns`."""

    @abstractmethod
    def save(self, model: nn.Module) -> None:
        """Write the trained model's folder, and how the data was split."""

    @abstractmethod
    def card(self, trained: TrainedModel) -> Card:
        """Judge the model as it was saved."""
