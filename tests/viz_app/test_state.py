"""Values of widgets stay possible."""

import streamlit as st
from hypothesis import given, strategies

from transformer_core.view.labels import clean_text
from viz_app.errors import escape_markdown, literal
from viz_app.state import keep_options


@given(strategies.text(strategies.characters()))
def test_cleaned_text_can_be_sent_to_a_browser(text):
    clean_text(text).encode("utf-8")
    assert len(clean_text(text)) == len(text)


def test_only_lone_surrogates_are_replaced():
    assert clean_text("a\ud83db") == "a?b"
    assert clean_text("🙂 שלום") == "🙂 שלום"


def test_choices_that_are_gone_are_dropped(monkeypatch):
    monkeypatch.setattr(st, "session_state", {"some": [1, 9], "none": [9], "cleared": []})
    for key in ("some", "none", "cleared", "absent"):
        keep_options(key, range(3))
    assert st.session_state == {"some": [1], "cleared": []}


def test_markdown_is_shown_literally():
    assert escape_markdown("**a** $x$ :red[b]") == r"\*\*a\*\* \$x\$ \:red\[b\]"


def test_a_text_of_any_origin_is_literal_and_hides_nothing():
    assert literal("**a**\u202eb") == r"\*\*a\*\*\[U\+202E\]b"
