"""What the shell of the view keeps, and what it lets go of."""

import pytest
import torch
from playwright.sync_api import expect

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
    view.page.close()  # it keeps its screen


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


def three_stacks():
    sizes = {"encoder": (9, 9), "decoder": (8, 8), "cross": (8, 9)}
    return examples.inspection(
        *(
            examples.stack(name, [torch.zeros(8, rows, columns)] * 4, "abcdefghi"[:rows], "abcdefghi"[:columns])
            for name, (rows, columns) in sizes.items()
        )
    )


def tops(view, *names) -> list[float]:
    return [view.root.locator(f".{name}").bounding_box()["y"] for name in names]


def test_on_a_phone_what_is_open_comes_before_all_heads(open_view):
    view = open_view(three_stacks(), width=390, height=844)
    places = tops(view, "controls", "detail", "readout", "map")
    assert places == sorted(places)
    expect(view.root.locator(".lines .query .token").last).to_be_in_viewport()
    expect(view.root.locator(".readout .selected")).to_be_in_viewport()
    assert view.overflow() <= 0
    view.change(view="matrix")
    expect(view.root.locator(".matrix .plot")).to_be_in_viewport(ratio=1)


def test_a_narrow_view_in_a_wide_window_is_one_column(open_view):
    view = open_view(three_stacks(), width=1376, height=844)
    detail, overview = tops(view, "detail", "map")
    assert detail == overview and view.root.evaluate("root => root.view.room") > 0
    view.root.evaluate("root => root.parentElement.style.width = '390px'")
    view.wait_for_layout()
    places = tops(view, "controls", "detail", "readout", "map")
    assert places == sorted(places) and view.root.evaluate("root => root.view.room") is None
    style = "(element, name) => getComputedStyle(element)[name]"
    assert view.root.locator(".head-chips .chip-list").evaluate(style, "flexWrap") == "nowrap"
    assert view.root.locator(".overview .named").evaluate(style, "whiteSpace") == "normal"
    assert view.root.locator(".overview .scroll").evaluate(style, "maxHeight") != "none"
    line = float(view.root.evaluate(style, "lineHeight").removesuffix("px"))
    assert view.root.locator(".readout").bounding_box()["height"] >= 4 * line
    # Nothing in it is wider than it is.
    assert view.root.evaluate("root => root.scrollWidth <= root.clientWidth")


def test_pins_stay_with_their_tokens_when_the_stack_changes(open_view):
    sizes = {"encoder": (9, 9), "decoder": (8, 8), "cross": (8, 9)}
    axis = {9: ("the", "cat", *"abcdefg"), 8: ("die", "katze", *"abcdef")}
    stacks = [
        examples.stack(name, [torch.zeros(2, rows, columns)], axis[rows], axis[columns])
        for name, (rows, columns) in sizes.items()
    ]
    view = open_view(examples.inspection(*stacks))
    view.change(stack="encoder", pinnedQueries=[1], pinnedKeys=[3], pinnedCell=[0, 1])
    view.press("s")  # the decoder, whose tokens are others
    assert view.state["stack"] == "decoder"
    assert [view.state[name] for name in ("pinnedQueries", "pinnedKeys", "pinnedCell")] == [[], [], None]
    view.change(pinnedQueries=[4], pinnedKeys=[2])
    view.press("s")  # the cross attention, whose queries are the decoder's
    assert [view.state[name] for name in ("pinnedQueries", "pinnedKeys")] == [[4], []]
    # What comes with the stack is for it.
    view.change(stack="encoder", pinnedKeys=[5])
    assert [view.state[name] for name in ("pinnedQueries", "pinnedKeys")] == [[], [5]]


def test_no_more_is_pinned_than_a_link_holds_and_that_is_said(open_view):
    names = tuple(map(str, range(120)))
    view = open_view(examples.inspection(examples.stack("self", [torch.zeros(1, 120, 120)], names, names)))
    view.change(pinnedQueries=list(range(10, 109)))
    said = view.root.locator(".readout .note")
    expect(said).not_to_contain_text("No more than")
    view.root.evaluate("root => root.view.togglePin({query: 109})")
    view.wait()
    expect(said).to_contain_text("No more than 100 can be pinned on a side.")
    view.root.evaluate("root => root.view.togglePin({query: 0})")
    view.wait()
    assert view.state["pinnedQueries"] == list(range(10, 110))


def summarised(view) -> list[str]:
    """The strongest pairs for screen readers, once they are written."""
    pairs = view.root.locator(".readout .summary li")
    expect(pairs.first).to_be_attached()
    return [pair.replace("\u2068", "").replace("\u2069", "") for pair in pairs.all_text_contents()]


def test_the_summary_and_the_readout_name_the_same_pair_first(open_view):
    scores = torch.full((1, 4, 4), -torch.inf)
    # The first row may attend to itself only; the strongest where there is a choice is exp(2) / (exp(2) + 1) = 0.88.
    scores[0, 0, 0] = scores[0, 1, 0] = scores[0, 2, 1] = scores[0, 3, 2] = scores[0, 3, 3] = 0
    scores[0, 1, 1], scores[0, 2, 2] = 1, 2
    view = open_view(examples.inspection(examples.stack("self", [scores], "abcd", "abcd")))
    summary = summarised(view)
    assert summary[:3] == [
        "Query “c” (row 3) → key “c” (column 3): 0.88",
        "Query “b” (row 2) → key “b” (column 2): 0.73",
        "Query “d” (row 4) → key “c” (column 3): 0.50",
    ]
    assert summary[0] in view.readout


def test_rows_without_a_choice_are_named_after_the_others(open_view):
    scores = torch.zeros(1, 2, 2)
    scores[0, 0, 1] = -torch.inf
    scores[0, 1, 0] = 1
    view = open_view(examples.inspection(examples.stack("self", [scores], "ab", "ab")))
    assert [pair.rsplit(" ", 1)[1] for pair in summarised(view)] == ["0.73", "0.27", "1.00"]
