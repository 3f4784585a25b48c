"""The heatmap as a pure function."""

import json

import numpy as np
import pytest
from plotly.colors import sample_colorscale

from viz_app.figures.attention import (
    MAX_HEATMAP_TOKENS,
    head_heatmap,
)

WEIGHTS = np.array([[0.7, 0.2, 0.1], [0.05, 0.05, 0.9]], dtype=np.float32)


def heatmap(weights=WEIGHTS, queries=("a", "b"), keys=("x", "y", "x"), **options):
    return head_heatmap(weights, queries, keys, "German", "English", **options)


def test_rows_are_queries_and_columns_are_keys():
    figure = heatmap()
    np.testing.assert_array_equal(figure.data[0].z, WEIGHTS)
    assert figure.layout.yaxis2.ticktext == ("a", "b")
    assert figure.layout.xaxis2.ticktext == ("x", "y", "x")
    assert figure.layout.yaxis2.title.text == "query (row): German"
    assert figure.layout.xaxis2.title.text == "key (column): English"
    assert figure.layout.yaxis.range == (1.5, -0.5)


def test_repeated_tokens_have_positions_of_their_own():
    figure = heatmap()
    assert figure.data[0].x is None and figure.layout.xaxis.tickvals == (0, 1, 2)
    assert figure.layout.xaxis.ticktext == ("x · position 1", "y · position 2", "x · position 3")


def test_hovering_names_tokens_and_the_float32_value():
    """Nine significant digits tell any two float32 numbers apart."""
    template = heatmap().data[0].hovertemplate
    assert "%{y}" in template and "%{x}" in template and "%{z:.9~g}" in template
    assert heatmap().data[0].z.dtype == np.float32


def test_labels_are_thinned_and_hovering_still_knows_every_token():
    n = 300
    tokens = [f"t{i}" for i in range(n)]
    figure = heatmap(np.full((n, n), 1 / n, dtype=np.float32), tokens, tokens)
    printed, hovered = figure.layout.xaxis2, figure.layout.xaxis
    assert len(hovered.ticktext) == n and hovered.showticklabels is False
    assert len(printed.ticktext) < 60
    assert all(tokens[position] == text for position, text in zip(printed.tickvals, printed.ticktext, strict=True))
    assert printed.matches == "x" and figure.layout.yaxis2.matches == "y"


def test_weights_and_tokens_must_agree():
    with pytest.raises(ValueError, match="3 query and 3 key"):
        heatmap(queries=("a", "b", "c"))


@pytest.mark.parametrize("extra", [0, 1])
def test_the_limit_is_the_last_size_that_is_drawn(extra):
    n = MAX_HEATMAP_TOKENS + extra
    weights, keys = np.zeros((1, n), dtype=np.float32), ["k"] * n
    if extra:
        with pytest.raises(ValueError, match="512"):
            heatmap(weights, ["q"], keys)
    else:
        assert heatmap(weights, ["q"], keys).data[0].z.shape == (1, n)


def test_one_token_is_a_matrix_of_one():
    assert json.loads(heatmap(np.ones((1, 1), dtype=np.float32), ["a"], ["a"]).to_json())["data"]


def test_the_square_root_scale_colours_a_quarter_as_the_linear_one_colours_a_half():
    stops = dict(heatmap(scale="square root").data[0].colorscale)
    assert [stops[position] for position in (0.0, 0.25, 1.0)] == sample_colorscale("cividis", [0.0, 0.5, 1.0])
