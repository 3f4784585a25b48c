"""Numbers as text."""

import math
from collections.abc import Sequence
from decimal import ROUND_UP, Context, Decimal


def at_most(error: float) -> str:
    """A bound with one significant digit, rounded up and never down: "8e-07" for 7.05e-07."""
    if error == 0 or not math.isfinite(error):
        return f"{error:g}"
    return f"{float(Context(prec=1, rounding=ROUND_UP).plus(Decimal(error))):.0e}"


def scaled(value: float, units: Sequence[str]) -> str:
    """A positive number with four significant digits and the unit that suits it, each a thousand times the last."""
    place = 0
    while place < len(units) - 1 and float(f"{value:.4g}") >= 1000:
        value, place = value / 1000, place + 1
    digits = f"{value:.4g}" if value < 9999.5 else f"{value:,.0f}"
    return f"{digits} {units[place]}".rstrip()


def amount(count: int) -> str:
    """A count of parameters: "124.4 M", "1.558 B", or the count itself below 100,000."""
    return scaled(count, ("", "K", "M", "B", "T")) if count >= 100_000 else f"{count:,}"


def memory(num_bytes: int) -> str:
    """A size in bytes: "497.8 MB", in powers of ten."""
    return scaled(num_bytes, ("bytes", "kB", "MB", "GB", "TB", "PB"))


def operations(flops: int) -> str:
    """A number of floating-point operations: "284.8 M", "349.1 G"."""
    return scaled(flops, ("", "k", "M", "G", "T", "P"))
