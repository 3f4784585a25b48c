"""Tokens as visible text."""

import html
import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.view.labels import MAX_LENGTH, printable, visible
from viz_app.figures.tokens import distinct, label


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("▁The", "▁The"),
        ("</s>", "</s>"),
        ("", "∅"),
        (" ", "␣"),
        ("a b\n", "a␣b⏎"),
        ("\r\n", "␍⏎"),
        ("\t", "⇥"),
        ("\u00a0", "⍽"),
        ("\u200b", "[U+200B]"),
        ("\u202eabc", "[U+202E]abc"),
        ("\x00", "[U+0000]"),
        ("\ud83d", "[U+D83D]"),
        ("👩‍👩‍👧", "👩‍👩‍👧"),
        ("❤️", "❤️"),
        ("שלום", "שלום"),
        ("e\u0301", "e\u0301"),
    ],
)
def test_everything_can_be_seen(token, shown):
    assert visible(token) == shown


def test_a_long_token_is_cut_between_characters_as_a_reader_counts_them():
    family = "👩‍👩‍👧"
    assert visible(family * 20, max_length=5) == family * 4 + "…"
    assert visible("e\u0301" * 6, max_length=6) == "e\u0301" * 6
    assert visible("Donaudampfschifffahrt", max_length=6) == "Donau…"


@pytest.mark.parametrize("token", ["<b>bold</b>", "</script>", "&amp;", 'a"b', "<a href=x>"])
def test_a_label_is_literal_where_html_is_read(token):
    assert html.unescape(label(token)) == visible(token)
    assert "<" not in label(token) and ">" not in label(token)


@given(st.text(st.characters()))
def test_no_text_hides_anything_or_grows_without_bound(token):
    shown = visible(token)
    assert shown
    assert len(regex.findall(r"\X", shown)) <= MAX_LENGTH + 9
    alone = [grapheme for grapheme in regex.findall(r"\X", shown) if len(grapheme) == 1]
    assert not any(unicodedata.category(character) in {"Cc", "Cf", "Zs", "Zl", "Zp", "Cs"} for character in alone)
    assert "<" not in label(token)


def test_repeated_tokens_carry_their_position():
    assert distinct(["the", "cat", "saw", "the", "dog"]) == ["the · 1", "cat", "saw", "the · 4", "dog"]


@given(st.lists(st.sampled_from(["a", "b", "a · 1", "a · 3", " ", "", "x" * 40, "x" * 41]) | st.text(st.characters())))
def test_no_two_labels_are_equal(tokens):
    assert len(set(distinct(tokens))) == len(tokens)


def test_a_text_keeps_its_blanks_and_hides_nothing_else():
    assert printable("a b\nc\u202ed\x00\ud83d שלום") == "a b\nc[U+202E]d[U+0000][U+D83D] שלום"
