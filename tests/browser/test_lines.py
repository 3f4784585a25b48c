"""The lines between tokens: what they show, beside NumPy on the weights, and what pointer and keys do to them."""

import base64
import io
import re

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import Locator, expect

from tests.browser.view_pages import ViewPage
from tests.inspection import examples
from transformer_core.view import modules, payload
from transformer_core.view.labels import visible
from transformer_core.view.state import opening_state

pytestmark = pytest.mark.browser

QUERIES = ("[CLS]", "the", "cat", "the", "[SEP]")
KEYS = ("[CLS]", "der", "Kater", "der", "jagt", "die", "Katze", "[SEP]")
LAYERS, HEADS = 2, 3


@pytest.fixture(scope="module")
def scores() -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(3)
    return [torch.randn(HEADS, len(QUERIES), len(KEYS), generator=random) * 2 for _ in range(LAYERS)]


@pytest.fixture(scope="module")
def weights(scores) -> np.ndarray:
    """(layer, head, query, key), in double precision."""
    exponentials = np.exp(torch.stack(scores).double().numpy())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.fixture
def view(open_view, scores) -> ViewPage:
    """Open at layer 2, head 1. Both sides have repeated words and special tokens, and are not equally long."""
    special = {"query_special": (0, 4), "key_special": (0, 7)}
    return open_view(examples.inspection(examples.stack("cross", scores, QUERIES, KEYS, **special)))


def tokens(view: ViewPage, side: str) -> Locator:
    return view.root.locator(f".lines .tokens.{side} [role=option]")


def numbers(view: ViewPage, side: str) -> list[str]:
    return view.root.locator(f".lines .tokens.{side} .number").all_text_contents()


def assert_number(text: str, weight: float) -> None:
    """Two digits. A byte and two digits are wrong by up to 0.01 together."""
    assert re.fullmatch(r"< 0\.01|\d\.\d\d", text)
    assert abs((0.0025 if text == "< 0.01" else float(text)) - weight) < 0.011


def assert_numbers(view: ViewPage, side: str, weights: np.ndarray) -> None:
    """The weights beside the tokens of one side."""
    shown = numbers(view, side)
    assert len(shown) == len(weights)
    for text, weight in zip(shown, weights, strict=True):
        assert_number(text, weight)


def note(view: ViewPage) -> str:
    return view.root.locator(".lines .note").inner_text().replace("\u2068", "").replace("\u2069", "")


def described(view: ViewPage) -> str:
    return view.root.evaluate("root => root.view.details.lines.describe()")


def point_at(view: ViewPage, place: Locator) -> None:
    """Point at a token with the mouse."""
    place.hover()
    view.wait()


def test_pointing_at_a_token_shows_its_row_or_column(view, weights):
    assert numbers(view, "query") == [""] * len(QUERIES)
    assert numbers(view, "key") == [""] * len(KEYS)
    over = view.root.locator(".lines .over")
    assert over.is_hidden()

    point_at(view, tokens(view, "query").nth(3))
    assert_numbers(view, "key", weights[1, 0, 3])
    assert numbers(view, "query") == [""] * len(QUERIES)
    assert note(view) == "Weights from the query “the”."
    assert over.is_visible()
    bars = view.root.locator(".lines .key .bar").evaluate_all(
        "bars => bars.map(bar => new DOMMatrix(getComputedStyle(bar).transform).a)"
    )
    np.testing.assert_allclose(bars, weights[1, 0, 3], atol=0.005)

    view.change(heads=[0, 2])
    point_at(view, tokens(view, "key").nth(5))
    assert_numbers(view, "query", weights[1, [0, 2], :, 5].mean(axis=0))
    assert note(view) == "Weights to the key “die” (mean of 2 heads)."

    view.hover({"query": 1, "key": 6})
    assert [place for place, text in enumerate(numbers(view, "key")) if text] == [6]
    assert [place for place, text in enumerate(numbers(view, "query")) if text] == [1]
    assert_number(view.root.locator(".lines .cell text").text_content(), weights[1, [0, 2], 1, 6].mean())
    view.hover(None)
    assert numbers(view, "key") == [""] * len(KEYS)


