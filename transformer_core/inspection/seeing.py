"""Seeing the attention calls of a model while it runs: what `record` and `intervene` have in common."""

import dataclasses
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer_core.inspection.kernel import KERNEL, KernelCall, as_the_kernel_reads, call_kernel, is_packed
from transformer_core.inspection.kinds import kind_of
from transformer_core.inspection.layout import Layout
from transformer_core.inspection.trace import AT_ONCE, AttentionCall, ScoredAttention, StoredAttention, forbids
from transformer_core.inspection.uncompiled import named_modules
from transformer_core.inspection.written_out import Merged, Scores, Softmax, WrittenOutAttention, WrittenOutCall

CHECKED_ROWS = 4
"""Rows of every head whose output is kept, to check the weights against (`AttentionCall.certificate`)."""

ROUNDINGS = 8
"""How often a model may have rounded its scores, when what was read is compared with its own weights."""

MASKS_COMPARED = 8
"""Layers mostly share one mask; so many of the last ones are looked at for the same."""

CHANGED_HEADS = "_headlight_changed_heads"
"""Attribute of an output that an intervention changed: the heads."""


class AttentionMode(TorchFunctionMode):
    """Sees every PyTorch function that this thread calls, and tells a subclass of those that are attention."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._model = model  # keeps the ids below valid
        self.modules = named_modules(model)
        """The model's modules by their paths, which are the names of calls."""
        self._names = {id(module): name for name, module in self.modules.items()}
        self._masks: list[Tensor] = []
        self._written_out = WrittenOutAttention(model.parameters())
        self._softmaxes: list[tuple[str, Softmax]] = []
        self._multi_head_attention_forward = _seeing_through(F.multi_head_attention_forward)
        self._in_multi_head_attention_forward = 0
        self.module: nn.Module | None = None
        """The module that is attending, while `attended` is told."""
        self.place: tuple[types.CodeType, int] | None = None
        """Where in the code of that module it attends."""

    def attended(
        self, name: str, call: Callable[[], AttentionCall], output: Tensor, layout: Layout
    ) -> dict[int, Tensor] | None:
        """The module called `name` has attended.

        Args:
            name: its path in the model.
            call: makes the record of it.
            output: what it computed, (batch, head, query, d_v).
            layout: how the model's own shape was brought into that.

        Returns:
            For heads, what the model shall get instead of their output; None to leave all as it is.
        """
        raise NotImplementedError

    def unreadable(self, name: str, error: Exception) -> None:
        """The attention of the module called `name` could not be read."""
        raise NotImplementedError(f"The attention of {name!r} cannot be read ({error}).") from error

    def not_all_seen(self) -> list[tuple[str, Softmax]]:
        """Softmaxes of which not only recorded attention calls were made, and the modules that took them."""
        return [(name, softmax) for name, softmax in self._softmaxes if not softmax.is_all_seen]

    def __torch_function__(self, func: Any, _types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func is F.multi_head_attention_forward:
            self._in_multi_head_attention_forward += 1
            try:
                with self:
                    return self._multi_head_attention_forward(*args, **kwargs)
            finally:
                self._in_multi_head_attention_forward -= 1
        if func is KERNEL:
            return self._kernel(sys._getframe(1), *args, **kwargs)
        output = func(*args, **kwargs)
        try:
            with torch._C.DisableTorchFunction():  # what is computed here is nobody's attention
                found = self._written_out.follow(func, args, kwargs, output)
        except Exception:  # tensors of an odd kind: the model itself has coped with them
            found = None
        return output if found is None else self._written_out_step(sys._getframe(1), found, output)

    def _caller(self, frame: types.FrameType | None) -> tuple[str, nn.Module | None, types.FrameType | None]:
        """Path of the innermost module of the model that is running, the module, and the function that holds it.

        None when the call comes from elsewhere.

        Read from the call stack, where a running method holds its module as the first argument. That also finds a
        module of which a method other than `forward` was called, and leaves no trace on modules that threads share.
        """
        while frame is not None:
            code = frame.f_code
            if code.co_argcount:
                first_argument = frame.f_locals.get(code.co_varnames[0])
                if isinstance(first_argument, nn.Module) and id(first_argument) in self._names:
                    self.module, self.place = first_argument, (code, frame.f_lasti)
                    return self._names[id(first_argument)], first_argument, frame
            frame = frame.f_back
        return "", None, None

    def _parent(self, name: str) -> nn.Module | None:
        return self.modules.get(name.rpartition(".")[0]) if name else None

    # Attention in one call of the kernel

    def _kernel(self, frame: types.FrameType, *args: Any, **kwargs: Any) -> Tensor:
        name, module, caller = self._caller(frame)
        if module is None:
            return KERNEL(*args, **kwargs)
        seen = call_kernel(name, *args, **kwargs)
        output = seen.output
        # Read off this very tensor: what it is reshaped to does not have it.
        already = getattr(output, CHANGED_HEADS, frozenset())
        merged = self._written_out.merged(seen.query)
        try:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                if is_packed(caller, seen.query):
                    seen = seen.unpacked()
                layout = _layout(seen.output.shape[:-2], module, caller, merged)
                canonical = layout.four_dimensional(seen.output.detach())
        except Exception as error:
            self.unreadable(name, error)
            return output
        with torch.no_grad(), torch._C.DisableTorchFunction():
            call = functools.partial(self._fused_call, name, module, seen, layout, already)
            changes = self.attended(name, call, canonical, layout)
        if not changes:
            return output
        return _changed(
            layout.four_dimensional(seen.output),
            changes,
            lambda it: layout.restore(it).reshape(output.shape),
            already,
        )

    def _fused_call(
        self, name: str, module: nn.Module, seen: KernelCall, layout: Layout, changed_heads: frozenset[int]
    ) -> AttentionCall:
        query, key, value = (as_the_kernel_reads(tensor) for tensor in (seen.query, seen.key, seen.value))
        # Fewer key heads than heads stay fewer; whatever else differs is broadcasting.
        query = layout.four_dimensional(query.expand(*layout.lead, *query.shape[-2:]))
        key, value = layout.four_dimensional(key), layout.four_dimensional(value)
        mask = None if seen.mask is None else self._own_mask(layout.mask(seen.mask))
        output = layout.four_dimensional(seen.output.detach())
        rows = _checked_rows(query)
        return ScoredAttention(
            name=name,
            kind=kind_of(name, module, self._parent(name), query.size(2), key.size(2), mask, seen.is_causal),
            route="fused",
            query=_own(query),
            key=_own(key),
            value=_own(value),
            mask=mask,
            is_causal=seen.is_causal,
            scale=seen.scale,
            logsumexp=seen.logsumexp if layout.is_as_it_was else None,
            dropout=seen.dropout,
            checked_rows=rows,
            checked_output=output[:, :, rows],
            changed_heads=changed_heads,
        )

    # Attention written out in single operations

    def _written_out_step(self, frame: types.FrameType, found: WrittenOutCall | Softmax, output: Tensor) -> Tensor:
        name, module, caller = self._caller(frame)
        if module is None:
            return output
        if isinstance(found, Softmax):
            self._softmaxes.append((name, found))
            return output
        already = getattr(output, CHANGED_HEADS, frozenset())
        try:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                lead = max(found.weights.softmax.shape[:-2], found.output.shape[:-2], key=len)
                in_function = self._in_multi_head_attention_forward > 0
                layout = _layout(lead, module, caller, found.weights.origin.merged, in_function)
                shape = (*lead, *found.output.shape[-2:])
                canonical = layout.four_dimensional(found.output.detach().reshape(shape))
        except Exception as error:
            self.unreadable(name, error)
            return output
        with torch.no_grad(), torch._C.DisableTorchFunction():
            found = dataclasses.replace(found, changed_heads=already)
            call = functools.partial(self._written_out_call, name, module, found, layout)
            changes = self.attended(name, call, canonical, layout)
        if not changes:
            return output
        return _changed(
            layout.four_dimensional(found.output.reshape(shape)),
            changes,
            lambda it: found.restore(layout.restore(it).reshape(found.output.shape)),
            already,
        )

    def _written_out_call(self, name: str, module: nn.Module, found: WrittenOutCall, layout: Layout) -> AttentionCall:
        def own_form(tensor: Tensor, lead: torch.Size) -> Tensor:
            """(batch, head, ...) of a tensor whose leading dimensions broadcast to `lead`."""
            tensor = tensor.detach()[(None,) * (len(lead) + 2 - tensor.dim())]
            tensor = tensor.expand(*lead, *tensor.shape[-2:]).reshape(*layout.lead, *tensor.shape[-2:])
            return layout.four_dimensional(tensor)

        softmax, scores = found.weights.softmax, found.weights.scores
        weights = own_form(softmax, softmax.shape[:-2])[..., : found.weights.num_keys]
        rows = _checked_rows(weights)
        common = {
            "name": name,
            "route": "written out",
            "value": _own(own_form(found.value, found.output.shape[:-2])),
            "dropout": found.weights.dropout,
            "checked_rows": rows,
            "checked_output": own_form(found.output, found.output.shape[:-2])[:, :, rows],
            "changed_heads": found.changed_heads,
        }
        parent = self._parent(name)
        if scores is not None and scores.shape[:-1] == softmax.shape[:-1]:
            lead = scores.shape[:-2]
            query, key = own_form(scores.query, lead), own_form(scores.key, lead)
            mask = _mask_of(scores, functools.partial(own_form, lead=lead))
            call = ScoredAttention(
                **common,
                kind=kind_of(name, module, parent, query.size(2), key.size(2), mask, is_causal=False),
                query=_own(query),
                key=_own(key),
                mask=None if mask is None else self._own_mask(mask),
                is_causal=False,
                scale=scores.scale,
                softcap=scores.softcap,
                sinks=None if scores.sinks is None else _own(own_form(scores.sinks, lead)[0, :, 0, 0]),
            )
            if _explains(call, weights):
                return call
        kind = kind_of(name, module, parent, weights.size(2), weights.size(3), weights > 0, is_causal=False)
        return StoredAttention(**common, kind=kind, stored_weights=_own(weights))

    def _own_mask(self, mask: Tensor) -> Tensor:
        """A copy of the mask. Layers mostly share one, which is then kept once."""
        for dimension in range(mask.dim()):
            if mask.stride(dimension) == 0:
                mask = mask.narrow(dimension, 0, 1)  # broadcasting repeats it again
        for known in self._masks:
            if known.dtype == mask.dtype and known.device == mask.device and torch.equal(known, mask):
                return known
        self._masks = [*self._masks[1 - MASKS_COMPARED :], _own(mask)]
        return self._masks[-1]


def _layout(
    lead: torch.Size,
    module: nn.Module,
    caller: types.FrameType | None,
    merged: Merged | None,
    is_batch_first: bool = False,
) -> Layout:
    if merged is None:
        return Layout(lead, module, caller, None, is_batch_first)
    return Layout(lead, module, caller, merged.sizes, is_batch_first or merged.is_batch_first)


def _changed(
    output: Tensor, changes: dict[int, Tensor], restore: Callable[[Tensor], Tensor], already: frozenset[int]
) -> Tensor:
    """An attention call's output, (batch, head, query, d_v), with some heads replaced, in the shape of the model.

    `already` are the heads that another intervention has changed before.
    """
    with torch._C.DisableTorchFunction():
        output = output.clone()
        for head, wanted in changes.items():
            output[:, head] = wanted.to(output.dtype)
        output = restore(output)
    setattr(output, CHANGED_HEADS, already | frozenset(changes))
    return output


def _seeing_through(function: Any) -> Any:
    """A copy of a Python function of PyTorch whose inner calls are seen by an active TorchFunctionMode.

    The original hands the call over as a whole, and the mode would never see what happens inside.
    """
    its_globals = {**function.__globals__, "has_torch_function": lambda _: False}
    copy = types.FunctionType(function.__code__, its_globals, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _own(tensor: Tensor) -> Tensor:
    """A copy: a view would keep a larger buffer alive, and a key/value cache is overwritten later."""
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def _checked_rows(like: Tensor) -> Tensor:
    last_row = like.size(2) - 1
    return torch.linspace(0, last_row, min(CHECKED_ROWS, last_row + 1)).long().to(like.device)


def _mask_of(scores: Scores, own_form: Callable[[Tensor], Tensor]) -> Tensor | None:
    """Biases and mask of written-out scores in one: boolean, or numbers that are added."""

    def small(tensor: Tensor) -> Tensor:
        is_shared = all(size == 1 for size in tensor.shape[:-2])
        return tensor.detach().reshape(1, 1, *tensor.shape[-2:]) if is_shared else own_form(tensor)

    def two_dimensional(tensor: Tensor) -> Tensor:
        return tensor if tensor.dim() >= 2 else tensor[(None,) * (2 - tensor.dim())]

    mask = None
    for bias, factor in scores.biases:
        bias = small(two_dimensional(bias))
        bias = bias if bias.is_floating_point() else bias.float()
        forbidden = forbids(bias) if factor > 0 else torch.zeros_like(bias, dtype=torch.bool)
        precision = torch.promote_types(bias.dtype, torch.float32)
        bias = (bias.to(precision) * factor).masked_fill(forbidden, -torch.inf)
        mask = bias if mask is None else mask + bias
    for forbidden in (small(two_dimensional(each)) for each in scores.forbidden):
        if mask is None or mask.dtype == torch.bool:
            mask = ~forbidden if mask is None else mask & ~forbidden
        else:
            mask = mask.masked_fill(forbidden, -torch.inf)
    return mask


def _explains(call: ScoredAttention, weights: Tensor) -> bool:
    """Whether what was read explains the model's own weights, (batch, head, query, key), to the last of them.

    A score s that is rounded by a share e of it changes its weight by a factor of exp(e s).
    """
    if (call.batch_size, call.num_heads, call.num_queries, call.num_keys) != weights.shape:
        return False
    rounding = ROUNDINGS * max(torch.finfo(dtype).eps for dtype in (call.query.dtype, weights.dtype))
    # All heads at once if they are small, as in `AttentionCall.weights`.
    step = call.num_heads if weights.numel() <= AT_ONCE else 1
    rows = torch.arange(call.num_queries, device=weights.device)
    for first in range(0, call.num_heads, step):
        heads = slice(first, first + step)
        found, model_weights = call.weights_of(heads, rows).float(), weights[:, heads].float()
        largest = call.scores(heads, rows).abs().masked_fill(found == 0, 0.0).amax(dim=-1, keepdim=True)
        tolerance = rounding + torch.expm1(rounding * largest) * torch.maximum(found, model_weights)
        # A query that may attend to nothing has whatever weights the model's softmax made of it.
        is_blank = (found == 0).all(dim=-1, keepdim=True)
        if not bool((((found - model_weights).abs() <= tolerance) | is_blank).all()):
            return False
    # Rounding may excuse much where scores are large; what the model computed with its weights does not lie.
    certificate = call.certificate()
    rounding = max(rounding, ROUNDINGS * torch.finfo(call.value.dtype).eps)
    return certificate is None or certificate <= max(rounding, 1e-4)
