"""q·k: the numbers behind one weight, as the running app would send them, and what a file says instead."""

import math
from typing import Any

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from tests.browser.test_figures import caption, group, saved_svg, texts
from tests.browser.view_pages import ViewPage
from tests.inspection import examples
from transformer_core.view.payload import build
from transformer_core.view.state import opening_state

pytestmark = pytest.mark.browser

QUERIES = ("<s>", "Die", "Katze")
KEYS = ("the", "cat", "</s>", "שלום")

PRODUCTS = [0.5, -1.5, 8.0, 1.0]
"""Of the query (1, -0.5, 2, 4) and the key (0.5, 3, 4, 0.25). Their sum is 8."""


def pair(**changes: Any) -> dict[str, Any]:
    """Row 3, column 2 of scores 1, 3.5, -1 and one that is not allowed: q·k = 8, scale 0.5, bias -0.5."""
    total = math.log(math.exp(1) + math.exp(3.5) + math.exp(-1))
    return {
        "query": 2,
        "key": 1,
        "query_vector": [1, -0.5, 2, 4],
        "key_vector": [0.5, 3, 4, 0.25],
        "products": PRODUCTS,
        "running_sum": [0.5, -1, 7, 8],
        "dot_product": 8.0,
        "scale": 0.5,
        "scaled": 4.0,
        "softcap": None,
        "capped": 4.0,
        "mask": -0.5,
        "score": 3.5,
        "row_scores": [1.0, 3.5, -1.0, None],
        "column": 1,
        "sink_score": None,
        "logsumexp": total,
        "weight": math.exp(3.5 - total),
        "recorded_weight": math.exp(3.5 - total),
        "is_allowed": True,
        **changes,
    }


def opened(open_view, **options) -> ViewPage:
    """The view with row 3, column 2 pinned, in a page that a server answers."""
    scores = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    shown = examples.inspection(examples.stack("cross", [scores], QUERIES, KEYS))
    place = {"view": "product", "layer": 0, "head": 0, "heads": [0], "layers": [0], "pinnedCell": [2, 1]}
    view = open_view(shown, opening_state(build(shown).meta) | place, **options)
    view.root.evaluate("root => { root.view.host.answers = true; }")
    return view


def answer(view: ViewPage, pair: dict[str, Any], **place: Any) -> None:
    cell = {"query": pair["query"], "key": pair["key"], "weight": pair.get("weight")}
    message = {"stack": "cross", "layer": 0, "head": 0, "cell": cell, "pair": pair, **place}
    view.root.evaluate("(root, message) => root.view.setAnswer(message)", message)
    view.wait()


def text(view: ViewPage, part: str) -> str:
    return view.root.locator(f".product .{part}").inner_text().replace("\u2068", "").replace("\u2069", "")


def steps(view: ViewPage) -> dict[str, str]:
    """The numbers of the chain by their names."""
    items = view.root.locator(".product .chain li").all()
    return {item.locator(".term").inner_text(): item.locator(".number").inner_text() for item in items}


def bars(view: ViewPage, canvas: str, count: int) -> list[tuple[int, int]]:
    """Of each bar of a picture, its first and last row of strong colour, in pixels."""
    return view.root.locator(f".product canvas.{canvas}").evaluate(
        """(canvas, count) => Array.from({length: count}, (_, i) => {
            const left = 48, width = canvas.width - left - 1, x = Math.floor(left + (i + 0.5) * width / count);
            const {data} = canvas.getContext("2d").getImageData(x, 0, 1, canvas.height);
            const grey = y => Math.abs(data[4 * y] - data[4 * y + 2]) < 30 || data[4 * y + 3] < 200;
            const strong = Array.from({length: canvas.height}, (_, y) => y).filter(y => !grey(y));
            return [strong[0], strong.at(-1)];
        })""",
        count,
    )


