"""The matrix of a linked view: its pixels and words beside NumPy on the model's own weights."""

import re

import numpy as np
import pytest
import torch
from plotly.colors import sequential

from tests.browser.view_pages import ViewPage
from tests.inspection import examples
from transformer_core.view import payload
from transformer_core.view.payload import build
from transformer_core.view.state import opening_state

pytestmark = pytest.mark.browser

QUERIES = ("<s>", "Die", "Die", "Katze")
KEYS = ("<s>", "the", "cat", "##s", "שלום", "the", "</s>")
GREY = (128, 128, 128)


def scores(heads: int = 3, queries: int = len(QUERIES), keys: int = len(KEYS), seed: int = 0) -> torch.Tensor:
    return torch.randn(heads, queries, keys, generator=torch.Generator().manual_seed(seed)) * 1.5


def softmax(values: torch.Tensor) -> np.ndarray:
    exponentials = np.exp(values.double().numpy())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def inspection(layers: list[torch.Tensor], queries=QUERIES, keys=KEYS, **more):
    return examples.inspection(examples.stack("cross", layers, queries, keys, **more))


def opened(open_view, shown, **patch) -> ViewPage:
    """The matrix of layer 1, head 1."""
    state = opening_state(build(shown).meta) | {"view": "matrix", "layer": 0, "head": 0, "heads": [0], "layers": [0]}
    return open_view(shown, state | patch)


def geometry(view: ViewPage) -> dict:
    return view.root.evaluate("root => root.view.details.matrix.geometry")


def pixels(view: ViewPage, points: list[tuple[float, float]], canvas: str = "cells") -> list[tuple[int, ...]]:
    """Red, green, blue and alpha of points of a canvas."""
    found = view.root.locator(f".matrix .{canvas}").evaluate(
        "(canvas, points) => points.map(([x, y]) =>"
        " [...canvas.getContext('2d').getImageData(Math.floor(x), Math.floor(y), 1, 1).data])",
        points,
    )
    return [tuple(pixel) for pixel in found]


def middle(box: dict, row: float, column: float) -> tuple[float, float]:
    return (box["left"] + (column + 0.5) * box["cellWidth"], box["top"] + (row + 0.5) * box["cellHeight"])


def cells(view: ViewPage, rows: int, columns: int) -> np.ndarray:
    """Places on the colour scale, 0 to 1, of the colours in the middles of all cells."""
    box = geometry(view)
    # Off the middle, where strokes over what is no number would not pass by chance.
    found = pixels(view, [middle(box, row, column) for row in range(rows) for column in range(columns)])
    return on_scale([pixel[:3] for pixel in found]).reshape(rows, columns)


def on_scale(colours) -> np.ndarray:
    """Where colours lie on Plotly's cividis, and that they do."""
    stops = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in sequential.Cividis])
    places = np.linspace(0, 1, 1021)
    table = np.stack([np.interp(places, np.linspace(0, 1, len(stops)), stops[:, i]) for i in range(3)], axis=-1)
    distances = np.linalg.norm(np.array(colours)[:, None] - table[None], axis=-1)
    assert distances.min(axis=1).max() < 3
    return places[distances.argmin(axis=1)]


def at(view: ViewPage, row: float, column: float) -> tuple[float, float]:
    """Where on the page the middle of a cell is."""
    plot = view.root.locator(".matrix .plot").bounding_box()
    x, y = middle(geometry(view), row, column)
    return plot["x"] + x, plot["y"] + y


def point(view: ViewPage, x: float, y: float) -> None:
    view.page.mouse.move(x, y)
    view.wait()


def press(view: ViewPage, x: float, y: float) -> None:
    view.page.mouse.click(x, y)
    view.wait()


def text(view: ViewPage, part: str) -> str:
    return view.root.locator(f".matrix .{part}").inner_text().replace("\u2068", "").replace("\u2069", "")


