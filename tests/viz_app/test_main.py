"""Navigation, and what happens when a page breaks."""

import logging
import tomllib
from pathlib import Path

import pytest

import viz_app
from tests.viz_app.reading import assert_calm, open_page, words
from viz_app import library

CONFIG = tomllib.loads(Path(".streamlit/config.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["attention", "positions", "training"])
def test_every_page_opens(app, name):
    open_page(app, name)
    assert_calm(app)
    assert app.get("plotly_chart")


def test_an_unexpected_failure_is_a_plain_message_and_goes_to_the_log(app, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr(library, "inspect", fail)
    with caplog.at_level(logging.ERROR):
        app.run()
    assert not app.exception
    assert "Something went wrong" in app.error[0].value
    assert "secret" not in words(app)
    assert "a secret of the machine" in caplog.text
    assert app.text_input(key="text").value


def test_the_shipped_server_is_private_and_fast():
    assert CONFIG["server"]["address"] == "127.0.0.1"
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["client"]["showErrorDetails"] == "none"
    assert CONFIG["runner"]["postScriptGC"] is False


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_theme_has_ten_distinct_line_colours(theme):
    """Plotly falls back to colours of its own with fewer than ten."""
    colours = CONFIG["theme"][theme]["chartCategoricalColors"]
    assert len(set(colours)) == len(colours) >= 10


def test_streamlits_older_multi_page_mode_stays_off():
    """It takes over where a folder pages/ lies beside the main script, and leaves main.py out for the first visitor."""
    assert not Path(viz_app.__file__).with_name("pages").exists()