def test_pins_stay_add_up_and_go(view, weights):
    tokens(view, "query").nth(1).click()
    tokens(view, "query").nth(3).click()
    view.page.mouse.move(0, 0)
    view.wait()
    selected = tokens(view, "query").evaluate_all("all => all.map(each => each.getAttribute('aria-selected'))")
    assert selected == ["false", "true", "false", "true", "false"]
    assert tokens(view, "query").nth(1).locator(".pin").is_visible()
    assert not tokens(view, "query").nth(0).locator(".pin").is_visible()
    assert_numbers(view, "key", weights[1, 0, [1, 3]].sum(axis=0))
    assert "sum of 2 rows" in note(view)
    assert "2 pinned queries" in described(view)

    view.change(layer=0, head=1, heads=[1])
    assert_numbers(view, "key", weights[0, 1, [1, 3]].sum(axis=0))
    tokens(view, "key").nth(2).click()
    view.page.mouse.move(0, 0)
    view.wait()
    assert_numbers(view, "key", weights[0, 1, [1, 3]].sum(axis=0))
    assert_numbers(view, "query", weights[0, 1, :, 2])
    tokens(view, "query").nth(3).click()
    view.page.mouse.move(0, 0)
    view.wait()
    assert_numbers(view, "key", weights[0, 1, 1])
    assert (view.state["pinnedQueries"], view.state["pinnedKeys"]) == ([1], [2])

    view.change(pinnedCell=[2, 4])
    assert_number(view.root.locator(".lines .cell text").text_content(), weights[0, 1, 2, 4])
    tokens(view, "query").nth(0).focus()
    view.press("Escape")
    assert (view.state["pinnedQueries"], view.state["pinnedKeys"], view.state["pinnedCell"]) == ([], [], None)
    view.page.mouse.move(0, 0)


def test_tokens_are_list_boxes_with_one_stop(view, weights):
    def focused() -> str:
        return view.root.evaluate("() => document.activeElement.closest('ul').className + document.activeElement.title")

    assert [box.get_attribute("aria-label") for box in view.root.get_by_role("listbox").all()] == [
        "query (row): German",
        "key (column): English",
    ]
    assert view.root.locator(".lines [role=option][tabindex='0']").count() == 2
    tokens(view, "key").nth(0).focus()
    view.press("ArrowDown", "ArrowDown")
    assert focused() == "tokens keyKater"
    assert_numbers(view, "query", weights[1, 0, :, 2])
    view.press("Enter")
    assert view.state["pinnedKeys"] == [2]
    view.press("End", "ArrowDown", " ")
    assert focused() == "tokens key[SEP]"
    assert view.state["pinnedKeys"] == [2, 7]
    assert view.state["layer"] == 1, "the arrows moved the focus, not the layer"
    view.press("Home", "ArrowUp")
    assert focused() == "tokens key[CLS]"
    assert view.root.locator(".lines [role=option][tabindex='0']").count() == 2
    view.change(hideSpecial=True)
    assert focused() == "tokens keyder", "the focus stays in the list as its tokens change"


def test_hidden_tokens_say_what_went_to_them(view, weights):
    view.change(hideSpecial=True)
    shown = weights[1, 0, 1:4, 1:7]
    removed = 1 - shown.sum(axis=1)
    assert f"had {100 * removed.mean():.0f} % of a row on average" in note(view)
    point_at(view, tokens(view, "query").nth(1))
    assert_numbers(view, "key", shown[1] / shown[1].sum())
    assert f"had {100 * removed[1]:.0f} % of this row" in note(view)


def test_shift_and_the_wheel_step_the_layer(view):
    tokens(view, "key").nth(0).hover()
    view.page.mouse.wheel(0, -100)
    view.wait()
    assert view.state["layer"] == 1
    view.page.keyboard.down("Shift")
    view.page.mouse.wheel(0, -100)
    view.page.keyboard.up("Shift")
    view.page.wait_for_function("document.querySelector('.headlight').view.state.layer === 0")


