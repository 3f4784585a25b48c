"""Figures that leave the view as SVG and PNG: read back, beside NumPy on the model's own weights."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image
from plotly.colors import sample_colorscale

from tests.browser.view_pages import ViewPage
from tests.inspection import examples
from transformer_core.view.payload import build
from transformer_core.view.state import opening_state

pytestmark = pytest.mark.browser

QUERIES = ("<s>", "Die", "Die", "</script><b>")
KEYS = ("<s>", "the", "cat", "שלום", "the", "&amp;")
HEADS = 3
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def scores() -> torch.Tensor:
    return torch.randn(HEADS, len(QUERIES), len(KEYS), generator=torch.Generator().manual_seed(3)) * 1.5


def softmax(scores: torch.Tensor) -> np.ndarray:
    exponentials = np.exp(scores.double().numpy())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def opened(open_view, scores: torch.Tensor, queries=QUERIES, keys=KEYS, **patch) -> ViewPage:
    shown = examples.inspection(examples.stack("cross", [scores], queries, keys))
    return open_view(shown, opening_state(build(shown).meta) | patch)


def saved(view: ViewPage, form: str, folder: Path, what: str = "This drawing") -> Path:
    """The file that the menu saves."""
    view.root.get_by_role("button", name="Save", exact=True).click()
    with view.page.expect_download() as download:
        view.root.get_by_title(f"Save as {form}: {what}").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    view.page.keyboard.press("Escape")
    return path


def texts(figure: ElementTree.Element, name: str) -> list[str]:
    return [each.text for each in figure.iter(f"{SVG}text") if each.get("class") == name]


def group(figure: ElementTree.Element, name: str) -> ElementTree.Element:
    return next(each for each in figure.iter(f"{SVG}g") if each.get("class") == name)


def colours(weights: np.ndarray) -> np.ndarray:
    """Cividis at the square root of each weight, as Plotly has it."""
    names = sample_colorscale("cividis", np.sqrt(weights).ravel().tolist())
    return np.array([[float(value) for value in re.findall(r"[\d.]+", name)[:3]] for name in names])


@pytest.mark.parametrize(
    ("combine", "fold"), [("head", lambda maps: maps[0]), ("mean", lambda maps: maps.mean(axis=0))]
)
def test_a_matrix_as_svg_has_every_cell_and_token(open_view, scores, tmp_path, combine, fold):
    view = opened(open_view, scores, view="matrix", combine=combine, heads=[0, 1, 2])
    path = saved(view, "SVG", tmp_path)
    figure = ElementTree.parse(path).getroot()
    cells = list(group(figure, "cells"))
    fills = np.array([[int(value) for value in re.findall(r"\d+", cell.get("fill"))] for cell in cells])
    np.testing.assert_allclose(fills, colours(fold(softmax(scores))), atol=4)
    places = {(float(cell.get("y")), float(cell.get("x"))) for cell in cells}
    assert len(places) == len(cells) == len(QUERIES) * len(KEYS)
    assert texts(figure, "query") == list(QUERIES) and texts(figure, "key") == list(KEYS)
    caption = " ".join(texts(figure, "caption"))
    for words in ("a-model", "0123456789ab", "The cat, “the” cat.", "Die Katze"):
        assert words in caption
    assert ("Cross, layer 1, head 1." if combine == "head" else "mean over heads 1 to 3 of layer 1") in caption
    assert "query (row): German" in path.read_text() and "key (column): English" in path.read_text()
    assert path.name.startswith("headlight-a-model-cross-matrix-")


def test_lines_as_svg_are_the_strongest_edges_of_the_chosen_heads(open_view, scores, tmp_path):
    view = opened(open_view, scores, view="lines", heads=[0, 2], share=0.5)
    figure = ElementTree.parse(saved(view, "SVG", tmp_path)).getroot()
    for head in (0, 2):
        ranked = -np.sort(-softmax(scores)[head], axis=1)
        expected = int(((np.cumsum(ranked, axis=1) - ranked) < 0.5).sum())
        assert len(group(figure, f"head-{head + 1}")) == expected
    assert texts(figure, "query") == list(QUERIES) and texts(figure, "key") == list(KEYS)
    assert "heads 1, 3." in " ".join(texts(figure, "caption"))
    view.change(pinnedQueries=[1])
    figure = ElementTree.parse(saved(view, "SVG", tmp_path)).getroot()
    starts = {line.get("y1") for head in (1, 3) for line in group(figure, f"head-{head}")}
    assert len(starts) == 1


def test_a_png_is_sharp_and_has_the_cells_colours(open_view, tmp_path):
    planted = torch.full((1, 2, 3), -30.0)
    planted[0, 0, 2] = planted[0, 1, 0] = 0
    view = opened(open_view, planted, ("a", "b"), ("x", "y", "z"), view="matrix")
    figure = ElementTree.parse(saved(view, "SVG", tmp_path)).getroot()
    picture = Image.open(saved(view, "PNG", tmp_path)).convert("RGB")
    assert picture.size == tuple(3 * int(figure.get(side)) for side in ("width", "height"))
    cells = group(figure, "cells")
    left, top = (float(value) for value in re.findall(r"[\d.]+", cells.get("transform")))
    size = float(cells[0].get("width"))
    margin = 16
    for row, column, weight in ((0, 0, 0), (0, 2, 1), (1, 0, 1), (1, 1, 0)):
        place = [3 * (margin + start + (step + 0.5) * size) for start, step in ((left, column), (top, row))]
        found = picture.getpixel((int(place[0]), int(place[1])))
        np.testing.assert_allclose(found, colours(np.array([float(weight)]))[0], atol=4)


def test_all_heads_as_svg(open_view, scores, tmp_path):
    view = opened(open_view, scores)
    figure = ElementTree.parse(saved(view, "SVG", tmp_path, "All heads")).getroot()
    thumbnails = [each for each in figure.iter(f"{SVG}g") if each.get("class") == "thumbnail"]
    assert [each.find(f"{SVG}title").text for each in thumbnails] == [f"Cross, layer 1, head {n}" for n in (1, 2, 3)]
    assert all(each.find(f"{SVG}image").get("href").startswith("data:image/png;base64,") for each in thumbnails)


def test_without_products_there_is_a_sentence_and_no_file(open_view, scores):
    view = opened(open_view, scores, view="product")
    view.root.get_by_role("button", name="Save", exact=True).click()
    view.root.get_by_title("Save as SVG: This drawing").click()
    view.root.get_by_text("There are no products to save.").wait_for()


def test_weights_that_are_no_numbers_are_hatched(open_view, tmp_path):
    view = open_view(examples.broken(), None)
    view.change(view="matrix", head=1, heads=[1])
    figure = ElementTree.parse(saved(view, "SVG", tmp_path)).getroot()
    fills = [cell.get("fill") for cell in group(figure, "cells")]
    assert fills[6:] == ["url(#hatch)"] * 3 and "url(#hatch)" not in fills[:6]
