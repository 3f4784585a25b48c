"""The learning rate, step by step: a linear warm-up, and then one of several ways on."""

import math


def learning_rate(step: int, d_model: int, warmup: int, scale: float = 1.0) -> float:
    """lrate = scale * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (section 5.3, equation 3; its scale is 1).

    Args:
        step: training step, counted from 1. Step 0 has the rate of step 1.

    Raises:
        ValueError: a negative step, or a d_model or warm-up below 1.
    """
    if step < 0 or d_model < 1 or warmup < 1:
        raise ValueError(f"step={step} must be at least 0, d_model={d_model} and warmup={warmup} at least 1")
    step = max(step, 1)
    return scale * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def peak_learning_rate(d_model: int, warmup: int, scale: float = 1.0) -> float:
    """The highest rate, reached at step = warmup: scale / sqrt(d_model * warmup)."""
    return learning_rate(warmup, d_model, warmup, scale)


COSINE_FLOOR = 0.1
"""Share of the highest rate at which the cosine ends."""


def cosine_learning_rate(step: int, peak: float, warmup: int, steps: int) -> float:
    """A linear rise to `peak` at step `warmup`, then half a cosine to a tenth of it at the last step.

    Loshchilov & Hutter 2017, equation 5, without restarts; with the warm-up and the tenth of GPT-3 (Brown et al. 2020,
    appendix B).

    Args:
        step: training step, counted from 1.
        steps: the last step.

    Raises:
        ValueError: a step or a warm-up below 1.
    """
    rising = constant_learning_rate(step, peak, warmup)
    if step <= warmup:
        return rising
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return peak * (COSINE_FLOOR + (1 - COSINE_FLOOR) * 0.5 * (1 + math.cos(math.pi * done)))


def constant_learning_rate(step: int, peak: float, warmup: int) -> float:
    """A linear rise to `peak` at step `warmup`, and no fall.

    Args:
        step: training step, counted from 1.

    Raises:
        ValueError: a step or a warm-up below 1.
    """
    if step < 1 or warmup < 1:
        raise ValueError(f"step={step} and warmup={warmup} must be at least 1")
    return peak * min(1.0, step / warmup)
