"""Running compiled models uncompiled for a while: inside a compiled graph no function call can be seen."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

# The stance of the compiler belongs to the whole process, so that blocks in several threads have to share it.
_lock = threading.Lock()
_blocks = 0
_stance = ExitStack()


def named_modules(model: nn.Module) -> dict[str, nn.Module]:
    """The modules by their paths, as in an uncompiled model: a compiled one is wrapped into another module."""
    return {re.sub(r"(^|\.)_orig_mod(?=\.|$)", "", name).lstrip("."): each for name, each in model.named_modules()}


def is_compiled(model: nn.Module) -> bool:
    """Whether `torch.compile` was applied to the model or to modules in it."""
    # OptimizedModule is told by its name, because importing it would load the whole compiler.
    return any(
        type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None
        for module in model.modules()
    )


@contextmanager
def uncompiled() -> Iterator[None]:
    """Everything that is compiled, functions inside of models too, runs uncompiled inside the block, in all threads."""
    global _blocks
    if "torch._dynamo" not in sys.modules:
        yield  # nothing can be compiled yet
        return
    with _lock:
        if _blocks == 0:
            _stance.enter_context(torch.compiler.set_stance("force_eager"))
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0:
                _stance.close()
