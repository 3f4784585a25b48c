"""The texts offered on the Attention page."""

import re
from types import SimpleNamespace

import pytest

from viz_app.examples import GENERAL, LANGUAGES, MASKED, PLAYS, SYMBOLS, TRANSLATION, examples_for

ALL = (TRANSLATION, GENERAL, MASKED, PLAYS, SYMBOLS)


def model(name="a model", languages=None, abilities=()):
    return SimpleNamespace(name=name, languages=languages, abilities=frozenset(abilities))


@pytest.mark.parametrize(
    "example", [example for examples in ALL for example in examples.texts], ids=lambda it: it.topic
)
def test_the_words_to_look_for_stand_in_the_text(example):
    quoted = re.findall("“(.+?)”", example.look_for)
    assert quoted or example.topic == "Ambiguity"
    assert all(words in example.text for words in quoted)
    assert all(re.findall(rf"\b{word}\b", example.text) == [word] for word in example.masked)


@pytest.mark.parametrize("examples", ALL, ids=lambda it: it.name)
def test_no_two_examples_share_a_name_or_a_text(examples):
    """Topics and texts are how the page tells which example is open."""
    texts = examples.texts
    assert len({example.text for example in texts}) == len({example.topic for example in texts}) == len(texts)


def test_only_a_model_of_their_languages_gets_sentences_to_translate():
    assert examples_for(model(languages=LANGUAGES)) is TRANSLATION
    other = examples_for(model(languages=("German", "English")))
    assert other.texts == () and other.opening == ""
    assert other.name != examples_for(model(languages=("Danish", "Dutch"))).name


def test_every_kind_of_model_gets_what_it_reads():
    assert examples_for(model(abilities=["continue", "symbols"])) is SYMBOLS
    assert examples_for(model(abilities=["mask", "second text"])) is MASKED
    assert examples_for(model("shakespeare-gpt", abilities=["continue"])) is PLAYS
    assert examples_for(model(abilities=["continue", "chat"])) is GENERAL


def test_a_model_that_names_no_language_gets_sentences_that_need_no_translation():
    for examples in (GENERAL, MASKED):
        assert not any("German" in text.look_for or "translation" in text.look_for for text in examples.texts)


def test_models_that_share_a_text_open_with_the_same():
    """A link leaves the opening text out, whichever model of the kind was open before."""
    assert GENERAL.name == TRANSLATION.name and GENERAL.opening == TRANSLATION.opening


def test_what_is_masked_can_be_guessed_at_once():
    assert MASKED.texts[0].masked


@pytest.mark.parametrize("example", SYMBOLS.texts, ids=lambda it: it.topic)
def test_the_symbols_are_what_the_words_say(example):
    symbols = example.text.split()
    assert all(len(symbol) == 1 for symbol in symbols)
    assert (symbols[-1] in symbols[:-1]) != (example.topic == "Nothing repeats")
