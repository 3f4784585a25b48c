"""An end to Python code that comes with a checkpoint and may never come to one itself."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError in the block, in this thread, at the first line of Python that begins after so long."""
    end = time.monotonic() + seconds

    def look_at_the_clock(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        if time.monotonic() > end:
            raise TimeoutError(f"it ran for more than {seconds:g} seconds")
        return look_at_the_clock

    before = sys.gettrace()
    sys.settrace(look_at_the_clock)
    try:
        yield
    finally:
        sys.settrace(before)