def point(view: ViewPage, canvas: str, place: int, count: int) -> None:
    box = view.root.locator(f".product canvas.{canvas}").bounding_box()
    view.page.mouse.move(box["x"] + 48 + (place + 0.5) * (box["width"] - 49) / count, box["y"] + box["height"] / 2)
    view.wait()


def test_the_chain_leads_from_the_products_to_the_weight(open_view):
    view = opened(open_view)
    answer(view, pair())
    assert text(view, "title") == "Cross, layer 1, head 1: query “Katze” (row 3) → key “cat” (column 2)"
    # exp(3.5) / (exp(1) + exp(3.5) + exp(-1)) = 0.91475; its denominator's logarithm is 3.58911.
    assert steps(view) == {
        "q·k": "8.00",
        "scaled score": "4.00",
        "score": "3.50",
        "log sum exp": "3.59",
        "weight": "0.915",
    }
    chain = text(view, "chain")
    assert "× 0.500" in chain and "+ mask or bias −0.500" in chain and "not allowed" not in chain
    exact = view.root.locator(".product .chain .number").last.get_attribute("title")
    assert float(exact.split(" ")[1]) == pytest.approx(0.9147507, abs=1e-6)
    described = view.root.evaluate("root => root.view.details.product.describe()")
    assert "dot product 8.00 of 4 products makes the score 3.50" in described and "weight 0.915" in described


def test_a_figure_has_the_products_the_steps_and_the_row_with_its_keys(open_view):
    view = opened(open_view)
    answer(view, pair())
    figure = saved_svg(view)
    products = [float(bar.get("height")) for bar in group(figure, "products")]
    assert [height / products[2] for height in products] == pytest.approx(
        [abs(each) / 8 for each in PRODUCTS], abs=1e-6
    )
    scores, weights = list(group(figure, "scores")), list(group(figure, "weights"))
    # The last key may not be read: it has no score, and its weight is 0.
    assert len(scores) == 3 and len(weights) == 4
    exponentials = [math.exp(1), math.exp(3.5), math.exp(-1), 0]
    heights = [float(bar.get("height")) / float(weights[1].get("height")) for bar in weights]
    assert heights == pytest.approx([each / exponentials[1] for each in exponentials], abs=1e-6)
    colours = [bar.get("fill") for bar in weights]
    assert colours.count(colours[1]) == 1, "that of the pair stands out"
    assert texts(figure, "key") == list(KEYS)
    assert "weight 0.915 exp(score − log sum exp)" in [*figure.itertext()]
    assert "query “\u2068Katze\u2069” (row 3) → key “\u2068cat\u2069” (column 2)" in caption(figure)


def test_bars_are_as_high_as_the_products_and_sort_by_size(open_view):
    view = opened(open_view)
    answer(view, pair())
    found = bars(view, "products", 4)
    heights = [last - first + 1 for first, last in found]
    for height, product in zip(heights, PRODUCTS, strict=True):
        assert height / heights[2] == pytest.approx(abs(product) / 8, abs=0.03)
    # 0 is where the bars above it end and the one below begins.
    assert found[1][0] >= found[0][1] - 1 and found[2][0] < found[0][0]
    point(view, "products", 1, 4)
    assert text(view, "value") == "dimension 2 of 4: −0.500 × 3.00 = −1.50 · running sum so far −1.00"
    view.root.get_by_role("button", name="largest first").click()
    point(view, "products", 1, 4)
    assert text(view, "value") == "dimension 2 of 4: −0.500 × 3.00 = −1.50 · running sum so far 6.50"
    point(view, "running-sum", 3, 4)
    assert text(view, "value") == "dimension 1 of 4: 1.00 × 0.500 = 0.500 · running sum so far 8.00"
    point(view, "weights", 0, 4)
    assert text(view, "value") == "key “the” (1 of 4): score 1.00, weight 0.0751"
    point(view, "scores", 3, 4)
    assert text(view, "value") == "key “שלום” (4 of 4): score not allowed, weight 0"


