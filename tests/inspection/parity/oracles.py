"""Where the true maps come from: from the library, or from the kernel itself, in double precision; never from us.

Every oracle runs the model in a given precision. The double one is the truth; how far single precision is from it, in
the library's own hands, says what rounding does.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from tests.inspection.parity.architectures import Architecture

Oracle = Callable[["Architecture", str, nn.Module, torch.dtype], list[Tensor]]
"""The maps (batch, head, query, key) of every call, in order, of a model built as an implementation."""


SOFTMAX = (F.softmax, torch.softmax, Tensor.softmax)


class InDouble(TorchFunctionMode):
    """Whatever a model wants done in float32, rotary angles or a softmax, is done in float64."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {name: _doubled(value) for name, value in (kwargs or {}).items()}
        if function is Tensor.float:
            function = Tensor.double
        return function(*map(_doubled, args), **kwargs)


def _doubled(value: Any) -> Any:
    return torch.float64 if value is torch.float32 else value


class Maps(TorchFunctionMode):
    """Collects what `of_call(function, args, kwargs)` makes of the calls of some functions."""

    def __init__(self, functions: tuple[Callable, ...], of_call: Callable[..., Tensor | None]) -> None:
        super().__init__()
        self.functions, self.of_call, self.found = functions, of_call, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function in self.functions:
            found = self.of_call(result, *args, **(kwargs or {}))
            if found is not None:
                self.found.append(found)
        return result


def prepared(architecture: Architecture, model: nn.Module, dtype: torch.dtype, **options: Any) -> Callable[[], Any]:
    """The run itself, what comes before it, such as filling a cache, done."""
    with torch.set_grad_enabled(architecture.grad):
        inputs = {
            name: value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value
            for name, value in architecture.inputs(model).items()
        }

    def run() -> Any:
        torch.manual_seed(0)  # dropout in training
        with torch.set_grad_enabled(architecture.grad):
            return model(**inputs, **options)

    return run


def copy_of(architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype) -> nn.Module:
    """The same weights in another implementation or precision."""
    torch.manual_seed(0)
    copy = uncompiled(architecture.build(implementation)).eval()
    copy.load_state_dict(uncompiled(model).state_dict())
    return copy.to(dtype)


def uncompiled(model: nn.Module) -> nn.Module:
    """What torch.compile wraps."""
    return getattr(model, "_orig_mod", model)


def attentions(architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype) -> list[Tensor]:
    """transformers' own maps: its eager implementation with output_attentions=True."""
    copy = copy_of(architecture, "eager", model, dtype)
    with _precision(dtype):
        output = prepared(architecture, copy, dtype, output_attentions=True)()
    if "decoder_attentions" not in output:
        return list(output.attentions)
    return [*(output.encoder_attentions or ()), *_of_the_decoder(output)]


def attentions_of_the_decoder(
    architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype
) -> list[Tensor]:
    """The same, those of the encoder left out."""
    copy = copy_of(architecture, "eager", model, dtype)
    with _precision(dtype):
        return _of_the_decoder(prepared(architecture, copy, dtype, output_attentions=True)())


def _of_the_decoder(output: Any) -> list[Tensor]:
    layers = zip(output.decoder_attentions, output.cross_attentions, strict=True)
    return [each for own_and_cross in layers for each in own_and_cross]


def softmax(architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype) -> list[Tensor]:
    """Every softmax over scores (batch, head, query, key) that the eager implementation takes."""
    copy = copy_of(architecture, "eager", model, dtype)
    with _precision(dtype):
        run = prepared(architecture, copy, dtype)
        with Maps(SOFTMAX, lambda result, *_, **__: result if result.dim() >= 4 else None) as maps:
            run()
    return maps.found


def softmax_over_the_source(*arguments: Any) -> list[Tensor]:
    """The same, those of which the keys are not the encoder's left out."""
    architecture, _, model, _ = arguments
    length = architecture.inputs(model)["input_ids"].size(1)
    return [each for each in softmax(*arguments) if each.size(-1) == length]