STEPS = (0.5, 0.3, 0.15, 0.05)
"""Weights of every row, in another order in each."""


def test_lines_up_to_a_share_of_each_row(open_view):
    rows = torch.stack([torch.tensor(STEPS).roll(shift) for shift in (0, 0, 1, 2)])
    view = open_view(examples.inspection(examples.stack("self", [rows.log()[None]], "abcd", "abcd")))
    for share, edges in ((0.4, 1), (0.7, 2), (0.9, 3), (1.0, 4)):
        view.change(share=share)
        assert f"{4 * edges} lines, the strongest weights that make up {share:.0%}".replace("%", " %") in described(
            view
        )
    view.change(share=0.7, pinnedQueries=[1])
    assert "2 lines" in described(view)
    view.change(pinnedQueries=[], pinnedKeys=[1])
    # To column b, rows a and b give 0.3 and row c 0.5; the 0.05 of row d is beyond its share.
    assert "3 lines" in described(view)


PICTURE = """(lines, canvases) => {
    const links = lines.querySelector(".links"), top = links.getBoundingClientRect().top;
    const middle = item => { const box = item.getBoundingClientRect(); return (box.top + box.bottom) / 2 - top; };
    const [from, to] = ["query", "key"].map(side => [...lines.querySelectorAll(`.${side} .token`)].map(middle));
    return {from, to, pieces: [...links.querySelectorAll(canvases)].map(canvas => canvas.toDataURL())};
}"""


def assert_lines(view: ViewPage, edges: list[tuple[int, int]], canvases: str = ".base canvas") -> None:
    """The canvases show these lines between the middles of tokens, and nothing elsewhere."""
    found = view.root.locator(".lines").evaluate(PICTURE, canvases)
    files = [base64.b64decode(piece.partition(",")[2]) for piece in found["pieces"]]
    pixels = np.concatenate([np.array(Image.open(io.BytesIO(file)).convert("RGBA")) for file in files])
    alphas, colours = pixels[..., 3], pixels[..., :3].astype(int)
    height, width = alphas.shape
    x, y = np.arange(width) + 0.5, np.arange(height)[:, None] + 0.5
    distance = np.full(alphas.shape, np.inf)
    for query, key in edges:
        start, slope = found["from"][query], (found["to"][key] - found["from"][query]) / width
        distance = np.minimum(distance, np.abs(y - (start + slope * x)) / np.hypot(1, slope))
    assert (alphas[distance < 0.4] > 100).all()
    assert (alphas[distance > 3] == 0).all()
    assert (distance < 0.4).any()
    assert (distance > 3).mean() > 0.1, "there is ground between the lines"
    # Pixels that are partly transparent hold rounded colours.
    assert np.abs(colours[alphas > 200] - (0x33, 0x22, 0x88)).max() <= 2


@pytest.mark.parametrize("width", [1376, 560], ids=["flat lines", "steep lines"])
def test_lines_are_where_they_should_be_and_nowhere_else(open_view, width):
    """Each query has all its weight on one key: 40 lines, more than one piece of the picture, none above another."""
    keys = np.random.default_rng(0).permutation(40).tolist()
    names = tuple(map(str, range(40)))
    view = open_view(examples.inspection(examples.stack("self", [sharp(keys, 40)], names, names)), width=width)
    edges = list(enumerate(keys))
    assert_lines(view, edges)
    view.hover({"query": 9})
    assert_lines(view, [edges[9]], ".over")
    view.hover(None)
    view.change(pinnedQueries=[4, 30], pinnedKeys=[keys[11]])
    assert_lines(view, [edges[4], edges[11], edges[30]])
    view.change(pinnedQueries=[], pinnedKeys=[])
    assert_lines(view, edges)


def sharp(keys: list[int], num_keys: int) -> torch.Tensor:
    """Scores of one head, in which each query has all its weight on the key that is named for it."""
    scores = torch.zeros(1, len(keys), num_keys)
    scores[0, torch.arange(len(keys)), torch.tensor(keys)] = 50
    return scores


