"""The frame in which an inspection shows itself in a notebook, as a real browser draws it."""

import pytest
from playwright.sync_api import expect

from tests.inspection import examples

pytestmark = pytest.mark.browser


def test_the_view_is_drawn_in_its_frame_and_reaches_nothing_outside(browser):
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("console", lambda message: message.type == "error" and seen.append(message.text))
    page.set_content(f"<body><p id='cell'>a cell</p>{examples.odd()._repr_html_()}</body>")
    frame = page.frame_locator("iframe")
    expect(frame.locator(".readout .selected")).to_contain_text("Cross, layer 2, head 1")
    expect(frame.get_by_text("</script>").first).to_be_attached()
    blocked = page.frames[1].evaluate("() => { try { return parent.document.title; } catch { return 'blocked'; } }")
    assert blocked == "blocked"
    assert [problem for problem in seen if not problem.startswith(("about:srcdoc", "data:", "blob:"))] == []
    page.close()
