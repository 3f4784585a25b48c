"""Numbers as strict JSON has them."""

import math
from typing import Any


def finite(value: Any) -> Any:
    """The same dicts, lists and numbers, with None for what is not a number (NaN) or infinite; tuples become lists."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