def test_the_shorter_column_is_in_the_middle(open_view):
    view = open_view(examples.inspection(examples.stack("cross", [sharp([6, 0], 8)], "ab", "stuvwxyz")))
    middles = [
        np.mean([box["y"] + box["height"] / 2 for box in (token.bounding_box() for token in tokens(view, side).all())])
        for side in ("query", "key")
    ]
    assert middles[0] == pytest.approx(middles[1])
    assert_lines(view, [(0, 6), (1, 0)])


def test_odd_tokens_are_shown_literally(open_view):
    view = open_view(examples.odd())
    view.change(stack="cross")
    labels = [visible(token, 200) for token in examples.ODD_TOKENS]
    assert tokens(view, "key").evaluate_all("all => all.map(each => each.title)") == labels
    shown = view.root.locator(".lines .key .label").all_text_contents()
    assert shown == [
        visible(token) if len(token) > 14 else label for token, label in zip(examples.ODD_TOKENS, labels, strict=True)
    ]
    assert view.root.locator(".lines .tokens :is(img, script, b, a)").count() == 0
    assert view.root.locator(".lines .key bdi.label[dir=auto]").count() == len(labels)
    tokens(view, "key").nth(labels.index("שלום")).click()
    view.wait()
    assert note(view).startswith("Weights to the key “שלום”")
    view.resize(390, 844)
    assert view.overflow() <= 0


def test_one_token(open_view):
    view = open_view(examples.inspection(examples.stack("self", [torch.zeros(1, 1, 1)], "a", "a")))
    assert ": 1 line," in described(view)
    view.hover({"query": 0})
    assert numbers(view, "key") == ["1.00"]


def test_weights_that_are_no_numbers_are_named(open_view):
    scores = torch.tensor(STEPS).log().repeat(2, 4, 1)
    scores[0] = torch.nan
    view = open_view(examples.inspection(examples.stack("self", [scores], "abcd", "abcd")))
    assert "head 1 are not numbers (NaN)" in note(view)
    assert "0 lines" in described(view)
    view.hover({"query": 2})
    assert numbers(view, "key") == ["not a number"] * 4
    view.change(heads=[0, 1])
    assert "head 1 are not numbers (NaN)" in note(view)
    assert "8 lines" in described(view)
    assert_numbers(view, "key", np.array(STEPS))


def test_small_pictures_have_no_lines_and_say_so(open_view, monkeypatch):
    monkeypatch.setattr(payload, "MAX_BYTES", 100)
    monkeypatch.setattr(payload, "POOLED_BYTES", 64)
    names = tuple(map(str, range(20)))
    view = open_view(examples.inspection(examples.stack("self", [torch.zeros(1, 20, 20)], names, names)))
    view.change(view="lines")
    assert "this file holds only small pictures of the weights" in view.root.locator(".lines").inner_text()
    assert view.root.locator(".lines .columns").is_hidden()
    assert "this file holds only small pictures" in described(view)


def test_after_a_click_the_arrow_keys_step_layers_and_after_tab_they_walk_tokens(view):
    view.change(layer=0, layers=[0])
    tokens(view, "query").nth(1).click()
    view.wait()
    view.press("ArrowDown")
    assert (view.state["layer"], view.state["pinnedQueries"]) == (1, [1])
    view.press("ArrowUp", "t")
    view.press("ArrowDown")
    assert view.state["layer"] == 1, "a new list of tokens takes the focus over, and nothing else"
    view.change(hideSpecial=False, pinnedQueries=[])
    tokens(view, "query").first.evaluate("token => token.closest('ul').querySelector('[tabindex=\"0\"]').blur()")
    view.page.keyboard.press("Tab")
    for _ in range(60):
        if view.root.locator(".lines .query li:focus").count():
            break
        view.page.keyboard.press("Tab")
    view.press("Home", "ArrowDown", "Enter")
    assert (view.state["layer"], view.state["pinnedQueries"]) == (1, [1])
    view.press("?")
    assert "in a list of tokens reached with Tab" in view.root.locator("dialog.keys").inner_text()


