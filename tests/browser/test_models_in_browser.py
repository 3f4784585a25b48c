"""The Models page in a browser: nothing to object to, and a design that a link and the browser's back keep."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.test_accessibility import RULES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_to_object_to_and_nothing_too_wide(open_app, theme):
    app = open_app("/models", theme=theme)
    expect(app.page.locator(".st-key-playground-figure .main-svg").first).to_be_visible()
    app.wait_for_colours()
    report = Axe().run(app.page, "[data-testid=stMain]", RULES).generate_report()
    assert report.startswith("Found 0 "), report
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.expect_nothing_too_wide()
    tables = app.page.locator("[data-testid=stMarkdownContainer] table")
    expect(tables.first).to_be_visible()
    app.expect_value(
        lambda: tables.evaluate_all(
            "all => all.filter(each => each.offsetWidth > each.parentElement.clientWidth).length"
        ),
        0,
    )


def test_a_design_survives_other_pages_and_goes_back_step_by_step(open_app):
    app = open_app("/models?preset=GPT-2+small&changes=d_model-1536")
    width, heads = (app.page.get_by_label(name, exact=True) for name in ("d_model", "num_heads"))
    expect(width).to_have_value("1536")
    app.page.get_by_role("link", name="Open on the Attention page").first.click()
    expect(app.answer).to_be_visible()
    app.go_to("Models")
    expect(width).to_have_value("1536")
    heads.fill("7")
    heads.press("Enter")
    app.expect_text("d_model=1536 is not divisible by num_heads=7")
    address = f"{app.server}/models?preset=GPT-2+small&changes=d_model-1536"
    expect(app.page).to_have_url(f"{address}.num_heads-7")
    app.page.go_back()
    expect(heads).to_have_value("12")
    expect(width).to_have_value("1536")
    expect(app.page).to_have_url(address)
