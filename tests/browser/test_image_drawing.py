"""What one token reads from an image, laid over its patches."""

import dataclasses

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from tests.browser.view_pages import ViewPage
from tests.inspection import examples
from transformer_core.inspection import Inspection, PatchImage
from transformer_core.view.payload import build
from transformer_core.view.state import opening_state

pytestmark = pytest.mark.browser

ROWS, COLUMNS, FIRST = 2, 3, 1
TOKENS = (
    "[CLS]",
    *(f"row {row + 1}, column {column + 1}" for row in range(ROWS) for column in range(COLUMNS)),
    "extra",
)


@pytest.fixture
def weights() -> np.ndarray:
    random = torch.Generator().manual_seed(3)
    return (torch.randn(len(TOKENS), len(TOKENS), generator=random) * 1.5).softmax(-1).numpy()


def inspection_of(weights: np.ndarray, tokens: tuple[str, ...], grid: tuple[int, int]) -> Inspection:
    """Over a white image, so that a colour laid over it is known."""
    shown = examples.inspection(examples.stack("encoder", [torch.tensor(weights)[None].log()], tokens, tokens))
    return dataclasses.replace(shown, image=PatchImage(np.full((20, 30, 3), 255, dtype=np.uint8), grid, FIRST))


@pytest.fixture
def view(open_view, weights) -> ViewPage:
    shown = inspection_of(weights, TOKENS, (ROWS, COLUMNS))
    view = open_view(shown, opening_state(build(shown).meta) | {"view": "image", "scale": "linear"})
    view.page.wait_for_function("document.getElementById('view').view.details.image.image.naturalWidth === 30")
    view.change(scale="linear")
    return view


def patches(view: ViewPage) -> np.ndarray:
    """Red of the pixels in the middles of the patches: it grows with cividis, and then does not fall."""
    return np.array(
        view.root.locator(".image .patches").evaluate(
            """(canvas, [rows, columns]) => Array.from({length: rows * columns}, (_, i) => {
                const x = (i % columns + 0.5) * canvas.width / columns;
                const y = (Math.floor(i / columns) + 0.5) * canvas.height / rows;
                return [...canvas.getContext("2d").getImageData(Math.floor(x), Math.floor(y), 1, 1).data.slice(0, 3)];
            })""",
            [ROWS, COLUMNS],
        )
    )


def text(view: ViewPage, part: str) -> str:
    return view.root.locator(f".image .{part}").inner_text().replace("\u2068", "").replace("\u2069", "")


def on_page(view: ViewPage, patch: int) -> tuple[float, float]:
    box = view.root.locator(".image .patches").bounding_box()
    row, column = divmod(patch, COLUMNS)
    return box["x"] + (column + 0.5) * box["width"] / COLUMNS, box["y"] + (row + 0.5) * box["height"] / ROWS


def test_the_first_token_reads_and_colours_run_to_its_largest_patch(view, weights):
    assert text(view, "title") == "Encoder, layer 1, head 1: what query “[CLS]” (row 1) reads"
    on_patches = weights[0, FIRST : FIRST + ROWS * COLUMNS]
    share = round(100 * on_patches.sum())
    assert text(view, "share").startswith(
        f"{share} % of the row goes to the 6 patches, {100 - share} % to the 2 tokens that are no patches."
    )
    found = patches(view)
    # Cividis at 1, #fee838, with 0.65 over white.
    np.testing.assert_allclose(found[on_patches.argmax()], 255 + 0.65 * (np.array([0xFE, 0xE8, 0x38]) - 255), atol=2)
    np.testing.assert_array_equal(found[:, 1].argsort(), on_patches.argsort())


def test_a_click_lets_a_patch_read(view, weights):
    x, y = on_page(view, 2)
    view.page.mouse.move(x, y)
    view.wait()
    assert text(view, "value").startswith("patch in row 1, column 3: ")
    assert float(text(view, "value").split(": ")[1]) == pytest.approx(weights[0, 3], abs=0.01)
    assert view.root.evaluate("root => root.view.hover") == {"key": 3}
    view.page.mouse.click(x, y)
    view.page.mouse.move(0, 0)
    view.wait()
    assert view.state["pinnedQueries"] == [3]
    assert text(view, "title").endswith("what query “row 1, column 3” (row 4) reads")
    np.testing.assert_array_equal(patches(view)[:, 1].argsort(), weights[3, 1:7].argsort())
    view.hover({"query": 2})
    assert text(view, "title").endswith("what query “row 1, column 2” (row 3) reads")
    view.hover(None)
    view.page.mouse.click(x, y)
    view.wait()
    assert view.state["pinnedQueries"] == []


def test_keys_choose_a_patch(view):
    view.root.locator(".image .patches").focus()
    view.press("ArrowRight", "ArrowRight", "ArrowDown", "Enter")
    assert view.state["pinnedQueries"] == [FIRST + COLUMNS + 1]
    report = Axe().run(view.page, ".headlight .image").generate_report()
    assert report.startswith("Found 0 "), report
    view.press("Escape")
    assert view.root.evaluate("root => root.view.hover") is None


def test_a_patch_under_the_pointer_that_another_model_lacks_is_let_go(view):
    picture = view.root.locator(".image .patches").bounding_box()
    view.page.mouse.move(picture["x"] + picture["width"] - 5, picture["y"] + picture["height"] - 5)
    view.wait()
    assert text(view, "value").startswith("patch in row 2, column 3: ")
    view.show(inspection_of(np.full((2, 2), 0.5, dtype=np.float32), ("[CLS]", "row 1, column 1"), (1, 1)))
    assert text(view, "value") == ""
    assert text(view, "share").startswith("50 % of the row")


def test_patches_are_told_apart_where_there_is_little_room(view):
    view.change(view="lines")
    shown = view.root.locator(".lines .tokens.key .label").all_inner_texts()
    assert shown == ["[CLS]", "1,1", "1,2", "1,3", "2,1", "2,2", "2,3", "extra"]
    assert view.root.locator(".lines .tokens.query .token").nth(3).get_attribute("title") == "row 1, column 3"


def test_where_images_are_read_no_key_is_for_a_text(view):
    view.root.evaluate("({view}) => { view.host.focusText = () => { window.typed = true; }; }")
    view.press("/")
    assert view.page.evaluate("window.typed") is None
    view.press("?")
    keys = view.root.locator("dialog.keys")
    assert "Full screen" in keys.inner_text() and "Type a text" not in keys.inner_text()
