"""training.csv: the course of a training run, a row every so many steps."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path

COLUMNS = ("step", "learning_rate", "loss", "tokens_per_second", "seconds", "validation_loss")
"""Of every run; figures of its task follow."""


class TrainingLog:
    """Rows, written at once, so that an interruption loses none.

    loss: mean loss since the row before, nats a label, with dropout. tokens_per_second: tokens read since the row
    before. seconds: time spent training up to this step. validation_loss: the same loss on data held out, without
    dropout.
    """

    def __init__(self, path: Path, after_step: int, columns: Sequence[str]) -> None:
        """Open the log of a run that goes on after `after_step`; later rows, of steps to be done again, are dropped.

        Args:
            columns: the task's, beside COLUMNS.

        Raises:
            ValueError: what is to go on is no such log.
        """
        self._path = Path(path)
        self._columns = (*COLUMNS, *columns)
        kept = []
        if after_step and self._path.exists():
            with open(self._path, newline="", encoding="utf-8") as file:
                # A row whose writing was cut off has no line end.
                complete = [line for line in file if line.endswith("\n")]
            reader = csv.DictReader(complete)
            if tuple(reader.fieldnames or ()) != self._columns:
                raise ValueError(
                    f"{self._path} does not begin with {','.join(self._columns)}, so its rows would be lost: put the "
                    "file back as it was, or move it away to go on without them"
                )
            kept = [row for row in reader if row["step"].isdecimal() and int(row["step"]) <= after_step]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        with open(new, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows({column: row[column] for column in self._columns} for row in kept)
        os.replace(new, self._path)

    def append(self, **values: float | str) -> None:
        """Add a row; columns without a value stay empty."""
        with open(self._path, "a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self._columns, restval="", lineterminator="\n").writerow(values)
