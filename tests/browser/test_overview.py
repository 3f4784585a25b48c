"""The thumbnails of all heads: their pixels, beside Plotly's cividis of NumPy's weights, and what opens a head."""

import base64
import io
import re

import numpy as np
import plotly.colors
import pytest
import torch
from PIL import Image
from playwright.sync_api import Locator, expect

from tests.browser.view_pages import ViewPage
from tests.inspection import examples
from transformer_core.inspection import Inspection

pytestmark = pytest.mark.browser

LAYERS, HEADS = 2, 3
QUERIES = ("[CLS]", "the", "cat", "the", "[SEP]")
KEYS = ("[CLS]", "der", "Kater", "der", "jagt", "die", "Katze", "[SEP]")
ACCENT = (194, 65, 12)
YELLOW = (254, 232, 56)
"""Cividis at 1."""


def random_scores(layers: int, heads: int, queries: int, keys: int, seed: int = 3) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(heads, queries, keys, generator=random) * 2 for _ in range(layers)]


def softmax(scores: list[torch.Tensor]) -> np.ndarray:
    """(layer, head, query, key), in double precision."""
    exponentials = np.exp(torch.stack(scores).double().numpy())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def scores() -> list[torch.Tensor]:
    return random_scores(LAYERS, HEADS, len(QUERIES), len(KEYS))


@pytest.fixture(scope="module")
def weights(scores) -> np.ndarray:
    return softmax(scores)


@pytest.fixture(scope="module")
def sent(weights) -> np.ndarray:
    """The weights as a browser has them: their square roots in 255 steps."""
    return (np.round(254 * np.sqrt(weights)) / 254) ** 2


@pytest.fixture
def view(open_view, scores) -> ViewPage:
    """Two layers of three heads, opened at layer 2, head 1."""
    special = {"query_special": (0, 4), "key_special": (0, 7)}
    return open_view(examples.inspection(examples.stack("cross", scores, QUERIES, KEYS, **special)))


def encoder_decoder():
    """Encoder 3 x 2 heads over 6 tokens, decoder and cross 2 x 2 over 2."""
    source, target = "abcdef", "xy"
    return examples.inspection(
        examples.stack("encoder", random_scores(3, 2, 6, 6), source, source),
        examples.stack("decoder", random_scores(2, 2, 2, 2), target, target),
        examples.stack("cross", random_scores(2, 2, 2, 6), target, source),
    )


