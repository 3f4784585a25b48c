"""Seeing the attention calls of a model while it runs: what `record` and `intervene` have in common.

Which stack a call belongs to (its `kind`) has to be guessed from names and masks:

- "cross" when the module is called so (cross, encoder_attn, encdec, multihead_attn), or when it is not called
  "self" and several queries meet another number of keys without a causal mask;
- else "encoder" or "decoder" when the module's path says so;
- else "decoder" when the module calls itself causal or no query sees a later key, and "self" in all other cases.
"""

import dataclasses
import functools
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend
from torch.overrides import TorchFunctionMode

from transformer_core.inspection.trace import AttentionCall, Kind, ScoredAttention, StoredAttention, forbids
from transformer_core.inspection.uncompiled import named_modules
from transformer_core.inspection.written_out import Scores, Softmax, WrittenOutAttention, WrittenOutCall

CHECKED_ROWS = 4
"""Rows of every head whose output is kept, to check the weights against (`AttentionCall.certificate`)."""

ROUNDINGS = 8
"""How often a model may have rounded its scores, when what was read is compared with its own weights."""

CROSS_ATTENTION_NAMES = ("cross", "encoder_attn", "encdec", "enc_dec", "multihead_attn")

NUMBER_OF_HEADS = ("num_heads", "n_heads", "n_head", "num_attention_heads", "nhead", "heads")
"""What modules call their number of heads."""