def multi_head(architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype) -> list[Tensor]:
    """What PyTorch's multi-head function returns when it is asked for the weights of each head."""

    def with_weights(result: Any, *args: Any, **kwargs: Any) -> Tensor:
        kwargs |= {"need_weights": True, "average_attn_weights": False}
        return F.multi_head_attention_forward(*args, **kwargs)[1]

    copy = copy_of(architecture, implementation, model, dtype)
    with _precision(dtype), Maps((F.multi_head_attention_forward,), with_weights) as maps:
        prepared(architecture, copy, dtype)()
    return maps.found


def attentions_then_multi_head(*arguments: Any) -> list[Tensor]:
    """For a transformers model that has an nn.MultiheadAttention at its end."""
    return attentions(*arguments) + multi_head(*arguments)


def kernel(architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype) -> list[Tensor]:
    """The fused kernel itself, for the inputs of every call: its output is linear in the value, A = kernel(Q, K, I)."""

    def weights(
        result, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
    ):
        identity = torch.eye(key.size(-2), dtype=dtype).expand(*value.shape[:-1], key.size(-2))
        if attn_mask is not None and attn_mask.dtype != torch.bool:
            attn_mask = attn_mask.to(dtype)
        query, key = query.to(dtype), key.to(dtype)
        return F.scaled_dot_product_attention(
            query, key, identity, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )

    run = prepared(architecture, uncompiled(model), architecture.dtype)
    with Maps((F.scaled_dot_product_attention,), weights) as maps:
        run()
    return maps.found


def softmax_of_the_run(
    architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype
) -> list[Tensor]:
    """The softmax of the scores that this very run computed: in training every run has other ones."""

    def again(result: Tensor, scores: Tensor, *args: Any, **kwargs: Any) -> Tensor | None:
        return scores.to(dtype).softmax(-1) if scores.dim() == 4 else None

    run = prepared(architecture, model, architecture.dtype)
    with Maps(SOFTMAX, again) as maps:
        run()
    return maps.found


def eager_function(
    architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype
) -> list[Tensor]:
    """transformers' eager attention of the model's own file, on the run's queries and keys in another precision."""
    file, found = sys.modules[type(model).__module__], []
    original = file.eager_attention_forward

    def listening(module, query, key, value, attention_mask, **kwargs):
        mask = None if attention_mask is None else attention_mask.to(dtype)
        with _precision(dtype):
            found.append(original(module, query.to(dtype), key.to(dtype), value.to(dtype), mask, **kwargs)[1])
        return original(module, query, key, value, attention_mask, **kwargs)

    file.eager_attention_forward = listening
    try:
        prepared(architecture, model, architecture.dtype)()
    finally:
        file.eager_attention_forward = original
    return found


def formula(architecture: Architecture, implementation: str, model: nn.Module, dtype: torch.dtype) -> list[Tensor]:
    """The formula, written out for the models of `written_by_hand`."""
    copy = copy_of(architecture, implementation, model, dtype)
    with torch.no_grad():
        return copy.maps(**architecture.inputs(copy))


def formula_head_by_head(*arguments: Any) -> list[Tensor]:
    """The same for a model that makes a call of every head."""
    return [each.unsqueeze(1) for maps in formula(*arguments) for each in maps.unbind(1)]


USUAL: dict[str, tuple[Oracle, ...]] = {"sdpa": (attentions, kernel), "eager": (attentions,)}
"""The library's maps, and what the kernel says where a model runs on it."""


@contextlib.contextmanager
def _precision(dtype: torch.dtype) -> Iterator[None]:
    if dtype == torch.float32:
        yield
        return
    torch.set_default_dtype(dtype)
    try:
        with InDouble():
            yield
    finally:
        torch.set_default_dtype(torch.float32)
