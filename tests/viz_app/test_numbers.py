"""Numbers as text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_app.numbers import amount, at_most, memory, operations


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


@pytest.mark.parametrize(
    ("count", "parameters", "size", "work"),
    [
        (0, "0", "0 bytes", "0"),
        (999, "999", "999 bytes", "999"),
        (99_999, "99,999", "100 kB", "100 k"),
        (100_000, "100 K", "100 kB", "100 k"),
        (8_362_400, "8.362 M", "8.362 MB", "8.362 M"),
        (999_949, "999.9 K", "999.9 kB", "999.9 k"),
        (999_950, "1 M", "1 MB", "1 M"),
        (174_604_259_328, "174.6 B", "174.6 GB", "174.6 G"),
        (10**17, "100,000 T", "100 PB", "100 P"),
        (10**20, "100,000,000 T", "100,000 PB", "100,000 P"),
    ],
)
def test_numbers_with_units(count, parameters, size, work):
    assert (amount(count), memory(count), operations(count)) == (parameters, size, work)
