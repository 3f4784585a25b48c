"""The page that an inspection shows in a notebook, as a real browser draws it."""

import pytest
import torch

from tests.inspection import examples
from transformer_core.inspection.notebook import to_html

pytestmark = pytest.mark.browser

THEMES = {"light": ("rgb(255, 255, 255)", "rgb(33, 33, 33)"), "dark": ("rgb(17, 17, 17)", "rgb(224, 224, 224)")}
"""Ground and text, as a notebook sets them around a cell's output."""


@pytest.mark.parametrize("theme", THEMES)
def test_pictures_are_drawn_and_text_takes_the_colours_of_the_notebook(browser, theme):
    ground, ink = THEMES[theme]
    page = browser.new_page(viewport={"width": 900, "height": 700})
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    page.on("pageerror", lambda error: seen.append(str(error)))
    inspection = examples.odd()
    page.set_content(f'<body style="background:{ground};color:{ink}">{to_html(inspection)}</body>')
    pictures = page.locator("img[title]")
    assert pictures.count() == 5
    sizes = pictures.evaluate_all("all => all.map(each => [each.naturalWidth, each.naturalHeight])")
    assert sizes == [[len(examples.ODD_TOKENS), 3]] * 4 + [[48, 48]]
    shown = pictures.evaluate_all("all => all.map(each => [each.clientWidth > 3, each.clientHeight > 3])")
    assert shown == [[True, True]] * 5
    assert pictures.first.evaluate("each => getComputedStyle(each).imageRendering") == "pixelated"
    assert page.get_by_text("layer 1").first.evaluate("each => getComputedStyle(each).color") == ink
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [problem for problem in seen if not problem.startswith("data:image/png;base64,")] == []
    page.close()


def test_many_heads_scroll_within_the_page(browser):
    stack = examples.stack("self", [torch.zeros(40, 5, 5)], "abcde", "abcde")
    page = browser.new_page(viewport={"width": 900, "height": 700})
    page.set_content(to_html(examples.inspection(stack)))
    assert page.locator("img[title]").count() == 40
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
