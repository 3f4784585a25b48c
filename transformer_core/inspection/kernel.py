"""Calls of PyTorch's own kernel, scaled_dot_product_attention: running them, and reading what they say."""

import dataclasses
import sys
import types

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

KERNEL = torch._C._nn.scaled_dot_product_attention
"""`torch.nn.functional.scaled_dot_product_attention` itself, whatever stands there now."""


@dataclasses.dataclass(frozen=True)
class KernelCall:
    """A call of scaled_dot_product_attention, in the shapes that the model has."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    dropout: float
    is_causal: bool
    scale: float
    output: Tensor
    logsumexp: Tensor | None
    """(..., query), where the kernel gives it."""

    def unpacked(self) -> "KernelCall":
        """Undo what `is_packed` describes: (batch, key head, head of it, d) becomes (batch, head, 1, d)."""
        mask, logsumexp = self.mask, self.logsumexp
        return dataclasses.replace(
            self,
            query=self.query.flatten(1, 2).unsqueeze(2),
            mask=mask if mask is None or mask.size(1) == 1 else mask.flatten(1, 2).unsqueeze(2),
            output=self.output.flatten(1, 2).unsqueeze(2),
            logsumexp=None if logsumexp is None else logsumexp.flatten(1, 2).unsqueeze(2),
        )


def call_kernel(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> KernelCall:
    """Call the kernel, whose signature this is, for the module called `name`.

    With its output comes the logsumexp of the rows where that is for free: on a CPU, the function that
    `scaled_dot_product_attention` chooses returns it too. That one is private, so any surprise leads to the public one.

    Raises:
        NotImplementedError: what this call attends over cannot be recorded, and why.
    """
    if query.is_nested:
        raise NotImplementedError(f"{name!r} attends over nested tensors, which cannot be recorded: use padding")
    # Who has such a mask has imported its module already; to import it here would load the whole compiler.
    causal_bias = sys.modules.get("torch.nn.attention.bias")
    if causal_bias is not None and isinstance(attn_mask, causal_bias.CausalBias):
        raise NotImplementedError(
            f"{name!r} has a mask of type {type(attn_mask).__name__}, which cannot be recorded: use a boolean tensor"
        )
    output = logsumexp = None
    settings = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
    if _gives_logsumexp(query, key, value, attn_mask, **settings):
        added = attn_mask
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            added = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(~attn_mask, -torch.inf)
        try:
            output, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                query, key, value, 0.0, is_causal, attn_mask=added, scale=scale
            )
        except (AttributeError, RuntimeError, TypeError, ValueError):
            output = None
    if output is None:
        output = KERNEL(query, key, value, attn_mask=attn_mask, enable_gqa=enable_gqa, **settings)
    scale = query.size(-1) ** -0.5 if scale is None else float(scale)
    return KernelCall(query, key, value, attn_mask, float(dropout_p), is_causal, scale, output, logsumexp)


def _gives_logsumexp(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> bool:
    tensors = [tensor for tensor in (query, key, value, mask) if tensor is not None]
    if (
        query.dtype not in (torch.float32, torch.float64)  # it is as rough as the kernel's own arithmetic
        or any(type(tensor) is not Tensor or tensor.device.type != "cpu" or tensor.dim() != 4 for tensor in tensors)
        or (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors))
        or torch.is_autocast_enabled("cpu")
        or query.shape[:2] != key.shape[:2]
        or key.shape[:2] != value.shape[:2]
        or dropout_p
    ):
        return False
    try:
        if torch._C._len_torch_function_stack():
            return False  # an outer mode has to see the call
        choice = torch._fused_sdp_choice(query, key, value, mask, dropout_p, is_causal, scale=scale)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return False
    return choice == SDPBackend.FLASH_ATTENTION.value


def is_packed(frame: types.FrameType, query: Tensor) -> bool:
    """Whether Hugging Face's transformers has put query heads in the place of queries.

    It does so where one query meets keys that several query heads share (`pack_gqa`), and nothing in the call itself
    tells.
    """
    is_theirs = frame.f_code.co_name == "sdpa_attention_forward"
    return is_theirs and frame.f_locals.get("q_length") == 1 and query.size(-2) > 1


def as_the_kernel_reads(tensor: Tensor) -> Tensor:
    """Under autocast the kernel works on rounded inputs, and the weights are those of the rounded ones."""
    device = tensor.device.type
    if torch.is_autocast_enabled(device) and tensor.dtype != torch.float64:
        return tensor.to(torch.get_autocast_dtype(device))
    return tensor
