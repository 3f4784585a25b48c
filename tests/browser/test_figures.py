"""Saved figures: what is in the files, beside NumPy on the model's own weights and Plotly's colours."""

import base64
import dataclasses
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import expect

from tests.browser.test_matrix import KEYS, QUERIES, inspection, on_scale, opened, scores, softmax
from tests.browser.test_overview import encoder_decoder
from tests.browser.view_pages import ViewPage
from tests.inspection import examples
from transformer_core.view import payload
from transformer_core.view.payload import build
from transformer_core.view.state import opening_state

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
SHARPNESS = 3


def save(view: ViewPage, what: str, form: str) -> tuple[str, bytes]:
    """Name and content of the file that the menu saves."""
    panel = view.root.locator(".menu.save")
    if not panel.is_visible():
        view.root.get_by_role("button", name="Save", exact=True).click()
    with view.page.expect_download() as download:
        panel.get_by_title(f"Save as {form.upper()}: {what}").click()
    view.page.keyboard.press("Escape")
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def saved_svg(view: ViewPage, what: str = "This drawing") -> ElementTree.Element:
    return ElementTree.fromstring(save(view, what, "svg")[1])


def texts(figure: ElementTree.Element, name: str) -> list[str]:
    return ["".join(text.itertext()) for text in figure.iter(f"{SVG}text") if text.get("class") == name]


def caption(figure: ElementTree.Element) -> str:
    return " ".join(texts(figure, "caption"))


def group(figure: ElementTree.Element, name: str) -> ElementTree.Element:
    return next(each for each in figure.iter(f"{SVG}g") if each.get("class") == name)


def cells(figure: ElementTree.Element, rows: int, columns: int) -> np.ndarray:
    """Places on the colour scale, 0 to 1, of all cells, put where they are drawn."""
    drawn = list(group(figure, "cells"))
    assert len(drawn) == rows * columns
    places = on_scale([[int(number) for number in re.findall(r"\d+", cell.get("fill"))] for cell in drawn])
    found = np.full((rows, columns), np.nan)
    for cell, place in zip(drawn, places, strict=True):
        row, column = (
            round(float(cell.get(at)) / float(cell.get(side))) for at, side in (("y", "height"), ("x", "width"))
        )
        found[row, column] = place
    return found


def strongest(weights: np.ndarray, share: float) -> set[tuple[int, int]]:
    """Of each row the largest weights, until they make up the share of it."""
    found = set()
    for row, values in enumerate(weights):
        order = np.argsort(-values)
        count = int(np.searchsorted(np.cumsum(values[order]), share * values.sum())) + 1
        found |= {(row, int(column)) for column in order[:count]}
    return found


def test_a_matrix_has_its_cells_tokens_and_caption(open_view):
    weights = softmax(scores())
    view = opened(open_view, inspection([scores()]))
    name, content = save(view, "This drawing", "svg")
    assert name == "headlight-a-model-cross-matrix-layer-1-head-1.svg"
    figure = ElementTree.fromstring(content)
    np.testing.assert_allclose(cells(figure, 4, 7), np.sqrt(weights[0]), atol=0.02)
    assert texts(figure, "query") == list(QUERIES) and texts(figure, "key") == list(KEYS)
    shown = [*figure.itertext()]
    assert "query (row): German" in shown and "key (column): English" in shown
    assert caption(figure).startswith("Cross, layer 1, head 1. Text: The cat, “the” cat. Answer: Die Katze")
    assert "Model: a-model, weights 0123456789ab, float32 on cpu" in caption(figure)
    assert figure.find(f"{SVG}title").text == "Cross, layer 1, head 1."
    # Pins: a row, a column, a cell. Their outlines lie on the rows and columns that they name.
    view.change(pinnedQueries=[2], pinnedKeys=[5], pinnedCell=[3, 1], scale="linear")
    figure = saved_svg(view)
    np.testing.assert_allclose(cells(figure, 4, 7), weights[0], atol=0.02)
    left, top = map(float, re.findall(r"[\d.]+", group(figure, "cells").get("transform")))
    side = float(next(iter(group(figure, "cells"))).get("width"))
    outlines = [
        [
            round((float(pin.get(at)) - start) / side)
            for at, start in (("y", top), ("x", left), ("height", 0), ("width", 0))
        ]
        for pin in group(figure, "pins")
    ]
    assert outlines == [[2, 0, 1, 7], [0, 5, 4, 1], [3, 1, 1, 1]]


