"""Sentence pairs and texts: read from a file, and divided without leakage."""

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np

Item = TypeVar("Item")


class Pair(NamedTuple):
    """A sentence and one translation of it."""

    source: str
    target: str


class BadLine(NamedTuple):
    """A line of a data file that holds no usable pair."""

    number: int
    problem: str


class DataError(ValueError):
    """A data file that cannot be used; the message says where and why."""


def read_pairs(path: Path, skip_bad_lines: bool = False, max_words: int = 250) -> tuple[list[Pair], list[BadLine]]:
    """Read `source<TAB>target` lines, UTF-8, plain or gzip. Columns after the second are ignored.

    Args:
        path: a .tsv or .tsv.gz file.
        skip_bad_lines: leave bad lines out and list them, instead of refusing the file.
        max_words: a sentence with more words is a bad line: it is hardly a sentence, and it would fill a whole batch.

    Returns:
        The pairs, each once, and the bad lines that were left out.

    Raises:
        DataError: the file is missing, damaged or empty, has no good line, or has a bad one that is not to be skipped.
    """
    pairs: dict[Pair, None] = {}
    bad_lines: list[BadLine] = []
    for number, line in enumerate(_lines(path), start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            pairs[_parse(line.rstrip(b"\r\n"), max_words)] = None
        except ValueError as error:
            if not skip_bad_lines:
                raise DataError(
                    f"{path}, line {number}: {error}. Mend the line, or leave such lines out with --bad-lines skip"
                ) from error
            bad_lines.append(BadLine(number, str(error)))
    if not pairs:
        raise DataError(f"{path} is empty" if not bad_lines else f"{path} has no good line in {len(bad_lines)}")
    return list(pairs), bad_lines


def read_text(path: Path) -> str:
    """A text file, UTF-8, plain or gzip, as it is.

    Raises:
        DataError: the file is missing, damaged or empty, or is not UTF-8.
    """
    content = b"".join(_lines(path)).removeprefix(codecs.BOM_UTF8)
    if not content:
        raise DataError(f"{path} is empty")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start + 1:,} is not UTF-8, so the file is in another encoding") from error


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a plain or a gzip file, with their ends."""
    try:
        with open(path, "rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if compressed else open(path, "rb") as file:
            yield from file
    except FileNotFoundError as error:
        raise DataError(f"there is no data file {path}") from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder, not a data file") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is a damaged gzip file: {error}") from error


def _parse(line: bytes, max_words: int) -> Pair:
    try:
        columns = line.decode("utf-8").split("\t")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8, so the file is in another encoding") from error
    if len(columns) < 2:
        raise ValueError("there is no tab between source and target")
    pair = Pair(columns[0].strip(), columns[1].strip())
    for name, sentence in zip(Pair._fields, pair, strict=True):
        if not sentence:
            raise ValueError(f"the {name} is empty")
        words = len(sentence.split())
        if words > max_words:
            raise ValueError(f"the {name} has {words:,} words, more than {max_words}")
    return pair


@dataclass(frozen=True)
class Split(Generic[Item]):
    """What is for training, for watching it, and for judging its result."""

    train: list[Item]
    validation: list[Item]
    test: list[Item]


def split_pairs(pairs: list[Pair], held_out: int, seed: int) -> Split[Pair]:
    """Divide pairs so that every source sentence, and every target sentence, stands on one side only.

    Sentences that are linked, through however many shared translations, stay together. A linked group with more than
    a twentieth of `held_out` pairs is always training data, so that no group dominates what is held out.

    Args:
        held_out: number of different source sentences for validation, and again for test; a group may exceed it by
            its own size.
        seed: the same seed divides the same pairs in the same way.

    Raises:
        ValueError: too few pairs to hold out so many and train on as many again.
    """
    import networkx  # late, as it takes half a second

    graph = networkx.Graph()
    graph.add_edges_from(((0, pair.source), (1, pair.target)) for pair in pairs)
    group_of = {node: index for index, nodes in enumerate(networkx.connected_components(graph)) for node in nodes}
    groups: dict[int, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(group_of[0, pair.source], []).append(pair)

    sides: dict[str, list[Pair]] = {"validation": [], "test": [], "train": []}
    wanted = {"validation": held_out, "test": held_out, "train": float("inf")}
    sources = dict.fromkeys(sides, 0)
    in_order = list(groups.values())
    for index in np.random.default_rng(seed).permutation(len(in_order)):
        group = in_order[index]
        small = len(group) <= max(1, held_out // 20)
        side = next(name for name in sides if name == "train" or (small and sources[name] < wanted[name]))
        sides[side] += group
        sources[side] += len({pair.source for pair in group})
    if sources["test"] < held_out or sources["train"] < held_out:
        raise ValueError(
            f"{len(pairs)} pairs are too few to hold out {held_out} sentences for validation and {held_out} for test "
            "and to train on the rest: hold out fewer with --held-out, or bring more data"
        )
    return Split(**sides)


def fingerprint(pairs: list[Pair]) -> str:
    """SHA-256 of pairs in their order: tells whether a file still holds the same data."""
    return fingerprint_of_lines("\t".join(pair) for pair in pairs)


def fingerprint_of_lines(lines: Iterable[str]) -> str:
    """SHA-256 of lines, each with a line end."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def with_all_references(pairs: list[Pair]) -> dict[str, list[str]]:
    """Every source sentence with all the translations it has."""
    references: dict[str, list[str]] = {}
    for pair in pairs:
        references.setdefault(pair.source, []).append(pair.target)
    return references