def pixels(view: ViewPage, canvas: str = "picture") -> np.ndarray:
    """(row, column, RGBA) of the thumbnails, or of the "marks" over them, as the screen has them."""
    uri = view.root.locator(f".overview .{canvas}").evaluate("canvas => canvas.toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))).convert("RGBA"))


def runs(filled: np.ndarray) -> list[slice]:
    """Where the true ones are, run after run."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], filled.astype(int), [0]])))
    return [slice(*edge) for edge in edges.reshape(-1, 2).tolist()]


def boxes(picture: np.ndarray) -> list[list[tuple[slice, slice]]]:
    """Rows and columns of each thumbnail: what lies apart in the picture, band below band."""
    opaque = picture[..., 3] > 0
    return [[(band, columns) for columns in runs(opaque[band].any(0))] for band in runs(opaque.any(1))]


def cells(thumbnail: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The colour in the middle of each cell."""
    down = ((np.arange(rows) + 0.5) * thumbnail.shape[0] / rows).astype(int)
    across = ((np.arange(columns) + 0.5) * thumbnail.shape[1] / columns).astype(int)
    return thumbnail[down][:, across, :3].astype(int)


def cividis(values: np.ndarray) -> np.ndarray:
    colours = plotly.colors.sample_colorscale("Cividis", values.ravel().tolist())
    return np.array([plotly.colors.unlabel_rgb(colour) for colour in colours]).reshape(*values.shape, 3)


def assert_maps(view: ViewPage, values: np.ndarray) -> None:
    """The thumbnails of all heads, (layer, head, query, key), show these values from 0 to 1."""
    picture = pixels(view)
    found = boxes(picture)
    assert [len(band) for band in found] == [values.shape[1]] * values.shape[0]
    for band, layer in zip(found, values, strict=True):
        for box, head in zip(band, layer, strict=True):
            assert np.abs(cells(picture[box], *head.shape) - cividis(head)).max() <= 2


def text(view: ViewPage) -> str:
    return without_isolates(view.root.locator(".overview .named").inner_text())


def without_isolates(text: str) -> str:
    return text.replace("\u2068", "").replace("\u2069", "")


def marks(view: ViewPage) -> Locator:
    return view.root.locator(".overview .marks")


def point(view: ViewPage, box: tuple[slice, slice]) -> dict[str, int]:
    """The middle of a thumbnail within the canvas."""
    rows, columns = box
    return {"x": (columns.start + columns.stop) // 2, "y": (rows.start + rows.stop) // 2}


def point_at(view: ViewPage, box: tuple[slice, slice]) -> None:
    marks(view).hover(position=point(view, box))
    view.wait()


def click(view: ViewPage, box: tuple[slice, slice], *modifiers: str) -> None:
    marks(view).click(position=point(view, box), modifiers=modifiers)
    view.wait()


def is_outlined(view: ViewPage, box: tuple[slice, slice]) -> bool:
    """Whether the outline of the open head is left of a thumbnail. That of a chosen one is thinner."""
    return has_accent(view, box, 2)


def is_chosen(view: ViewPage, box: tuple[slice, slice]) -> bool:
    """Whether an outline of any width is left of a thumbnail."""
    return has_accent(view, box, 1)


def has_accent(view: ViewPage, box: tuple[slice, slice], away: int) -> bool:
    """Whether the marks have the accent so many pixels left of a thumbnail."""
    rows, columns = box
    beside = pixels(view, "marks")[(rows.start + rows.stop) // 2, columns.start - away]
    return beside[3] > 200 and np.abs(beside[:3].astype(int) - ACCENT).max() <= 3


def test_pixels_are_cividis_of_the_weights_on_every_scale(view, sent):
    assert_maps(view, np.sqrt(sent))
    view.change(scale="linear")
    assert_maps(view, sent)
    view.change(scale="log")
    assert_maps(view, np.clip(1 + np.log10(sent) / 4, 0, 1))
    view.change(scale="row")
    assert_maps(view, sent / sent.max(axis=-1, keepdims=True))
    assert view.root.locator(".overview .legend").inner_text().split("\n")[-1] == "share of the row's largest"
    view.change(scale="square root", hideSpecial=True)
    shown = sent[..., 1:4, 1:7]
    assert_maps(view, np.sqrt(shown / shown.sum(axis=-1, keepdims=True)))


def test_the_head_under_the_pointer_is_named_with_its_strongest_pair(view, weights):
    found = boxes(pixels(view))
    for layer, head in [(0, 2), (1, 1)]:
        point_at(view, found[layer][head])
        query, key = np.unravel_index(weights[layer, head].argmax(), weights[layer, head].shape)
        start = f"Cross, layer {layer + 1}, head {head + 1}: strongest “{QUERIES[query]}” → “{KEYS[key]}” "
        assert text(view).startswith(start)
        assert abs(float(text(view).removeprefix(start)) - weights[layer, head].max()) < 0.011
        assert view.root.evaluate("root => root.view.hover") == {"stack": "cross", "layer": layer, "head": head}
    view.page.mouse.move(1, 1)
    view.wait()
    assert text(view).startswith("Cross, layer 2, head 1:")
    view.hover({"stack": "cross", "layer": 0, "head": 1})
    assert text(view).startswith("Cross, layer 1, head 2:")


def test_hovering_leaves_the_thumbnails_and_a_new_scale_does_not(view):
    stained = """canvas => {
        const context = canvas.getContext("2d");
        context.fillStyle = "rgb(255, 0, 0)";
        context.fillRect(0, 0, 1, 1);
    }"""
    view.root.locator(".overview .picture").evaluate(stained)
    point_at(view, boxes(pixels(view)[1:])[0][0])
    view.change(layer=0)
    assert tuple(pixels(view)[0, 0]) == (255, 0, 0, 255)
    view.change(scale="linear")
    assert pixels(view)[0, 0, 3] == 0


def test_how_thumbnails_are_drawn_can_be_set_whatever_is_open(view):
    menu = view.root.locator(".menu.display")
    view.root.get_by_role("button", name="Display").click()
    scale, share = menu.get_by_role("combobox"), menu.get_by_role("slider")
    for drawing in ("lines", "matrix", "product"):
        view.change(view=drawing, overview="maps")
        expect(scale).to_be_visible()
        view.change(overview="lines")
        expect(share).to_be_visible()
    view.change(view="lines")
    expect(scale).to_be_hidden()
    view.change(view="matrix", overview="maps")
    expect(share).to_be_hidden()


def test_clicks_open_a_head_and_choose_several(view):
    found = boxes(pixels(view))
    assert is_outlined(view, found[1][0])
    click(view, found[0][2])
    assert (view.state["layer"], view.state["head"], view.state["heads"], view.state["layers"]) == (0, 2, [2], [0])
    view.page.mouse.move(1, 1)
    view.wait()
    assert [[is_outlined(view, box) for box in band] for band in found] == [[False, False, True], [False] * 3]
    click(view, found[1][0], "Control")
    assert (view.state["head"], view.state["heads"], view.state["layers"]) == (2, [0, 2], [0, 1])
    click(view, found[0][2], "Shift")
    assert (view.state["head"], view.state["heads"], view.state["layers"]) == (0, [0], [0, 1])
    click(view, found[0][0], "Control")
    assert (view.state["layer"], view.state["layers"]) == (1, [1])
    click(view, found[1][0], "Control")
    assert (view.state["layer"], view.state["heads"], view.state["layers"]) == (1, [0], [1])
    # A plain click opens one head alone, of the chosen ones too.
    view.change(heads=[0, 1, 2], layers=[0, 1])
    click(view, found[1][1])
    assert (view.state["head"], view.state["heads"], view.state["layers"]) == (1, [1], [1])


def test_what_is_joined_is_outlined_where_it_is_drawn(view):
    def chosen() -> list[list[bool]]:
        return [[is_chosen(view, box) for box in band] for band in boxes(pixels(view))]

    view.change(view="matrix", combine="mean", heads=[0, 1], layers=[0, 1])
    assert chosen() == [[True, True, False]] * 2
    # Lines are of the open layer, whatever the matrix joins.
    view.change(view="lines")
    assert chosen() == [[False] * 3, [True, True, False]]


def test_keys_lead_through_all_stacks_and_open(open_view):
    view = open_view(encoder_decoder())

    def label() -> str:
        return without_isolates(marks(view).get_attribute("aria-label")).partition(":")[0]

    view.page.keyboard.press("Tab")
    while not marks(view).evaluate("canvas => canvas === document.activeElement"):
        view.page.keyboard.press("Tab")
    view.wait()
    assert label() == "Cross, layer 2, head 1"
    steps = {
        "ArrowUp": "Cross, layer 1, head 1",
        "End": "Cross, layer 1, head 2",
        "Home": "Cross, layer 1, head 1",
        "ArrowLeft": "Decoder, layer 1, head 2",
        "ArrowDown": "Decoder, layer 2, head 2",
        "ArrowRight": "Cross, layer 2, head 1",
    }
    for key, name in steps.items():
        view.press(key)
        assert label() == name
    view.press("ArrowUp", "ArrowUp")
    assert label() == "Decoder, layer 2, head 1"
    assert text(view).startswith("Decoder, layer 2, head 1: strongest")
    assert view.state["stack"] == "cross"
    view.press("Enter")
    assert (view.state["stack"], view.state["layer"], view.state["head"]) == ("decoder", 1, 0)


def test_keys_go_on_from_the_open_head_where_another_inspection_lacks_theirs(open_view):
    def of(layers: int) -> Inspection:
        return examples.inspection(examples.stack("self", random_scores(layers, HEADS, 4, 4), QUERIES[:4], QUERIES[:4]))

    view = open_view(of(3))
    view.change(layer=0, layers=[0])
    marks(view).focus()
    view.press("ArrowDown", "ArrowDown")
    assert marks(view).get_attribute("aria-label").startswith("Self, layer 3, head 1:")
    view.show(of(2))
    assert marks(view).get_attribute("aria-label").startswith("Self, layer 1, head 1: strongest")


def test_small_thumbnails_keep_the_largest_weight(open_view):
    tokens = [f"t{number}" for number in range(200)]
    planted = [torch.zeros(8, 200, 200) for _ in range(4)]
    planted[2][5, 131, 77] = 12
    view = open_view(examples.inspection(examples.stack("self", planted, tokens, tokens)))
    picture = pixels(view)
    found = boxes(picture)
    peaks = np.argwhere(np.abs(picture[..., :3].astype(int) - YELLOW).max(axis=-1) <= 3)
    rows, columns = found[2][5]
    height, width = rows.stop - rows.start, columns.stop - columns.start
    assert height < 100
    planted_at = [(height, 131), (width, 77)]
    # A pixel stands for the tokens from its start to the next one's.
    row, column = (np.searchsorted(np.arange(size) * 200 // size, at, side="right") - 1 for size, at in planted_at)
    assert peaks.tolist() == [[rows.start + row, columns.start + column]]
    note = view.root.locator(".overview .note").inner_text()
    ratio = re.fullmatch(r"A cell shows the largest of about ([\d.]+) × \1 weights\.", note)
    assert float(ratio[1]) == pytest.approx(200 / height, abs=0.05)
    point_at(view, found[2][5])
    assert text(view) == "Self, layer 3, head 6: strongest “t131” → “t77” 1.00"


def test_lines_go_from_query_to_key_in_the_colour_of_their_head(open_view):
    attends = [torch.eye(5)[order] * 30 for order in ([0, 1, 2, 3, 4], [4] * 5)]
    view = open_view(examples.inspection(examples.stack("self", [torch.stack(attends)], "abcde", "abcde")))
    view.change(overview="lines")
    picture = pixels(view)
    straight, fan = (picture[box] for box in boxes(picture)[0])
    ground = straight[0, 0]
    middle = straight[:, straight.shape[1] // 2]
    assert len(runs(np.abs(middle.astype(int) - ground).max(axis=-1) > 20)) == 5
    colour = straight[np.abs(middle.astype(int) - ground).max(axis=-1).argmax(), straight.shape[1] // 2, :3]
    assert np.abs(colour.astype(int) - (0x33, 0x22, 0x88)).max() <= 40, colour
    ends = np.abs(fan.astype(int) - ground).max(axis=-1) > 20
    assert len(runs(ends[:, 1])) == 5
    assert len(runs(ends[:, -2])) == 1


def test_stacks_keep_their_own_layers_and_make_one_square_in_blocks(open_view):
    view = open_view(encoder_decoder())
    found = boxes(pixels(view))
    assert sum(len(band) for band in found) == 3 * 2 + 2 * 2 + 2 * 2
    view.root.get_by_role("radio", name="Blocks").click()
    view.wait()
    assert view.state["arrangement"] == "blocks"
    picture = pixels(view)
    opaque = picture[..., 3] > 0
    first_row, first_column = runs(opaque.any(1))[0], runs(opaque.any(0))[0]
    # 6 tokens of 8 are the encoder's: above right of its map is nothing.
    encoder = runs(opaque[first_row.start])[0]
    size = encoder.stop - encoder.start
    below = runs(opaque[:, encoder.start])[1]
    assert below.start - first_row.start == pytest.approx(size, abs=2)
    assert below.stop - below.start == pytest.approx(size / 3, abs=2)
    assert not opaque[first_row.start : first_row.start + size, encoder.stop : encoder.start + size * 8 // 6].any()
    assert first_column.start == encoder.start
    cross = (below, slice(encoder.start, encoder.stop))
    click(view, cross)
    assert (view.state["stack"], view.state["layer"], view.state["head"]) == ("cross", 0, 0)
    click(view, (slice(first_row.start, first_row.start + size), slice(encoder.start, encoder.stop)))
    assert (view.state["stack"], view.state["layer"], view.state["head"]) == ("encoder", 0, 0)
    # The third layer has an encoder only.
    assert runs(opaque[:, encoder.start])[-1].stop - runs(opaque[:, encoder.start])[-1].start == pytest.approx(
        size, abs=2
    )


def test_layers_of_other_head_counts_leave_gaps(open_view):
    layers = [torch.zeros(heads, 3, 3) for heads in (2, 5, 1)]
    view = open_view(examples.inspection(examples.stack("self", layers, "abc", "abc")))
    found = boxes(pixels(view))
    assert [len(band) for band in found] == [2, 5, 1]
    assert found[0][1][1] == found[1][1][1]
    assert view.root.get_by_role("radio", name="Blocks").count() == 0


def test_many_heads_scroll_in_their_place_and_one_head_stays_small(open_view):
    many = open_view(examples.inspection(examples.stack("self", [torch.zeros(32, 2, 2)] * 48, "ab", "ab")))
    found = boxes(pixels(many))
    assert [len(band) for band in found] == [32] * 48
    assert min(columns.stop - columns.start for _, columns in found[0]) >= 10
    scroll = many.root.locator(".overview .scroll")
    heights = scroll.evaluate("each => [each.scrollHeight, each.clientHeight, each.scrollTop, each.scrollWidth]")
    assert heights[0] > heights[1]
    assert heights[2] > 0, "the last layer is open"
    assert many.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    # Numbers of heads stay at the upper edge.
    assert pixels(many, "marks")[:35, :, 3].any()
    many.change(layer=0)
    assert scroll.evaluate("each => each.scrollTop") == 0
    one = open_view(examples.inspection(examples.stack("self", [torch.zeros(1, 1, 1)], "a", "a")))
    ((rows, columns),) = boxes(pixels(one))[0]
    assert 40 < rows.stop - rows.start == columns.stop - columns.start < 130


def test_weights_that_are_not_numbers_are_named_and_have_no_colour(open_view):
    layers = [torch.zeros(2, 3, 3), torch.zeros(2, 3, 3)]
    layers[0][1] = torch.nan
    layers[1][0, 2] = torch.nan
    view = open_view(examples.inspection(examples.stack("self", layers, "abc", "abc")))

    def greys(box: tuple[slice, slice]) -> np.ndarray:
        colours = pixels(view)[box][..., :3].astype(int)
        return (colours == colours[..., :1]).all(axis=-1)

    found = boxes(pixels(view))
    assert greys(found[0][1]).all()
    assert len(np.unique(pixels(view)[found[0][1]][..., 0])) == 2, "stripes"
    assert not greys(found[0][0]).any()
    third = (found[1][0][0].stop - found[1][0][0].start) // 3
    assert greys(found[1][0])[2 * third + 1 :].all()
    assert not greys(found[1][0])[: 2 * third].any()
    point_at(view, found[0][1])
    assert text(view) == "Self, layer 1, head 2: not numbers (NaN)"
    point_at(view, found[1][0])
    assert text(view).endswith("0.33, others are not numbers (NaN)")
    view.change(overview="lines")
    assert greys(found[0][1]).all()


def test_the_description_names_the_strongest_pair_of_each_layer(view, weights):
    said = without_isolates(view.root.evaluate("root => root.view.overview.describe()"))
    start, *layers = re.split(r": |; ", said.removesuffix("."))
    assert start == "Cross, the strongest of each layer"
    for index, (part, layer) in enumerate(zip(layers, weights, strict=True)):
        head, query, key = np.unravel_index(layer.argmax(), layer.shape)
        pair = f"strongest “{QUERIES[query]}” → “{KEYS[key]}”"
        assert part.startswith(f"layer {index + 1}, head {head + 1} {pair}")


def test_a_narrow_dark_window_shows_the_same(open_view, scores, sent):
    inspection = examples.inspection(examples.stack("cross", scores, QUERIES, KEYS))
    view = open_view(inspection, width=390, height=800, theme="dark")
    assert_maps(view, np.sqrt(sent))
    assert view.overflow() == 0
