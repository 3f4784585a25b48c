"""Changing what attention heads do while a model runs, to test what they are for.

The output of a head, z = A V, is changed before the output projection W_O mixes it with those of the other heads.
"""

import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

import torch
import torch.utils.checkpoint
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.inspection.layout import CALL_OF_A_MODULE, Layout
from transformer_core.inspection.seeing import AttentionMode
from transformer_core.inspection.trace import AttentionCall
from transformer_core.inspection.uncompiled import uncompiled

Head = tuple[int | str, int]
"""An attention call and a head of it. The call is a number, as in `trace[3]`, or the path of the module that makes it.
Both count from 0."""

Change = Callable[[AttentionCall, int, Tensor], Tensor]
"""From the call, the head and its output, (batch, query, d_v), to the output that it shall have."""


@contextmanager
def intervene(
    model: nn.Module,
    *,
    zero_heads: Collection[Head] = (),
    mean_heads: Collection[Head] | Mapping[Head, Tensor] = (),
    patterns: Mapping[Head, Tensor] | None = None,
    temperatures: Mapping[Head, float] | None = None,
) -> Iterator[None]:
    """Change heads of `model` in all that it runs inside the block, in this thread.

        with intervene(model, zero_heads={(3, 5)}):
            model(**inputs)  # head 5 of attention call 3 contributes nothing

    A call that is given by number is counted anew each time the model itself is called; of a model whose other methods
    are called instead, since the block began. A call that is given by its module's path is every call of that module,
    which suits generation. Works for all models that `record` can see, and together with it: a trace that is recorded
    inside this block names the changed heads (`AttentionCall.changed_heads`) and has their weights as the model itself
    had them. The other
    heads of a changed call keep their outputs bit for bit. Gradients do not flow through changed heads.

    Args:
        zero_heads: their output becomes 0.
        mean_heads: their output becomes, at every query, its mean: a given one of (d_v,), say over many texts, or else
            that over all queries of the call that attend to something.
        patterns: weights to use in place of the head's own, (query, key) or (batch, query, key).
        temperatures: T makes the head's weights softmax(scores / T). Above 1 they become more even, below 1 sharper.

    Raises:
        TypeError: `model` is not a module.
        ValueError: a head has two changes, a temperature is not above 0, a module does not exist, a pattern or mean
            does not fit; at the end of the block, when a call that was to be changed was not made, or a changed head
            does more than its weights times its values.
        IndexError: during the block, for a head that the call does not have.
        NotImplementedError: during the block, under gradient checkpointing.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"intervene() takes a torch.nn.Module, not {type(model).__name__}")
    changes: list[tuple[Head, Change]] = [(head, _zero) for head in zero_heads]
    means = mean_heads if isinstance(mean_heads, Mapping) else dict.fromkeys(mean_heads)
    changes += [(head, _mean(mean)) for head, mean in means.items()]
    changes += [(head, _pattern(pattern)) for head, pattern in (patterns or {}).items()]
    changes += [(head, _temperature(temperature)) for head, temperature in (temperatures or {}).items()]
    intervener = _Intervener(model, changes)
    with uncompiled(), intervener:
        try:
            yield
        finally:
            intervener.forget_pass()
    intervener.check_all_were_made()


_CHECKPOINTING = torch.utils.checkpoint.__file__


class _Intervener(AttentionMode):
    """Changes the outputs of some heads."""

    def __init__(self, model: nn.Module, changes: list[tuple[Head, Change]]) -> None:
        super().__init__(model)
        self._changes: dict[int | str, dict[int, Change]] = {}
        for (call, head), change in changes:
            if isinstance(call, str) and call not in self._names.values():
                raise ValueError(f"There is no module {call!r} in this {type(model).__name__}.")
            if head in self._changes.setdefault(call, {}):
                raise ValueError(f"Head {head} of attention call {call!r} has two changes; choose one.")
            self._changes[call][head] = change
        self._not_made = set(self._changes)
        self._changed: set[str] = set()
        self._pass: types.FrameType | None = None
        self._number = -1
        self._most_calls = 0

    def attended(
        self,
        name: str,
        call: Callable[[], AttentionCall],
        output: Float[Tensor, "batch head query d_v"],
        layout: Layout,
    ) -> dict[int, Tensor] | None:
        self._count()
        changes = self._changes.get(self._number, {}) | self._changes.get(name, {})
        self._not_made -= {self._number, name}
        if not changes:
            return None
        if layout.is_guess:
            raise ValueError(
                f"{name!r} does not tell texts and heads apart, so its heads cannot be changed in a batch of several "
                "texts. Run the model on one text at a time."
            )
        self._changed.add(name)
        made = call()
        if absent := [head for head in changes if not 0 <= head < made.num_heads]:
            raise IndexError(f"head {absent[0]} does not exist: {name!r} has heads 0 to {made.num_heads - 1}")
        return {head: change(made, head, output[:, head]) for head, change in changes.items()}

    def _count(self) -> None:
        """Number this call within the present call of the model."""
        this_pass = self._call_of_model(sys._getframe(2))
        if this_pass is not self._pass:
            self._pass, self._number = this_pass, -1
        self._number += 1
        self._most_calls = max(self._most_calls, self._number + 1)

    def _call_of_model(self, frame: types.FrameType | None) -> types.FrameType | None:
        """The outermost running call of the model itself."""
        outermost = None
        while frame is not None:
            if frame.f_code is CALL_OF_A_MODULE and frame.f_locals.get("self") is self._model:
                outermost = frame
            if frame.f_code.co_filename == _CHECKPOINTING:
                raise NotImplementedError(
                    "intervene() cannot follow torch.utils.checkpoint, which runs parts of a model a second time, "
                    "unchanged, for the gradients. Turn gradient checkpointing off."
                )
            frame = frame.f_back
        return outermost

    def forget_pass(self) -> None:
        self._pass = None  # a frame keeps all that its function used

    def check_all_were_made(self) -> None:
        """Raise a ValueError if something was not, or not wholly, changed."""
        if partly := self._changed & {name for name, _ in self.not_all_seen()}:
            raise ValueError(
                f"The heads of {sorted(partly)} do more than their weights times their values, and only that was "
                "changed, so that the result is not what was asked for."
            )
        if self._not_made:
            calls = ", ".join(map(repr, sorted(self._not_made, key=str)))
            raise ValueError(
                f"Nothing was changed at attention call {calls}: inside the block, the model made {self._most_calls:,} "
                "attention calls that can be seen, counted from 0, and none of that number or name."
            )


def _zero(call: AttentionCall, head: int, output: Tensor) -> Tensor:
    return torch.zeros_like(output)


def _mean(mean: Tensor | None) -> Change:
    def change(call: AttentionCall, head: int, output: Tensor) -> Tensor:
        if mean is not None:
            if mean.shape != output.shape[-1:]:
                raise ValueError(
                    f"The mean for head {head} of {call.name!r} has the shape {tuple(mean.shape)}; its output has "
                    f"{output.size(-1)} numbers for each query."
                )
            return mean.to(output).expand_as(output)
        attends = (call.weights(head) != 0).any(dim=-1)
        return output[attends].mean(dim=0).expand_as(output) if attends.any() else output

    return change


def _pattern(pattern: Tensor) -> Change:
    def change(call: AttentionCall, head: int, output: Tensor) -> Tensor:
        wanted = (call.batch_size, call.num_queries, call.num_keys)
        if pattern.shape not in (wanted, (1, *wanted[1:]), wanted[1:]):
            raise ValueError(
                f"The pattern for head {head} of {call.name!r} has the shape {tuple(pattern.shape)}; it attends with "
                f"(batch, query, key) = {wanted}."
            )
        return _weighted(call, head, pattern.to(output.device, torch.float32))

    return change


def _temperature(temperature: float) -> Change:
    if not temperature > 0:
        raise ValueError(f"The temperature is {temperature}; it has to be above 0.")

    def change(call: AttentionCall, head: int, output: Tensor) -> Tensor:
        return _weighted(call, head, call.weights(head, temperature=temperature))

    return change


def _weighted(call: AttentionCall, head: int, weights: Tensor) -> Tensor:
    with torch.autocast(weights.device.type, enabled=False):
        return weights @ call.head_value(head)
