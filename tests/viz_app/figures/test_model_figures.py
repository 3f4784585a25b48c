"""Figures of a model's size and training."""

import numpy as np
import pandas as pd
import pytest

from transformer_core.model import TransformerConfig
from transformer_core.model.parameters import Part, parameters
from viz_app.figures import models as figures


def test_every_part_is_a_piece_of_its_blocks_bar():
    parts = parameters(TransformerConfig.base())
    figure = figures.parts_bars(parts, "parameters")
    drawn = {(block, bar.name): count for bar in figure.data for block, count in zip(bar.y, bar.x, strict=True)}
    assert drawn == {(part.block, part.name): part.count for part in parts}
    assert figure.layout.barmode == "stack"
    # The first block stands on top.
    assert figure.layout.yaxis.categoryarray == ("Decoder", "Encoder", "Embeddings")
    assert figure.layout.xaxis.title.text == "parameters"


def test_a_piece_says_its_formula_and_its_share():
    parts = [Part("A", "small", "d", 1), Part("B", "large", "3·d", 3)]
    small, large = figures.parts_bars(parts, "FLOPs").data
    assert [list(piece) for bar in (small, large) for piece in bar.customdata] == [["d", "25.0%"], ["3·d", "75.0%"]]
    assert "FLOPs" in small.hovertemplate


def test_pieces_differ_in_more_than_colour():
    parts = parameters(TransformerConfig.bert())
    shapes = [bar.marker.pattern.shape for bar in figures.parts_bars(parts, "parameters").data]
    assert len(set(shapes)) == len(shapes)


def test_the_loss_is_drawn_where_it_was_measured():
    run = pd.DataFrame({"step": [1, 2, 3], "loss": [3.0, np.nan, 1.0], "validation_loss": [np.nan, 2.0, np.nan]})
    training, validation = figures.loss_curve(run).data
    assert list(training.x) == [1, 3] and list(training.y) == [3.0, 1.0]
    assert list(validation.x) == [2] and list(validation.y) == [2.0]
    assert training.line.dash != validation.line.dash


@pytest.mark.parametrize("columns", [["step", "loss"], ["step", "loss", "validation_loss"]])
def test_a_loss_that_was_never_measured_has_no_curve(columns):
    run = pd.DataFrame({"step": [1], "loss": [3.0], "validation_loss": [np.nan]})[columns]
    assert [curve.name for curve in figures.loss_curve(run).data] == ["training, with dropout"]