def number_after(words: str, shown: str) -> float:
    """The number that follows some words. A byte for each weight leaves two digits, of a sum the last one uncertain."""
    return float(re.search(re.escape(words) + r" ?([\d.]+)", shown)[1])


def expected(weights: np.ndarray, scale: str) -> np.ndarray:
    if scale == "linear":
        return weights
    if scale == "log":
        return 1 - np.log(np.maximum(weights, 1e-4)) / np.log(1e-4)
    if scale == "row":
        return weights / weights.max(axis=1, keepdims=True)
    return np.sqrt(weights)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_cells_have_the_colours_of_their_weights(open_view, theme):
    layers = [scores(3), scores(2, seed=1)]
    weights = [softmax(layer) for layer in layers]
    state = {"view": "matrix", "layer": 1, "head": 1, "heads": [1], "layers": [1]}
    shown = inspection(layers)
    view = open_view(shown, opening_state(build(shown).meta) | state, theme=theme)
    for scale in ("linear", "square root", "log", "row"):
        view.change(scale=scale)
        found = cells(view, len(QUERIES), len(KEYS))
        np.testing.assert_allclose(found, expected(weights[1][1], scale), atol=0.02)
    # Head 3 is in the first layer only.
    view.change(scale="linear", heads=[0, 1, 2], layers=[0, 1])
    chosen = np.stack([*weights[0], *weights[1]])
    view.change(combine="mean")
    assert text(view, "title") == "Cross, mean over heads 1 to 3 of layers 1, 2"
    np.testing.assert_allclose(cells(view, len(QUERIES), len(KEYS)), chosen.mean(axis=0), atol=0.01)
    view.change(combine="max")
    assert text(view, "title") == "Cross, maximum over heads 1 to 3 of layers 1, 2"
    np.testing.assert_allclose(cells(view, len(QUERIES), len(KEYS)), chosen.max(axis=0), atol=0.01)


def test_pointing_names_the_pair_and_its_weight(open_view):
    # One weight of 0.83 in row 4, column 3; a matrix that was turned or mirrored would show another one there.
    planted = torch.log((torch.ones(1, 4, 7) * (1 - torch.eye(4, 7)) + 0.001) / 7)
    planted[0, 3] = torch.log(torch.tensor([0.01, 0.02, 0.83, 0.03, 0.04, 0.05, 0.02]))
    weights = softmax(planted)[0]
    view = opened(open_view, inspection([planted]))
    point(view, *at(view, 3, 2))
    assert view.root.evaluate("root => root.view.hover") == {"query": 3, "key": 2}
    assert text(view, "value").startswith("query “Katze” (row 4) → key “cat” (column 3): 0.83 · row sums to 1.00")
    received = number_after("column receives", text(view, "value"))
    assert received == pytest.approx(weights[:, 2].sum(), abs=0.02)
    for row, column in np.ndindex(weights.shape):
        point(view, *at(view, row, column))
        value = float(text(view, "value").split("): ")[1].split(" ")[0].replace("<", "0"))
        assert abs(value - weights[row, column]) <= 0.0075
    view.page.mouse.move(0, 0)
    view.wait()
    assert view.root.evaluate("root => root.view.hover") is None and text(view, "value") == ""


def test_a_row_pointed_at_elsewhere_is_framed(open_view):
    view = opened(open_view, inspection([scores()]))
    box = geometry(view)
    edge = [(middle(box, 2, column)[0], box["top"] + 2 * box["cellHeight"]) for column in range(7)]
    inside = [middle(box, 2, column) for column in range(7)]
    assert all(pixel[3] == 0 for pixel in pixels(view, edge + inside, "marks"))
    view.hover({"query": 2})
    assert all(pixel[3] > 0 for pixel in pixels(view, edge, "marks"))
    assert all(pixel[3] == 0 for pixel in pixels(view, inside, "marks"))
    assert text(view, "value") == "query “Die” (row 3) sums to 1.00"
    view.hover({"stack": "cross", "layer": 0, "head": 1})
    assert all(pixel[3] == 0 for pixel in pixels(view, edge, "marks"))