def test_softcaps_sinks_and_masks_are_steps(open_view):
    view = opened(open_view)
    answer(view, pair(softcap=30.0, capped=3.98, sink_score=-2.0))
    assert "30.0 · tanh(score / 30.0)" in text(view, "chain")
    assert (steps(view)["softcap"], steps(view)["attention sink's score"]) == ("3.98", "−2.00")
    answer(view, pair(mask=None, score=None, weight=0.0, is_allowed=False))
    assert steps(view)["score"] == "−∞" and steps(view)["weight"] == "0"
    assert "−∞ (this key is not allowed)" in text(view, "chain")
    assert view.root.locator(".product .chain [title*=exactly]").count() == 5
    assert view.root.locator(".product .chain [title*=null]").count() == 0
    answer(view, pair(products=[None] * 4, dot_product=None, scaled=None, capped=None, score=None, weight=None))
    assert steps(view)["q·k"] == "not a number" and steps(view)["weight"] == "not a number"


def test_a_row_with_a_score_that_is_no_number_has_no_weights(open_view):
    view = opened(open_view)
    answer(view, pair(row_scores=[1.0, None, -1.0, 0.0], score=None, logsumexp=None, weight=None))
    assert "largest not a number" in view.root.locator(".product .numbers").inner_text()
    point(view, "weights", 0, 4)
    assert text(view, "value") == "key “the” (1 of 4): score 1.00, weight not a number"
    answer(view, pair(row_scores=[None] * 4, score=None, mask=None, logsumexp=None, weight=0.0, is_allowed=False))
    point(view, "weights", 1, 4)
    assert text(view, "value") == "key “cat” (2 of 4): score not allowed, weight 0"


def test_the_last_answer_stays_greyed_until_the_next_one(open_view):
    view = opened(open_view)
    view.change(head=0)
    assert text(view, "status") == "Computing …" and not view.root.locator(".product .columns").is_visible()
    answer(view, pair())
    assert view.root.locator(".product .status").inner_text() == ""
    view.change(pinnedCell=[0, 0])
    assert text(view, "status") == "Computing …"
    assert "stale" in view.root.locator(".product").get_attribute("class")
    assert "query “Katze”" in text(view, "title") and steps(view)["weight"] == "0.915"
    view.change(head=1, pinnedCell=[2, 1])
    assert "layer 1, head 1:" in text(view, "title"), "its numbers are still those of the first head"
    view.change(head=0, pinnedCell=[0, 0])
    answer(view, pair(query=0, key=0))
    assert "stale" not in view.root.locator(".product").get_attribute("class")
    assert text(view, "title").endswith("query “<s>” (row 1) → key “the” (column 1)")
    view.change(pinnedCell=None, pinnedQueries=[1], pinnedKeys=[3])
    assert text(view, "status") == "Computing …"
    answer(view, pair(query=1, key=3))
    assert text(view, "title").endswith("query “Die” (row 2) → key “שלום” (column 4)")
    view.change(pinnedQueries=[], pinnedKeys=[])
    answer(view, pair(), cell=None)
    assert text(view, "status").startswith("The strongest pair of this head.")


def test_without_queries_and_keys_the_reason_is_told(open_view):
    view = opened(open_view)
    reason = "How this weight came about <b>cannot</b> be shown."
    answer(view, {"query": 2, "key": 1, "recorded_weight": 0.5, "reason": reason})
    assert text(view, "status") == reason and not view.root.locator(".product .columns").is_visible()
    view.root.evaluate("root => { root.view.host.answers = false; }")
    view.change(pinnedCell=[2, 1])
    assert "in the running app only" in text(view, "status")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_narrow_windows_show_all_of_it(open_view, theme):
    view = opened(open_view, width=390, height=900, theme=theme)
    answer(view, pair())
    assert view.overflow() <= 0 and steps(view)["weight"] == "0.915"
    report = Axe().run(view.page, ".headlight .product").generate_report()
    assert report.startswith("Found 0 "), report
