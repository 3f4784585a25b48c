"""The app without a browser, on the tiny translator of the tests."""

from pathlib import Path

import pytest
import streamlit as st
from jaxtyping import install_import_hook
from streamlit.testing.v1 import AppTest

import viz_app
from transformer_core.zoo import bundled

install_import_hook("viz_app.figures", "shape_checking.check_shapes")


@pytest.fixture
def pretrained(tiny_translator_folder, monkeypatch):
    """Make the tiny translator the only bundled model; the folder that holds it."""
    monkeypatch.setattr(bundled, "PRETRAINED", tiny_translator_folder.parent)
    yield tiny_translator_folder.parent
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture
def app(pretrained) -> AppTest:
    """The app, not yet opened."""
    return AppTest.from_file(Path(viz_app.__file__).with_name("main.py"), default_timeout=60)
