"""Watching a long run of a model from outside: what it is doing, and a place to end it.

Whoever starts the run wraps it in `between_steps`. What runs says what it is doing with `stage`, which does nothing
unless somebody watches. Everything belongs to one thread, and no model carries any state of it.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack


class Stopped(BaseException):
    """For `tick` to raise. Like KeyboardInterrupt it is no Exception, so that nobody takes it for a failure."""


@dataclass(frozen=True)
class Stage:
    """What a run is doing."""

    words: str
    """As a heading, say "Opening gpt2"; "" before the run has said anything."""
    share: float | None = None
    """How much of it is done, 0 to 1; None if that is not known."""


Tick = Callable[[Stage], None]
"""Called with what the run is doing. What it raises ends the run."""


class Steps(TorchFunctionMode):
    """Looks at the clock before every PyTorch function that this thread calls."""

    def __init__(self, tick: Tick, seconds: float) -> None:
        super().__init__()
        self.stage = Stage("")
        """What the run is doing; any thread may read it."""
        self._tick = tick
        self._seconds = seconds
        self._due = 0.0

    def look(self) -> None:
        if time.monotonic() >= self._due and not _is_importing():
            self._tick(self.stage)
            self._due = time.monotonic() + self._seconds

    def __torch_function__(self, func: Any, _types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        # Whoever leaves torch.no_grad switches gradients on again: what stops a run must not come in between.
        if func is not torch._C._set_grad_enabled:
            self.look()
        return func(*args, **(kwargs or {}))


def _is_importing() -> bool:
    """Whether this thread loads a module: ended half-way, it would be broken for every thread that waits for it."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


_steps: ContextVar[Steps | None] = ContextVar("steps", default=None)


@contextmanager
def between_steps(tick: Tick, seconds: float = 0.2) -> Iterator[Steps]:
    """Call `tick` in this thread while the block runs: between PyTorch calls and at each `stage`.

    Results are the same, bit for bit, as without (`nn.Transformer` leaves its C++ fast path, as for `record`). Of two
    nested blocks the inner one is watched. Nobody looks while a module is imported, which would be broken afterwards.

    Args:
        tick: what it raises ends the block, and is raised.
        seconds: the least time from one tick to the next. One long PyTorch call can make it longer.
    """
    steps = Steps(tick, seconds)
    token = _steps.set(steps)
    try:
        with steps:
            yield steps
    finally:
        _steps.reset(token)


def stage(words: str, share: float | None = None) -> None:
    """Say what begins now. Whoever watches this thread may end it here."""
    steps = _steps.get()
    if steps is not None:
        steps.stage = Stage(words, share)
        steps.look()


@contextmanager
def short_steps() -> Iterator[None]:
    """A block that calls `stage` often, so that nobody has to look between its PyTorch calls.

    Looking costs 2 µs a call, which is a tenth of the time where a small model writes token by token.
    """
    steps = _steps.get()
    stack = _get_current_function_mode_stack()
    if steps is None or not stack or stack[-1] is not steps:
        yield
        return
    steps.__exit__(None, None, None)
    try:
        yield
    finally:
        steps.__enter__()
