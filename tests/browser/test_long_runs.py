"""Long runs in the real browser: they are shown, can be stopped and left, and two visitors share one."""

import re

from playwright.sync_api import expect

LONG = ("Mary, Tom, " * 120).strip()
"""With it the bundled model never comes to an end, so it writes as much as it can: 512 tokens with a beam of 16."""

RUNNING = re.compile(r"Translating: token [\d,]+ of at most [\d,]+ · \d+\.\d s")
STOPPED = re.compile(r"Stopped after \d+\.\d s\. The text is still there\.")


def begin(window, text=LONG) -> None:
    """Type a long text, and wait until the page shows how far it is."""
    window.text_box.fill(text)
    window.text_box.press("Enter")
    window.expect_text(RUNNING)


def test_a_long_text_is_stopped_shared_and_left(open_app):
    first = open_app("/?beam=16")
    begin(first)
    second = open_app("/?beam=16")
    begin(second)
    stop = first.page.get_by_role("button", name="Stop", exact=True)
    stop.click()
    first.expect_text(STOPPED)
    expect(stop).to_have_count(0)
    expect(first.text_box).to_have_value(LONG)
    second.expect_text(RUNNING)  # it waits for the same run, which goes on
    # Whoever types another text leaves the run.
    second.text_box.fill("The cat sleeps.")
    second.text_box.press("Enter")
    expect(second.answer).to_be_visible()
    expect(second.page.get_by_text(RUNNING)).to_have_count(0)
    # The stopped text can be run after all.
    first.page.get_by_role("button", name="Run again").click()
    expect(first.page.get_by_text(STOPPED)).to_have_count(0)
    first.expect_text(RUNNING)


def test_the_next_example_by_key_does_not_wait_for_a_run(open_app):
    app = open_app("/?beam=16")
    text = f"{LONG} Tom"
    begin(app, text)
    app.view.press("n")
    expect(app.text_box).to_have_value("I bought a car, but it is too small.")
    app.view.press("p")
    expect(app.text_box).to_have_value("Please turn off the light when you leave.")
    begin(app, text)  # had the run gone on to its end, its result would be there at once


def test_what_is_chosen_while_another_text_is_under_way_stays_but_for_its_pins(open_app):
    app = open_app("/?text=the+cat+saw+the+cat&stack=encoder&layer=1&rows=2.3&beam=16")
    app.view.evaluate("root => (root.isTheSame = true)")
    begin(app, LONG[:219])
    app.view.evaluate("root => root.view.setState({pinnedQueries: [2, 4], layer: 1, layers: [1]})")
    app.let_the_view_settle()
    app.view.evaluate("root => root.view.setState({layer: 2, layers: [2]})")
    app.expect_text(RUNNING)
    # No token is at the place that it had in the other text, and what the address holds is what is shown.
    expect(app.view).to_contain_text("▁Mary")
    expect(app.page.get_by_text(RUNNING)).to_have_count(0)
    expect(app.page).to_have_url(re.compile(r"[?&]layer=3&(?!.*rows=)"))
    app.expect_state(layer=2, layers=[2], pinnedQueries=[])
    # Nothing took it off the page, with its full screen, its focus and its scrolling.
    assert app.view.evaluate("root => root.isTheSame")
