"""Numbers as text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_app.numbers import at_most, millions


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (7.05e-07, "8e-07"),
        (9.5e-07, "1e-06"),
        (2e-07, "2e-07"),
        (2.01e-07, "3e-07"),
        (0.0, "0"),
        (math.nan, "nan"),
        (math.inf, "inf"),
    ],
)
def test_a_bound_is_never_rounded_down(error, text):
    assert at_most(error) == text


@given(st.floats(min_value=1e-12, max_value=10))
def test_a_bound_holds_and_is_at_most_one_digit_away(error):
    assert error <= float(at_most(error)) <= 2.01 * error


@pytest.mark.parametrize(("count", "text"), [(8_362_000, "8.4 M"), (99_999, "99,999"), (65_000_000, "65.0 M")])
def test_parameters(count, text):
    assert millions(count) == text
