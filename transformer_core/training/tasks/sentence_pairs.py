"""What the tasks share that learn from a file of sentence pairs: how it is read, and how much of it is held out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from transformer_core.training.data import Pair, read_pairs
from transformer_core.training.options import TrainingOptions, about, option
from transformer_core.training.record import Record


@dataclass(frozen=True, kw_only=True)
class PairsOptions(TrainingOptions):
    """Options of a training on sentence pairs."""

    data: Path = field(metadata=about("sentence pairs, a source<TAB>target line each, UTF-8, .tsv or .tsv.gz"))
    bad_lines: Literal["refuse", "skip"] = option("what to do with lines that hold no usable pair", "refuse")
    max_words: int = option("a sentence with more words makes its line a bad one", 250)
    held_out: int = option("source sentences held out for validation, and again for test", 2000)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "max_words", "held_out")

    def read_pairs(self) -> tuple[list[Pair], list[str]]:
        """The pairs, each once, and the lines that were left out, with the reason.

        Raises:
            DataError: an unusable file.
        """
        pairs, bad_lines = read_pairs(self.data, self.bad_lines == "skip", self.max_words)
        return pairs, [f"{self.data}, line {line.number}: {line.problem}; skipped" for line in bad_lines]


@dataclass(frozen=True)
class PairsRecord(Record):
    """How sentence pairs were read and split."""

    held_out: int
    max_words: int

    @classmethod
    def of(cls, options: PairsOptions, data_sha256: str) -> "PairsRecord":
        """What a run with these options has to keep."""
        return cls(options.seed, data_sha256, options.held_out, options.max_words)

    def read_pairs(self, path: Path) -> list[Pair]:
        """The pairs in a file, read as they were for the training.

        Raises:
            DataError: an unusable file.
        """
        return read_pairs(path, skip_bad_lines=True, max_words=self.max_words)[0]
