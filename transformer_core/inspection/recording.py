"""Recording what goes into every attention call of a model.

The model runs at full speed on the fused kernel; the weights are computed from the recorded inputs when somebody looks
(`AttentionCall.weights`).

How: while `record` is active, PyTorch hands every function call of this thread to a `TorchFunctionMode`, which keeps
the inputs of `torch.nn.functional.scaled_dot_product_attention`. Nothing is patched and no hook is set, so the model
carries no state, other threads are not touched, and leaving the block, by whatever way, ends the recording.

Which stack a call belongs to (its `kind`) has to be guessed from names and masks:

- "cross" when the module is called so (cross, encoder_attn, encdec, multihead_attn), or when it is not called
  "self" and several queries meet another number of keys without a causal mask;
- else "encoder" or "decoder" when the module's path says so;
- else "decoder" when no query sees a later key, and "self" in all other cases.
"""

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer_core.inspection.trace import AttentionCall, Kind, Trace

CHECKED_ROWS = 4
"""Rows of every head whose output is kept, to check the weights against (`AttentionCall.certificate`)."""

CROSS_ATTENTION_NAMES = ("cross", "encoder_attn", "encdec", "enc_dec", "multihead_attn")


class NoAttentionError(RuntimeError):
    """The recorded block made no attention call that can be seen."""


