"""What all figures share."""

import tomllib
from pathlib import Path

import pytest

import viz_app
from viz_app.figures.theme import dashes

CONFIG = tomllib.loads((Path(viz_app.__file__).parents[1] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_thirty_lines_differ_in_colour_or_dash_pattern(theme):
    colours = CONFIG["theme"][theme]["chartCategoricalColors"]
    # Plotly falls back to colours of its own with fewer than ten.
    assert len(set(colours)) == len(colours) == 10
    styles = {(colours[line % 10], dash) for line, dash in enumerate(dashes(30))}
    assert len(styles) == 30
