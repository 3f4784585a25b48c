"""Who may open models of their own."""

import logging
import sys
from pathlib import Path

import pytest
import streamlit as st

import viz_app
from tests.viz_app.reading import assert_calm, words
from viz_app import library
from viz_app.permissions import is_loopback, permissions

MAIN = str(Path(viz_app.__file__).with_name("main.py"))


@pytest.fixture
def start(monkeypatch):
    """`start(address, *arguments)`: as if the server had been started so."""

    def start(address: str | None, *arguments: str) -> None:
        original = st.get_option
        monkeypatch.setattr(st, "get_option", lambda key: address if key == "server.address" else original(key))
        monkeypatch.setattr(sys, "argv", [MAIN, *arguments])

    return start


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_a_server_that_only_its_own_machine_reaches_is_private(address):
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address", [None, "", "0.0.0.0", "::", "192.168.0.7", "127.0.0.1.example.org", "example.org", "unix:///tmp/s"]
)
def test_every_other_server_is_not(address):
    """Without an address, Streamlit listens on all of them."""
    assert not is_loopback(address)


@pytest.mark.parametrize(
    ("address", "arguments", "local_models", "hub"),
    [
        ("127.0.0.1", (), True, True),
        ("0.0.0.0", (), False, False),
        (None, (), False, False),
        ("0.0.0.0", ("--allow-hub",), False, True),
        ("0.0.0.0", ("--allow-local-models",), True, False),
        ("0.0.0.0", ("--allow-hub", "--allow-local-models"), True, True),
    ],
)
def test_what_is_allowed(start, address, arguments, local_models, hub):
    start(address, *arguments)
    allowed = permissions()
    assert (allowed.local_models, allowed.hub) == (local_models, hub)


def test_the_shipped_server_offers_a_model_of_ones_own(app):
    app.run()
    assert_calm(app)
    bundled, own = app.selectbox(key="model").options
    assert bundled.startswith("tiny-en-de · ") and own == "Your own model"


def test_a_public_server_offers_bundled_models_only_and_says_how_to_allow_others(app, start):
    start("0.0.0.0")
    app.run()
    assert_calm(app)
    model = app.selectbox(key="model")
    assert len(model.options) == 1 and model.options[0].startswith("tiny-en-de · ")
    assert "-- --allow-hub" in model.help and "--allow-local-models" in model.help
    assert not app.info


@pytest.mark.parametrize(
    "link",
    [
        {"model": "Your own model", "own": "{folder}"},
        {"own": "{folder}"},
        {"model": "{folder}"},
    ],
)
def test_no_link_gets_around_it(app, start, tiny_checkpoints, link):
    start("0.0.0.0")
    folder = str(tiny_checkpoints["encoder"])
    app.query_params.update({key: value.format(folder=folder) for key, value in link.items()})
    app.run()
    assert_calm(app)
    assert app.selectbox(key="model").value == "tiny-en-de"
    assert not any(box.key == "own" for box in app.text_input)
    assert folder not in words(app)
    if "own" in link:
        assert "-- --allow-hub" in app.info[0].value


def test_with_hub_names_alone_a_folder_is_refused(app, start, tiny_checkpoints):
    start("0.0.0.0", "--allow-hub")
    app.query_params.update({"model": "Your own model", "own": str(tiny_checkpoints["encoder"])})
    app.run()
    assert_calm(app)
    assert "Press Open" in app.info[0].value
    app.button(key="open").click().run()
    assert not app.exception
    assert "folders are switched off here" in app.error[0].value
    assert not app.get("plotly_chart")
    assert "folder" not in app.text_input(key="own").placeholder.lower()


def test_a_refusal_does_not_tell_whether_a_folder_exists(pretrained, start, tiny_checkpoints):
    start("0.0.0.0", "--allow-hub")
    messages = set()
    for folder in (tiny_checkpoints["encoder"], tiny_checkpoints["encoder"].with_name("missing")):
        with pytest.raises(library.ModelError) as refusal:
            library.load(library.ModelChoice(str(folder), "cpu"))
        messages.add(str(refusal.value).replace(str(folder), ""))
    assert len(messages) == 1


def test_with_folders_alone_a_hub_name_is_refused(app, start):
    start("0.0.0.0", "--allow-local-models")
    app.query_params.update({"model": "Your own model", "own": "openai-community/gpt2"})
    app.run()
    assert not app.exception
    assert "hub names are switched off here" in app.error[0].value
    assert "hub" not in app.text_input(key="own").placeholder.lower()


def test_a_forged_message_from_the_browser_loads_nothing(pretrained, start, tiny_checkpoints):
    """Were the choice not checked again where models are loaded, any name could be sent there."""
    start("0.0.0.0")
    for name in (str(tiny_checkpoints["encoder"]), "openai-community/gpt2"):
        with pytest.raises(library.ModelError, match="folders and hub names are switched off"):
            library.load(library.ModelChoice(name, "cpu"))


@pytest.mark.parametrize(("address", "named"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_an_unknown_argument_is_named_to_those_at_the_machine(app, start, caplog, address, named):
    start(address, "--allow-hubs=/home/me/secret")
    with caplog.at_level(logging.ERROR):
        app.run()
    assert not app.exception
    message = app.error[0].value.replace("\\", "")
    assert "--allow-hub" in message and "--allow-local-models" in message
    assert ("/home/me/secret" in message) == named
    assert "--allow-hubs=/home/me/secret" in caplog.text
    assert not app.get("plotly_chart") and not app.text_input
