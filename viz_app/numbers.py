"""Numbers as text."""

import math
from decimal import ROUND_UP, Context, Decimal


def at_most(error: float) -> str:
    """A bound with one significant digit, rounded up and never down: "8e-07" for 7.05e-07."""
    if error == 0 or not math.isfinite(error):
        return f"{error:g}"
    return f"{float(Context(prec=1, rounding=ROUND_UP).plus(Decimal(error))):.0e}"


def millions(count: int) -> str:
    """A count of parameters as people say it: "8.4 M", or the count itself below 0.1 M."""
    return f"{count / 1e6:,.1f} M" if count >= 100_000 else f"{count:,}"
