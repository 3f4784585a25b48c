"""Bringing the shapes in which models attend to (batch, head, token, d)."""

import math
import types

import torch
from torch import Tensor, nn

CALL_OF_A_MODULE = nn.Module._call_impl.__code__
"""By which a frame on the call stack is known as a module's `__call__`."""

NUMBER_OF_HEADS = ("num_heads", "n_heads", "n_head", "num_attention_heads", "nhead", "heads")
"""What modules call their number of heads."""


def stated_heads(module: nn.Module) -> int | None:
    """How many heads a module says it has."""
    # Not by getattr: a property may fail.
    numbers = (module.__dict__.get(name, getattr(type(module), name, None)) for name in NUMBER_OF_HEADS)
    return next((number for number in numbers if isinstance(number, int) and number > 0), None)


class Layout:
    """How the leading dimensions of an attention call divide into (batch, head).

    - None: one text, one head.
    - One: texts and heads counted in one, in the order in which the model merged two dimensions into it, if that was
      seen. Else, if the module says how many heads it has, and what it was called with is a batch of so many fewer
      texts, all heads of one text after the other. Else a batch of texts with one head.
    - Two: (batch, head), or (head, batch) if only that fits the module's number of heads and what it was called with.
    - More: the batch, then parts of the heads, if that fits the module's number of heads. Else, as the kernel has it,
      the last one is the heads, and those before are the batch, perhaps with blocks of the text in it.
    """

    def __init__(
        self,
        lead: torch.Size,
        module: nn.Module,
        frame: types.FrameType | None = None,
        merged: tuple[int, int] | None = None,
        is_batch_first: bool = False,
    ) -> None:
        """
        Args:
            lead: the leading dimensions.
            module: which attends.
            frame: the innermost running function that holds the module.
            merged: sizes of the two dimensions that the model made one of.
            is_batch_first: whether it is known that the first of these is the batch.
        """
        self.lead = lead
        self.is_guess = False
        """Whether the division cannot be told from the shapes."""
        heads = stated_heads(module)
        self.sizes_of_input = sizes = _sizes_of_input(module, frame)
        if merged is not None and math.prod(merged) != math.prod(lead):
            merged, self.is_guess = None, True  # something else was done to them in between
        if len(lead) == 1:
            self._parts = merged or self._divided(lead[0], heads, sizes)
            if merged is None and not is_batch_first:
                self.is_guess |= self._parts[1] > 1 < self._parts[0] or (bool(sizes) and lead[0] not in sizes)
        else:
            self._parts = tuple(lead) if lead else (1, 1)
        self._is_heads_first = False
        if len(self._parts) == 2 and not is_batch_first:
            first, second = self._parts
            if heads is not None:
                looks_swapped = second != heads == first
            else:
                looks_swapped = merged is None and second in sizes and first not in sizes and 1 not in self._parts
                self.is_guess |= looks_swapped
            self._is_heads_first = looks_swapped and second in sizes and first not in sizes
            self._is_heads_first |= looks_swapped and merged is not None
            self.is_guess |= looks_swapped and not self._is_heads_first and first not in sizes
            is_open = merged is not None and 1 not in merged
            self.is_guess |= is_open and (heads is None or first == second)
        batch_dimensions = 1
        if len(lead) > 2 and math.prod(lead[1:]) != heads:
            batch_dimensions = len(lead) - 1
            self.is_guess |= lead[-1] != heads
        self.has_blocks = batch_dimensions > 1
        """Whether the batch may hold blocks of a text."""
        batch, head = math.prod(self._parts[:batch_dimensions]), math.prod(self._parts[batch_dimensions:])
        self.shape = torch.Size((head, batch) if self._is_heads_first else (batch, head))

    @staticmethod
    def _divided(total: int, heads: int | None, sizes: tuple[int, ...]) -> tuple[int, int]:
        """What is counted in one dimension, as texts and heads."""
        divides = heads is not None and total % heads == 0
        fits = not sizes or (divides and total // heads in sizes)
        return (total // heads, heads) if divides and fits else (total, 1)

    @property
    def is_as_it_was(self) -> bool:
        """Whether the model's own form is (batch, head, ...) already."""
        return len(self.lead) == 2 and not self._is_heads_first

    def four_dimensional(self, tensor: Tensor) -> Tensor:
        """A tensor whose leading dimensions broadcast to `lead`, as (batch, head, ...)."""
        tensor = tensor[(None,) * (len(self.lead) + 2 - tensor.dim())]
        if self.is_as_it_was:
            return tensor  # which may be the smaller for broadcasting
        tensor = tensor.expand(*self.lead, *tensor.shape[-2:]).reshape(*self._parts, *tensor.shape[-2:])
        tensor = tensor.transpose(0, 1) if self._is_heads_first else tensor
        return tensor.reshape(*self.shape, *tensor.shape[-2:])

    def mask(self, tensor: Tensor) -> Tensor:
        """The same for masks, which stay as small as they are where they are the same for all."""
        tensor = tensor[(None,) * (len(self.lead) + 2 - tensor.dim())]
        if all(size == 1 for size in tensor.shape[:-2]):
            return tensor.reshape(1, 1, *tensor.shape[-2:])
        return self.four_dimensional(tensor)

    def restore(self, tensor: Tensor) -> Tensor:
        """Undo `four_dimensional`."""
        if self._is_heads_first:
            tensor = tensor.transpose(0, 1)
        return tensor.reshape(*self.lead, *tensor.shape[-2:])


def _sizes_of_input(module: nn.Module, frame: types.FrameType | None) -> tuple[int, ...]:
    """The first two dimensions, batch and tokens or tokens and batch, of what the module itself was called with.

    Of its first argument that is a tensor; empty if there is none.
    """
    frame = _frame_of_forward(module, frame)
    if frame is None:
        return ()
    for name in frame.f_code.co_varnames[1 : frame.f_code.co_argcount]:
        argument = frame.f_locals.get(name)
        if isinstance(argument, Tensor) and argument.dim() >= 3:
            return tuple(argument.shape[:2])
    return ()


def _frame_of_forward(module: nn.Module, frame: types.FrameType | None) -> types.FrameType | None:
    """The module's running `forward`; the innermost function that holds the module may be a helper of it."""
    innermost = frame
    while frame is not None and frame.f_back is not None:
        caller = frame.f_back
        if caller.f_code is CALL_OF_A_MODULE:
            return frame if caller.f_locals.get("self") is module else innermost
        frame = caller
    return innermost
