"""The sentences offered on the Attention page."""

import re

import pytest

from viz_app.examples import EXAMPLES, LANGUAGES, for_languages


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.topic)
def test_the_words_to_look_for_stand_in_the_sentence(example):
    quoted = re.findall("“(.+?)”", example.look_for)
    assert quoted or example.topic == "Ambiguity"
    assert all(words in example.text for words in quoted)


def test_no_two_examples_share_a_name_or_a_sentence():
    """Names and sentences are how the page tells which example is open."""
    assert len({example.text for example in EXAMPLES}) == len({example.topic for example in EXAMPLES}) == len(EXAMPLES)


def test_only_a_model_of_their_languages_gets_them():
    assert for_languages(*LANGUAGES) == EXAMPLES
    assert for_languages("German", "English") == ()
