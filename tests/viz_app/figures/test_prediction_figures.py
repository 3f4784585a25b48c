"""Probabilities as bars."""

import pytest

from transformer_core.inspection import Prediction
from viz_app.figures.predictions import CANDIDATES, percent, probability_bars


def test_the_likeliest_is_on_top_and_probabilities_are_exact():
    figure = probability_bars(Prediction("class", None, (("cat", 0.75), ("dog", 0.2))))
    (bar,) = figure.data
    assert list(bar.x) == [0.75, 0.2] and list(bar.customdata) == ["cat", "dog"]
    assert bar.y == (0, 1) and figure.layout.yaxis.ticktext == ("cat", "dog")
    top, bottom = figure.layout.yaxis.range
    assert top > bottom


def test_as_many_are_drawn_as_there_is_room_for():
    candidates = tuple((f"t{number}", 0.1) for number in range(CANDIDATES + 3))
    (bar,) = probability_bars(Prediction("next token", 3, candidates)).data
    assert list(bar.customdata) == [f"t{number}" for number in range(CANDIDATES)]


def test_equal_names_are_bars_of_their_own():
    (bar,) = probability_bars(Prediction("class", None, (("a", 0.5), ("a", 0.5)))).data
    assert len(set(bar.y)) == 2


def test_names_are_text_and_long_ones_are_whole_on_hover():
    name = "<b>very</b> long " + "x" * 60
    figure = probability_bars(Prediction("class", None, ((name, 1.0), ("a\u202eb", 0.0))))
    printed, hovered = figure.layout.yaxis.ticktext, figure.data[0].customdata
    assert printed[0].endswith("…") and "<" not in printed[0]
    assert hovered[0] == name.replace("<", "&lt;").replace(">", "&gt;")
    assert printed[1] == "a[U+202E]b"


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0, "0 %"),
        (0.0004, "< 0.1 %"),
        (0.0005, "0.1 %"),
        (0.0612, "6.1 %"),
        (0.34, "34 %"),
        (0.994, "99.4 %"),
        (0.9996, "> 99.9 %"),
        (1, "100 %"),
    ],
)
def test_percent_hides_no_chance(probability, text):
    assert percent(probability) == text
