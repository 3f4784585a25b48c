"""What the browser tests do with a window: type, click a thumbnail, hover a cell, read what is shown."""

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from playwright.sync_api import Locator, Page, expect

PATIENCE = 120_000
"""Milliseconds to wait for what must come, also in every `expect`; the tests judge what comes, not when."""

EXPECTED_404 = re.compile(r"/(positions|training|models)/_stcore/(health|host-config)")
"""Opened at the address of a page, Streamlit first looks there for its server, and then at the root."""

IS_IDLE = "document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'"

TO_SCREEN = """(plot, [x, y]) => {
    const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
    return [box.x + xaxis._offset + xaxis.d2p(x), box.y + yaxis._offset + yaxis.d2p(y)];
}"""

CONTRAST = """element => {
    if (!element.isConnected) return null;
    const ground = document.querySelector('[data-testid=stApp]');
    const luminance = colour => {
        const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map(value => {
            const share = value / 255;
            return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const style = getComputedStyle(element);
    const text = luminance(element instanceof SVGElement ? style.fill : style.color);
    const behind = luminance(getComputedStyle(ground).backgroundColor);
    return (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
}"""


class App:
    """One window on the app."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.server = ""
        self.problems: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", self._note_other_machines)
        page.on("console", self._note_errors)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._dismiss)

    def _note_other_machines(self, request) -> None:
        address = urlsplit(request.url)
        if address.hostname != "127.0.0.1" and address.scheme not in ("data", "blob"):
            self.problems.append(f"asked for {request.url}")

    def _note_errors(self, message) -> None:
        if message.type != "error":
            return
        address = message.location["url"]
        if "404" in message.text and EXPECTED_404.fullmatch(urlsplit(address).path):
            return
        self.problems.append(f"{message.text} {address}")

    def _dismiss(self, dialog) -> None:
        self.problems.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    def assert_nothing_went_wrong(self) -> None:
        assert not self.problems, self.problems
        text = self.page.inner_text("body")
        for sign in ("Traceback", "Something went wrong", "Error:"):
            assert sign not in text, text

    def begin(self, server: str, width: int, height: int, theme: str) -> None:
        """Be like a new window for what is at the address of a server."""
        self.server = server
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=theme)
        self.page.mouse.move(-1, -1)

    def leave(self) -> None:
        """End the visit, and with it what the server does for it."""
        self.page.goto("about:blank")

    def open(self, path: str = "/") -> None:
        self.page.goto(self.server + path)
        self.wait()

    def wait(self) -> None:
        """Until the server has nothing left to do, and the view or the charts are drawn.

        What is done in the view reaches the server a little later: first wait for what will come of it.
        """
        drawn = self.page.locator(".headlight[aria-busy=false], [data-testid=stPlotlyChart] .main-svg").first
        # In between, a page that opens has not begun to run, and what it draws last is not there yet.
        expect(drawn).to_be_visible()
        self.page.wait_for_function(IS_IDLE, polling=50)
        expect(drawn).to_be_visible()

    def expect_text(self, text: str | re.Pattern) -> None:
        """Wait until this can be read somewhere. While Streamlit replaces it by itself, it is there twice."""
        expect(self.page.get_by_text(text).filter(visible=True).first).to_be_visible()

    def expect_message(self, text: str) -> None:
        """Wait until one of the messages says this. The one before it may still be there for a moment."""
        expect(self.page.get_by_test_id("stAlert").filter(has_text=text).first).to_be_visible()

    def expect_value(self, read: Callable[[], Any], expected: Any) -> None:
        """Wait until what is read is what is expected."""
        deadline = time.monotonic() + PATIENCE / 1000
        while (value := read()) != expected:
            assert time.monotonic() < deadline, f"{value!r} is not {expected!r}"
            self.page.wait_for_timeout(50)

    def expect_state(self, **entries: Any) -> None:
        """Wait until the view shows a state with these entries."""
        self.expect_value(lambda: {name: self.state[name] for name in entries}, entries)

    def wait_for_colours(self) -> None:
        """Until no colour is on its way to another one."""
        self.page.wait_for_function("document.getAnimations().every(each => each.playState !== 'running')", polling=50)

    def expect_nothing_too_wide(self) -> None:
        """Wait until the page is no wider than the window: charts take the width of a new window a little later."""
        self.expect_value(lambda: self.overflow()[0], 0)

    def let_the_view_settle(self) -> None:
        """Until the view has told the server what it shows: a timer that begins later and takes longer ends later."""
        self.page.evaluate("new Promise(done => setTimeout(done, 400))")

    def go_to(self, title: str) -> None:
        """Follow the navigation to another page."""
        self.page.get_by_test_id("stTopNavLink").get_by_text(title, exact=True).click()
        expect(self.page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        self.wait()

    def expect_charts(self, count: int) -> None:
        """Wait until the page has so many charts, each of them drawn."""
        expect(self.page.locator("[data-testid=stPlotlyChart] .main-svg:first-child")).to_have_count(count)

    @property
    def text_box(self) -> Locator:
        return self.page.get_by_label("Your text, in English")

    @property
    def answer(self) -> Locator:
        return self.page.locator(".headlight-answer")

    @property
    def view(self) -> Locator:
        """The linked view, with all that is in it."""
        return self.page.locator(".headlight")

    @property
    def readout(self) -> Locator:
        return self.view.locator(".readout .selected")

    @property
    def state(self) -> dict:
        """What the view shows."""
        return self.view.evaluate("root => root.view.state")

    @property
    def queries(self) -> list[str]:
        """The tokens of the open stack's rows."""
        return self.view.evaluate("root => root.view.stack.queries")

    @property
    def heatmap(self) -> Locator:
        """The exact weights of the open head, drawn where `exact=true` is in the address."""
        return self.page.locator(".st-key-heatmap .js-plotly-plot")

    def chip(self, head: int) -> Locator:
        """The chip of a head, counted from 1."""
        return self.view.get_by_role("button", name=f"Head {head}", exact=True)

    def translate(self, text: str, answer: str) -> None:
        """Type a text, press Enter, and wait for the answer that is due."""
        self.text_box.fill(text)
        self.text_box.press("Enter")
        expect(self.answer).to_have_text(answer)
        self.wait()

    def choose_stack(self, name: str) -> None:
        self.view.get_by_role("radio", name=name, exact=True).click()
        self.expect_readout(f"{name}, layer")

    def expect_readout(self, beginning: str) -> None:
        expect(self.readout).to_contain_text(beginning)
        self.wait()

    def expect_heatmap(self, weights: np.ndarray) -> None:
        """Wait until the heatmap has these weights, of (query, key)."""

        def has_them() -> bool:
            # That of another head may still be there.
            drawn = self.heatmap.evaluate_all(
                "plots => plots.map(plot => plot.calcdata?.[0][0].z.map(row => [...row]))"
            )
            shown = np.array(drawn[0]) if len(drawn) == 1 and drawn[0] else np.empty(0)
            return shown.shape == weights.shape and np.allclose(shown, weights, atol=1e-5)

        self.expect_value(has_them, True)

    def hover(self, row: int, column: int) -> tuple[str, str, str]:
        """Query, key and weight as the hover text of a cell prints them; row and column are counted from 0."""
        self.heatmap.scroll_into_view_if_needed()
        label = self.heatmap.locator(".hoverlayer .hovertext")
        self.page.mouse.move(1, 1)
        expect(label).to_have_count(0)
        self.page.mouse.move(*self.heatmap.evaluate(TO_SCREEN, [column, row]))
        expect(label).to_have_count(1)
        lines = label.locator("tspan.line").all_text_contents()
        names = "query (row) ", "key (column) ", "weight "
        assert all(line.startswith(name) for line, name in zip(lines, names, strict=True)), lines
        query, key, weight = (line.removeprefix(name) for line, name in zip(lines, names, strict=True))
        return query, key, weight

    def column_labels(self) -> list[str]:
        return self._labels(".x2tick text")

    def row_labels(self) -> list[str]:
        return self._labels(".y2tick text")

    def _labels(self, selector: str) -> list[str]:
        labels = self.heatmap.locator(selector)
        # The heatmap comes after the view that `wait` waits for.
        expect(labels.first).to_be_visible()
        return labels.all_text_contents()

    def contrast(self, element: Locator) -> float:
        """Contrast ratio of an element's text with the page behind it (WCAG 2)."""
        # A chart that is drawn anew just now has other elements a moment later.
        while (contrast := element.evaluate(CONTRAST)) is None:
            pass
        return contrast

    def box(self, element: Locator) -> dict[str, float]:
        """Where an element is, once it stands still: what appears beside it may move it, or make it smaller."""
        element.element_handle().wait_for_element_state("stable")
        return element.bounding_box()

    def overflow(self) -> tuple[int, int]:
        """Pixels by which the page is wider, and higher, than the window."""
        return tuple(
            self.page.evaluate(
                """() => {
                    const main = document.querySelector('[data-testid=stMain]');
                    return [document.documentElement.scrollWidth - innerWidth, main.scrollHeight - main.clientHeight];
                }"""
            )
        )


def without_spaces(text: str) -> str:
    return re.sub(r"\s", "", text)
