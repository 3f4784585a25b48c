"""Parameters as a table: shares, symbols, and the distance to a paper's total."""

import pytest

from transformer_core.model import TransformerConfig
from transformer_core.model.parameters import Part
from viz_app.models.sizes import change, legend, parts_table


def test_a_part_is_a_line_with_its_share_of_all():
    table = parts_table([Part("A", "small", "d", 1000), Part("B", "large", "3·d", 3000)])
    assert table.to_dict("list") == {
        "block": ["A", "B"],
        "part": ["small", "large"],
        "formula": ["d", "3·d"],
        "parameters": ["1,000", "3,000"],
        "share": ["25.0%", "75.0%"],
    }


def test_the_legend_has_the_symbols_of_the_formulas_and_no_others():
    config = TransformerConfig.base(num_decoder_layers=4)
    assert legend(config, [Part("A", "a", "N_d·(4·d + 3)", 0)]).split("; ") == [
        "d = 512 (d_model)",
        "N_d = 4 (decoder layers)",
    ]


@pytest.mark.parametrize(("count", "before", "shown"), [(124, 117, "+6.0%"), (97, 100, "-3.0%"), (5, 5, "+0.0%")])
def test_a_change_has_its_sign(count, before, shown):
    assert change(count, before) == shown
