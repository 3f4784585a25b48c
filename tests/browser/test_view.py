"""What the shell of the view keeps, and what it lets go of."""

import pytest
import torch

from tests.inspection import examples

pytestmark = pytest.mark.browser


def test_of_what_heads_have_in_common_only_the_shown_is_kept(open_view):
    view = open_view(examples.odd())
    view.change(view="matrix", combine="mean")
    for heads in ([0], [0, 1], [1]):
        view.change(heads=heads, head=heads[0])
    kept = "root => [...root.view.caches.keys()].filter(key => key.startsWith('combined')).length"
    assert view.root.evaluate(kept) == 1


def test_edges_that_are_kept_take_no_more_room_than_they_need(open_view):
    view = open_view(examples.inspection(examples.stack("self", [torch.eye(20)[None] * 20], "a" * 20, "a" * 20)))
    numbers, room = view.root.evaluate(
        """root => {
            const { count, rows, columns, values } = root.view.edges(0, 0);
            return [count, [rows, columns, values].map(each => each.buffer.byteLength)];
        }"""
    )
    assert numbers == 20 and room == [2 * 20, 2 * 20, 4 * 20]


def test_a_view_that_has_ended_hears_of_nothing(open_view):
    view = open_view(examples.odd())
    view.root.evaluate(
        """root => {
            window.asked = 0;
            const { payload } = root.view;
            root.view.destroy();
            Object.defineProperty(root.view, "payload", { get: () => (window.asked++, payload) });
        }"""
    )
    changed = "matchMedia('(resolution: 2dppx)').matches"
    session = view.page.context.new_cdp_session(view.page)
    size = {"width": 900, "height": 600, "deviceScaleFactor": 2, "mobile": False}
    session.send("Emulation.setDeviceMetricsOverride", size)
    view.page.wait_for_function(changed)
    view.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    view.page.keyboard.press("ArrowDown")
    assert view.page.evaluate("window.asked") == 0


def test_what_the_pointer_is_on_does_not_become_another_token(open_view):
    stack = examples.stack("self", [torch.zeros(1, 3, 3)], "abc", "abc", query_special=(0,), key_special=(0,))
    view = open_view(examples.inspection(stack))
    view.hover({"query": 2})
    assert "“c” (row 3)" in view.readout
    view.change(hideSpecial=True)
    assert view.root.evaluate("root => root.view.hover") is None and view.problems == []


def test_the_summary_names_the_largest_numbers_beside_what_is_none(open_view):
    scores = torch.zeros(1, 3, 2)
    scores[0, 1] = torch.nan
    scores[0, 2, 1] = 3
    view = open_view(examples.inspection(examples.stack("cross", [scores], "abc", "xy")))
    first = view.root.locator(".readout .summary li").first
    # exp(3) / (exp(0) + exp(3)) = 0.9526
    assert first.text_content().replace("\u2068", "").replace("\u2069", "") == (
        "Query “c” (row 3) → key “y” (column 2): 0.95"
    )


def test_a_matrix_does_not_call_a_weight_the_largest_that_is_not(open_view):
    scores = torch.zeros(1, 3, 3) + torch.full((3, 3), -torch.inf).triu(1)
    scores[0, 2, 0] = 1
    view = open_view(examples.inspection(examples.stack("self", [scores], "abc", "abc")))
    view.change(view="matrix")
    described = view.root.locator(".matrix .plot").get_attribute("aria-label")
    # The first row has a weight of 1, at the only token that it may attend to. exp(1) / (exp(1) + 2) = 0.576
    assert "The strongest pair: query" in described and described.endswith("0.58.")
