"""How long a visitor waits: from `streamlit run` to the first heatmap, and from Enter to the next one.

A real headless Chromium looks at the page, as often as it draws a frame.
"""

import subprocess
import time

import torch
from playwright.sync_api import Error, Page, TimeoutError, sync_playwright
from tqdm import tqdm

from benchmarks.report import Report, Row, machine
from benchmarks.sentences import SENTENCES
from benchmarks.servers import PATIENCE, free_port, streamlit
from tests.browser import chromium

HEATMAP = """() => {
    const chart = document.querySelector(".st-key-heatmap");
    const image = chart?.querySelector(".heatmaplayer image")?.getAttribute("href");
    const ticks = [...chart?.querySelectorAll("[class$=tick] text") ?? []].map(tick => tick.textContent);
    return image && ticks.length ? image + ticks.join() : null;
}"""
"""The picture and the labels of the heatmap on the page; null while there is none."""


def benchmark(repeats: int) -> Report:
    """Start the app `repeats` times, and translate one more sentence each time."""
    first, enter = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(playwright))
        for sentence in tqdm(SENTENCES[-repeats:], unit="start"):
            page = browser.new_page()
            port = free_port()
            start = time.perf_counter()
            with streamlit("viz_app/main.py", port) as server:
                _open(page, f"http://127.0.0.1:{port}", server)
                shown = _wait_for_heatmap(page, other_than=None)
                first.append(time.perf_counter() - start)
                page.wait_for_selector("[data-test-script-state=notRunning]")

                page.locator(".st-key-text input").fill(sentence)
                start = time.perf_counter()
                page.locator(".st-key-text input").press("Enter")
                _wait_for_heatmap(page, other_than=shown)
                enter.append(time.perf_counter() - start)
            page.close()
        version = browser.version
        browser.close()
    return Report(
        title="App: seconds that a visitor waits",
        unit="s",
        rows=[Row("`streamlit run` to the first heatmap", first), Row("Enter to the new heatmap", enter)],
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


def _wait_for_heatmap(page: Page, other_than: str | None) -> str:
    """Wait until a heatmap is there and painted; returns what it shows."""
    is_new = f"old => {{ const now = ({HEATMAP})(); return now && now !== old; }}"
    try:
        page.wait_for_function(is_new, arg=other_than, timeout=PATIENCE * 1000)
    except TimeoutError:
        raise OSError(f"the page showed no new heatmap within {PATIENCE} s") from None
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(HEATMAP)