@contextmanager
def record(model: nn.Module) -> Iterator[Trace]:
    """Record the attention calls that `model` makes inside the block, in this thread.

        with record(model) as trace:
            model(**inputs)
        trace[3].weights(head=5)  # (batch, query, key)

    Seen is every call of `torch.nn.functional.scaled_dot_product_attention`: hand-written models, `nn.Transformer`
    and its parts (which leave their C++ fast path for it, equal up to rounding), timm and others. The output is the
    same, bit for bit, as without recording. For a generated text, record one forward pass over all of it rather
    than the generation.

    Raises:
        TypeError: `model` is not a module.
        NoAttentionError: at the end of the block, when no attention call was seen.
        NotImplementedError: during the block, for an attention call whose inputs cannot be read.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"record() takes a torch.nn.Module, not {type(model).__name__}")
    recorder = _Recorder(model)
    with recorder:
        yield recorder.trace
    recorder.trace.unseen = _attention_modules_without_call(model, recorder.trace)
    if not recorder.trace.calls:
        raise NoAttentionError(_why_nothing_was_seen(model, recorder.trace.unseen))


def _seeing_through(function: Any) -> Any:
    """A copy of a Python function of PyTorch whose inner calls are seen by an active TorchFunctionMode.

    The original hands the call over as a whole, and the mode would never see what happens inside.
    """
    its_globals = {**function.__globals__, "has_torch_function": lambda _: False}
    copy = types.FunctionType(function.__code__, its_globals, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


_multi_head_attention_forward = _seeing_through(F.multi_head_attention_forward)


class _Recorder(TorchFunctionMode):
    """Sees every PyTorch function that this thread calls, and keeps the inputs of attention calls."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.trace = Trace()
        self._model = model  # keeps the ids below valid
        self._names = {id(module): name for name, module in model.named_modules()}
        self._masks: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func is F.multi_head_attention_forward:
            with self:
                return _multi_head_attention_forward(*args, **kwargs)
        output = func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            name = self._name_of_caller(sys._getframe(1))
            if name is not None:
                with torch.no_grad():
                    self._keep(name, output, *args, **kwargs)
        return output

    def _name_of_caller(self, frame: types.FrameType | None) -> str | None:
        """Path of the innermost module of the model that is running; None when the call comes from elsewhere.

        Read from the call stack, where a running method holds its module as the first argument. That also finds a
        module of which a method other than `forward` was called, and leaves no trace on modules that threads share.
        """
        while frame is not None:
            code = frame.f_code
            if code.co_argcount:
                first_argument = frame.f_locals.get(code.co_varnames[0])
                if isinstance(first_argument, nn.Module) and id(first_argument) in self._names:
                    return self._names[id(first_argument)]
            frame = frame.f_back
        return None

    def _keep(
        self,
        name: str,
        output: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> None:
        """Add an attention call to the trace. The signature is that of the kernel."""
        _refuse_unreadable(name, query, attn_mask)
        scale = query.size(-1) ** -0.5 if scale is None else scale
        if attn_mask is not None:
            attn_mask = self._own_mask(_four_dimensional_mask(attn_mask, query))
        query, key, value = (_four_dimensional(_as_the_kernel_reads(tensor)) for tensor in (query, key, value))
        last_row = query.size(2) - 1
        rows = torch.linspace(0, last_row, min(CHECKED_ROWS, last_row + 1)).long().to(query.device)
        self.trace.calls.append(
            AttentionCall(
                name=name,
                kind=_kind(name, query.size(2), key.size(2), attn_mask, is_causal),
                query=_own(query),
                key=_own(key),
                value=_own(value),
                mask=attn_mask,
                is_causal=is_causal,
                scale=float(scale),
                dropout=float(dropout_p),
                checked_rows=rows,
                checked_output=_four_dimensional(output.detach())[:, :, rows],
            )
        )

    def _own_mask(self, mask: Tensor) -> Tensor:
        """A copy of the mask. Layers mostly share one, which is then kept once."""
        for dimension in range(mask.dim()):
            if mask.stride(dimension) == 0:
                mask = mask.narrow(dimension, 0, 1)  # broadcasting repeats it again
        for known in self._masks:
            if known.dtype == mask.dtype and known.device == mask.device and torch.equal(known, mask):
                return known
        self._masks.append(_own(mask))
        return self._masks[-1]


def _refuse_unreadable(name: str, query: Tensor, mask: Tensor | None) -> None:
    if query.is_nested:
        raise NotImplementedError(f"{name!r} attends over nested tensors, which cannot be recorded: use padding")
    if mask is not None and type(mask) not in (Tensor, nn.Parameter):
        raise NotImplementedError(
            f"{name!r} has a mask of type {type(mask).__name__}, which cannot be recorded: use a boolean tensor"
        )


def _own(tensor: Tensor) -> Tensor:
    """A copy: a view would keep a larger buffer alive, and a key/value cache is overwritten later."""
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def _as_the_kernel_reads(tensor: Tensor) -> Tensor:
    """Under autocast the kernel works on rounded inputs, and the weights are those of the rounded ones."""
    device = tensor.device.type
    if torch.is_autocast_enabled(device) and tensor.dtype != torch.float64:
        return tensor.to(torch.get_autocast_dtype(device))
    return tensor


def _four_dimensional(tensor: Tensor) -> Tensor:
    """(batch, head, token, d). (token, d) and (batch, token, d) have one head; more dimensions before are a batch."""
    if tensor.dim() == 2:
        return tensor[None, None]
    if tensor.dim() == 3:
        return tensor.unsqueeze(1)
    return tensor.flatten(0, -4)


def _four_dimensional_mask(mask: Tensor, query: Tensor) -> Tensor:
    mask = mask[(None,) * (query.dim() - mask.dim())]
    if query.dim() > 4:
        mask = mask.expand(*query.shape[:-3], *mask.shape[-3:])
    return _four_dimensional(mask)


def _kind(name: str, num_queries: int, num_keys: int, mask: Tensor | None, is_causal: bool) -> Kind:
    """The stack that a call belongs to, by the rules at the top of this file."""
    name = name.lower()
    other_length = num_queries not in (1, num_keys) and not is_causal
    if any(word in name for word in CROSS_ATTENTION_NAMES) or (other_length and "self" not in name):
        return "cross"
    for part in reversed(name.split(".")):
        if "decoder" in part:
            return "decoder"
        if "encoder" in part:
            return "encoder"
    return "decoder" if is_causal or (mask is not None and _hides_the_future(mask)) else "self"


def _hides_the_future(mask: Tensor) -> bool:
    if mask.size(-2) == 1:
        return False
    allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    return not allowed.triu(1).any()


def _attention_modules_without_call(model: nn.Module, trace: Trace) -> tuple[str, ...]:
    """Innermost modules with "attention" in their class's name around, at and inside which no call was made."""

    def inside(inner: str, outer: str) -> bool:
        return inner != outer and (outer == "" or inner.startswith(f"{outer}."))

    names = [name for name, module in model.named_modules() if "attention" in type(module).__name__.lower()]
    innermost = [name for name in names if not any(inside(other, name) for other in names)]
    callers = {call.name for call in trace}
    return tuple(
        name
        for name in innermost
        if not any(name == caller or inside(name, caller) or inside(caller, name) for caller in callers)
    )


def _why_nothing_was_seen(model: nn.Module, unseen: tuple[str, ...]) -> str:
    modules = f" Its attention modules: {', '.join(unseen[:5])}{', ...' if len(unseen) > 5 else ''}." if unseen else ""
    return (
        f"No attention was recorded: {type(model).__name__} did not call "
        "torch.nn.functional.scaled_dot_product_attention inside the block. Either the model was not run there, or it "
        "computes attention in another way (a softmax written out, weights asked for with need_weights or "
        f"output_attentions, TorchScript), or it has none.{modules}"
    )