def bar_lengths(view: ViewPage, side: str, count: int) -> np.ndarray:
    """Lengths of the bars of sums, as shares of the longest."""
    box = geometry(view)
    lengths = []
    for place in range(count):
        x, y = middle(box, place, place)
        strip = box[f"{side}Strip"]
        steps = range(int(strip["size"]))
        points = [(x, strip["top"] + step) if side == "column" else (strip["left"] + step, y) for step in steps]
        lengths.append(sum(pixel[3] > 0 for pixel in pixels(view, points)))
    return np.array(lengths) / strip["size"]


def test_bars_are_the_sums_of_columns_and_of_what_is_pinned(open_view):
    values = scores()
    weights = softmax(values)[0]
    view = opened(open_view, inspection([values]))
    received = weights.sum(axis=0)
    np.testing.assert_allclose(bar_lengths(view, "column", 7), received / received.max(), atol=0.05)
    np.testing.assert_allclose(bar_lengths(view, "row", 4), np.ones(4), atol=0.05)
    largest = number_after("what a key receives in all (largest", text(view, "sums"))
    assert largest == pytest.approx(received.max(), abs=0.02)
    strip = geometry(view)["columnStrip"]
    plot = view.root.locator(".matrix .plot").bounding_box()
    for column in (1, 6):
        point(view, at(view, 0, column)[0], plot["y"] + strip["top"] + 3)
        words = f"key “{KEYS[column]}” (column {column + 1}) receives"
        assert number_after(words, text(view, "value")) == pytest.approx(received[column], abs=0.02)
    view.change(pinnedQueries=[1, 3], pinnedKeys=[2])
    given = weights[[1, 3]].sum(axis=0)
    np.testing.assert_allclose(bar_lengths(view, "column", 7), given / given.max(), atol=0.05)
    np.testing.assert_allclose(bar_lengths(view, "row", 4), weights[:, 2] / weights[:, 2].max(), atol=0.05)
    rows = number_after("what pinned rows 2, 4 give to each column (largest", text(view, "sums"))
    column = number_after("what pinned column 3 gets from each row (largest", text(view, "sums"))
    assert (rows, column) == (pytest.approx(given.max(), abs=0.02), pytest.approx(weights[:, 2].max(), abs=0.01))


def test_words_and_hidden_tokens_leave_rows_that_sum_to_1(open_view):
    values = scores()
    weights = softmax(values)[0]
    words = {"query_special": (0,), "key_special": (0, 6), "key_words": (0, 1, 2, 2, 3, 4, 5)}
    view = opened(open_view, inspection([values], **words), mergeWords=True, hideSpecial=True, scale="linear")
    kept = weights[1:, 1:6]
    merged = np.stack([kept[:, 0], kept[:, 1] + kept[:, 2], kept[:, 3], kept[:, 4]], axis=1)
    merged /= merged.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(cells(view, 3, 4), merged, atol=0.015)
    for row in range(3):
        point(view, *at(view, row, 1))
        gone = round(100 * (1 - kept[row].sum()))
        assert text(view, "value").startswith(f"query “{QUERIES[row + 1]}” (row {row + 1}) → key “cats” (column 2): ")
        assert "row sums to 1.00" in text(view, "value")
        assert any(f"{gone + off} % of it went to hidden tokens" in text(view, "value") for off in (-1, 0, 1))