def test_a_mean_and_what_filters_leave(open_view):
    shown = inspection([scores()], query_special=(0,), key_special=(0, 6))
    view = opened(open_view, shown, heads=[0, 1, 2], combine="mean", scale="linear", hideSpecial=True)
    figure = saved_svg(view)
    kept = softmax(scores())[:, 1:, 1:6]
    mean = (kept / kept.sum(axis=-1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(cells(figure, 3, 5), mean, atol=0.02)
    assert texts(figure, "key") == list(KEYS[1:6])
    assert "Cross, mean over heads 1 to 3 of layer 1. Special tokens are hidden" in caption(figure)


def test_lines_are_the_strongest_edges_of_the_chosen_heads(open_view):
    weights = softmax(scores())
    view = opened(open_view, inspection([scores()]), view="lines", heads=[0, 2])
    figure = saved_svg(view)
    middles = {}
    for name in ("query", "key"):
        labels = [each for each in figure.iter(f"{SVG}text") if each.get("class") == name]
        middles[name] = np.array([float(each.get("y")) - 4 for each in labels])
        assert (np.diff(middles[name]) == 20).all()
    # Seven keys, and four queries in the middle beside them.
    assert middles["query"].mean() == middles["key"].mean()
    dots, shifts = {}, {}
    for head in (0, 2):
        lines = list(group(figure, f"head-{head + 1}"))
        ends = np.array([[float(line.get("y1")), float(line.get("y2"))] for line in lines])
        places = [np.abs(middles[name][:, None] - ends[:, i]).argmin(0) for i, name in enumerate(middles)]
        pairs = {(int(row), int(column)) for row, column in zip(*places, strict=True)}
        assert len(lines) == len(pairs) and pairs == strongest(weights[head], 0.7)
        dots[head] = group(figure, f"head-{head + 1}").get("stroke")
        beside = ends - np.stack([middles["query"][places[0]], middles["key"][places[1]]], axis=1)
        (shifts[head],) = np.unique(beside.round(3))
    assert dots[0] != dots[2]
    # Lines of two heads between the same tokens lie side by side.
    assert shifts[2] - shifts[0] >= 2 and shifts[0] == -shifts[2]
    legend = ["".join(text.itertext()) for text in group(figure, "legend").iter(f"{SVG}text")]
    assert legend == ["head 1", "head 3"]
    assert [line.get("stroke") for line in group(figure, "legend").iter(f"{SVG}line")] == list(dots.values())
    assert texts(figure, "query") == list(QUERIES) and texts(figure, "key") == list(KEYS)
    assert "layer 1, heads 1, 3. Lines: the strongest weights of each query, up to 70 % of its row." in caption(figure)
    view.change(pinnedQueries=[3], heads=[0])
    lines = list(group(saved_svg(view), "head-1"))
    assert len(lines) == len([edge for edge in strongest(weights[0], 0.7) if edge[0] == 3])


def test_lines_are_of_the_heads_alone_whose_weights_are_here(open_view, monkeypatch):
    # Room for one whole head, which is the open one; of the other there is a small picture, whose cells are no tokens.
    monkeypatch.setattr(payload, "MAX_BYTES", 400)
    monkeypatch.setattr(payload, "POOLED_BYTES", 64)
    names = tuple(map(str, range(20)))
    shown = examples.inspection(examples.stack("self", [torch.eye(20).log().repeat(2, 1, 1)], names, names))
    view = opened(open_view, shown, view="lines", head=1, heads=[0, 1])
    figure = saved_svg(view)
    assert len(group(figure, "head-2").findall(f"{SVG}line")) == 20
    assert [each.get("class") for each in figure.iter(f"{SVG}g") if "head-" in each.get("class", "")] == ["head-2"]
    assert caption(figure).startswith("Self, layer 1, head 2. ")
    assert "There are no lines for layer 1, head 1: of a text this long, this file holds" in caption(figure)


def test_tokens_are_literal_text(open_view):
    shown = examples.odd()
    view = open_view(shown, opening_state(build(shown).meta) | {"stack": "cross", "view": "matrix", "layer": 1})
    keys = texts(saved_svg(view), "key")
    assert len(keys) == len(examples.ODD_TOKENS)
    assert {"</script>", "&amp;", "שלום", "👩\u200d🔬", ",", "##x"} <= set(keys)
    assert "<img␣src=x␣onerror=…" in keys
    view.change(view="lines")
    assert "<img␣src=x␣onerror=aler…" in texts(saved_svg(view), "key")


def test_a_text_with_characters_that_xml_forbids_can_be_saved(open_view):
    shown = examples.inspection(
        examples.stack("cross", [scores()], QUERIES, KEYS), text="one\x01two\x1b </title> " + "長" * 200
    )
    view = opened(open_view, shown)
    figure = saved_svg(view)
    assert "one\ufffdtwo\ufffd </title>" in caption(figure)
    # A text without blanks goes on in the next line.
    lines = [line for line in texts(figure, "caption") if "長" in line]
    assert len(lines) > 1 and "".join(lines).count("長") == 200
    Image.open(io.BytesIO(save(view, "This drawing", "png")[1])).load()


def test_a_png_shows_the_cells_where_the_svg_has_them(open_view):
    weights = softmax(scores())
    view = opened(open_view, inspection([scores()]), scale="linear")
    figure = saved_svg(view)
    name, content = save(view, "This drawing", "png")
    assert name.endswith("-matrix-layer-1-head-1.png")
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    assert picture.size == tuple(SHARPNESS * int(figure.get(side)) for side in ("width", "height"))
    left, top = map(float, re.findall(r"[\d.]+", group(figure, "cells").get("transform")))
    side, margin = float(next(iter(group(figure, "cells"))).get("width")), 16
    colours = [
        picture.getpixel(
            tuple(
                int(SHARPNESS * (margin + start + (place + 0.5) * side))
                for start, place in ((left, column), (top, row))
            )
        )
        for row, column in np.ndindex(4, 7)
    ]
    np.testing.assert_allclose(on_scale(colours).reshape(4, 7), weights[0], atol=0.02)
    assert picture.getpixel((2, 2)) == (255, 255, 255)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_of_one_token_is_whole_and_for_paper(open_view, theme):
    one = inspection([torch.zeros(1, 1, 1)], queries="a", keys="b")
    view = opened(open_view, one) if theme == "light" else open_view(one, None, theme=theme)
    view.change(view="matrix")
    picture = np.array(Image.open(io.BytesIO(save(view, "This drawing", "png")[1])).convert("L"))
    # Nothing is cut off: the margins are white all around.
    edge = 30
    for strip in (picture[:edge], picture[-12:], picture[:, :edge], picture[:, -edge:]):
        assert strip.min() == 255
    assert picture.min() < 60


def test_many_tokens_are_one_picture_with_every_weight(open_view):
    weights = softmax(scores(1, 5, 70))
    view = opened(open_view, inspection([scores(1, 5, 70)], [*"abcde"], [f"k{i}" for i in range(70)]), scale="linear")
    figure = saved_svg(view)
    (picture,) = group(figure, "cells")
    kind, content = picture.get("href").split(",")
    assert kind == "data:image/png;base64" and "pixelated" in picture.get("style")
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(content))).convert("RGB"))
    assert pixels.shape[:2] == (5, 70)
    np.testing.assert_allclose(on_scale(pixels.reshape(-1, 3)).reshape(5, 70), weights[0], atol=0.02)


