"""Figures of a training run."""

import numpy as np
import pandas as pd
import pytest

from viz_app.figures import training as figures


@pytest.mark.parametrize("logarithmic", [False, True])
def test_every_peak_is_among_the_drawn_steps(logarithmic):
    steps = figures.drawn_steps(50_000, [4_001, 7_777, 60_000], logarithmic)
    assert {1, 4_001, 7_777, 50_000} <= set(steps.tolist())
    assert steps.max() == 50_000 and np.all(np.diff(steps) > 0)


def test_the_peak_is_marked_with_its_step_and_value():
    steps = np.array([1, 2, 4])
    schedule = figures.Schedule("a", np.array([0.1, 0.3, 0.2]), peak_step=2, peak_rate=0.3)
    (trace,) = figures.schedule_curves(steps, [schedule]).data
    assert trace.name == "a: peak 3.000e-01 at 2"
    assert list(trace.marker.size) == [0, 9, 0]


@pytest.mark.parametrize(("log_steps", "log_rates"), [(False, False), (True, False), (False, True), (True, True)])
def test_each_axis_can_be_logarithmic(log_steps, log_rates):
    schedule = figures.Schedule("a", np.array([0.1]), 1, 0.1)
    layout = figures.schedule_curves(np.array([1]), [schedule], log_steps, log_rates).layout
    assert layout.xaxis.type == ("log" if log_steps else "linear")
    assert layout.yaxis.type == ("log" if log_rates else "linear")
    assert ("logarithmic" in layout.xaxis.title.text) == log_steps


def test_a_measured_curve_skips_steps_without_a_measurement():
    run = pd.DataFrame({"step": [10, 20, 30], "loss": [3.0, 2.0, 1.0], "validation_loss": [np.nan, 2.5, np.nan]})
    training, validation = figures.measured_curves(run, figures.LOSS).data
    assert list(training.x) == [10, 20, 30]
    assert list(validation.x) == [20] and list(validation.y) == [2.5]
    assert training.line.dash != validation.line.dash


def test_what_was_never_measured_has_no_curve():
    run = pd.DataFrame({"step": [1], "loss": [3.0], "validation_loss": [np.nan]})
    figure = figures.measured_curves(run, figures.LOSS, height=120)
    assert [curve.name for curve in figure.data] == ["training"] and figure.layout.height == 120


def test_every_figure_of_a_task_has_a_chart():
    measured = ["step", "learning_rate", "loss", "tokens_per_second", "seconds", "validation_loss"]
    assert [chart.title for chart in figures.charts_of(measured)] == ["Loss", "Learning rate", "Speed"]
    charts = figures.charts_of([*measured, "validation_bleu", "masked_accuracy"])
    assert [chart.title for chart in charts][1] == "BLEU on validation sentences (greedy search)"
    assert charts[-1].title == "Masked accuracy" and list(charts[-1].columns) == ["masked_accuracy"]
