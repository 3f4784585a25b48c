"""What the tests of the zoo share."""

import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny_checkpoints import change_json


@pytest.fixture
def copy_of(tiny_checkpoints, tmp_path) -> Callable[..., Path]:
    """A copy of a tiny checkpoint, with other values in its config.json (None takes a key out)."""

    def copy(family: str, **config: object) -> Path:
        folder = tmp_path / f"copy-of-{family}"
        shutil.copytree(tiny_checkpoints[family], folder)
        change_json(folder / "config.json", **config)
        return folder

    return copy


@pytest.fixture
def no_network(monkeypatch) -> list[object]:
    """Whoever connects is noted here, and fails."""
    attempts: list[object] = []

    def refuse(self: socket.socket, address: object) -> None:
        attempts.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **options: refuse(None, arguments))
    return attempts
