"""The real app in a real browser: one server and one Chromium for all tests, a fresh window for each."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.browser import chromium
from tests.browser.driver import PATIENCE, App
from tests.browser.view_pages import ViewPage

ROOT = Path(__file__).resolve().parents[2]
LONGEST_START = 180
"""Seconds that the server may take to answer, or to end, on a busy machine."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[str]:
    """Address of the app, started as the README says."""
    with running_app(tmp_path_factory.mktemp("server") / "log.txt") as address:
        yield address


@contextmanager
def running_app(log: Path, *arguments: str) -> Iterator[str]:
    """Start the app, and end it with the block; the address that it answers at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "viz_app/main.py"]
    command += [f"--server.port={port}", "--server.headless=true", *arguments]
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(process, address, log)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=LONGEST_START)


def _wait_until_healthy(process: subprocess.Popen, address: str, log: Path) -> None:
    deadline = time.monotonic() + LONGEST_START
    while process.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=5)
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"The app did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium that reaches this machine only. Without one this fails, and says how to get it."""
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
    # Not by routing requests: that would switch the browser's cache off.
    quiet.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(playwright),
            args=["--no-sandbox", "--disable-gpu", "--no-first-run", *quiet],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def profile(browser) -> Iterator[BrowserContext]:
    """What all windows share: the browser's cache, so that Streamlit's and Plotly's code is fetched once."""
    with browser.new_context() as context:
        yield context


@pytest.fixture(scope="session")
def idle_apps() -> list[App]:
    """Windows for the next test: the app opens in half the time where it was open before."""
    return []


@pytest.fixture(scope="session")
def idle_views() -> list[ViewPage]:
    """Windows for the next test."""
    return []


@pytest.fixture
def open_app(profile, server, idle_apps) -> Iterator:
    """`open_app(path="/", width=1440, height=900, theme="light", server=...)` opens a window.

    When the test ends, nothing may have gone wrong in any window that it opened: no request to another machine, no
    error in the console, no traceback or failure message on the screen.
    """
    opened: list[App] = []

    def open_window(
        path: str = "/", width: int = 1440, height: int = 900, theme: str = "light", server: str = server
    ) -> App:
        app = idle_apps.pop() if idle_apps else App(profile.new_page())
        opened.append(app)
        app.begin(server, width, height, theme)
        app.open(path)
        return app

    yield open_window
    for app in opened:
        app.assert_nothing_went_wrong()
        app.leave()
        idle_apps.append(app)


@pytest.fixture
def open_view(browser, tmp_path, idle_views) -> Iterator:
    """`open_view(inspection, state=None, width=1376, height=700, theme="light")` opens a linked view's file.

    When the test ends, nothing may have gone wrong in any window that it opened: no request, no error, no dialog.
    """
    opened: list[ViewPage] = []

    def open_window(inspection, *arguments, **options) -> ViewPage:
        view = idle_views.pop() if idle_views else ViewPage(browser.new_page())
        opened.append(view)
        view.open(tmp_path / f"{len(opened)}.html", inspection, *arguments, **options)
        return view

    yield open_window
    for view in opened:
        assert view.problems == []
        if not view.page.is_closed():
            idle_views.append(view)
