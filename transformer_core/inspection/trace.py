"""What one attention call read, and the exact weights that follow from it when somebody looks."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

Kind = Literal["encoder", "decoder", "cross", "self"]


@dataclasses.dataclass(frozen=True, eq=False)
class AttentionCall:
    """The inputs of one call of scaled dot-product attention, softmax(scale * Q K^T + mask) V.

    Memory grows with the number of tokens, not with its square (a mask aside). The tensors are copies, so that
    nothing the model does later changes them.
    """

    name: str
    """Path of the module that made the call, as in `model.named_modules()`; "" is the model itself."""
    kind: Kind
    """Which stack the call belongs to; see `transformer_core.inspection.recording`."""
    query: Float[Tensor, "batch head query d_k"]
    key: Float[Tensor, "#batch key_head key d_k"]
    """With fewer heads than `query`, every key head serves as many neighbouring query heads (arXiv 2305.13245)."""
    value: Float[Tensor, "#batch key_head key d_v"]
    mask: Shaped[Tensor, "#batch #head #query #key"] | None
    """Boolean, true where attention is allowed, or numbers that are added to the scores."""
    is_causal: bool
    """Query i sees the keys 0 to i only, on top of `mask`."""
    scale: float
    dropout: float
    """Share of the weights that the call set to zero at random. `weights` are those before that."""
    checked_rows: Int[Tensor, " checked"]
    """The query positions whose output was kept for `certificate`."""
    checked_output: Float[Tensor, "batch head checked d_v"]

    @property
    def batch_size(self) -> int:
        """Number of texts that ran together."""
        return self.query.size(0)

    @property
    def num_heads(self) -> int:
        """Number of query heads."""
        return self.query.size(1)

    @property
    def num_queries(self) -> int:
        """Number of query tokens: rows of the weights."""
        return self.query.size(2)

    @property
    def num_keys(self) -> int:
        """Number of key tokens: columns of the weights."""
        return self.key.size(2)

    @torch.no_grad()
    def weights(
        self, head: int | None = None, rows: slice | Sequence[int] | Tensor | None = None
    ) -> Float[Tensor, "batch query key"] | Float[Tensor, "batch head query key"]:
        """The attention weights, before dropout. Rows are queries, columns are keys, and every row sums to 1.

        A query that may attend to nothing has a row of zeros, as in the kernel.

        Args:
            head: one head, which makes the result (batch, query, key); None for all of them.
            rows: the query positions wanted; None for all of them.

        Raises:
            IndexError: a head or a row that this call does not have.
        """
        if head is None:
            # One head after the other is faster than one batched product, and needs less memory.
            return torch.stack([self.weights(each, rows) for each in range(self.num_heads)], dim=1)
        if not 0 <= head < self.num_heads:
            raise IndexError(f"head {head} does not exist: {self.name!r} has heads 0 to {self.num_heads - 1}")
        scores = self._scores(head, self._positions(rows))
        weights = torch.softmax(scores, dim=-1)
        # The softmax of a row of -inf is 0 / 0. A NaN that comes from the model itself stays visible.
        attends_to_nothing = (scores == -torch.inf).all(dim=-1, keepdim=True)
        return weights.masked_fill(attends_to_nothing, 0.0).float()

    @torch.no_grad()
    def certificate(self) -> float | None:
        """How well the weights explain what the kernel returned: the largest |A V - output| relative to max |V|.

        Measured on `checked_rows` of every head. About 1e-7 to 1e-6 in float32 and 2e-3 in bfloat16 when everything
        was understood; a scale wrong by 5 % shows as 3e-3 to 3e-2. None after dropout, which is random.
        """
        if self.dropout:
            return None
        errors = []
        for head in range(self.num_heads):
            weights = self.weights(head, self.checked_rows)
            value = self.value[:, head // self._heads_per_key_head].float()
            with torch.autocast(value.device.type, enabled=False):
                error = (weights @ value - self.checked_output[:, head]).abs()
            # Kernels differ in what they return for a query that may attend to nothing.
            attends_to_nothing = (weights == 0).all(dim=-1, keepdim=True)
            errors.append(error.masked_fill(attends_to_nothing, 0.0).max())
        largest_value = self.value.abs().max().float().clamp_min(torch.finfo(torch.float32).tiny)
        return float(torch.stack(errors).max() / largest_value)

    def row_sum_error(self) -> float:
        """The largest |sum - 1| over the rows, of every head, that attend to something."""
        errors = [torch.zeros(1, dtype=torch.float64)]
        for head in range(self.num_heads):
            sums = self.weights(head).cpu().double().sum(dim=-1)  # Apple's MPS has no double precision
            errors.append((sums[sums != 0] - 1).abs())
        return float(torch.cat(errors).max())

    def to(self, device: torch.device | str) -> "AttentionCall":
        """The same call with its tensors on `device`."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        moved = {name: value.to(device) for name, value in values.items() if isinstance(value, Tensor)}
        return dataclasses.replace(self, **moved)

    @property
    def _heads_per_key_head(self) -> int:
        return self.num_heads // self.key.size(1)

    def _positions(self, rows: slice | Sequence[int] | Tensor | None) -> Int[Tensor, " query"]:
        positions = torch.arange(self.num_queries, device=self.query.device)
        if rows is None:
            return positions
        return positions[rows if isinstance(rows, slice | Tensor) else list(rows)]

    def _scores(self, head: int, positions: Int[Tensor, " query"]) -> Float[Tensor, "batch query key"]:
        """Scaled and masked scores of one head, at least in float32; -inf where attention is not allowed."""
        precision = torch.promote_types(self.query.dtype, torch.float32)
        query = self.query[:, head, positions].to(precision)
        key = self.key[:, head // self._heads_per_key_head].to(precision)
        with torch.autocast(query.device.type, enabled=False):
            scores = (query * self.scale) @ key.transpose(-2, -1)
        if self.mask is not None:
            mask = self.mask[:, head if self.mask.size(1) > 1 else 0]
            if mask.size(1) > 1:
                mask = mask[:, positions]
            scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        if self.is_causal:
            future = torch.arange(self.num_keys, device=positions.device) > positions.unsqueeze(-1)
            scores = scores.masked_fill(future, -torch.inf)
        return scores


@dataclasses.dataclass
class Trace:
    """The attention calls of what ran inside `record`, in the order they were made: `trace[0]` is the first."""

    calls: list[AttentionCall] = dataclasses.field(default_factory=list)
    unseen: tuple[str, ...] = ()
    """Attention modules of the model that left no call: not run, or computed in a way that is not recorded."""

    def __getitem__(self, index: int) -> AttentionCall:
        return self.calls[index]

    def __len__(self) -> int:
        return len(self.calls)

    def __iter__(self) -> Iterator[AttentionCall]:
        return iter(self.calls)

    def of_kind(self, kind: Kind) -> tuple[AttentionCall, ...]:
        """The calls of one stack, in the order they were made."""
        return tuple(call for call in self.calls if call.kind == kind)