def test_a_click_pins_a_cell_a_row_or_a_column_and_lets_it_go(open_view):
    view = opened(open_view, inspection([scores()]))
    box = geometry(view)
    plot = view.root.locator(".matrix .plot").bounding_box()
    press(view, *at(view, 2, 5))
    assert view.state["pinnedCell"] == [2, 5]
    view.page.mouse.move(0, 0)
    view.wait()
    x, y = middle(box, 2, 5)
    assert pixels(view, [(box["left"] + 5 * box["cellWidth"], y)], "marks")[0][3] > 0
    assert pixels(view, [(x, y)], "marks")[0][3] == 0
    assert text(view, "value").startswith("query “Die” (row 3) → key “the” (column 6)")
    press(view, plot["x"] + box["left"] - 12, at(view, 1, 0)[1])
    assert view.state["pinnedQueries"] == [1]
    press(view, at(view, 0, 4)[0], plot["y"] + box["top"] - 8)
    assert view.state["pinnedKeys"] == [4]
    press(view, *at(view, 2, 5))
    press(view, plot["x"] + box["left"] - 12, at(view, 1, 0)[1])
    press(view, at(view, 0, 4)[0], plot["y"] + box["top"] - 8)
    assert (view.state["pinnedCell"], view.state["pinnedQueries"], view.state["pinnedKeys"]) == (None, [], [])


def test_a_second_tap_pins(open_view):
    view = opened(open_view, inspection([scores()]))
    plot = view.root.locator(".matrix .plot")
    x, y = at(view, 1, 3)
    where = {"clientX": x, "clientY": y, "pointerType": "touch", "bubbles": True}

    def tap() -> None:
        plot.dispatch_event("pointerdown", where)
        plot.dispatch_event("click", where)
        view.wait()

    tap()
    assert view.state["pinnedCell"] is None
    assert text(view, "value").startswith("query “Die” (row 2) → key “##s” (column 4)")
    tap()
    assert view.state["pinnedCell"] == [1, 3]


def test_keys_move_a_cursor_and_pin(open_view):
    values = scores()
    row, column = np.unravel_index(softmax(values)[0].argmax(), (4, 7))
    view = opened(open_view, inspection([values]))
    view.root.locator(".matrix .plot").focus()
    view.press("ArrowDown")
    hover = "root => root.view.hover"
    assert view.root.evaluate(hover) == {"query": row, "key": column}
    view.press("Control+Home")
    assert view.root.evaluate(hover) == {"query": 0, "key": 0}
    view.press("ArrowUp", "ArrowDown", "ArrowDown", "ArrowRight")
    assert view.root.evaluate(hover) == {"query": 2, "key": 1}
    live = view.root.locator(".matrix [aria-live]").inner_text().replace("\u2068", "").replace("\u2069", "")
    assert live.startswith("query “Die” (row 3) → key “the” (column 2)")
    view.press("End", "Enter")
    assert view.state["pinnedCell"] == [2, 6] and view.state["layer"] == 0
    view.press("Escape")
    assert view.root.evaluate(hover) is None and view.state["pinnedCell"] == [2, 6]


def test_what_is_not_a_number_is_grey_and_named(open_view):
    values = scores()
    values[0, 1] = torch.nan
    view = opened(open_view, inspection([values]))
    box = geometry(view)
    found = pixels(view, [(box["left"] + x, middle(box, 1, 0)[1]) for x in range(2, int(box["cellsWidth"]))])
    assert all(red == green == blue for red, green, blue, _ in found)
    assert GREY in {pixel[:3] for pixel in found} and len({pixel[:3] for pixel in found}) > 1
    assert text(view, "note") == "7 of 28 weights are not a number (grey, hatched)."
    point(view, *at(view, 1, 3))
    assert "(column 4): not a number · row sums to not a number" in text(view, "value")
    on_scale([pixels(view, [middle(box, 0, column)])[0][:3] for column in range(7)])


def test_one_token_and_odd_tokens(open_view):
    one = examples.inspection(examples.stack("self", [torch.zeros(1, 1, 1)], ("the",), ("the",)))
    view = opened(open_view, one)
    np.testing.assert_allclose(cells(view, 1, 1), [[1]], atol=0.01)
    point(view, *at(view, 0, 0))
    assert text(view, "value").startswith("query “the” (row 1) → key “the” (column 1): 1.00")
    odd = opened(open_view, examples.odd(), head=0)
    column = examples.ODD_TOKENS.index("<img src=x onerror=alert(1)>")
    point(odd, *at(odd, 2, column))
    assert text(odd, "value").startswith(
        f"query “Die” (row 3) → key “<img␣src=x␣onerror=alert(1)>” (column {column + 1}): "
    )
    assert odd.root.locator("img").count() == 0


