"""The learning rate of section 5.3: a linear warm-up, then the inverse square root of the step."""


def learning_rate(step: int, d_model: int, warmup: int, scale: float = 1.0) -> float:
    """lrate = scale * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (equation 3; the paper's scale is 1).

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
