"""What one token reads from an image in every head of a layer, side by side."""

import dataclasses

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.test_matrix import on_scale
from tests.browser.view_pages import ViewPage
from tests.inspection import examples
from transformer_core.inspection import PatchImage
from transformer_core.view.payload import build
from transformer_core.view.state import opening_state

pytestmark = pytest.mark.browser

ROWS, COLUMNS, FIRST = 2, 3, 1
PATCHES = slice(FIRST, FIRST + ROWS * COLUMNS)
TOKENS = ("[CLS]", *(f"row {row + 1}, column {column + 1}" for row in range(ROWS) for column in range(COLUMNS)))
HEADS = (3, 2, 1)
"""Of each layer."""


@pytest.fixture(scope="module")
def weights() -> list[np.ndarray]:
    random = torch.Generator().manual_seed(5)
    shapes = [(heads, len(TOKENS), len(TOKENS)) for heads in HEADS]
    return [(torch.randn(shape, generator=random) * 1.5).softmax(-1).numpy() for shape in shapes]


@pytest.fixture
def view(open_view, weights) -> ViewPage:
    """Over a white image, so that a colour laid over it is known."""
    scores = [torch.tensor(layer).log() for layer in weights]
    shown = examples.inspection(examples.stack("encoder", scores, TOKENS, TOKENS))
    image = PatchImage(np.full((20, 30, 3), 255, dtype=np.uint8), (ROWS, COLUMNS), FIRST)
    shown = dataclasses.replace(shown, image=image)
    state = opening_state(build(shown).meta) | {"view": "image", "layer": 0, "layers": [0], "scale": "linear"}
    view = open_view(shown, state)
    view.page.wait_for_function("document.getElementById('view').view.details.image.image.naturalWidth === 30")
    view.change(scale="linear")
    return view


def tiles(view: ViewPage):
    return view.root.locator(".image .tile:visible")


def shares(view: ViewPage, head: int) -> np.ndarray:
    """What the colours in the middles of the patches say, without the white below them: from 0 to 1."""
    colours = (
        tiles(view)
        .nth(head)
        .locator("canvas")
        .evaluate(
            """(canvas, [rows, columns]) => Array.from({length: rows * columns}, (_, i) => {
                const x = (i % columns + 0.5) * canvas.width / columns;
                const y = (Math.floor(i / columns) + 0.5) * canvas.height / rows;
                return [...canvas.getContext("2d").getImageData(Math.floor(x), Math.floor(y), 1, 1).data.slice(0, 3)];
            })""",
            [ROWS, COLUMNS],
        )
    )
    return on_scale((np.array(colours) - 0.35 * 255) / 0.65)


def assert_rows(view: ViewPage, layer: np.ndarray, query: int) -> None:
    """Each head's small image has the weights of this query, from 0 to its own largest."""
    expect(tiles(view)).to_have_count(len(layer))
    for head, row in enumerate(layer[:, query, PATCHES]):
        np.testing.assert_allclose(shares(view, head), row / row.max(), atol=0.03)
        number, most = tiles(view).nth(head).inner_text().split(" to ")
        assert number.strip() == str(head + 1)
        assert float(most) == pytest.approx(row.max(), abs=0.006)


def test_every_head_of_the_layer_shows_its_row_of_the_same_token(view, weights):
    assert_rows(view, weights[0], 0)
    caption = view.root.locator(".image .caption")
    assert caption.inner_text().startswith("Layer 1, every head")
    view.change(pinnedQueries=[4])
    assert_rows(view, weights[0], 4)
    view.hover({"query": 2})
    assert_rows(view, weights[0], 2)
    view.hover({"key": 5})
    assert_rows(view, weights[0], 4)
    view.change(layer=1, layers=[1])
    assert_rows(view, weights[1], 4)
    view.change(layer=2, layers=[2])
    expect(caption).to_be_hidden()
    expect(tiles(view)).to_have_count(0)


def test_a_small_image_opens_its_head(view):
    tiles(view).nth(2).click()
    view.wait()
    assert (view.state["head"], view.state["heads"]) == (2, [2])
    assert "layer 1, head 3" in view.root.locator(".image .title").inner_text()
    pressed = [tile.get_attribute("aria-pressed") for tile in tiles(view).all()]
    assert pressed == ["false", "false", "true"]
    report = Axe().run(view.page, ".headlight .image").generate_report()
    assert report.startswith("Found 0 "), report


def test_all_of_it_fits(view):
    """Beside the picture where there is room, below it on a phone."""

    def boxes() -> tuple[dict[str, float], dict[str, float]]:
        return view.root.locator(".image .patches").bounding_box(), tiles(view).last.bounding_box()

    picture, last = boxes()
    assert last["x"] > picture["x"] + picture["width"]
    assert last["y"] + last["height"] <= picture["y"] + picture["height"]
    view.resize(390, 844)
    picture, last = boxes()
    assert last["y"] > picture["y"] + picture["height"]
    assert view.overflow() == 0