def test_all_heads_of_layers_that_differ(open_view):
    view = opened(open_view, inspection([scores(3), scores(2, seed=1)]), layer=1, head=1)
    name, content = save(view, "All heads", "svg")
    assert name == "headlight-a-model-all-heads.svg"
    figure = ElementTree.fromstring(content)
    thumbnails = [each for each in figure.iter(f"{SVG}g") if each.get("class") == "thumbnail"]
    heads = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    assert [each.find(f"{SVG}title").text for each in thumbnails] == [f"Cross, layer {i}, head {j}" for i, j in heads]
    # The open head alone is framed.
    assert [each.find(f"{SVG}rect") is not None for each in thumbnails] == [False] * 4 + [True]
    assert "All heads of Cross." in caption(figure)


def thumbnails(figure: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """The pictures of heads, by what they are of."""
    groups = [each for each in figure.iter(f"{SVG}g") if each.get("class") == "thumbnail"]
    return {each.find(f"{SVG}title").text: each.find(f"{SVG}image") for each in groups}


def pixels_of(picture: ElementTree.Element) -> np.ndarray:
    content = base64.b64decode(picture.get("href").partition(",")[2])
    return np.array(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def test_all_heads_are_as_filters_leave_them(open_view):
    shown = inspection([scores()], query_special=(0,), key_special=(0, 6))
    figure = saved_svg(opened(open_view, shown, scale="linear", hideSpecial=True), "All heads")
    kept = softmax(scores())[:, 1:, 1:6]
    for head, weights in enumerate(kept / kept.sum(axis=-1, keepdims=True)):
        pixels = pixels_of(thumbnails(figure)[f"Cross, layer 1, head {head + 1}"])
        np.testing.assert_allclose(on_scale(pixels.reshape(-1, 3)).reshape(3, 5), weights, atol=0.02)
    assert "All heads of Cross. Special tokens are hidden, and rows sum to 1 without them." in caption(figure)


def test_all_heads_are_lines_where_the_overview_has_lines(open_view):
    straight, fan = (torch.eye(5)[order] * 30 for order in ([0, 1, 2, 3, 4], [4] * 5))
    shown = inspection([torch.stack([straight, fan])], "abcde", "abcde")
    view = open_view(shown, opening_state(build(shown).meta) | {"overview": "lines"}, theme="dark")
    figure = saved_svg(view, "All heads")
    dark = [pixels_of(each).min(axis=-1) < 215 for each in thumbnails(figure).values()]
    ends = [
        [int(np.diff(at.astype(int), prepend=0).clip(0).sum()) for at in (each[:, 2], each[:, -3])] for each in dark
    ]
    assert ends == [[5, 5], [5, 1]]
    assert all(each[0].sum() == 0 for each in dark), "the ground is paper"
    assert "Lines: the strongest weights of each query, up to 70 % of its row." in caption(figure)
    assert not [each for each in figure.iter(f"{SVG}g") if each.get("class") == "colour-bar"]


def test_all_heads_are_blocks_where_the_overview_has_blocks(open_view):
    shown = encoder_decoder()
    figure = saved_svg(open_view(shown, opening_state(build(shown).meta) | {"arrangement": "blocks"}), "All heads")
    found = thumbnails(figure)
    places = {}
    for name in ("Encoder", "Cross", "Decoder"):
        box = found[f"{name}, layer 2, head 2"]
        places[name] = [float(box.get(each)) for each in ("x", "y", "width", "height")]
    (x, y, width, height), cross, decoder = places.values()
    # 6 of 8 tokens are the encoder's; a pixel of white lies between two parts.
    side = (width + 1) * 8 / 6
    np.testing.assert_allclose(cross, [x, y + height + 1, width, side - height - 1], atol=0.01)
    np.testing.assert_allclose(decoder, [x + width + 1, y + height + 1, side - width - 1, side - height - 1], atol=0.01)
    assert "Decoder, layer 3, head 1" not in found and "Encoder, layer 3, head 1" in found
    assert "In each square the encoder is above" in caption(figure)


def test_a_caption_names_filters_only_where_they_have_done_something(open_view):
    tokens = ("[CLS]", *(f"patch {number}" for number in range(6)))
    special = {"query_special": (0,), "key_special": (0,)}
    whole = examples.stack("encoder", [torch.zeros(2, 7, 7)], tokens, tokens, **special)
    shown = examples.inspection(whole, text="cat.png", image=examples.image().image)
    state = opening_state(build(shown).meta) | {"hideSpecial": True, "mergeWords": True}
    view = open_view(shown, state | {"view": "image"})
    assert "hidden" not in caption(saved_svg(view)) and "merged" not in caption(saved_svg(view))
    view.change(view="matrix")
    assert "Special tokens are hidden" in caption(saved_svg(view)) and "merged" not in caption(saved_svg(view))


def test_what_cannot_be_shown_is_said(open_view):
    shown = examples.broken()
    view = open_view(shown, opening_state(build(shown).meta) | {"view": "matrix", "layer": 0, "head": 1, "heads": [1]})
    figure = saved_svg(view)
    fills = [cell.get("fill") for cell in group(figure, "cells")]
    assert fills[6:] == ["url(#hatch)"] * 3 and not any("hatch" in fill for fill in fills[:6])
    assert "Hatched cells are not numbers." in caption(figure)
    view.change(view="lines")
    figure = saved_svg(view)
    assert "Rows with weights that are not numbers have no lines (head 2)." in caption(figure)
    assert "Grey cells are not numbers." in caption(saved_svg(view, "All heads"))
    view.change(view="product")
    view.root.get_by_role("button", name="Save", exact=True).click()
    view.root.get_by_title("Save as SVG: This drawing").click()
    expect(view.root.locator(".menu.save .said")).to_have_text("There are no products to save.")


def test_an_image_has_its_patches_over_it(open_view):
    shown = examples.image()
    view = open_view(shown, opening_state(build(shown).meta) | {"view": "image"})
    figure = saved_svg(view)
    (picture,) = figure.iter(f"{SVG}image")
    assert picture.get("href").startswith("data:image/")
    patches = [each for each in figure.iter(f"{SVG}rect") if each.get("opacity")]
    # All weights are equal, so each is the largest: the top of the scale.
    assert len(patches) == 6 and {patch.get("fill") for patch in patches} == {"rgb(254 232 56)"}
    assert "1 is the largest weight on a patch, 0.14" in [*figure.itertext()]
    # The first of seven tokens keeps nearly all for itself.
    scores = torch.zeros(1, 7, 7)
    scores[0, :, 0] = 9
    tokens = shown.stacks["encoder"].query_tokens
    of_few = examples.inspection(examples.stack("encoder", [scores], tokens, tokens))
    view.show(dataclasses.replace(of_few, image=shown.image))
    assert "1 is the largest weight on a patch, < 0.01" in [*saved_svg(view).itertext()]


def test_that_a_figure_is_being_saved_can_be_seen_before_it_is_made(open_view):
    view = open_view(examples.odd())
    view.root.get_by_role("button", name="Save", exact=True).click()
    seen = view.root.evaluate(
        """root => new Promise(done => {
            const said = root.querySelector(".menu.save .said"), frames = [];
            // Each frame that is painted before the figure is there.
            const look = () => { frames.push(said.textContent); requestAnimationFrame(look); };
            HTMLAnchorElement.prototype.click = () => done(frames);
            root.querySelector(".menu.save [title^='Save as PNG: This']").click();
            requestAnimationFrame(look);
        })"""
    )
    assert "Saving …" in seen
    expect(view.root.locator(".menu.save .said")).to_have_text("")


@pytest.mark.parametrize(("tokens", "side"), [(130, 7016), (260, None)])
def test_a_large_png_is_as_sharp_as_paper_takes_and_its_tokens_need(open_view, tokens, side):
    """On the longer side it has the pixels of a sheet of A2, at 300 to the inch, or more where tokens need them."""
    keys = [f"word{number}" for number in range(tokens)]
    view = opened(open_view, inspection([torch.zeros(1, 1, tokens)], keys[:1], keys), view="lines")
    width, height = (int(saved_svg(view).get(name)) for name in ("width", "height"))
    picture = Image.open(io.BytesIO(save(view, "This drawing", "png")[1]))
    sharpness = side / height if side else 1.5
    assert picture.size == (int(width * sharpness), int(height * sharpness))
