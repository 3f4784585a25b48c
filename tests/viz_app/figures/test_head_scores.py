"""The scores of a small model's heads over its training."""

import numpy as np
import pandas as pd

from viz_app.figures.head_scores import SCORES, head_scores

COLOURS = ["#111111", "#222222", "#333333"]


def figure():
    """Two layers of four heads, at three steps."""
    rows = [
        {"step": step, "layer": layer, "head": head, "previous_token": head / 10, "prefix_matching": layer / 10}
        for step in (1, 20, 300)
        for layer in range(2)
        for head in range(4)
    ]
    return head_scores(pd.DataFrame(rows), 20, COLOURS)


def test_a_head_has_one_colour_and_a_layer_one_pattern_in_both_charts():
    lines = figure().data
    for layer, dash in enumerate(("solid", "dash")):
        for head, colour in enumerate([*COLOURS, COLOURS[0]]):
            both = [line for line in lines if line.name == f"layer {layer + 1}, head {head + 1}"]
            assert [line.xaxis for line in both] == ["x", "x2"]
            assert {(line.line.color, line.line.dash) for line in both} == {(colour, dash)}
            np.testing.assert_array_equal(both[0].y, [head / 10] * 3)
            np.testing.assert_array_equal(both[1].y, [layer / 10] * 3)
    assert len({(line.line.color, line.line.dash) for line in lines if line.xaxis == "x"}) == 6


def test_every_head_is_named_once_and_the_axes_say_what_they_are():
    shown = figure()
    named = [line.name for line in shown.data if line.showlegend is not False]
    assert named == [f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3, 4)]
    assert [axis.title.text for axis in shown.select_xaxes()] == ["training step"] * len(SCORES)
    assert next(shown.select_yaxes()).title.text == "mean weight"
