"""One text (or image) seen by one model: the value that every view and every export draws from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from jaxtyping import Float, UInt8
from numpy import ndarray
from torch import Tensor

from transformer_core.inspection.trace import AttentionCall


@dataclass(frozen=True, repr=False)
class AttentionStack:
    """The attention of all layers of one stack for one text, with the tokens of both axes.

    Raises:
        ValueError: the tokens do not fit the recorded calls, or special tokens and words do not fit the tokens.
    """

    name: str
    """Which stack: "encoder", "decoder", "cross" or "self"."""
    calls: tuple[AttentionCall, ...]
    """One attention call for each layer, with a batch of one text."""
    query_tokens: tuple[str, ...]
    """Labels of the rows."""
    key_tokens: tuple[str, ...]
    """Labels of the columns."""
    query_label: str
    """What the rows are, say "German"."""
    key_label: str
    """What the columns are, say "English"."""
    rows: tuple[int, ...] | None = None
    """The recorded query positions that this stack shows, say those of sentence A; None: all of them."""
    columns: tuple[int, ...] | None = None
    """The recorded key positions that this stack shows. Without the others, rows do not sum to 1."""
    query_special: tuple[int, ...] = ()
    """Places, in `query_tokens`, of the tokens that are no words of the text: <s>, </s>, [CLS], [SEP], [PAD], ..."""
    key_special: tuple[int, ...] = ()
    """The same for `key_tokens`."""
    query_words: tuple[int, ...] | None = None
    """The number of the word that each query token belongs to: the first has 0, and the next token the same or one
    more. A special token is a word of its own; None: every token is."""
    key_words: tuple[int, ...] | None = None
    """The same for `key_tokens`."""

    def __post_init__(self) -> None:
        expected = (1, len(self.query_tokens), len(self.key_tokens))
        for call in self.calls:
            num_queries = call.num_queries if self.rows is None else len(self.rows)
            num_keys = call.num_keys if self.columns is None else len(self.columns)
            found = (call.batch_size, num_queries, num_keys)
            if found != expected:
                raise ValueError(
                    f"{call.name!r} recorded (texts, queries, keys) = {found}, but the tokens of the stack "
                    f"{self.name!r} make {expected}"
                )
        self._check_axis("query", len(self.query_tokens), self.query_special, self.query_words)
        self._check_axis("key", len(self.key_tokens), self.key_special, self.key_words)

    def _check_axis(self, axis: str, length: int, special: tuple[int, ...], words: tuple[int, ...] | None) -> None:
        of = f"of the stack {self.name!r}, which has {length} {axis} tokens,"
        if any(not 0 <= place < length for place in special) or sorted(set(special)) != list(special):
            raise ValueError(f"{axis}_special {of} has to name different tokens in rising order, not {special}")
        if words is None:
            return
        if len(words) != length:
            raise ValueError(f"{axis}_words {of} has {len(words)} numbers: it needs one for each token")
        if words[:1] not in ((), (0,)) or any(after - before not in (0, 1) for before, after in pairwise(words)):
            raise ValueError(f"{axis}_words {of} has to begin with 0 and to go on with the same number or the next")

    def __repr__(self) -> str:
        sizes = f"{len(self)} layers, {len(self.query_tokens)} queries, {len(self.key_tokens)} keys"
        return f"<AttentionStack {self.name!r}: {sizes}>"

    def __len__(self) -> int:
        """Number of layers."""
        return len(self.calls)

    def __getitem__(self, layer: int) -> AttentionCall:
        if not 0 <= layer < len(self.calls):
            raise IndexError(f"layer {layer} does not exist: the stack {self.name!r} has {len(self.calls)} layers")
        return self.calls[layer]

    def num_heads(self, layer: int) -> int:
        """Number of heads of a layer."""
        return self[layer].num_heads

    def weights(
        self, layer: int, head: int | None = None
    ) -> Float[Tensor, "query key"] | Float[Tensor, "head query key"]:
        """The weights of one head, (query, key), or of all heads of a layer, (head, query, key).

        Raises:
            IndexError: a layer or a head that the model does not have.
        """
        weights = self[layer].weights(head, self.rows)[0]
        return weights if self.columns is None else weights[..., list(self.columns)]

    def part(
        self, name: str, rows: Sequence[int], columns: Sequence[int], query_label: str, key_label: str
    ) -> "AttentionStack":
        """The same attention at some rows and columns alone, with what is known of their tokens.

        Args:
            name: what to call the part.
            rows: places in `query_tokens`, in rising order.
            columns: places in `key_tokens`, in rising order.
            query_label: what the rows are.
            key_label: what the columns are.
        """
        return AttentionStack(
            name=name,
            calls=self.calls,
            query_tokens=tuple(self.query_tokens[row] for row in rows),
            key_tokens=tuple(self.key_tokens[column] for column in columns),
            query_label=query_label,
            key_label=key_label,
            rows=tuple(map(self.recorded_row, rows)),
            columns=tuple(map(self.recorded_column, columns)),
            query_special=tuple(place for place, row in enumerate(rows) if row in self.query_special),
            key_special=tuple(place for place, column in enumerate(columns) if column in self.key_special),
            query_words=_renumbered(self.query_words, rows),
            key_words=_renumbered(self.key_words, columns),
        )

    def recorded_row(self, query: int) -> int:
        """The row, in the recorded calls, of a query token of this stack.

        Raises:
            IndexError: a query token that it does not have.
        """
        _check_place("query", query, len(self.query_tokens), self.name)
        return query if self.rows is None else self.rows[query]

    def recorded_column(self, key: int) -> int:
        """The column, in the recorded calls, of a key token of this stack.

        Raises:
            IndexError: a key token that it does not have.
        """
        _check_place("key", key, len(self.key_tokens), self.name)
        return key if self.columns is None else self.columns[key]

    @property
    def is_part(self) -> bool:
        """Whether it shows a part of another stack's rows or columns."""
        return self.rows is not None or self.columns is not None


