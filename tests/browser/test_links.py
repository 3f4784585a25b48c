"""A link restores what it was taken from, says what it cannot, and the browser's back and forward go through it."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.driver import App

pytestmark = pytest.mark.browser

CAT, DOG = "the cat saw the cat", "the dog sleeps"
LINK = "/?text=the+cat+saw+the+cat&stack=encoder&layer=2&rows=1.3"


def expect_shown(app: App, text: str, **state: Any) -> None:
    """Wait until the text box holds this text, and the linked view shows this state."""
    expect(app.text_box).to_have_value(text)
    app.expect_state(**state)


def expect_address(app: App, query: str) -> None:
    expect(app.page).to_have_url(f"{app.server}{query}")


def test_back_and_forward_go_through_texts_and_views(open_app):
    app = open_app(LINK)
    linked = {"stack": "encoder", "layer": 1, "layers": [1], "heads": [0], "pinnedQueries": [0, 2]}
    expect_shown(app, CAT, **linked)
    app.view.evaluate("root => root.view.setState({heads: [0, 2], pinnedQueries: []})")
    chosen = "/?text=the+cat+saw+the+cat&stack=encoder&layer=2&heads=1.3"
    expect_address(app, chosen)
    app.text_box.fill(DOG)
    app.text_box.press("Enter")
    expect_address(app, chosen.replace("the+cat+saw+the+cat", "the+dog+sleeps"))
    expect_shown(app, DOG, stack="encoder", layer=1, heads=[0, 2])
    app.page.go_back()
    expect_shown(app, CAT, stack="encoder", heads=[0, 2], pinnedQueries=[])
    app.wait()
    app.page.go_back()
    expect_address(app, LINK)
    expect_shown(app, CAT, **linked)
    app.wait()
    app.page.go_forward()
    expect_shown(app, CAT, heads=[0, 2], pinnedQueries=[])
    expect_address(app, chosen)


def test_what_a_link_asks_for_in_vain_is_said_above_the_page(open_app):
    app = open_app("/?text=one%0Atwo&model=%3Cb%3Emissing&layer=77&colour=red")
    message = app.page.get_by_test_id("stToast")
    expect(message).to_be_visible()
    said = message.get_by_test_id("stToastText").inner_text()
    assert "There is no model “<b>missing” here; “tatoeba-en-de” is shown." in said
    assert "Headlight knows no parameter “colour”." in said
    assert re.search(r"Layer 77 does not exist: “Cross\w*” has 3 layers; layer 3 is shown\.", said)
    assert "line breaks or control characters; here they are blanks" in said
    expect_shown(app, "one two", stack="cross", layer=2)
    expect_address(app, "/?text=one+two")
    message.get_by_role("button", name="Close").click()
    expect(message).to_have_count(0)


def test_back_brings_pins_that_another_text_has_no_tokens_for(open_app):
    app = open_app(LINK)
    expect_shown(app, CAT, stack="encoder", pinnedQueries=[0, 2])
    app.text_box.fill(DOG)
    app.text_box.press("Enter")
    expect_shown(app, DOG, stack="encoder", pinnedQueries=[0])
    expect_address(app, "/?text=the+dog+sleeps&stack=encoder&layer=2&rows=1")
    # The text was one step, the pin that went with it another.
    app.page.go_back()
    expect_address(app, LINK.replace("the+cat+saw+the+cat", "the+dog+sleeps"))
    expect_shown(app, DOG, pinnedQueries=[0, 2])
    app.wait()
    app.page.go_back()
    expect_address(app, LINK)
    expect_shown(app, CAT, stack="encoder", pinnedQueries=[0, 2])


def test_the_way_back_from_another_model_is_one_step(open_app):
    app = open_app(LINK)
    linked = {"stack": "encoder", "layer": 1, "pinnedQueries": [0, 2]}
    expect_shown(app, CAT, **linked)
    app.page.get_by_label("Model", exact=True).click()
    app.page.get_by_role("option", name="induction").click()
    app.expect_state(stack="self")
    expect_address(app, "/?model=induction")
    app.page.go_back()
    expect_address(app, LINK)
    expect_shown(app, CAT, **linked)
    # Streamlit leaves a box as it is where the server does not set it, and takes up again what it says.
    expect(app.page.get_by_label("Model", exact=True)).to_have_value(re.compile("tatoeba-en-de"))


def test_a_step_in_the_view_does_not_bring_another_address_back(open_app):
    app = open_app()
    app.expect_state(stack="cross")
    # As where the new address of a page is still on its way to the browser, which sends the one before.
    app.page.evaluate("history.replaceState({}, '', '/?model=induction')")
    app.view.evaluate("root => root.view.setState({layer: 0, layers: [0]})")
    expect_address(app, "/?layer=1")
    app.expect_state(stack="cross", layer=0)
