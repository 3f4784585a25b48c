"""The linked view inside the app: full screen, themes, sessions, accessibility, and the files to keep."""

import csv
import json
import re

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.test_accessibility import RULES
from tests.browser.view_pages import ViewPage
from transformer_core import zoo

pytestmark = pytest.mark.browser

CAT = "/?text=the+cat+saw+the+cat&stack=encoder&layer=2&heads=1.3&rows=2"
BUTTONS = {".html": "Web page", ".npz": "NumPy", ".json": "JSON", ".csv": "CSV"}
CELL = ("stack", "layer", "head", "query", "key")


@pytest.fixture(scope="module")
def cat():
    return zoo.load("tatoeba-en-de", "cpu").inspect("the cat saw the cat")


def objections(app) -> str:
    app.wait_for_colours()
    return Axe().run(app.page, ".st-key-view", RULES).generate_report()


def test_full_screen_themes_and_accessibility(open_app):
    app = open_app(CAT)
    grounds = []
    for theme in ("light", "dark"):
        app.page.emulate_media(color_scheme=theme)
        app.page.wait_for_function(
            "dark => [...document.querySelectorAll('.st-key-view *')].some(host =>"
            " host.shadowRoot?.querySelector('.headlight')?.view.theme.isDark === dark)",
            arg=theme == "dark",
        )
        app.wait()
        grounds.append(app.view.evaluate("root => root.view.theme.ground"))
        assert objections(app).startswith("Found 0 "), (theme, objections(app))
    assert grounds[0] != grounds[1]
    app.view.press("f")
    app.page.wait_for_function("document.fullscreenElement !== null")
    app.wait()
    size = app.page.evaluate("[innerWidth, innerHeight]")
    box = app.view.bounding_box()
    assert [box["x"], box["y"]] == [0, 0] and [box["width"], box["height"]] == pytest.approx(size, abs=1)
    app.page.evaluate("document.exitFullscreen()")
    app.page.wait_for_function("document.fullscreenElement === null")


FITS = """([height, bottom]) => {
    const hosts = [...document.querySelectorAll('.st-key-view *')];
    const root = hosts.map(each => each.shadowRoot?.querySelector('.headlight')).find(Boolean);
    const layout = root.querySelector('.layout').getBoundingClientRect();
    return (height ? layout.height === height : layout.height < 560) && (layout.bottom <= innerHeight) === bottom;
}"""
"""Whether the view is so high, or lower than it could be, and whether all of it is in the window."""


def test_the_view_ends_where_the_window_does(open_app):
    app = open_app("/?text=the+cat+saw+the+cat&exact=true", height=1000)
    app.page.wait_for_function(FITS, arg=[560, True])
    app.page.set_viewport_size({"width": 1440, "height": 800})
    app.page.wait_for_function(FITS, arg=[None, True])
    app.page.set_viewport_size({"width": 1440, "height": 500})
    app.page.wait_for_function(FITS, arg=[380, False])
    # What stands above counts, however far the page is scrolled.
    app.page.get_by_test_id("stMain").evaluate("page => page.scrollTo(0, 300)")
    app.page.set_viewport_size({"width": 1440, "height": 800})
    app.page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 0")
    app.page.get_by_test_id("stMain").evaluate("page => page.scrollTo(0, 0)")
    app.page.wait_for_function(FITS, arg=[None, True])


def test_two_visitors_do_not_share_a_view(open_app):
    first, second = open_app(CAT), open_app(CAT)
    before = second.state
    first.page.bring_to_front()
    first.view.evaluate("root => root.view.setState({layer: 0, layers: [0], pinnedQueries: [0]})")
    expect(first.page).to_have_url(re.compile(r"[?&]layer=1&.*rows=1(&|$)"))
    second.page.bring_to_front()
    # Whatever the server says to the second visitor is theirs.
    second.view.evaluate("root => root.view.setState({scale: 'linear'})")
    expect(second.page).to_have_url(re.compile(r"[?&]scale=linear(&|$)"))
    second.wait()
    assert "layer=2&" in second.page.url
    assert second.state == before | {"scale": "linear"}


def test_files_hold_the_models_weights_and_the_web_page_needs_no_server(open_app, browser, cat, tmp_path):
    app = open_app(CAT)
    app.page.locator(".st-key-files button").first.click()
    for suffix, name in BUTTONS.items():
        with app.page.expect_download() as download:
            app.page.get_by_role("button", name=name, exact=True).click()
        download.value.save_as(tmp_path / f"cat{suffix}")
    numbers = json.loads((tmp_path / "cat.json").read_text())["weights"]
    with (tmp_path / "cat.csv").open(newline="") as lines:
        cells = {tuple(row[name] for name in CELL): float(row["weight"]) for row in csv.DictReader(lines)}
    with np.load(tmp_path / "cat.npz") as arrays:
        for name, stack in cat.stacks.items():
            for layer in range(len(stack)):
                for head in range(8):
                    weights = stack.weights(layer, head).numpy()
                    # Another number of threads may change the last bits of what the server computed.
                    np.testing.assert_allclose(arrays[f"{name}.{layer}"][head], weights, atol=1e-6)
                    np.testing.assert_allclose(numbers[name][layer][head], weights, atol=1e-6)
                    for (row, column), weight in np.ndenumerate(weights):
                        cell = (name, str(layer), str(head), str(row), str(column))
                        assert cells.pop(cell) == pytest.approx(float(weight), abs=1e-6)
    assert not cells
    context = browser.new_context(offline=True)
    view = ViewPage(context.new_page())
    view.page.goto((tmp_path / "cat.html").as_uri())
    view.wait()
    assert view.state == app.state
    assert view.root.evaluate("root => root.view.stack.queries") == app.queries
    assert view.problems == []
    context.close()