class AttentionMode(TorchFunctionMode):
    """Sees every PyTorch function that this thread calls, and tells a subclass of those that are attention."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._model = model  # keeps the ids below valid
        self._names = {id(module): name for name, module in named_modules(model).items()}
        self._masks: list[Tensor] = []
        self._written_out = WrittenOutAttention()
        self.module: nn.Module | None = None
        """The module that is attending, while `attended` is told."""
        self.place: tuple[types.CodeType, int] | None = None
        """Where in the code of that module it attends."""

    def attended(self, name: str, call: Callable[[], AttentionCall], output: Tensor) -> dict[int, Tensor] | None:
        """The module called `name` has attended.

        Args:
            name: its path in the model.
            call: makes the record of it.
            output: what it computed, (batch, head, query, d_v).

        Returns:
            For heads, what the model shall get instead of their output; None to leave all as it is.
        """
        raise NotImplementedError

    def took_softmax(self, name: str, softmax: Softmax) -> None:
        """The module called `name` has taken a softmax of scores. What comes of it will show if that is attention."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func is F.multi_head_attention_forward:
            with self:
                return _multi_head_attention_forward(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            return self._kernel(sys._getframe(1), *args, **kwargs)
        output = func(*args, **kwargs)
        if (found := self._written_out.follow(func, args, kwargs, output)) is not None:
            name, module, _ = self._caller(sys._getframe(1))
            if module is not None and isinstance(found, Softmax):
                self.took_softmax(name, found)
            elif module is not None:
                shape = _batch_and_heads(found, module)
                canonical = found.output.reshape(*shape, *found.output.shape[-2:])
                with torch.no_grad():
                    call = functools.partial(self._written_out_call, name, module, found, shape)
                    changes = self.attended(name, call, canonical.detach())
                if changes:
                    return _changed(canonical, changes, lambda it: found.restore(it.reshape(found.output.shape)))
        return output

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

    # Attention in one call of the kernel

    def _kernel(
        self,
        frame: types.FrameType,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Call the kernel, whose signature this is."""
        name, module, caller = self._caller(frame)
        if module is not None:
            _refuse_unreadable(name, query, attn_mask)
        output, logsumexp = _attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        if module is None:
            return output
        with torch.no_grad():
            seen = _KernelCall(query, key, value, attn_mask, dropout_p, is_causal, scale, output, logsumexp)
            if _is_packed(caller, query):
                seen = seen.unpacked()
            call = functools.partial(self._fused_call, name, module, seen)
            changes = self.attended(name, call, _four_dimensional(seen.output.detach()))
        if not changes:
            return output
        return _changed(_four_dimensional(seen.output), changes, lambda it: it.reshape(output.shape))

    def _fused_call(self, name: str, module: nn.Module, seen: "_KernelCall") -> AttentionCall:
        query, mask = seen.query, seen.mask
        scale = query.size(-1) ** -0.5 if seen.scale is None else seen.scale
        if mask is not None:
            mask = self._own_mask(_four_dimensional_mask(mask, query))
        query, key, value = (
            _four_dimensional(_as_the_kernel_reads(tensor)) for tensor in (query, seen.key, seen.value)
        )
        rows = _checked_rows(query)
        return ScoredAttention(
            name=name,
            kind=_kind(name, module, query.size(2), key.size(2), mask, seen.is_causal),
            route="fused",
            query=_own(query),
            key=_own(key),
            value=_own(value),
            mask=mask,
            is_causal=seen.is_causal,
            scale=float(scale),
            logsumexp=seen.logsumexp,
            dropout=float(seen.dropout),
            checked_rows=rows,
            checked_output=_four_dimensional(seen.output.detach())[:, :, rows],
            changed_heads=getattr(seen.output, CHANGED_HEADS, frozenset()),
        )

    # Attention written out in single operations

    def _written_out_call(
        self, name: str, module: nn.Module, found: WrittenOutCall, shape: torch.Size
    ) -> AttentionCall:
        """`shape` is (batch, head)."""
        softmax, scores = found.weights.softmax.detach(), found.weights.scores
        weights = softmax.reshape(*shape, *softmax.shape[-2:])[..., : found.weights.num_keys]
        rows = _checked_rows(weights)
        common = {
            "name": name,
            "route": "written out",
            "value": _own(_four_dimensional_of(found.value, found.output.shape[:-2], shape)),
            "dropout": found.weights.dropout,
            "checked_rows": rows,
            "checked_output": found.output.detach().reshape(*shape, *found.output.shape[-2:])[:, :, rows],
            "changed_heads": getattr(found.output, CHANGED_HEADS, frozenset()),
        }
        if scores is not None and scores.shape[:-1] == softmax.shape[:-1]:
            lead = scores.shape[:-2]
            query = _four_dimensional_of(scores.query, lead, shape)
            key = _four_dimensional_of(scores.key, lead, shape)
            mask = _mask_of(scores, shape)
            sinks = scores.sinks
            call = ScoredAttention(
                **common,
                kind=_kind(name, module, query.size(2), key.size(2), mask, is_causal=False),
                query=_own(query),
                key=_own(key),
                mask=None if mask is None else self._own_mask(mask),
                is_causal=False,
                scale=scores.scale,
                softcap=scores.softcap,
                sinks=None if sinks is None else _own(_four_dimensional_of(sinks, lead, shape)[0, :, 0, 0]),
            )
            if _is_understood(call, weights):
                return call
        kind = _kind(name, module, weights.size(2), weights.size(3), weights > 0, is_causal=False)
        return StoredAttention(**common, kind=kind, stored_weights=_own(weights))

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


CHANGED_HEADS = "_headlight_changed_heads"
"""Attribute of an output that an intervention changed: the heads."""


def _changed(output: Tensor, changes: dict[int, Tensor], restore: Callable[[Tensor], Tensor]) -> Tensor:
    """An attention call's output, (batch, head, query, d_v), with some heads replaced, in the shape of the model."""
    output = output.clone()
    for head, wanted in changes.items():
        output[:, head] = wanted.to(output.dtype)
    output = restore(output)
    setattr(output, CHANGED_HEADS, frozenset(changes))
    return output


def _seeing_through(function: Any) -> Any:
    """A copy of a Python function of PyTorch whose inner calls are seen by an active TorchFunctionMode.

    The original hands the call over as a whole, and the mode would never see what happens inside.
    """
    its_globals = {**function.__globals__, "has_torch_function": lambda _: False}
    copy = types.FunctionType(function.__code__, its_globals, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


_multi_head_attention_forward = _seeing_through(F.multi_head_attention_forward)


@dataclasses.dataclass(frozen=True)
class _KernelCall:
    """A call of scaled_dot_product_attention, in the shapes of the model."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    dropout: float
    is_causal: bool
    scale: float | None
    output: Tensor
    logsumexp: Tensor | None

    def unpacked(self) -> "_KernelCall":
        """Undo what `_is_packed` describes: (batch, key head, head of it, d) becomes (batch, head, 1, d)."""
        mask, logsumexp = self.mask, self.logsumexp
        return dataclasses.replace(
            self,
            query=self.query.flatten(1, 2).unsqueeze(2),
            mask=mask if mask is None or mask.size(1) == 1 else mask.flatten(1, 2).unsqueeze(2),
            output=self.output.flatten(1, 2).unsqueeze(2),
            logsumexp=None if logsumexp is None else logsumexp.flatten(1, 2).unsqueeze(2),
        )


def _is_packed(frame: types.FrameType, query: Tensor) -> bool:
    """Whether Hugging Face's transformers has put query heads in the place of queries.

    It does so where one query meets keys that several query heads share (`pack_gqa`), and nothing in the call itself
    tells.
    """
    is_theirs = frame.f_code.co_name == "sdpa_attention_forward"
    return is_theirs and frame.f_locals.get("q_length") == 1 and query.size(-2) > 1


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> tuple[Tensor, Tensor | None]:
    """The kernel's output, and the logsumexp of the rows where that comes for free.

    On a CPU, the function that `scaled_dot_product_attention` chooses returns it too. It is private, so that any
    surprise leads to the public one.
    """
    settings = {"dropout_p": dropout, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    if _gives_logsumexp(query, key, value, mask, dropout, is_causal, scale):
        added = mask
        if mask is not None and mask.dtype == torch.bool:
            added = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(~mask, -torch.inf)
        try:
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                query, key, value, 0.0, is_causal, attn_mask=added, scale=scale
            )
        except (AttributeError, RuntimeError, TypeError, ValueError):
            pass
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, **settings), None


def _gives_logsumexp(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
) -> bool:
    tensors = [tensor for tensor in (query, key, value, mask) if tensor is not None]
    if (
        query.dtype not in (torch.float32, torch.float64)  # it is as rough as the kernel's own arithmetic
        or any(type(tensor) is not Tensor or tensor.device.type != "cpu" or tensor.dim() != 4 for tensor in tensors)
        or (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors))
        or torch.is_autocast_enabled("cpu")
        or torch._C._len_torch_function_stack()  # an outer mode has to see the call
        or query.shape[:2] != key.shape[:2]
        or key.shape[:2] != value.shape[:2]
        or dropout
    ):
        return False
    try:
        choice = torch._fused_sdp_choice(query, key, value, mask, dropout, is_causal, scale=scale)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return False
    return choice == SDPBackend.FLASH_ATTENTION.value


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


def _checked_rows(like: Tensor) -> Tensor:
    last_row = like.size(2) - 1
    return torch.linspace(0, last_row, min(CHECKED_ROWS, last_row + 1)).long().to(like.device)


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


def _batch_and_heads(found: WrittenOutCall, module: nn.Module) -> torch.Size:
    """How the leading dimensions of what a module wrote out divide into (batch, head).

    Of two, the first is the batch; further ones are parts of the heads. A single one is the batch, with the heads
    counted into it if the module says how many it has.
    """
    lead = max(found.weights.softmax.shape[:-2], found.output.shape[:-2], key=len)
    if len(lead) >= 2:
        return torch.Size((lead[0], math.prod(lead[1:])))
    total = math.prod(lead)
    heads = stated_heads(module) or 1
    heads = heads if heads > 0 and total % heads == 0 else 1
    return torch.Size((total // heads, heads))


def _four_dimensional_of(tensor: Tensor, lead: torch.Size, batch_and_heads: torch.Size) -> Tensor:
    """A tensor whose leading dimensions broadcast to `lead`, as (batch, head, ...)."""
    tensor = tensor[(None,) * (len(lead) + 2 - tensor.dim())]
    return tensor.expand(*lead, *tensor.shape[-2:]).reshape(*batch_and_heads, *tensor.shape[-2:])


def _mask_of(scores: Scores, batch_and_heads: torch.Size) -> Tensor | None:
    """Biases and mask of written-out scores in one: boolean, or numbers that are added."""
    lead = scores.shape[:-2]

    def broadcast(tensor: Tensor) -> Tensor:
        tensor = tensor.detach()[(None,) * (len(lead) + 2 - tensor.dim())]
        if all(size == 1 for size in tensor.shape[:-2]):
            return tensor.reshape(1, 1, *tensor.shape[-2:])
        return tensor if len(lead) == 2 else _four_dimensional_of(tensor, lead, batch_and_heads)

    mask = None
    for bias, factor in scores.biases:
        bias = broadcast(bias)
        precision = torch.promote_types(bias.dtype, torch.float32)
        forbidden = forbids(bias) if factor > 0 else torch.zeros_like(bias, dtype=torch.bool)
        bias = (bias.to(precision) * factor).masked_fill(forbidden, -torch.inf)
        mask = bias if mask is None else mask + bias
    for forbidden in map(broadcast, scores.forbidden):
        if mask is None or mask.dtype == torch.bool:
            mask = ~forbidden if mask is None else mask & ~forbidden
        else:
            mask = mask.masked_fill(forbidden, -torch.inf)
    return mask


def _is_understood(call: ScoredAttention, weights: Tensor) -> bool:
    """Whether what was read explains the model's own weights, in the checked rows of every head.

    A score s that is rounded by a share e of it changes its weight by a factor of exp(e s).
    """
    found = call.weights(rows=call.checked_rows)
    model_weights = weights[:, :, call.checked_rows].float()
    if found.shape != model_weights.shape:
        return False
    scores = call.scores(slice(None), call.checked_rows)
    largest = scores.abs().masked_fill(found == 0, 0.0).amax(dim=-1, keepdim=True)
    rounding = ROUNDINGS * max(torch.finfo(dtype).eps for dtype in (call.query.dtype, weights.dtype))
    tolerance = rounding + torch.expm1(rounding * largest) * torch.maximum(found, model_weights)
    # A query that may attend to nothing has whatever weights the model's softmax made of it.
    is_blank = (found == 0).all(dim=-1, keepdim=True)
    return bool((((found - model_weights).abs() <= tolerance) | is_blank).all())


def stated_heads(module: nn.Module) -> int | None:
    """How many heads a module says it has."""
    return next((number for each in NUMBER_OF_HEADS if isinstance(number := getattr(module, each, None), int)), None)


def _kind(name: str, module: nn.Module, num_queries: int, num_keys: int, mask: Tensor | None, is_causal: bool) -> Kind:
    """The stack that a call belongs to, by the rules at the top of this file."""
    name = name.lower()
    is_causal = is_causal or getattr(module, "is_causal", None) is True
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
    return mask.size(-2) > 1 and not (~forbids(mask)).triu(1).any()
