"""The page that an inspection shows in a notebook: its pictures, its words, its size."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from PIL import Image
from plotly.colors import get_colorscale, sample_colorscale

from tests.inspection import examples
from transformer_core.inspection.notebook import to_html

KNOWN_TAGS = {"div", "b", "bdi", "code", "img"}


class Page(HTMLParser):
    """What a browser makes of the page: its elements and its text."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    @property
    def heads(self) -> list[dict]:
        return [attributes for tag, attributes in self.elements if tag == "img" and "title" in attributes]


def colours(picture: dict) -> np.ndarray:
    """The red, green and blue of a picture's pixels."""
    content = base64.b64decode(picture["src"].removeprefix("data:image/png;base64,"), validate=True)
    return np.array(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def test_a_picture_of_every_head_in_order():
    page = Page(to_html(examples.odd()))
    assert page.open == []
    assert [picture["alt"] for picture in page.heads] == [
        "layer 0, head 0",
        "layer 1, head 0",
        "layer 1, head 1",
        "layer 1, head 2",
        "layer 0, head 0",
    ]


def test_pixels_are_the_weights_in_the_colours_of_the_app():
    inspection = examples.odd()
    for picture, (layer, head) in zip(Page(to_html(inspection)).heads, [(0, 0), (1, 0), (1, 1), (1, 2)], strict=False):
        weights = inspection.stacks["cross"].weights(layer, head).numpy()
        expected = sample_colorscale(get_colorscale("cividis"), np.sqrt(weights).flatten(), colortype="tuple")
        actual = colours(picture)
        assert actual.shape == (*weights.shape, 3)
        # 64 shades: half a step is at most 2.9 of 255 (red rises by 41 over a ninth of the scale), and rounding.
        np.testing.assert_allclose(actual.reshape(-1, 3), np.array(expected) * 255, atol=3.4)


def test_the_title_names_the_strongest_pair():
    scores = torch.zeros(2, 2, 3)
    scores[1, 1, 2] = 50.0
    stack = examples.stack("cross", [torch.zeros(2, 2, 3), scores], ["<s>", "Die"], ["the", "the", "cat"])
    (*_, last) = Page(to_html(examples.inspection(stack))).heads
    assert last["title"].replace("\u2068", "").replace("\u2069", "") == (
        "layer 1, head 1: strongest is “Die” (row 1) → “cat” (column 2), weight 1.000"
    )


def test_it_says_what_was_seen_by_what_and_how_exactly():
    page = Page(to_html(examples.pair()))
    for words in (
        "a-model (weights 0123456789ab, float32 on cpu, PyTorch",
        "second textcd",
        "answerDie Katze",
        "class“yes” 0.750, “<no>” 0.250",
        "noteA note.",
        "at most 1.2e-07 of the largest value",
        "differ from 1 by at most 2.5e-07",
        "square root scale (cividis)",
        "a row is a token that reads (query), a column a token that is read from (key)",
        "self: rows are 4 tokens (German), columns 4 (English).",
        "count from 0",
    ):
        assert words in page.text
    assert len(page.heads) == 2, "the part of a stack is not drawn again"


HOSTILE = (
    *("</script><script>alert(1)</script>\"'", "<img src=x onerror=alert(1)>", "&amp;", "</div></bdi>"),
    *("שלום\u202e", "\x1b[2J\n", "a" * 5000),
)


@pytest.mark.parametrize("odd", HOSTILE)
def test_text_is_never_markup(odd):
    stack = examples.stack(odd, [torch.zeros(1, 1, 1)], [odd], [odd])
    inspection = examples.inspection(stack, text=odd, answer=odd, second_text=odd, notes=(odd,))
    page = Page(to_html(inspection))
    assert page.open == []
    assert {tag for tag, _ in page.elements} == KNOWN_TAGS
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    if odd.isprintable():
        assert page.text.count(odd) == 5
    titles = "".join(picture["title"] for picture in page.heads)
    assert not re.search("[\x00-\x1f\u202a-\u202e]", page.text + titles), "nothing turns or ends the lines around it"
    assert len(titles) < 200


@pytest.mark.parametrize("tokens", [64, 500])
def test_a_page_of_144_heads_stays_under_a_megabyte(tokens):
    random = torch.Generator().manual_seed(0)
    scores = [torch.randn(12, tokens, tokens, generator=random) * 3 for _ in range(12)]
    content = to_html(examples.inspection(examples.stack("self", scores, ["token"] * tokens, ["token"] * tokens)))
    assert len(Page(content).heads) == 144
    assert len(content.encode()) < 1_000_000


def test_a_cell_of_a_long_text_shows_the_largest_weight_of_its_block():
    scores = torch.zeros(1, 100, 200)
    scores[0, 37, 151] = 50.0
    numbers = [str(number) for number in range(200)]
    page = Page(to_html(examples.inspection(examples.stack("cross", [scores], numbers[:100], numbers))))
    (picture,) = page.heads
    pixels = colours(picture)
    bright = np.argwhere(pixels.sum(axis=-1) > pixels.sum(axis=-1).min())
    assert pixels.shape == (48, 48, 3)
    # Block 18 of the rows begins at 18 * 100 / 48 = 37.5, rounded down; block 36 of the columns at 150, and 37 at 154.
    assert bright.tolist() == [[18, 36]]
    assert "the largest of about 2.1\u00a0×\u00a04.2 weights" in page.text


def test_weights_that_are_not_a_number_are_grey():
    first, second = Page(to_html(examples.broken())).heads
    assert (colours(second) == 128).all(axis=-1).tolist() == [[False] * 3] * 2 + [[True] * 3]
    assert not (colours(first) == 128).all(axis=-1).any()
    assert "not a number" in second["title"]


def test_an_image_is_shown_as_the_model_got_it():
    inspection = examples.image()
    page = Page(to_html(inspection))
    (picture,) = [picture for tag, picture in page.elements if tag == "img" and "looked at" in picture["alt"]]
    assert colours(picture).tolist() == inspection.image.pixels.tolist()
    assert "What the model looked at, in 2 x 3 patches" in page.text
    assert "imagecat.png" in page.text


def test_jupyter_finds_it():
    inspection = examples.pair()
    assert inspection._repr_html_() == to_html(inspection)