def _check_place(axis: str, place: int, length: int, name: str) -> None:
    if not 0 <= place < length:
        raise IndexError(f"{axis} {place} does not exist: the stack {name!r} has {length} {axis} tokens")


def _renumbered(words: tuple[int, ...] | None, places: Sequence[int]) -> tuple[int, ...] | None:
    """The words of some of the tokens, numbered from 0."""
    if words is None:
        return None
    number_of = {word: number for number, word in enumerate(dict.fromkeys(words[place] for place in places))}
    return tuple(number_of[words[place]] for place in places)


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from."""

    model: str
    weights_hash: str
    """The first 12 hex digits of the SHA-256 of the model's weights file."""
    device: str
    dtype: str
    torch_version: str


@dataclass(frozen=True)
class Prediction:
    """What a model expects at one place, with probabilities: the next token, a masked word, the class."""

    place: str
    """Where, in words: "next token", "mask 1", "class"."""
    row: int | None
    """The query position, in the stack of the whole text, from which it was read off; None: from no single one."""
    candidates: tuple[tuple[str, float], ...]
    """Labels with their probabilities, the likeliest first. They are the top few, so they may sum to less than 1."""


@dataclass(frozen=True)
class PatchImage:
    """The image that a vision model looked at, and where its patches lie among the tokens."""

    pixels: UInt8[ndarray, "height width 3"]
    """The image as the model got it: resized and cropped, with normalisation undone."""
    grid: tuple[int, int]
    """Rows and columns of patches, which are read row by row."""
    first_patch: int
    """Number of tokens before the first patch, such as the class token."""


@dataclass(frozen=True, repr=False)
class Inspection:
    """What a model answered to a text, and the attention of all its heads on the way."""

    text: str
    """The text as it was typed; of an image, its name."""
    answer: str
    """What the model made of it, for a translator the translation."""
    stacks: dict[str, AttentionStack]
    """By name."""
    provenance: Provenance
    seconds: float
    """Time the model took: answering and recording."""
    notes: tuple[str, ...]
    """What a reader has to know about this result, as plain sentences."""
    certificate: float | None
    """Largest |A V - model's output| over the checked rows of all heads, relative to max |V|; None under dropout."""
    row_sum_error: float
    """Largest |row sum - 1| over all rows that attend to something."""
    second_text: str = ""
    """The other sentence of a pair, as it was typed."""
    predictions: tuple[Prediction, ...] = ()
    """What the model expected, where it says so."""
    image: PatchImage | None = None
    """What a vision model looked at."""
    options: dict[str, Any] = field(default_factory=dict)
    """How the text was read and the answer looked for, by the options' names, as far as the model has a choice."""

    def __repr__(self) -> str:
        stacks = ", ".join(map(repr, self.stacks.values()))
        return f"<Inspection of {self.text!r} by {self.provenance.model!r}, answer {self.answer!r}: {stacks}>"

    def _repr_html_(self) -> str:
        from transformer_core.view.html_file import to_frame  # only a notebook draws it

        return to_frame(self)
