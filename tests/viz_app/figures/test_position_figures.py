"""Figures of the position encoding."""

import math

import numpy as np

from viz_app.figures import positions as figures


def test_a_curve_is_one_column_of_the_table():
    encoding = np.arange(12, dtype=np.float32).reshape(4, 3)
    figure = figures.dimension_curves(encoding, [2, 0])
    assert [trace.name for trace in figure.data] == ["dimension 2 (sin)", "dimension 0 (sin)"]
    np.testing.assert_array_equal(figure.data[0].y, [2, 5, 8, 11])
    assert figure.data[0].line.dash != figure.data[1].line.dash


def test_the_table_has_positions_as_rows_and_a_signed_scale():
    figure = figures.encoding_heatmap(np.zeros((4, 6), dtype=np.float32))
    assert figure.data[0].z.shape == (4, 6)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1)
    assert figure.layout.yaxis.autorange == "reversed"
    assert figure.data[0].colorbar.title.text


def test_coinciding_curves_stay_visible():
    figure = figures.offset_products({0: np.ones(5), 10: np.ones(5), 1000: np.ones(5)})
    widths = [trace.line.width for trace in figure.data]
    assert widths == sorted(widths, reverse=True) and len(set(widths)) == 3


def test_the_limit_is_marked_where_a_logarithmic_axis_has_it():
    figure = figures.wavelength_curve(np.array([2 * math.pi, 100.0]), d_model=4, limit=62_832.0)
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.shapes[0].y0 == 62_832.0
    assert math.isclose(figure.layout.annotations[0].y, math.log10(62_832.0))
    assert figure.layout.yaxis.range[1] > math.log10(62_832.0)


def test_an_odd_size_has_a_last_dimension_without_a_partner():
    figure = figures.wavelength_curve(np.array([6.28, 100.0]), d_model=3, limit=62_832.0)
    assert figure.data[0].text == ("dimensions 0, 1", "dimension 2 alone")
