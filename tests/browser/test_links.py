"""A link restores what it was taken from, says what it cannot, and the browser's back and forward go through it."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import PATIENCE

pytestmark = pytest.mark.browser

CAT, DOG = "the cat saw the cat", "the dog sleeps"
LINK = "/?text=the+cat+saw+the+cat&stack=encoder&layer=2&rows=1.3"


@pytest.fixture
def page(profile) -> Page:
    page = profile.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()


def expect_shown(page: Page, text: str, **state: Any) -> None:
    """Wait until the text box holds this text, and the linked view shows this state."""
    expect(page.get_by_label("Your text, in English")).to_have_value(text, timeout=PATIENCE)
    shown = None
    for _ in range(PATIENCE // 100):
        shown = page.locator(".headlight").evaluate("root => root.view.state")
        if shown | state == shown:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{shown} is shown, not {state}")


def expect_address(page: Page, server: str, query: str) -> None:
    expect(page).to_have_url(f"{server}{query}", timeout=PATIENCE)


def test_back_and_forward_go_through_texts_and_views(page, server):
    page.goto(server + LINK)
    linked = {"stack": "encoder", "layer": 1, "layers": [1], "heads": [0], "pinnedQueries": [0, 2]}
    expect_shown(page, CAT, **linked)
    page.locator(".headlight").evaluate("root => root.view.setState({heads: [0, 2], pinnedQueries: []})")
    chosen = "/?text=the+cat+saw+the+cat&stack=encoder&layer=2&heads=1.3"
    expect_address(page, server, chosen)
    box = page.get_by_label("Your text, in English")
    box.fill(DOG)
    box.press("Enter")
    expect_address(page, server, chosen.replace("the+cat+saw+the+cat", "the+dog+sleeps"))
    expect_shown(page, DOG, stack="encoder", layer=1, heads=[0, 2])
    page.go_back()
    expect_shown(page, CAT, stack="encoder", heads=[0, 2], pinnedQueries=[])
    page.go_back()
    expect_address(page, server, LINK)
    expect_shown(page, CAT, **linked)
    page.go_forward()
    expect_shown(page, CAT, heads=[0, 2], pinnedQueries=[])
    expect_address(page, server, chosen)


def test_what_a_link_asks_for_in_vain_is_said_above_the_page(page, server):
    page.goto(f"{server}/?text=one%0Atwo&model=%3Cb%3Emissing&layer=77&colour=red")
    message = page.get_by_test_id("stToast")
    expect(message).to_be_visible(timeout=PATIENCE)
    said = message.get_by_test_id("stToastText").inner_text()
    assert "There is no model “<b>missing” here; “tatoeba-en-de” is shown." in said
    assert "Headlight knows no parameter “colour”." in said
    assert re.search(r"Layer 77 does not exist: “Cross\w*” has 3 layers; layer 3 is shown\.", said)
    assert "line breaks or control characters; here they are blanks" in said
    expect_shown(page, "one two", stack="cross", layer=2)
    expect_address(page, server, "/?text=one+two")
    message.get_by_role("button", name="Close").click()
    expect(message).to_have_count(0)


def test_back_brings_pins_that_another_text_has_no_tokens_for(page, server):
    page.goto(server + LINK)
    expect_shown(page, CAT, stack="encoder", pinnedQueries=[0, 2])
    box = page.get_by_label("Your text, in English")
    box.fill(DOG)
    box.press("Enter")
    expect_shown(page, DOG, stack="encoder", pinnedQueries=[0])
    expect_address(page, server, "/?text=the+dog+sleeps&stack=encoder&layer=2&rows=1")
    # The text was one step, the pin that went with it another.
    page.go_back()
    expect_address(page, server, LINK.replace("the+cat+saw+the+cat", "the+dog+sleeps"))
    page.go_back()
    expect_address(page, server, LINK)
    expect_shown(page, CAT, stack="encoder", pinnedQueries=[0, 2])
