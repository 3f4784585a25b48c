"""Where the browser tests look for a Chromium, and what they say when there is none."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import Error

from tests.browser import chromium


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without a Chromium; `install(name)` puts an executable on its PATH."""

    def install(name: str) -> str:
        path = tmp_path / name
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    own = tmp_path / "playwrights-own"
    return SimpleNamespace(
        install=install, playwright=SimpleNamespace(chromium=SimpleNamespace(executable_path=str(own))), own=own
    )


def test_the_named_one_goes_before_playwrights_own_before_the_path(machine, monkeypatch):
    on_path = machine.install("chromium")
    assert chromium.find(machine.playwright) == on_path
    machine.own.touch()
    assert chromium.find(machine.playwright) == str(machine.own)
    named = machine.install("my-chromium")
    monkeypatch.setenv(chromium.VARIABLE, named)
    assert chromium.find(machine.playwright) == named


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_usual_names_are_found_on_the_path(machine, name):
    path = machine.install(name)
    assert chromium.find(machine.playwright) == path


def test_a_missing_browser_is_an_error_that_names_the_cure(machine):
    with pytest.raises(FileNotFoundError, match=r"python -m tests\.browser\.chromium.*HEADLIGHT_CHROMIUM"):
        chromium.find(machine.playwright)


def test_a_wrong_variable_is_named_and_nothing_else_is_taken(machine, monkeypatch):
    machine.install("chromium")
    monkeypatch.setenv(chromium.VARIABLE, "/nowhere/chromium")
    with pytest.raises(FileNotFoundError, match=r"HEADLIGHT_CHROMIUM names '/nowhere/chromium'"):
        chromium.find(machine.playwright)


def test_what_cannot_be_had_is_a_failure_with_the_cure(monkeypatch, capsys):
    def does_not_start() -> str:
        raise Error("libnss3.so is missing")

    monkeypatch.setattr(chromium, "describe", does_not_start)
    monkeypatch.setattr(chromium, "ways_to_get_one", lambda: [[["false"]], [["true"]]])
    assert chromium.main() == 1
    message = capsys.readouterr().err
    assert "libnss3.so is missing" in message
    assert "playwright install-deps chromium" in message
    assert "HEADLIGHT_CHROMIUM" in message


def test_one_that_was_just_installed_is_enough(monkeypatch, tmp_path, capsys):
    installed = tmp_path / "installed"

    def describe() -> str:
        if not installed.exists():
            raise FileNotFoundError(chromium.CURE)
        return "Chromium 1.2.3"

    monkeypatch.setattr(chromium, "describe", describe)
    monkeypatch.setattr(chromium, "ways_to_get_one", lambda: [[["false"], ["never"]], [["touch", str(installed)]]])
    assert chromium.main() == 0
    assert "Chromium 1.2.3" in capsys.readouterr().out
