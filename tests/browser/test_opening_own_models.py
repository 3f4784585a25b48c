"""Models of one's own in a real browser: opened by typing, masked, given an image, and harmless."""

import json
import re
import shutil
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import running_app
from transformer_core import zoo

pytestmark = pytest.mark.browser

OWN = "Your own model"


def link(folder, **query) -> str:
    return "/?" + urlencode({"model": OWN, "own": folder} | query)


def test_a_folder_is_opened_by_typing_its_name_and_a_word_is_masked(open_app, tiny_checkpoints):
    app = open_app()
    app.page.get_by_label("Model", exact=True).click()
    app.page.get_by_role("option", name=OWN).click()
    app.expect_text("Nothing is loaded before")
    box = app.page.get_by_label("Folder, or name on the Hugging Face hub")
    box.fill("/nowhere")
    box.press("Enter")
    app.expect_text("There is no folder /nowhere")
    box.fill(str(tiny_checkpoints["masked"]))
    box.press("Enter")
    app.expect_text("a BertForMaskedLM, guesses")
    app.wait()
    text = app.page.get_by_label("Your text", exact=True)
    text.fill("The cat sees the cat.")
    text.press("Enter")
    app.page.get_by_role("button", name="cat · 5").click()
    labels = ["[CLS]", "the", "cat", "sees", "the", "[MASK]", ".", "[SEP]"]
    expect(app.view.get_by_role("listbox").first.get_by_role("option")).to_contain_text(labels)
    app.expect_text("Probabilities: mask 1")
    app.wait()
    # The link restores model, text and mask.
    again = open_app(app.page.url.removeprefix(app.server))
    expect(again.view.get_by_role("listbox").first.get_by_role("option")).to_contain_text(labels)


def test_the_attention_of_a_clicked_patch_lies_on_an_uploaded_image(open_app, tiny_checkpoints, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (48, 48, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "noise.png")
    app = open_app(link(tiny_checkpoints["image"], layer=2, head=3))
    app.page.get_by_test_id("stFileUploader").locator("input").set_input_files(tmp_path / "noise.png")
    app.expect_text("Your image: noise.png")
    app.wait()
    stack = zoo.load(str(tiny_checkpoints["image"]), "cpu").inspect(Image.open(tmp_path / "noise.png")).stacks["self"]
    drawing = app.view.locator(".image")
    on_class = round(float(stack.weights(1, 2)[0, 1:].sum()) * 100)
    expect(drawing.locator(".share")).to_contain_text(f"{on_class} % of the row")
    query = stack.query_tokens.index("row 3, column 2")
    patches = drawing.locator("canvas.patches")
    # The patches take the shape of the image as soon as that is loaded.
    app.expect_value(lambda: app.view.evaluate("root => root.view.details.image.image.complete"), True)
    box = app.box(patches)
    patches.click(position={"x": box["width"] * 1.5 / 4, "y": box["height"] * 2.5 / 4})
    expect(drawing.locator(".title")).to_contain_text("row 3, column 2")
    assert app.state["pinnedQueries"] == [query]
    on_image = round(float(stack.weights(1, 2)[query, 1:].sum()) * 100)
    expect(drawing.locator(".share")).to_contain_text(f"{on_image} % of the row")
    expect(app.page).to_have_url(re.compile(rf"[?&]rows={query + 1}(&|$)"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_from_a_hostile_model_do_nothing(open_app, tiny_checkpoints, tmp_path, theme):
    folder = tmp_path / "hostile"
    shutil.copytree(tiny_checkpoints["classifier"], folder)
    config = json.loads((folder / "config.json").read_text())
    names = ["<img src=x onerror=alert(1)>", "</div><script>alert(2)</script>", "**b** $x$ [l](javascript:alert(3))"]
    (folder / "config.json").write_text(json.dumps(config | {"id2label": dict(enumerate(names))}))
    app = open_app(link(folder, text="<img src=y onerror=alert(4)> <b>cat</b>"), theme=theme)
    app.expect_charts(1)
    app.expect_value(lambda: app.answer.inner_text() in names, True)
    assert app.page.locator("img[src=x], img[src=y], .headlight-answer script, .headlight-answer strong").count() == 0
    bars = app.page.locator(".st-key-predictions .ytick text")
    assert all(any(name.startswith(text.rstrip("…")) for name in names) for text in bars.all_text_contents())
    assert app.contrast(bars.first) >= 4.5


def test_a_phone_is_wide_enough_for_every_family(open_app, tiny_checkpoints):
    for family in ("causal", "masked", "image"):
        app = open_app(link(tiny_checkpoints[family], text="The cat sleeps"), width=390, height=844)
        app.expect_charts(int(family != "masked"))
        app.expect_nothing_too_wide()


def test_a_trained_model_fits_a_laptop(open_app, tiny_checkpoints):
    text = "The animal did not cross the street because it was too tired."
    app = open_app(link(tiny_checkpoints["embedding"], text=text))
    assert len(app.queries) == 15
    app.expect_nothing_too_wide()


def test_a_server_for_others_opens_only_what_it_was_started_to_open(open_app, tiny_checkpoints, tmp_path):
    options = "--server.address=0.0.0.0", "--", "--allow-local-models"
    with running_app(tmp_path / "log.txt", *options) as server:
        app = open_app(link(tiny_checkpoints["encoder"]), server=server)
        app.expect_text("a BertModel, turns each token")
        app.page.goto(server + link("owner/name"))
        app.expect_message("hub names are switched off here")
        app.leave()
