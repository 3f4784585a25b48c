"""What the families ask of a real browser: a digit drawn with the mouse, and another sample."""

from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.viz_app import tiny_families
from transformer_core import zoo
from viz_app import pictures
from viz_app.drawings import picture_of
from viz_app.pictures import digits

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


def ink_in(drawing: str) -> np.ndarray:
    return np.asarray(picture_of(drawing).image) == 0


def test_a_digit_is_drawn_named_linked_and_cleared(open_app, families):
    app = open_app(link(families / "digits-vit", source="Draw"))
    app.expect_text("Until then the model looks at a handwritten 0.")
    paper = app.page.locator(".pad canvas")

    def ink_on_paper() -> list:
        pixels = paper.evaluate("paper => [...paper.getContext('2d').getImageData(0, 0, 32, 32).data]")
        return (np.reshape(pixels, (32, 32, 4))[..., 0] == 0).tolist()

    def stroke(*places: tuple[float, float]) -> None:
        """A line through these places, in shares of the pad."""
        before, box = drawing_in(app.page), app.box(paper)
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
    ink = ink_in(one)
    assert ink[6:26, 14:18].any(axis=1).all() and not ink[:, :12].any() and not ink[:, 20:].any()
    stroke((0.2, 0.3), (0.5, 0.1))
    ink_of_both = ink_in(drawing_in(app.page))
    assert (ink_of_both >= ink).all() and ink_of_both.sum() > ink.sum()
    model = zoo.load(str(families / "digits-vit"), "cpu")
    expect(app.answer).to_have_text(model.inspect(picture_of(drawing_in(app.page)).image).answer)

    # Back goes to the first stroke alone, on the pad as in the answer; the link brings the drawing back.
    app.page.go_back()
    expect(app.answer).to_have_text(model.inspect(picture_of(one).image).answer)
    app.expect_value(ink_on_paper, ink.tolist())
    assert drawing_in(app.page) == one
    app.page.get_by_role("button", name="Clear", exact=True).click()
    app.expect_text("Until then the model looks at your drawing.")
    app.expect_value(lambda: drawing_in(app.page), "")

    # A second finger draws nothing while the first one is down.
    app.wait()
    box = app.box(paper)
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
    ink = ink_in(drawing_in(app.page))
    assert ink[14:18, 14:18].any() and not ink[:, :12].any()


def test_a_file_that_is_no_image_leaves_the_answer_before(open_app, families, tmp_path):
    (tmp_path / "words.png").write_text("no image")
    for name in ("blank.png", "other.bmp"):
        Image.new("L", (8, 8), 255).save(tmp_path / name)
    app = open_app(link(families / "digits-vit", source="Upload"), width=390, height=844)
    answer = app.answer.inner_text()
    unreadable = "no PNG, JPEG or WebP"
    for name, message in (("words.png", unreadable), ("blank.png", "Draw one digit"), ("other.bmp", unreadable)):
        app.page.get_by_test_id("stFileUploader").locator("input").set_input_files(tmp_path / name)
        app.expect_message(message)
        app.wait()
        expect(app.answer).to_have_text(answer)
    app.expect_nothing_too_wide()


def test_why_a_file_is_refused_stands_beside_it(open_app, families, tmp_path):
    (tmp_path / "text.pdf").write_text("no image")
    (tmp_path / "large.png").write_bytes(bytes(pictures.MAX_MEGABYTES * 2**20 + 1))
    app = open_app(link(families / "digits-vit", source="Upload"), width=390, height=844)
    field = app.page.get_by_test_id("stFileUploader")
    for name, reason in (("text.pdf", "are not allowed"), ("large.png", "or smaller")):
        field.locator("input").set_input_files(tmp_path / name)
        said = field.get_by_role("alert").filter(has_text=reason)
        expect(said).to_be_visible()
        # Streamlit leaves one pixel of it, for screen readers.
        app.expect_value(lambda said=said: said.bounding_box()["width"] > 100, True)
        app.expect_nothing_too_wide()
        field.get_by_role("button", name=f"Remove {name}").click()
        expect(said).to_have_count(0)


def test_the_image_is_seen_as_the_model_reads_it(open_app, families):
    app = open_app(link(families / "digits-vit", digit="7"))
    picture = app.page.get_by_alt_text("The image as the model read it: 8 by 8 pixels")
    expect(picture).to_be_visible()
    picture.evaluate("picture => picture.decode()")
    brightness = picture.evaluate(
        """picture => {
            const context = new OffscreenCanvas(96, 96).getContext("2d");
            context.drawImage(picture, 0, 0, 96, 96);
            return Array.from(context.getImageData(0, 0, 96, 96).data).filter((_, i) => i % 4 === 0);
        }"""
    )
    # Twelve by twelve on the screen for each pixel.
    blocks = np.reshape(brightness, (8, 12, 8, 12)).transpose(0, 2, 1, 3).reshape(8, 8, 144)
    assert (blocks.min(axis=-1) == blocks.max(axis=-1)).all()
    np.testing.assert_array_equal(blocks[..., 0], np.asarray(digits()["7"].image.convert("L")))


def test_another_sample_is_one_click_away_and_comes_again_with_its_link(open_app, families):
    app = open_app(link(families / "shakespeare-gpt", text="But, soft!", new=8, temperature=1.2))
    first, address = app.answer.inner_text(), app.page.url
    app.page.get_by_role("button", name="Another sample").click()
    expect(app.answer).not_to_have_text(first)
    expect(app.page).not_to_have_url(address)
    app.wait()
    second = app.answer.inner_text()
    app.page.reload()
    expect(app.answer).to_have_text(second)
    app.page.go_back()
    expect(app.answer).to_have_text(first)
