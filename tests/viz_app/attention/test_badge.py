"""What the badge says: reassurance only where both checks hold."""

import pytest

from transformer_core.inspection import Inspection, Provenance
from viz_app.attention.badge import judge


def inspection(certificate: float | None, row_sum_error: float = 1e-7, dtype: str = "float32") -> Inspection:
    return Inspection(
        text="a",
        answer="",
        stacks={},
        provenance=Provenance("model", "abc", "cpu", dtype, "2.13.0"),
        seconds=0.1,
        notes=(),
        certificate=certificate,
        row_sum_error=row_sum_error,
    )


@pytest.mark.parametrize(
    ("certificate", "dtype", "good"),
    [
        (0.0, "float32", True),
        (3e-7, "float32", True),
        (1e-4, "float32", True),
        (1.01e-4, "float32", False),
        (2e-3, "float32", False),
        (2e-3, "bfloat16", True),
        (2e-3, "float16", True),
        (2.01e-2, "bfloat16", False),
        (2.01e-2, "float16", False),
        (1e-3, "float64", False),
        (float("inf"), "bfloat16", False),
        (float("nan"), "float32", False),
        (float("nan"), "bfloat16", False),
        (None, "float32", False),
    ],
)
def test_a_certificate_is_judged_by_the_models_precision(certificate, dtype, good):
    badge = judge(inspection(certificate, dtype=dtype))
    assert badge.good == good
    assert badge.label.startswith("Weights checked: exact" if good else "Do not rely on these weights")


@pytest.mark.parametrize("row_sum_error", [2e-4, 0.5, float("nan")])
def test_rows_that_do_not_sum_to_one_are_no_reassurance(row_sum_error):
    """Weights are float32, so that bfloat16 excuses nothing."""
    badge = judge(inspection(2e-3, row_sum_error, "bfloat16"))
    assert not badge.good and "rows sum to 1" in badge.label


def test_numbers_are_rounded_up():
    badge = judge(inspection(7.05e-7, 1.2e-7))
    assert badge.label == "Weights checked: exact to 8e-07, rows sum to 1"
    assert "8e-07" in badge.explanation and "within 2e-07" in badge.explanation


@pytest.mark.parametrize(
    ("certificate", "words"),
    [(0.03, "off by 3e-02"), (float("nan"), "not a number"), (None, "not a number"), (float("inf"), "off by inf")],
)
def test_a_failure_is_named(certificate, words):
    assert words in judge(inspection(certificate)).label


def test_a_sinks_share_is_mentioned_only_where_there_is_a_sink():
    assert "sink" not in judge(inspection(1e-7)).explanation
