"""What the families ask of a real browser: a digit drawn with the mouse, and another sample."""

from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.driver import PATIENCE
from tests.viz_app import tiny_families
from transformer_core import zoo
from viz_app.drawings import picture_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    folder = tmp_path_factory.mktemp("families")
    tiny_families.save_all(folder)
    return folder


def link(folder, **query) -> str:
    return "/?" + urlencode({"model": "Your own model", "own": folder} | query)


def drawing_in(page) -> str:
    return page.evaluate("new URLSearchParams(location.search).get('drawing') ?? ''")


def test_a_digit_is_drawn_named_linked_and_cleared(open_app, families):
    app = open_app(link(families / "digits-vit", source="Draw"))
    expect(app.page.get_by_text("Until then the model looks at a handwritten 0.")).to_be_visible(timeout=PATIENCE)
    paper = app.page.locator(".pad canvas")
    box = paper.bounding_box()

    def stroke(*places: tuple[float, float]) -> None:
        """A line through these places, in shares of the pad."""
        before = drawing_in(app.page)
        (x, y), *others = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in places]
        app.page.mouse.move(x, y)
        app.page.mouse.down()
        for x, y in others:
            app.page.mouse.move(x, y, steps=3)
        app.page.mouse.up()
        app.page.wait_for_function(
            "before => new URLSearchParams(location.search).get('drawing') !== before", arg=before or None
        )
        app.wait()

    stroke((0.5, 0.1), (0.5, 0.9))
    one = drawing_in(app.page)
    ink = np.asarray(picture_of(one).image) == 0
    assert ink[6:26, 14:18].any(axis=1).all() and not ink[:, :12].any() and not ink[:, 20:].any()
    stroke((0.2, 0.3), (0.5, 0.1))
    ink_of_both = np.asarray(picture_of(drawing_in(app.page)).image) == 0
    assert (ink_of_both >= ink).all() and ink_of_both.sum() > ink.sum()
    model = zoo.load(str(families / "digits-vit"), "cpu")
    expect(app.answer).to_have_text(model.inspect(picture_of(drawing_in(app.page)).image).answer, timeout=PATIENCE)

    # Back goes to the first stroke alone, on the pad as in the answer; the link brings the drawing back.
    app.page.go_back()
    expect(app.answer).to_have_text(model.inspect(picture_of(one).image).answer, timeout=PATIENCE)
    app.wait()
    assert drawing_in(app.page) == one
    pixels = paper.evaluate("paper => [...paper.getContext('2d').getImageData(0, 0, 32, 32).data]")
    np.testing.assert_array_equal(np.reshape(pixels, (32, 32, 4))[..., 0] == 0, ink)
    app.page.get_by_role("button", name="Clear", exact=True).click()
    expect(app.page.get_by_text("Until then the model looks at your drawing.")).to_be_visible(timeout=PATIENCE)
    assert drawing_in(app.page) == ""

    # A second finger draws nothing while the first one is down.
    app.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    app.page.mouse.down()
    paper.evaluate(
        """paper => {
            const {left, bottom} = paper.getBoundingClientRect();
            const second = {pointerId: 77, isPrimary: false, clientX: left + 5, clientY: bottom - 5};
            const coalescedEvents = [new PointerEvent("pointermove", second)];
            paper.dispatchEvent(new PointerEvent("pointermove", {...second, coalescedEvents}));
        }"""
    )
    app.page.mouse.up()
    app.page.wait_for_function("() => new URLSearchParams(location.search).get('drawing')")
    app.wait()
    ink = np.asarray(picture_of(drawing_in(app.page)).image) == 0
    assert ink[14:18, 14:18].any() and not ink[:, :12].any()


def test_a_file_that_is_no_image_leaves_the_answer_before(open_app, families, tmp_path):
    (tmp_path / "words.png").write_text("no image")
    Image.new("L", (8, 8), 255).save(tmp_path / "blank.png")
    app = open_app(link(families / "digits-vit", source="Upload"), width=390, height=844)
    answer = app.answer.inner_text()
    for name, message in (("words.png", "no PNG, JPEG or WebP"), ("blank.png", "Draw one digit")):
        app.page.get_by_test_id("stFileUploader").locator("input").set_input_files(tmp_path / name)
        expect(app.page.get_by_test_id("stAlert")).to_contain_text(message, timeout=PATIENCE)
        app.wait()
        assert app.answer.inner_text() == answer
    assert app.overflow()[0] == 0


def test_another_sample_is_one_click_away_and_comes_again_with_its_link(open_app, families):
    app = open_app(link(families / "shakespeare-gpt", text="But, soft!", new=8, temperature=1.2))
    first, address = app.answer.inner_text(), app.page.url
    app.page.get_by_role("button", name="Another sample").click()
    expect(app.answer).not_to_have_text(first, timeout=PATIENCE)
    app.wait()
    assert app.page.url != address
    second = app.answer.inner_text()
    app.page.reload()
    app.wait()
    assert app.answer.inner_text() == second
    app.page.go_back()
    expect(app.answer).to_have_text(first, timeout=PATIENCE)