def test_a_mean_is_of_the_heads_that_have_a_number_there(open_view):
    scores = torch.tensor(STEPS).log().repeat(3, 4, 1)
    scores[0] = torch.nan
    scores[1, 2] = torch.nan
    view = open_view(examples.inspection(examples.stack("self", [scores], "abcd", "abcd")))
    view.change(heads=[0, 1, 2])
    view.hover({"query": 1})
    assert "(mean of 2 heads)" in note(view)
    assert_numbers(view, "key", np.array(STEPS))
    view.hover({"query": 2})
    assert "(mean of 1 head)" in note(view)
    view.hover({"key": 0})
    assert "(mean of 1 to 2 heads)" in note(view)
    view.hover({"query": 2, "key": 0})
    assert "(mean of 1 head)" in note(view)
    view.change(heads=[0, 1], head=0)
    view.hover({"query": 2})
    assert "mean of" not in note(view) and numbers(view, "key") == ["not a number"] * 4


def test_weights_that_will_not_come_are_not_waited_for(open_view, monkeypatch):
    names = tuple(map(str, range(20)))
    inspection = examples.inspection(examples.stack("self", [torch.zeros(3, 20, 20)] * 2, names, names))
    state = opening_state(payload.build(inspection).meta) | {"view": "lines", "heads": [0, 1, 2]}

    def opened(most: int) -> ViewPage:
        monkeypatch.setattr(payload, "MAX_BYTES", most)
        monkeypatch.setattr(payload, "POOLED_BYTES", 64)
        view = open_view(inspection, state)
        view.root.evaluate("root => { root.view.host.answers = true; }")
        view.change(share=0.6)
        return view

    # Room for one whole head, which is the open one.
    view = opened(400)
    said = view.root.locator(".lines .missing")
    expect(said).to_contain_text("There are no lines for layer 2, heads 2, 3")
    expect(said).to_contain_text("the weights of the open head only")
    expect(view.root.locator(".lines .columns")).to_be_visible()
    # Those of another layer are on their way.
    view.change(layer=0)
    expect(said).to_have_text("Fetching the weights of layer 1, heads 1 to 3 …")
    # No room for any.
    said = opened(100).root.locator(".lines .missing")
    expect(said).to_contain_text("there are only small pictures of the weights. The matrix shows them.")


def test_pictures_of_few_and_of_many_lines_are_the_same(browser):
    """Level lines on whole pixels, where what has to come out is known: alpha and colour by the sum of depths."""
    page = browser.new_page()
    found = page.evaluate(
        """async source => {
            const {LineRaster} = await import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));
            const raster = new LineRaster(60, 60);
            const ends = {start: 0.5, step: 1}, style = {width: 1, dash: [], opacity: value => value};
            const add = (count, rgb) => {
                const rows = Uint16Array.from({length: count}, (_, row) => row % 60);
                const edges = {count, rows, columns: rows, values: new Float32Array(count).fill(0.5)};
                raster.add(edges, {rows: ends, columns: ends}, style);
                raster.mix(rgb);
            };
            const picture = () => Array.from(raster.picture().data);
            add(2, [200, 0, 100]);
            add(1, [0, 80, 100]);
            const few = picture();
            add(240, [200, 0, 100]);
            add(120, [0, 80, 100]);
            return [few, picture()];
        }""",
        modules.script(modules.FRONTEND / "raster.js"),
    )
    page.close()
    few, many = np.array(found).reshape(2, 60, 60, 4)
    # Two lines of opacity 0.5 let a quarter through; the colour of both is their mean.
    np.testing.assert_allclose(few[0], [[100, 40, 100, 191]] * 60, atol=1)
    np.testing.assert_allclose(few[1], [[200, 0, 100, 128]] * 60, atol=1)
    assert not few[2:].any()
    # Four of one colour and two of the other let 1/64 through.
    np.testing.assert_allclose(many.reshape(-1, 4), [[133, 27, 100, 251]] * 3600, atol=1)
