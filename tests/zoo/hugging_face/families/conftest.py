"""What the tests of the families share."""

import pytest

from tests.zoo.hugging_face.families.checkpoints_in_memory import EXTRA_TOKENS
from transformer_core.zoo.hugging_face.families import text_to_text


@pytest.fixture(autouse=True)
def short_answers(monkeypatch) -> None:
    """Models with random weights seldom end their answers: these are cut early, which saves most of the time."""
    monkeypatch.setattr(text_to_text, "MAX_EXTRA_TOKENS", EXTRA_TOKENS)
