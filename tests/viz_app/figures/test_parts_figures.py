"""A model's parts as bars."""

from transformer_core.model import TransformerConfig
from transformer_core.model.parameters import Part, parameters
from viz_app.figures.parts import parts_bars


def test_every_part_is_a_piece_of_its_blocks_bar():
    parts = parameters(TransformerConfig.base())
    figure = parts_bars(parts, "parameters")
    drawn = {(block, bar.name): count for bar in figure.data for block, count in zip(bar.y, bar.x, strict=True)}
    assert drawn == {(part.block, part.name): part.count for part in parts}
    assert figure.layout.barmode == "stack"
    # The first block stands on top.
    assert figure.layout.yaxis.categoryarray == ("Decoder", "Encoder", "Embeddings")
    assert figure.layout.xaxis.title.text == "parameters"


def test_a_piece_says_its_formula_and_its_share():
    parts = [Part("A", "small", "d", 1), Part("B", "large", "3·d", 3)]
    small, large = parts_bars(parts, "FLOPs").data
    assert [list(piece) for bar in (small, large) for piece in bar.customdata] == [["d", "25.0%"], ["3·d", "75.0%"]]
    assert "FLOPs" in small.hovertemplate


def test_the_legend_has_room_for_a_line_for_each_part():
    figure = parts_bars([Part("A", f"part {number}", "d", 1) for number in range(9)], "parameters")
    assert 9 * 19 < figure.layout.legend.maxheight < figure.layout.height - 80


def test_pieces_differ_in_more_than_colour():
    parts = parameters(TransformerConfig.bert())
    shapes = [bar.marker.pattern.shape for bar in parts_bars(parts, "parameters").data]
    assert len(set(shapes)) == len(shapes)
