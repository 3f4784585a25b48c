"""The sentences offered on the Attention page."""

import re

import pytest

from viz_app.examples import EXAMPLES, GENERAL, LANGUAGES, examples_for


@pytest.mark.parametrize("example", [*EXAMPLES, *GENERAL], ids=lambda example: example.topic)
def test_the_words_to_look_for_stand_in_the_sentence(example):
    quoted = re.findall("“(.+?)”", example.look_for)
    assert quoted or example.topic == "Ambiguity"
    assert all(words in example.text for words in quoted)


@pytest.mark.parametrize("examples", [EXAMPLES, GENERAL])
def test_no_two_examples_share_a_name_or_a_sentence(examples):
    """Names and sentences are how the page tells which example is open."""
    assert len({example.text for example in examples}) == len({example.topic for example in examples}) == len(examples)


def test_only_a_model_of_their_languages_gets_them():
    assert examples_for(LANGUAGES) == EXAMPLES
    assert examples_for(("German", "English")) == ()


def test_a_model_that_names_no_language_gets_sentences_that_need_no_translation():
    assert examples_for(None) == GENERAL
    assert not any("German" in example.look_for or "translation" in example.look_for for example in GENERAL)


def test_every_model_opens_with_the_same_sentence():
    """A link leaves the opening sentence out, whichever model was open before."""
    assert GENERAL[0].text == EXAMPLES[0].text
