"""Linked views in files of their own, and what the browser tests do with them: press, point, read what is shown."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.driver import PATIENCE
from transformer_core.inspection import Inspection
from transformer_core.view.html_file import to_page
from transformer_core.view.payload import build

DRAWN = """() => {
    const view = document.getElementById("view").view;
    return view?.payload && !view.frame && view.root.getAttribute("aria-busy") !== "true";
}"""


class ViewPage:
    """One window with one linked view."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", self._note_other_places)
        page.on("console", lambda message: message.type == "error" and self.problems.append(message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._dismiss)

    def _note_other_places(self, request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.problems.append(f"asked for {request.url}")

    def _dismiss(self, dialog) -> None:
        self.problems.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    def open(
        self,
        path: Path,
        inspection: Inspection,
        state: dict[str, Any] | None = None,
        width: int = 1376,
        height: int = 700,
        theme: str = "light",
    ) -> None:
        """Write an inspection to the file `path`, and open it, as in a new window.

        Args:
            state: a full one; None: what a view opens with.
        """
        path.write_text(to_page(inspection, state), encoding="utf-8")
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(media="screen", color_scheme=theme)
        self.page.mouse.move(-1, -1)
        self.page.goto(path.as_uri())
        self.wait()

    def wait(self) -> None:
        """Until everything is drawn."""
        self.page.wait_for_function(DRAWN)

    def wait_for_layout(self) -> None:
        """Until everything is drawn in a place of another size, which a view hears of in the frame that has it."""
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.wait()

    def resize(self, width: int, height: int) -> None:
        """Make the window larger or smaller."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.wait_for_layout()

    @property
    def root(self) -> Locator:
        return self.page.locator(".headlight")

    @property
    def state(self) -> dict[str, Any]:
        return self.root.evaluate("root => root.view.state")

    def show(self, inspection: Inspection) -> None:
        """Show another inspection in the same view, as the app does."""
        payload = build(inspection)
        self.root.evaluate(
            "({ view }, [meta, codes]) => view.setPayload(new view.payload.constructor(meta, Uint8Array.from(codes)))",
            [payload.meta, payload.weights.tolist()],
        )
        self.wait()

    def change(self, **patch: Any) -> None:
        """Change the state as a drawing does."""
        self.root.evaluate("(root, patch) => root.view.setState(patch)", patch)
        self.wait()

    def hover(self, hover: dict[str, Any] | None) -> None:
        """Point at what a drawing would say that the pointer is on."""
        self.root.evaluate("(root, hover) => root.view.setHover(hover)", hover)
        self.wait()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.wait()

    def chip(self, number: int, noun: str = "Head") -> Locator:
        """The chip of a head or a layer, counted from 1."""
        return self.root.get_by_role("button", name=f"{noun} {number}", exact=True)

    @property
    def readout(self) -> str:
        """The line that says what is selected, without the marks that set tokens apart."""
        return self.root.locator(".readout .selected").inner_text().replace("\u2068", "").replace("\u2069", "")

    def expect_readout(self, text: str) -> None:
        """Wait until the line is this one."""
        isolated = text.replace("“", "“\u2068").replace("”", "\u2069”")
        expect(self.root.locator(".readout .selected")).to_have_text(isolated)

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
