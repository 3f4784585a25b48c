"""The app without a browser, on the tiny translator of the tests."""

import sys
from pathlib import Path

import pytest
import streamlit as st
from jaxtyping import install_import_hook
from streamlit.testing.v1 import AppTest

import viz_app
from transformer_core.zoo import bundled

install_import_hook("viz_app.figures", "shape_checking.check_shapes")

MAIN = Path(viz_app.__file__).with_name("main.py")


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """Streamlit puts the page in place of `__main__` and leaves it there, where processes that start look for it."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture
def pretrained(tiny_translator_folder, monkeypatch):
    """Make the tiny translator the only bundled model; the folder that holds it."""
    from viz_app import library

    monkeypatch.setattr(bundled, "PRETRAINED", tiny_translator_folder.parent)
    yield tiny_translator_folder.parent
    library.forget()
    st.cache_data.clear()


@pytest.fixture
def app(pretrained, monkeypatch) -> AppTest:
    """The app, not yet opened, started without arguments."""
    monkeypatch.setattr(sys, "argv", [str(MAIN)])
    return AppTest.from_file(MAIN, default_timeout=60)
