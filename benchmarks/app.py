"""How long a visitor waits: from `streamlit run` to the first view of attention, and from Enter to the next one.

A real headless Chromium looks at the page, as often as it draws a frame.
"""

import subprocess
import time

import torch
from playwright.sync_api import Error, Page, TimeoutError, sync_playwright
from tqdm import tqdm

from benchmarks.devtools import STOPWATCH
from benchmarks.report import Report, Row, machine
from benchmarks.sentences import SENTENCES
from benchmarks.servers import PATIENCE, free_port, streamlit
from tests.browser import chromium

SHOWN = "() => stopwatch.isDrawn() ? stopwatch.view().view.payload.meta.id : null"
"""What the linked view on the page shows; null while there is none, or while it is being drawn."""


def benchmark(repeats: int) -> Report:
    """Start the app `repeats` times, and translate one more sentence each time."""
    first, enter = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(playwright))
        for sentence in tqdm(SENTENCES[-repeats:], unit="start"):
            page = browser.new_page()
            page.add_init_script(STOPWATCH)
            port = free_port()
            start = time.perf_counter()
            with streamlit("viz_app/main.py", port) as server:
                _open(page, f"http://127.0.0.1:{port}", server)
                shown = _wait_for_view(page, other_than=None)
                first.append(time.perf_counter() - start)
                page.wait_for_selector("[data-test-script-state=notRunning]")

                page.locator(".st-key-text input").fill(sentence)
                start = time.perf_counter()
                page.locator(".st-key-text input").press("Enter")
                _wait_for_view(page, other_than=shown)
                enter.append(time.perf_counter() - start)
            page.close()
        version = browser.version
        browser.close()
    return Report(
        title="App: seconds that a visitor waits",
        unit="s",
        rows=[Row("`streamlit run` to the first view", first), Row("Enter to the new view", enter)],
        conditions=machine(torch.device("cpu"))
        | {"browser": f"headless Chromium {version}, open before, nothing cached"},
    )


def _open(page: Page, address: str, server: subprocess.Popen) -> None:
    """Open the page as soon as the server answers."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            page.goto(address)
            return
        except Error:
            if server.poll() is not None:
                raise OSError("streamlit ended early; the reason stands above") from None
            if time.monotonic() > deadline:
                raise OSError(f"the app did not answer within {PATIENCE} s") from None
            time.sleep(0.02)


def _wait_for_view(page: Page, other_than: str | None) -> str:
    """Wait until a view is there and painted; returns what it shows."""
    is_new = f"old => {{ const now = ({SHOWN})(); return now && now !== old; }}"
    try:
        page.wait_for_function(is_new, arg=other_than, timeout=PATIENCE * 1000)
    except TimeoutError:
        raise OSError(f"the page showed no new view within {PATIENCE} s") from None
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(SHOWN)
