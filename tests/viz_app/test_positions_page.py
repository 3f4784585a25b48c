"""The Positions page: its figures against the formula written out, and the numbers it quotes."""

import math

import numpy as np
import pytest

from tests.viz_app.reading import assert_calm, charts, open_page, words


@pytest.fixture
def page(app):
    return open_page(app, "positions")


def encoding(position: int, dimension: int, d_model: int) -> float:
    """Section 3.5 of the paper, one number at a time."""
    angle = position / 10_000 ** ((dimension - dimension % 2) / d_model)
    return math.cos(angle) if dimension % 2 else math.sin(angle)


@pytest.mark.parametrize(("d_model", "length"), [(128, 100), (512, 30), (6, 5), (7, 4), (1, 2)])
def test_curves_and_table_follow_the_formula(page, d_model, length):
    page.number_input(key="d_model").set_value(d_model)
    page.number_input(key="length").set_value(length).run()
    page.multiselect(key="dimensions").set_value([d_model - 1]).run()
    assert_calm(page)
    curves, table = charts(page)[:2]
    last = [encoding(position, d_model - 1, d_model) for position in range(length)]
    np.testing.assert_allclose(curves["data"][0]["y"], last, atol=1e-6)
    expected = [[encoding(position, i, d_model) for i in range(d_model)] for position in range(length)]
    np.testing.assert_allclose(table["data"][0]["z"], expected, atol=1e-6)


def test_dot_products_depend_on_the_offset_alone(page):
    page.number_input(key="d_model").set_value(512).run()
    curves = charts(page)[2]["data"]
    assert len(curves) == 4
    known = {0: 256, 1: 249.1021, 2: 231.7336, 3: 211.7494, 5: 189.5967, 10: 173.7897, 50: 131.0908, 100: 111.9502}
    for curve in curves:
        for offset, product in known.items():
            assert curve["y"][offset] == pytest.approx(product, abs=1e-3)
    assert "d_model / 2 = 256" in words(page)


def test_an_odd_size_says_what_is_different(page):
    page.number_input(key="d_model").set_value(7).run()
    assert_calm(page)
    assert "7 is odd" in page.info[0].value
    assert "depends on p" in words(page)
    assert "Every row has the same length" not in words(page)


def test_the_longest_wavelength_of_the_paper_is_not_the_limit(page):
    page.number_input(key="d_model").set_value(512).run()
    assert [metric.value for metric in page.metric] == ["6.2832", "60,611"]
    assert "62,832, is a limit" in words(page) and "60,611" in words(page)
    waves = charts(page)[3]["data"][0]["y"]
    assert len(waves) == 256
    assert waves[-1] == pytest.approx(2 * math.pi * 10_000 ** (510 / 512))


def test_a_single_curve_is_not_compared(page):
    assert "largest difference here" in words(page)
    page.multiselect(key="starts").set_value([10]).run()
    assert_calm(page)
    assert "largest difference" not in words(page) and "d_model / 2 = 64" in words(page)


def test_the_table_says_how_often_its_columns_repeat(page):
    page.number_input(key="d_model").set_value(4).run()
    assert "repeats after 6.28 positions, the rightmost after 628." in words(page)


def test_nothing_chosen_asks_for_a_choice(page):
    page.multiselect(key="dimensions").set_value([])
    page.multiselect(key="starts").set_value([]).run()
    assert_calm(page)
    assert [info.value for info in page.info] == [
        "Choose at least one dimension to draw.",
        "Choose at least one first position.",
    ]


def test_dimensions_that_a_smaller_encoding_lacks_are_dropped(page):
    page.multiselect(key="dimensions").set_value([3, 100]).run()
    page.number_input(key="d_model").set_value(16).run()
    assert_calm(page)
    assert page.multiselect(key="dimensions").value == [3]


def test_a_link_with_impossible_values_falls_back(app):
    open_page(app, "positions")
    app.query_params.update({"d_model": "1e9", "length": "-3", "dimensions": "900", "max_offset": "x"})
    app.run()
    assert_calm(app)
    assert app.number_input(key="d_model").value == 128
    assert app.number_input(key="length").value == 100
