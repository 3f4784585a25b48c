"""Models of one's own in a real browser: opened by typing, masked, given an image, and harmless."""

import json
import shutil
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import running_app
from tests.browser.driver import PATIENCE
from transformer_core import zoo

pytestmark = pytest.mark.browser

OWN = "Your own model"


def link(folder, **query) -> str:
    return "/?" + urlencode({"model": OWN, "own": folder} | query)


def test_a_folder_is_opened_by_typing_its_name_and_a_word_is_masked(open_app, tiny_checkpoints):
    app = open_app()
    app.page.get_by_label("Model", exact=True).click()
    app.page.get_by_role("option", name=OWN).click()
    expect(app.page.get_by_text("Nothing is loaded before")).to_be_visible(timeout=PATIENCE)
    box = app.page.get_by_label("Folder, or name on the Hugging Face hub")
    box.fill("/nowhere")
    box.press("Enter")
    expect(app.page.get_by_text("There is no folder /nowhere")).to_be_visible(timeout=PATIENCE)
    box.fill(str(tiny_checkpoints["masked"]))
    box.press("Enter")
    expect(app.page.get_by_text("a BertForMaskedLM, guesses")).to_be_visible(timeout=PATIENCE)
    text = app.page.get_by_label("Your text", exact=True)
    text.fill("The cat sees the cat.")
    text.press("Enter")
    app.page.get_by_role("button", name="cat · 5").click()
    labels = ["[CLS]", "the", "cat", "sees", "the", "[MASK]", ".", "[SEP]"]
    expect(app.heatmap.locator(".x2tick text")).to_have_text(labels, timeout=PATIENCE)
    expect(app.page.get_by_text("Probabilities: mask 1")).to_be_visible(timeout=PATIENCE)
    # The link restores model, text and mask.
    again = open_app(app.page.url.removeprefix(app.server))
    expect(again.heatmap.locator(".x2tick text")).to_have_text(labels, timeout=PATIENCE)


def test_the_attention_of_a_clicked_patch_lies_on_an_uploaded_image(open_app, tiny_checkpoints, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (48, 48, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "noise.png")
    app = open_app(link(tiny_checkpoints["image"], layer=2, head=3))
    app.page.get_by_test_id("stFileUploader").locator("input").set_input_files(tmp_path / "noise.png")
    expect(app.page.get_by_text("now the model looks at noise.png")).to_be_visible(timeout=PATIENCE)
    app.wait()
    stack = zoo.load(str(tiny_checkpoints["image"]), "cpu").inspect(Image.open(tmp_path / "noise.png")).stacks["self"]
    picture = app.page.locator(".st-key-picture .js-plotly-plot")
    on_class = stack.weights(1, 2)[0, 1:].sum()
    expect(app.readout).to_contain_text(f"class gives {on_class:.3f} of its attention", timeout=PATIENCE)
    expect(picture).to_have_count(1, timeout=PATIENCE)
    query = stack.query_tokens.index("row 3, column 2")
    # Patches are 8 pixels a side.
    app.click_point(picture, (12, 20))
    expect(app.readout).to_contain_text("row 3, column 2", timeout=PATIENCE)
    weights = stack.weights(1, 2)[query].numpy()
    expect(app.readout).to_contain_text(f"gives {weights[1:].sum():.3f} of its attention")
    shown = picture.evaluate("plot => plot.calcdata[0][0].z.map(row => Array.from(row))")
    np.testing.assert_allclose(np.ravel(shown), weights[1:], atol=1e-6)
    assert "query=" in app.page.url


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_from_a_hostile_model_do_nothing(open_app, tiny_checkpoints, tmp_path, theme):
    folder = tmp_path / "hostile"
    shutil.copytree(tiny_checkpoints["classifier"], folder)
    config = json.loads((folder / "config.json").read_text())
    names = ["<img src=x onerror=alert(1)>", "</div><script>alert(2)</script>", "**b** $x$ [l](javascript:alert(3))"]
    (folder / "config.json").write_text(json.dumps(config | {"id2label": dict(enumerate(names))}))
    app = open_app(link(folder, text="<img src=y onerror=alert(4)> <b>cat</b>"), theme=theme)
    app.expect_charts(3)
    assert app.answer.inner_text() in names
    assert app.page.locator("img[src=x], img[src=y], .headlight-answer script, .headlight-answer strong").count() == 0
    bars = app.page.locator(".st-key-predictions .ytick text")
    assert all(any(name.startswith(text.rstrip("…")) for name in names) for text in bars.all_text_contents())
    assert app.contrast(bars.first) >= 4.5


def test_a_phone_is_wide_enough_for_every_family(open_app, tiny_checkpoints):
    for family in ("causal", "masked", "image"):
        app = open_app(link(tiny_checkpoints[family], text="The cat sleeps"), width=390, height=844)
        app.expect_charts(2 + (family != "masked"))
        assert app.overflow()[0] == 0
        if family == "masked":
            # Five labels that would run into each other.
            assert "rotate(-45" in app.heatmap.locator(".x2tick text").first.get_attribute("transform")


def test_a_trained_model_fits_a_laptop(open_app, tiny_checkpoints):
    text = "The animal did not cross the street because it was too tired."
    app = open_app(link(tiny_checkpoints["embedding"], text=text))
    app.expect_charts(2)
    assert len(app.row_labels()) == 15
    assert app.overflow() == (0, 0)


def test_a_server_for_others_opens_only_what_it_was_started_to_open(open_app, tiny_checkpoints, tmp_path):
    public = "--server.address=0.0.0.0"
    with running_app(tmp_path / "closed.txt", public) as closed:
        app = open_app(link(tiny_checkpoints["encoder"]), server=closed)
        expect(app.answer).to_be_visible(timeout=PATIENCE)
        expect(app.page.get_by_test_id("stAlert")).to_contain_text("--allow-hub")
        assert "BertModel" not in app.page.inner_text("body")
        app.page.goto("about:blank")
    with running_app(tmp_path / "open.txt", public, "--", "--allow-local-models") as opened:
        app = open_app(link(tiny_checkpoints["encoder"]), server=opened)
        expect(app.page.get_by_text("a BertModel, turns each token")).to_be_visible(timeout=PATIENCE)
        app.expect_charts(2)
        app.page.goto("about:blank")
