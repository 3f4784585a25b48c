"""Equation 3 with the values of the paper's settings."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.training.schedule import (
    constant_learning_rate,
    cosine_learning_rate,
    learning_rate,
    peak_learning_rate,
)

BASE = {
    1: 1.746928e-7,
    100: 1.746928e-5,
    1_000: 1.746928e-4,
    4_000: 6.987712e-4,
    8_000: 4.941059e-4,
    10_000: 4.419417e-4,
    16_000: 3.493856e-4,
    100_000: 1.397542e-4,
    300_000: 8.068715e-5,
}


@pytest.mark.parametrize(("step", "rate"), BASE.items())
def test_the_base_models_schedule(step, rate):
    assert learning_rate(step, d_model=512, warmup=4000) == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize(
    ("d_model", "warmup", "peak"),
    [(512, 4000, 6.987712e-4), (1024, 4000, 4.941059e-4), (512, 8000, 4.941059e-4), (256, 4000, 9.882118e-4)],
)
def test_the_peak(d_model, warmup, peak):
    assert peak_learning_rate(d_model, warmup) == pytest.approx(peak, rel=1e-6)
    assert peak_learning_rate(d_model, warmup) == pytest.approx(1 / math.sqrt(d_model * warmup))


@given(st.integers(1, 10**6), st.integers(1, 4096), st.integers(1, 10**5), st.floats(0.01, 10))
def test_no_step_is_above_the_peak_and_the_scale_scales(step, d_model, warmup, scale):
    rate = learning_rate(step, d_model, warmup, scale)
    assert 0 < rate <= peak_learning_rate(d_model, warmup, scale) * (1 + 1e-12)
    assert rate == pytest.approx(scale * learning_rate(step, d_model, warmup))


@given(st.integers(8000, 10**6))
def test_after_the_longer_warm_up_the_curves_coincide(step):
    assert learning_rate(step, 512, 4000) == pytest.approx(learning_rate(step, 512, 8000))


def test_step_zero_has_the_rate_of_step_one():
    assert learning_rate(0, 512, 4000) == learning_rate(1, 512, 4000)


@pytest.mark.parametrize("arguments", [(-1, 512, 4000), (1, 0, 4000), (1, 512, 0)])
def test_impossible_values_are_refused(arguments):
    with pytest.raises(ValueError, match="must be at least"):
        learning_rate(*arguments)


@pytest.mark.parametrize(
    ("step", "rate"),
    # By hand: half the warm-up; its end; a third, a half, two thirds of the way down (cosine 1/2, 0, -1/2); the end.
    [(5, 0.05), (10, 0.1), (40, 0.0775), (55, 0.055), (70, 0.0325), (100, 0.01), (200, 0.01)],
)
def test_the_cosine_by_hand(step, rate):
    assert cosine_learning_rate(step, peak=0.1, warmup=10, steps=100) == pytest.approx(rate)


def test_a_constant_rate_after_the_warm_up():
    rates = [constant_learning_rate(step, peak=0.2, warmup=4) for step in (1, 2, 4, 5, 10**6)]
    assert rates == pytest.approx([0.05, 0.1, 0.2, 0.2, 0.2])


@pytest.mark.parametrize("arguments", [(0, 0.1, 10), (1, 0.1, 0)])
def test_steps_and_warm_ups_count_from_one(arguments):
    with pytest.raises(ValueError, match="must be at least 1"):
        constant_learning_rate(*arguments)
    step, peak, warmup = arguments
    with pytest.raises(ValueError, match="must be at least 1"):
        cosine_learning_rate(step, peak, warmup, steps=100)
