"""A headless Chromium, spoken to in its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/).

Playwright would copy everything that a page's websocket receives, and what it costs would be measured too.
"""

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from websockets.sync.client import ClientConnection, connect

from tests.browser import chromium

PATIENCE = 120
"""Seconds after which something must be broken."""

WINDOW = (1440, 900)
"""Width and height in pixels."""

FLAGS = [
    "--headless",
    "--remote-debugging-port=0",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
]

STOPWATCH = Path(__file__).with_name("stopwatch.js").read_text(encoding="utf-8")

KEYS = {"Enter": 13, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27}
"""Keys that make no character, with their key codes."""


class Tab:
    """The only tab of a browser. Every page that it opens has the `stopwatch`."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._session: str | None = None
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=STOPWATCH)

    def call(self, method: str, of_browser: bool = False, **parameters: Any) -> dict[str, Any]:
        """Have a command carried out; returns its result.

        Raises:
            OSError: the browser refuses, or does not answer in time.
        """
        return self._answer(self._send(method, of_browser, **parameters))

    def _send(self, method: str, of_browser: bool = False, **parameters: Any) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session and not of_browser:
            message["sessionId"] = self._session
        self._connection.send(json.dumps(message))
        return self._number

    def _answer(self, number: int) -> dict[str, Any]:
        while number not in self._answers:
            try:
                message = json.loads(self._connection.recv(PATIENCE))
            except TimeoutError:
                raise OSError(f"the browser did not answer within {PATIENCE} s") from None
            if "id" in message:
                self._answers[message["id"]] = message
        message = self._answers.pop(number)
        if "error" in message:
            raise OSError(f"the browser says: {message['error']['message']}")
        return message["result"]

    @property
    def version(self) -> str:
        """Name and version of the browser."""
        product = self.call("Browser.getVersion", of_browser=True)["product"]
        return product.replace("Headless", "").replace("/", " ")

    def open(self, address: str) -> None:
        """Begin to load a page."""
        result = self.call("Page.navigate", url=address)
        if problem := result.get("errorText"):
            raise OSError(f"{address} does not open: {problem}")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for.

        Raises:
            OSError: it throws, and what.
        """
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if details := result.get("exceptionDetails"):
            raise OSError(f"{details.get('exception', {}).get('description', details['text'])} in {expression}")
        return result["result"].get("value")

    def timed(self, event: str, condition: str, act: Any, stage: str = "painted") -> float:
        """Milliseconds from an input event until what it brings about is painted.

        Args:
            event: type of the event that `act` causes first.
            condition: a JavaScript expression, true as soon as everything is in the page.
            act: sends the input.
            stage: "there" does without the two frames after.
        """
        self.evaluate(f"void (stopwatch.result = stopwatch.since({event!r}, () => {condition}, stopwatch.{stage}))")
        act()
        return self.evaluate("stopwatch.result")

    def click(self, x: float, y: float) -> None:
        """Move to a place in the window, press and release."""
        self.move(x, y)
        button = {"x": x, "y": y, "button": "left", "clickCount": 1}
        pressed = self._send("Input.dispatchMouseEvent", type="mousePressed", **button)
        released = self._send("Input.dispatchMouseEvent", type="mouseReleased", **button)
        self._answer(pressed), self._answer(released)

    def move(self, x: float, y: float) -> None:
        """Move the mouse, and wait until the page has heard of it."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def wheel(self, x: float, y: float, down: float) -> None:
        """Turn the wheel at a place in the window, and wait until the page has heard of it."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=down)

    def press(self, key: str) -> None:
        """Press and release a key: a character, or one of KEYS."""
        code = KEYS.get(key) or ord(key.upper())
        pressing = {"key": key, "windowsVirtualKeyCode": code, "code": key if key in KEYS else ""}
        text = {"text": "\r" if key == "Enter" else key} if key not in KEYS or key == "Enter" else {}
        numbers = [self._send("Input.dispatchKeyEvent", type="keyDown", **pressing, **text)]
        numbers.append(self._send("Input.dispatchKeyEvent", type="keyUp", **pressing))
        for number in numbers:
            self._answer(number)

    def resize(self, width: int, height: int) -> None:
        """Give the page a window of another size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def type(self, text: str) -> None:
        """Insert a text where the focus is."""
        self.call("Input.insertText", text=text)

    def memory(self) -> int:
        """Bytes of main memory (resident set) of the process that renders the page, after a garbage collection."""
        self.call("HeapProfiler.collectGarbage")
        processes = self.call("SystemInfo.getProcessInfo", of_browser=True)["processInfo"]
        renderers = [str(each["id"]) for each in processes if each["type"] == "renderer"]
        # The browser keeps a spare renderer without a page, which is smaller than any with one.
        sizes = subprocess.run(["ps", "-o", "rss=", "-p", ",".join(renderers)], capture_output=True, check=True)
        return max(map(int, sizes.stdout.split())) * 1024


@contextlib.contextmanager
def open_tab() -> Iterator[Tab]:
    """Start a browser with an empty cache.

    Raises:
        FileNotFoundError: there is none; the message says how to get one.
        OSError: it does not start.
    """
    with sync_playwright() as playwright:
        executable = chromium.find(playwright)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        size = f"--window-size={WINDOW[0]},{WINDOW[1]}"
        command = [executable, *FLAGS, size, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            address = _address(Path(profile), process)
            with connect(address, max_size=None, compression=None, ping_interval=None, close_timeout=1) as connection:
                yield Tab(connection)
        finally:
            process.terminate()
            process.wait()


def _address(profile: Path, process: subprocess.Popen) -> str:
    """Where the browser listens, which it writes into its profile."""
    file, deadline = profile / "DevToolsActivePort", time.monotonic() + 60
    while True:
        # Both lines are there, or it is still being written.
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        if process.poll() is not None:
            raise OSError(f"{process.args[0]} ended early, with exit status {process.returncode}")
        if time.monotonic() > deadline:
            raise OSError(f"{process.args[0]} did not start within 60 s")
        time.sleep(0.02)
