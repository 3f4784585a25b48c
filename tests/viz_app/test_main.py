"""Navigation, and what happens when a page breaks."""

import gc
import logging
import subprocess
import sys
from pathlib import Path

import pytest
import streamlit as st

import viz_app
from tests.viz_app.reading import assert_calm, open_page, words
from viz_app import library

ROOT = Path(viz_app.__file__).parents[1]


@pytest.mark.parametrize("name", ["attention", "positions", "training", "models"])
def test_every_page_opens(app, name):
    open_page(app, name)
    assert_calm(app)
    assert app.get("bidi_component" if name == "attention" else "plotly_chart")


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


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("server.address", "127.0.0.1"),
        ("browser.gatherUsageStats", "False"),
        ("client.showErrorDetails", "none"),
        ("runner.postScriptGC", "False"),
    ],
)
def test_the_shipped_server_is_private_and_quiet(option, value):
    """As Streamlit itself reads the settings when it starts here."""
    read = f"from streamlit import config; print(config.get_option({option!r}))"
    shown = subprocess.run([sys.executable, "-c", read], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == value


def test_what_was_imported_is_hidden_from_the_garbage_collector_once(app):
    st.cache_resource.clear()
    gc.unfreeze()
    try:
        app.run()
        assert gc.get_freeze_count() > 10_000
        gc.unfreeze()
        app.run()
        assert gc.get_freeze_count() == 0
    finally:
        gc.unfreeze()


def test_streamlits_older_multi_page_mode_stays_off():
    """It takes over where a folder pages/ lies beside the main script, and leaves main.py out for the first visitor."""
    assert not Path(viz_app.__file__).with_name("pages").exists()
