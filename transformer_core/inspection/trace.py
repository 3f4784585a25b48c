"""What one attention call read, and the exact weights that follow from it when somebody looks."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from transformer_core.interrupting import short_steps, stage

Kind = Literal["encoder", "decoder", "cross", "self"]

Route = Literal["fused", "written out"]
"""How the model computed its attention: in one call of PyTorch's kernel, or step by step, with a softmax of its own."""

AT_ONCE = 2**20
"""Weights that are computed in one product. Beyond, one head after the other is faster, and needs less memory."""


def forbids(mask: Tensor) -> Tensor:
    """Where a mask does not allow attention: boolean false, or added numbers as low as their type can go.

    Models write the latter for minus infinity. After the softmax it makes a difference only where a query may attend
    to nothing: equal weights for all keys, which mean nothing.
    """
    if mask.dtype == torch.bool:
        return ~mask
    return mask <= torch.finfo(mask.dtype).min / 2


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AttentionCall(ABC):
    """One call of scaled dot-product attention, softmax(scale * Q K^T + mask) V, as a model made it.

    The tensors are copies, so that nothing the model does later changes them.
    """

    name: str
    """Path of the module that made the call, as in `model.named_modules()`; "" is the model itself."""
    kind: Kind
    """Which stack the call belongs to; see `transformer_core.inspection.kinds`."""
    route: Route
    value: Float[Tensor, "#batch value_head key d_v"]
    """With fewer heads than there are, every value head serves as many neighbouring heads (arXiv 2305.13245)."""
    dropout: float
    """Share of the weights that the call set to zero at random. `weights` are those before that."""
    checked_rows: Int[Tensor, " checked"]
    """The query positions whose output was kept for `certificate`."""
    checked_output: Float[Tensor, "batch head checked d_v"]
    changed_heads: frozenset[int] = frozenset()
    """Heads whose output an intervention changed. Their `weights` are those of the model itself."""

    def __repr__(self) -> str:
        sizes = f"{self.num_heads} heads, {self.num_queries} queries, {self.num_keys} keys"
        return f"<{type(self).__name__} of {self.name!r}, {self.kind}: {sizes}>"

    @property
    @abstractmethod
    def batch_size(self) -> int:
        """Number of texts that ran together."""

    @property
    @abstractmethod
    def num_heads(self) -> int:
        """Number of query heads."""

    @property
    @abstractmethod
    def num_queries(self) -> int:
        """Number of query tokens: rows of the weights."""

    @property
    @abstractmethod
    def num_keys(self) -> int:
        """Number of key tokens: columns of the weights."""

    @abstractmethod
    def weights_of(
        self, heads: slice, rows: Int[Tensor, " query"], temperature: float = 1.0
    ) -> Float[Tensor, "batch head query key"]:
        """The weights of neighbouring heads at some rows, as in `weights`, in the precision they were computed in."""

    @abstractmethod
    def tile(self, head: int, rows: slice, columns: slice) -> Float[Tensor, "batch query key"]:
        """A part of one head's weights: as in `weights`, at the price of that part."""

    @torch.no_grad()
    def weights(
        self,
        head: int | None = None,
        rows: slice | Sequence[int] | Tensor | None = None,
        temperature: float = 1.0,
    ) -> Float[Tensor, "batch query key"] | Float[Tensor, "batch head query key"]:
        """The attention weights, in float32, before dropout. Rows are queries, columns are keys; a row sums to 1.

        A query that may attend to nothing has a row of zeros, as in the kernel. Where the model has attention sinks,
        rows sum to less than 1: the sink has the rest.

        Args:
            head: one head, which makes the result (batch, query, key); None for all of them.
            rows: the query positions wanted; None for all of them.
            temperature: what the scores are divided by before the softmax; 1 is what the model did.

        Raises:
            IndexError: a head or a row that this call does not have.
        """
        positions = self._positions(rows)
        if head is not None:
            self._check_head(head)
            return self.weights_of(slice(head, head + 1), positions, temperature)[:, 0].float()
        if self.batch_size * self.num_heads * len(positions) * self.num_keys <= AT_ONCE:
            return self.weights_of(slice(None), positions, temperature).float()
        return torch.stack([self.weights(each, positions, temperature) for each in range(self.num_heads)], dim=1)

    @torch.no_grad()
    def output(self, head: int, rows: slice | Sequence[int] | Tensor | None = None) -> Float[Tensor, "batch query d_v"]:
        """What the head gives to the output projection: its weights times its values, in float32, before dropout.

        Raises:
            IndexError: a head or a row that this call does not have.
        """
        weights = self.weights(head, rows)
        with torch.autocast(weights.device.type, enabled=False):
            return weights @ self.head_value(head)

    def head_value(self, head: int) -> Float[Tensor, "#batch key d_v"]:
        """The values that the head reads, in float32."""
        return self.value[:, head // (self.num_heads // self.value.size(1))].float()

    @torch.no_grad()
    def certificate(self) -> float | None:
        """How well the weights explain what the model computed: the largest |A V - its output| relative to max |V|.

        Measured on `checked_rows` of every head. For `StoredAttention`, whose weights are the model's own, it only
        shows that these met the values. About 1e-7 to 1e-6 in float32 and 2e-3 in bfloat16 when everything
        was understood; a scale wrong by 5 % shows as 3e-3 to 3e-2. None after dropout, which is random, and where an
        intervention changed every head.
        """
        unchanged = [head for head in range(self.num_heads) if head not in self.changed_heads]
        if self.dropout or not unchanged or not self.checked_output.numel():
            return None
        weights = self.weights(rows=self.checked_rows)
        value = self.value.float().repeat_interleave(self.num_heads // self.value.size(1), dim=1)
        with torch.autocast(value.device.type, enabled=False):
            error = (weights @ value - self.checked_output).abs()
        # Kernels differ in what they return for a query that may attend to nothing.
        attends_to_nothing = (weights == 0).all(dim=-1, keepdim=True)
        error = error.masked_fill(attends_to_nothing, 0.0)[:, unchanged].max()
        return float(error / self.value.abs().max().float().clamp_min(torch.finfo(torch.float32).tiny))

    @torch.no_grad()
    def row_sum_error(self) -> float:
        """The largest |sum - 1| over the rows, of every head, that attend to something. A sink's share counts."""
        errors = [torch.zeros(1, dtype=torch.float64)]
        rows = self._positions(None)
        # All heads at once if they are small, as in `weights`.
        is_small = self.batch_size * self.num_heads * self.num_queries * self.num_keys <= AT_ONCE
        step = self.num_heads if is_small else 1
        for first in range(0, self.num_heads, step):
            heads = slice(first, first + step)
            # Apple's MPS has no double precision.
            sums = self.weights_of(heads, rows).float().cpu().double().sum(dim=-1)
            blank = sums == 0
            errors.append((sums + self._sink_weights(heads).cpu().double() - 1).abs()[~blank])
        return float(torch.cat(errors).max())

    def _sink_weights(self, heads: slice) -> Float[Tensor, "#batch #head #query"]:
        """The share of every row that goes to no key."""
        return torch.zeros(1, 1, 1)

    def to(self, device: torch.device | str) -> "AttentionCall":
        """The same call with its tensors on `device`."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        moved = {name: value.to(device) for name, value in values.items() if isinstance(value, Tensor)}
        return dataclasses.replace(self, **moved)

    def _positions(self, rows: slice | Sequence[int] | Tensor | None) -> Int[Tensor, " query"]:
        positions = torch.arange(self.num_queries, device=self.value.device)
        if rows is None:
            return positions
        return positions[rows if isinstance(rows, slice | Tensor) else list(rows)]

    def _check_head(self, head: int) -> None:
        if not 0 <= head < self.num_heads:
            raise IndexError(f"head {head} does not exist: {self.name!r} has heads 0 to {self.num_heads - 1}")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoredAttention(AttentionCall):
    """Attention whose queries and keys are known: softmax(softcap(scale * Q K^T) + mask).

    Memory grows with the number of tokens, not with its square (a mask aside).
    """

    query: Float[Tensor, "batch head query d_k"]
    key: Float[Tensor, "#batch key_head key d_k"]
    """With fewer heads than `query`, every key head serves as many neighbouring query heads (arXiv 2305.13245)."""
    mask: Shaped[Tensor, "#batch #head #query #key"] | None
    """Boolean, true where attention is allowed, or numbers that are added to the scores, position biases included."""
    is_causal: bool
    """Query i sees the keys 0 to i only, on top of `mask`."""
    scale: float
    softcap: float | None = None
    """Scores s become softcap * tanh(s / softcap) before the mask (Gemma 2, arXiv 2408.00118)."""
    sinks: Float[Tensor, " head"] | None = None
    """One more score for each row, of a key without value, dropped after the softmax (gpt-oss, arXiv 2508.10925)."""
    logsumexp: Float[Tensor, "batch head query"] | None = None
    """The logarithm of each row's sum of exponentiated scores, where the kernel gave it."""

    @property
    def batch_size(self) -> int:
        return self.query.size(0)

    @property
    def num_heads(self) -> int:
        return self.query.size(1)

    @property
    def num_queries(self) -> int:
        return self.query.size(2)

    @property
    def num_keys(self) -> int:
        return self.key.size(2)

    def weights_of(
        self, heads: slice, rows: Int[Tensor, " query"], temperature: float = 1.0
    ) -> Float[Tensor, "batch head query key"]:
        scores = self.scores(heads, rows)
        # The softmax of a row of -inf is 0 / 0. A NaN that comes from the model itself stays visible.
        attends_to_nothing = (scores == -torch.inf).all(dim=-1, keepdim=True)
        if self.sinks is not None:
            scores = torch.cat([scores, self._sink_scores(heads).expand(*scores.shape[:3], 1)], dim=-1)
        weights = torch.softmax(scores / temperature, dim=-1)[..., : self.num_keys]
        return weights.masked_fill(attends_to_nothing, 0.0)

    @torch.no_grad()
    def scores(
        self, heads: slice, rows: Int[Tensor, " query"], columns: slice = slice(None)
    ) -> Float[Tensor, "batch head query key"]:
        """What the softmax of these heads reads, at least in float32; -inf where attention is not allowed."""
        precision = torch.promote_types(self.query.dtype, torch.float32)
        query = self.query[:, heads][:, :, rows].to(precision)
        heads_per_key_head = self.num_heads // self.key.size(1)
        key_heads = torch.arange(self.num_heads, device=rows.device)[heads] // heads_per_key_head
        key = (self.key[:, heads] if heads_per_key_head == 1 else self.key[:, key_heads])[:, :, columns].to(precision)
        with torch.autocast(query.device.type, enabled=False):
            scores = (query * self.scale) @ key.transpose(-2, -1)
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.mask is not None:
            mask = self.mask[:, heads] if self.mask.size(1) > 1 else self.mask
            mask = mask[:, :, rows] if mask.size(2) > 1 else mask
            mask = mask[..., columns] if mask.size(3) > 1 else mask
            scores = scores if mask.dtype == torch.bool else scores + mask
            scores = scores.masked_fill(forbids(mask), -torch.inf)
        if self.is_causal:
            future = torch.arange(self.num_keys, device=rows.device)[columns] > rows.unsqueeze(-1)
            scores = scores.masked_fill(future, -torch.inf)
        return scores

    @torch.no_grad()
    def tile(self, head: int, rows: slice, columns: slice) -> Float[Tensor, "batch query key"]:
        """A part of one head's weights: as in `weights`, at the price of that part where `logsumexp` is known.

        A[i, j] = exp(score[i, j] - logsumexp[i]).

        Raises:
            IndexError: a head that this call does not have.
        """
        self._check_head(head)
        heads, positions = slice(head, head + 1), self._positions(rows)
        scores = self.scores(heads, positions, columns)[:, 0]
        if self.logsumexp is not None:
            logsumexp = self.logsumexp[:, head, positions]
        else:
            whole_rows = self.scores(heads, positions)
            if self.sinks is not None:
                whole_rows = torch.cat([whole_rows, self._sink_scores(heads).expand(*whole_rows.shape[:3], 1)], dim=-1)
            logsumexp = whole_rows.logsumexp(dim=-1)[:, 0]
        return (scores - logsumexp.unsqueeze(-1)).exp().masked_fill(scores == -torch.inf, 0.0).float()

    def _sink_scores(self, heads: slice) -> Float[Tensor, "1 head 1 1"]:
        return self.sinks[heads].to(torch.promote_types(self.query.dtype, torch.float32)).view(1, -1, 1, 1)

    @torch.no_grad()
    def _sink_weights(self, heads: slice) -> Float[Tensor, "#batch #head #query"]:
        if self.sinks is None:
            return super()._sink_weights(heads)
        scores = self.scores(heads, self._positions(None))
        scores = torch.cat([scores, self._sink_scores(heads).expand(*scores.shape[:3], 1)], dim=-1)
        return torch.softmax(scores, dim=-1)[..., -1]


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StoredAttention(AttentionCall):
    """Attention that a model wrote out in steps that lead to no simple formula: the weights themselves were kept.

    Memory grows with the square of the number of tokens. A query that may attend to nothing cannot be told here: it has
    whatever weights the model's softmax made of it, mostly equal ones.
    """

    stored_weights: Float[Tensor, "batch head query key"]
    """What the model's own softmax returned, in its precision."""

    query = None
    """Not known here, unlike in `ScoredAttention`."""
    key = None
    sinks = None

    @property
    def batch_size(self) -> int:
        return self.stored_weights.size(0)

    @property
    def num_heads(self) -> int:
        return self.stored_weights.size(1)

    @property
    def num_queries(self) -> int:
        return self.stored_weights.size(2)

    @property
    def num_keys(self) -> int:
        return self.stored_weights.size(3)

    def weights_of(
        self, heads: slice, rows: Int[Tensor, " query"], temperature: float = 1.0
    ) -> Float[Tensor, "batch head query key"]:
        weights = self.stored_weights[:, heads][:, :, rows]
        if temperature == 1:
            return weights
        # The logarithm of a weight is its score, up to a number that is the same for the whole row.
        tempered = torch.softmax(weights.float().log() / temperature, dim=-1)
        return tempered.masked_fill((weights == 0).all(dim=-1, keepdim=True), 0.0)

    def tile(self, head: int, rows: slice, columns: slice) -> Float[Tensor, "batch query key"]:
        """A part of one head's weights, as in `weights`.

        Raises:
            IndexError: a head that this call does not have.
        """
        return self.weights(head, rows)[..., columns]


@dataclasses.dataclass
class Trace:
    """The attention calls of what ran inside `record`, in the order they were made: `trace[0]` is the first."""

    calls: list[AttentionCall] = dataclasses.field(default_factory=list)
    unseen: tuple[str, ...] = ()
    """Attention modules of the model that left no call: not run, or computed in a way that is not recorded."""
    num_attention_modules: int = 0
    """Attention modules of the model, those in `unseen` included."""
    other_mixers: tuple[str, ...] = ()
    """Modules that mix tokens without softmax attention, such as state-space layers."""
    pieces: tuple[str, ...] = ()
    """Modules whose recorded calls are pieces of what they compute: blocks, landmarks, streams. Their rows and columns
    need not be the tokens of the text."""
    unreadable: dict[str, str] = dataclasses.field(default_factory=dict)
    """Modules whose attention could not be read, and why."""
    guessed: dict[str, None] = dataclasses.field(default_factory=dict)
    """Modules that count heads and texts in one dimension, or in an order that their shapes do not tell."""
    was_compiled: bool = False
    """Whether parts of the model are compiled. They ran uncompiled inside `record`."""

    def __getitem__(self, index: int) -> AttentionCall:
        return self.calls[index]

    def __len__(self) -> int:
        return len(self.calls)

    def __iter__(self) -> Iterator[AttentionCall]:
        return iter(self.calls)

    def of_kind(self, kind: Kind) -> tuple[AttentionCall, ...]:
        """The calls of one stack, in the order they were made."""
        return tuple(call for call in self.calls if call.kind == kind)

    def certificate(self) -> float | None:
        """The largest of the calls' certificates, NaN if one is; None if no call has one."""
        certificates = [each for each in self._checked(lambda call: call.certificate()) if each is not None]
        # Python's max may pass over NaN.
        return float(torch.tensor(certificates, dtype=torch.float64).max()) if certificates else None

    def row_sum_error(self) -> float:
        """The largest |row sum - 1| over the rows, of all calls, that attend to something."""
        return float(torch.tensor(self._checked(lambda call: call.row_sum_error()), dtype=torch.float64).max())

    @short_steps()
    def _checked(self, check: Callable[[AttentionCall], float | None]) -> list[float | None]:
        """What a check says of each call."""
        found = []
        for call in self.calls:
            stage("Checking the weights")
            found.append(check(call))
        return found

    def gaps(self) -> tuple[str, ...]:
        """What this trace does not show, and how it differs from an ordinary run, as plain sentences."""
        gaps = []
        if self.unseen:
            gaps.append(
                f"{len(self.unseen):,} of {_count(self.num_attention_modules, 'attention module')} left no record: not "
                f"run, or attending in a way that is not seen ({listing(self.unseen)})."
            )
        if self.other_mixers:
            gaps.append(
                f"{_count(len(self.other_mixers), 'module mixes', 'modules mix')} tokens without softmax attention, so "
                f"there are no weights of it to show: {listing(self.other_mixers)}."
            )
        if self.pieces:
            gaps.append(
                f"{_count(len(self.pieces), 'module attends', 'modules attend')} in pieces, such as blocks or "
                f"landmarks, or in more than is recorded: {listing(self.pieces)}. What is recorded of "
                f"{'it' if len(self.pieces) == 1 else 'them'} need not be whole maps of the text."
            )
        for name, reason in self.unreadable.items():
            gaps.append(f"The attention of {listing([name])} could not be read ({reason}).")
        if guessed := [name for name in self.guessed if name not in self.pieces]:
            gaps.append(
                f"{_count(len(guessed), 'module counts', 'modules count')} texts and heads in a way that is not clear "
                f"from the shapes; which is which is a guess: {listing(guessed)}."
            )
        if self.was_compiled:
            gaps.append("The model is compiled (torch.compile); it was recorded uncompiled.")
        return tuple(gaps)


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def listing(names: Sequence[str], most: int = 5) -> str:
    """The first few of these module paths; the model itself has none."""
    return ", ".join(name or "the model itself" for name in names[:most]) + (
        f" and {len(names) - most:,} more" if len(names) > most else ""
    )
