"""Folders of bundled models."""

import pytest

from transformer_core.zoo import bundled as bundled_module


@pytest.fixture
def pretrained(tiny_translator_folder, monkeypatch):
    """The folder of bundled models holds the tiny translator alone."""
    monkeypatch.setattr(bundled_module, "PRETRAINED", tiny_translator_folder.parent)
    return tiny_translator_folder.parent
