"""Whether the weights on the page can be trusted, in a few words."""

import math
from dataclasses import dataclass

from transformer_core.inspection.inspection import Inspection
from transformer_core.inspection.seeing import CHECKED_ROWS
from viz_app.numbers import at_most

LARGEST_ERROR = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-2}
"""Certificates beyond these are not the rounding of the precision: something was not understood."""

LARGEST_ROW_SUM_ERROR = 1e-4
"""Weights are computed in float32, whatever the model's precision."""


@dataclass(frozen=True)
class Badge:
    """A verdict of a few words, and what stands behind it. Both are Markdown."""

    label: str
    explanation: str
    good: bool


def judge(inspection: Inspection) -> Badge:
    """What the certificate and the row sums say about an inspection's weights."""
    dtype = inspection.provenance.dtype
    certificate, row_sum_error = inspection.certificate, inspection.row_sum_error
    limit = LARGEST_ERROR.get(dtype, LARGEST_ERROR["float32"])
    # Written so that NaN is a failure.
    exact = certificate is not None and certificate <= limit
    sums = row_sum_error <= LARGEST_ROW_SUM_ERROR
    if exact and sums:
        exactness = f"exact to {at_most(certificate)}" if certificate else "exact"
        label = f"Weights checked: {exactness}, rows sum to 1"
    elif not exact:
        found = "not a number" if certificate is None or math.isnan(certificate) else f"off by {at_most(certificate)}"
        label = f"Do not rely on these weights: {found}"
    else:
        label = f"Do not rely on these weights: rows sum to 1 only within {at_most(row_sum_error)}"
    return Badge(label, _explanation(inspection, limit), exact and sums)


def _explanation(inspection: Inspection, limit: float) -> str:
    certificate, dtype = inspection.certificate, inspection.provenance.dtype
    if certificate is None:
        found = "Here nothing could be compared."
    elif math.isnan(certificate):
        found = "The comparison gave no number (NaN): the model computes something that is no number."
    else:
        found = (
            f"The largest difference is {at_most(certificate)}, relative to the largest value. Up to {limit:g} it is "
            f"the rounding of {dtype}; more means that something was not understood."
        )
    sinks = any(call.sinks is not None for stack in inspection.stacks.values() for call in stack.calls)
    return (
        "The weights are those of the model, before dropout: computed from the queries and keys that it used, or noted "
        "as they were where it writes its attention out. To check them, they are multiplied with the values, and the "
        f"result is compared with what the model itself went on with, on up to {CHECKED_ROWS} rows of every head. "
        f"{found}\n\nOver all rows, a row's weights sum to 1 within {at_most(inspection.row_sum_error)}"
        f"{', the share of a head’s sink included' if sinks else ''}."
    )
