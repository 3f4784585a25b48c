"""Texts in the address: there and back, bounded, and whatever an address says."""

import base64
import random
import string
import zlib
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, strategies
from streamlit.testing.v1 import AppTest

from viz_app.link import address
from viz_app.link.texts import MAX_ADDRESS, MAX_BYTES, texts_from_parameters, texts_to_parameters, without_controls

OPENING = "How it opens."

LEFT_OUT = "This text is too long for a link: the address of this page is without it."
DAMAGED = "The text in the link is damaged. Perhaps the link was cut off."
BLANKS = "The text in the link has line breaks or control characters; here they are blanks."


def noise(length: int) -> str:
    """Letters that cannot be compressed much."""
    return "".join(random.Random(0).choices(string.ascii_letters + string.digits, k=length))


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


# What a text box can hold: one line, without control characters and lone surrogates.
TEXTS = strategies.text(strategies.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")))
LONG_TEXTS = strategies.builds(lambda text, times: text * times, TEXTS, strategies.integers(1, 400))


@given(TEXTS | LONG_TEXTS, TEXTS | LONG_TEXTS)
def test_an_address_restores_both_texts_or_says_that_it_does_not(text, second):
    texts = {"text": text, "second": second}
    parameters, problems = texts_to_parameters(texts, OPENING)
    query = urlencode(parameters)
    assert len(query) <= MAX_ADDRESS + 1
    read, damaged = texts_from_parameters(dict(parse_qsl(query, keep_blank_values=True)))
    assert damaged == []
    restored = {"text": OPENING, "second": ""} | read
    left_out = [name for name in texts if restored[name] != texts[name]]
    assert len(problems) == len(left_out)


def test_a_short_text_is_written_as_it_is():
    sentence = "Die Katze sieht den Hund & mag ihn nicht."
    parameters, problems = texts_to_parameters({"text": sentence, "second": sentence}, OPENING)
    assert (parameters, problems) == ({"text": sentence, "second": sentence}, [])


def test_what_the_boxes_hold_at_first_is_not_written():
    assert texts_to_parameters({"text": OPENING, "second": ""}, OPENING) == ({}, [])
    # An emptied box differs from the opening.
    assert texts_to_parameters({"text": ""}, OPENING) == ({"text": ""}, [])
    assert texts_to_parameters({"text": ""}, "") == ({}, [])


def test_a_long_text_is_compressed():
    paragraph = "The children who live next door are very loud. " * 40
    parameters, problems = texts_to_parameters({"text": paragraph}, OPENING)
    assert list(parameters) == ["packed"] and problems == []
    assert len(parameters["packed"]) < 200
    # An address shows all of it as it is.
    assert urlencode(parameters) == f"packed={parameters['packed']}"
    data = base64.urlsafe_b64decode(parameters["packed"] + "==")
    assert zlib.decompress(data).decode() == paragraph
    assert texts_from_parameters(parameters) == ({"text": paragraph}, [])


def test_a_text_that_no_address_holds_is_left_out():
    assert texts_to_parameters({"text": noise(6000)}, OPENING) == ({}, [LEFT_OUT])
    second = {"text": "a", "second": noise(6000)}
    assert texts_to_parameters(second, OPENING) == ({"text": "a"}, [LEFT_OUT.replace("text", "second text", 1)])
    # It would fit, but not what it unpacks to.
    assert texts_to_parameters({"text": "a" * (MAX_BYTES + 1)}, OPENING) == ({}, [LEFT_OUT])


def test_both_texts_share_the_room():
    text, second = noise(3500), noise(3500)[::-1]
    assert texts_to_parameters({"text": text}, OPENING)[1] == []
    assert texts_to_parameters({"second": second}, OPENING)[1] == []
    parameters, problems = texts_to_parameters({"text": text, "second": second}, OPENING)
    assert list(parameters) == ["packed"] and len(problems) == 1


@pytest.mark.parametrize(
    "value",
    [
        "",
        "%%%",
        "ab cd",
        "é",
        packed(b"no zlib"),
        packed(zlib.compress(b"\xff\xfe")),
        packed(zlib.compress(b"cut off" * 100))[:-8],
        packed(zlib.compress(b"one") + b"more"),
        packed(zlib.compress(b"a" * (MAX_BYTES + 1))),
        packed(zlib.compress(b"a" * 10**8)),
        "A",
        "A" * 500_000,
    ],
)
def test_damaged_and_oversized_texts_are_refused(value):
    assert texts_from_parameters({"packed": value}) == ({}, [DAMAGED])


@given(strategies.binary(max_size=60), strategies.integers(0, 59), strategies.integers(1, 255))
def test_a_changed_byte_is_found(data, place, change):
    good = bytearray(zlib.compress(b"The cat sees the dog, and the dog sees the cat." + data.hex().encode()))
    good[place % len(good)] ^= change
    texts, problems = texts_from_parameters({"packed": packed(bytes(good))})
    # The first byte says how much memory unpacking may take, which changes nothing of the text.
    assert (texts, problems) == ({}, [DAMAGED]) or place % len(good) < 2


@given(
    strategies.dictionaries(strategies.sampled_from(["text", "second", "packed", "packed_second"]), strategies.text())
)
def test_no_address_breaks_it(parameters):
    texts, _ = texts_from_parameters(parameters)
    for text in texts.values():
        text.encode()
        assert without_controls(text) == text


def test_a_text_is_on_one_line():
    assert without_controls("a\r\nb\nc\td\x00e\u2028f g") == "a b c d e f g"
    assert texts_from_parameters({"text": "one\ntwo"}) == ({"text": "one two"}, [BLANKS])
    assert without_controls("\u202e🙂 שלום\u00a0") == "\u202e🙂 שלום\u00a0"


# --- With a session and its address ----------------------------------------------------------------------------------


def page() -> None:
    """A page with both text boxes."""
    import streamlit as st

    from viz_app import link

    opening = "How it opens."
    problems = link.restore_texts(opening)
    texts = {
        "text": st.text_input("Text", opening, key="text", persist_state="session"),
        "second": st.text_input("Second text", key="second", persist_state="session"),
    }
    st.session_state["found"] = texts, problems, link.remember_texts(texts, opening)


def found(app):
    assert not app.exception, app.exception[0]
    texts, problems, left_out = app.session_state["found"]
    assert app.text_input(key="text").value == texts["text"]
    assert app.text_input(key="second").value == texts["second"]
    return texts["text"], texts["second"], problems, left_out


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(page)


def test_without_texts_in_the_address_it_opens_as_it_does(app):
    assert found(app.run()) == (OPENING, "", [], [])
    assert dict(app.query_params) == {}


def test_the_address_fills_the_boxes_and_then_follows_them(app):
    app.query_params.update({"text": "first", "second": "other", "beam": "2"})
    assert found(app.run()) == ("first", "other", [], [])
    app.text_input(key="text").set_value("typed").run()
    assert found(app) == ("typed", "other", [], [])
    assert dict(app.query_params) == {"text": "typed", "second": "other", "beam": "2"}
    app.text_input(key="second").set_value("").run()
    app.text_input(key="text").set_value(OPENING).run()
    assert dict(app.query_params) == {"beam": "2"}
    app.text_input(key="text").set_value("").run()
    assert found(app) == ("", "", [], [])
    assert dict(app.query_params) == {"text": "", "beam": "2"}


def test_a_long_text_takes_the_place_of_the_short_one(app):
    long = "The cat sees the dog. " * 100
    app.query_params["text"] = "short"
    app.run()
    app.text_input(key="text").set_value(long).run()
    assert list(app.query_params) == ["packed"]
    again = AppTest.from_function(page)
    again.query_params.update(dict(app.query_params))
    assert found(again.run())[0] == long
    app.text_input(key="text").set_value(noise(9000)).run()
    assert found(app) == (noise(9000), "", [], [LEFT_OUT])
    assert dict(app.query_params) == {}


def test_going_back_shows_what_the_address_says(app, monkeypatch):
    app.query_params["text"] = "first"
    app.run()
    app.text_input(key="text").set_value("typed").run()
    app.text_input(key="second").set_value("more").run()
    monkeypatch.setattr(address, "is_history_navigation", lambda: True)
    app.query_params.clear()
    app.query_params["text"] = "first"
    assert found(app.run()) == ("first", "", [], [])
    app.query_params.clear()
    assert found(app.run()) == (OPENING, "", [], [])


def test_a_damaged_text_is_named_once(app):
    app.query_params["packed"] = "AAAA"
    assert found(app.run()) == (OPENING, "", [DAMAGED], [])
    assert dict(app.query_params) == {}
    assert found(app.run()) == (OPENING, "", [], [])