def test_a_cell_of_a_small_picture_is_the_largest_of_a_block(open_view, monkeypatch):
    # Of the open head, as many cells as fit.
    monkeypatch.setattr(payload, "MAX_BYTES", 100)
    monkeypatch.setattr(payload, "POOLED_BYTES", 10)
    tokens = tuple(f"t{number}" for number in range(21))
    values = scores(1, 21, 21)
    weights = softmax(values)[0]
    view = opened(open_view, inspection([values], tokens, tokens))
    starts = [place * 21 // 10 for place in range(11)]
    blocks = [(slice(*starts[i : i + 2]), slice(*starts[j : j + 2])) for i in range(10) for j in range(10)]
    largest = np.array([weights[block].max() for block in blocks]).reshape(10, 10)
    np.testing.assert_allclose(cells(view, 10, 10), np.sqrt(largest), atol=0.01)
    assert text(view, "note").startswith("A cell is the largest of about 2 × 2 weights")
    point(view, *at(view, 1, 7))
    words = "queries “t2” to “t3” (rows 3 to 4) → keys “t14” to “t15” (columns 15 to 16):"
    assert number_after(words, text(view, "value")) == pytest.approx(largest[1, 7], abs=0.01)


def test_large_matrices_come_closer(open_view):
    tokens = tuple(f"t{number}" for number in range(160))
    values = scores(1, 160, 160)
    weights = softmax(values)[0]
    view = opened(open_view, inspection([values], tokens, tokens))
    whole = view.root.get_by_role("button", name="whole")
    assert not whole.is_visible()
    small = geometry(view)["cellWidth"]
    x, y = at(view, 120, 40)
    view.page.mouse.move(x, y)
    view.page.keyboard.down("Control")
    for _ in range(6):
        view.page.mouse.wheel(0, -100)
    view.page.keyboard.up("Control")
    view.page.wait_for_function("document.getElementById('view').view.details.matrix.area.rows < 60")
    view.wait()
    area = view.root.evaluate("root => root.view.details.matrix.area")
    assert geometry(view)["cellWidth"] > 2 * small
    assert area["row"] <= 120 < area["row"] + area["rows"] and area["column"] <= 40 < area["column"] + area["columns"]
    part = weights[area["row"] :, area["column"] :][:5, :5]
    np.testing.assert_allclose(cells(view, 5, 5), np.sqrt(part), atol=0.01)
    whole.click()
    view.wait()
    assert geometry(view)["cellWidth"] == small


def test_where_there_are_more_weights_than_pixels_the_largest_is_seen(open_view):
    size = 400
    tokens = tuple(f"t{number}" for number in range(size))
    values = scores(1, size, size)
    # Single large weights, which every other way to shrink a picture would lose.
    places = [(3, 1), (57, 399), (200, 201), (398, 0)]
    for row, column in places:
        values[0, row, column] = 14
    weights = softmax(values)[0]
    shown = inspection([values], tokens, tokens)
    view = open_view(shown, opening_state(build(shown).meta) | {"view": "matrix"}, width=390)
    box = geometry(view)
    across, down = round(box["cellsWidth"]), round(box["cellsHeight"])
    assert across < size
    small = np.zeros((down, across))
    for row, column in np.ndindex(weights.shape):
        into = row * min(down, size) // size, column * across // size
        small[into] = max(small[into], weights[row, column])
    rows = [row * down // size for row, _ in places]
    points = [(box["left"] + x + 0.5, box["top"] + y + 0.5) for y in rows for x in range(across)]
    found = on_scale([pixel[:3] for pixel in pixels(view, points)]).reshape(len(rows), across)
    np.testing.assert_allclose(found, np.sqrt(small[rows]), atol=0.02)
