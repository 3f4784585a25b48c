"""A visitor's first minutes with the app, in a real browser and with the bundled model."""

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.viz_app.formula import expected_weights
from transformer_core import zoo
from viz_app.examples import TRANSLATION

MODEL = "tatoeba-en-de"
CAT = "the cat saw the cat"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="session")
def model() -> zoo.InspectableModel:
    return zoo.load(MODEL, "cpu")


@pytest.fixture(scope="session")
def cat(model):
    return model.inspect(CAT)


def assert_shows(app, stack, layer, head, cells=None):
    """Hovering the heatmap gives these weights, every printed digit of them; `layer` and `head` count from 1."""
    weights = stack.weights(layer - 1, head - 1).numpy()
    app.expect_heatmap(weights)
    strongest = np.unravel_index(weights.argmax(), weights.shape)
    rows, columns = weights.shape
    for row, column in cells or [(0, 0), (0, columns - 1), (rows - 1, 0), strongest]:
        query, key, weight = app.hover(int(row), int(column))
        assert query == f"{stack.query_tokens[row]} · position {row + 1}"
        assert key == f"{stack.key_tokens[column]} · position {column + 1}"
        # Another number of threads may change the last bits of what the server computed.
        assert float(weight) == pytest.approx(float(weights[row, column]), rel=1e-6)


def test_it_opens_on_a_translated_example_and_fits_a_laptop(open_app, model):
    app = open_app()
    expect(app.text_box).to_have_value(TRANSLATION.texts[0].text)
    expect(app.answer).to_have_text(model.inspect(TRANSLATION.texts[0].text).answer)
    box = app.readout.bounding_box()
    assert app.overflow()[0] == 0 and box["y"] + box["height"] <= 900


def test_translate_pick_a_head_and_read_its_weights(open_app, cat):
    app = open_app("/?view=matrix&exact=true")
    app.translate(CAT, cat.answer)
    app.chip(5).click()
    app.expect_readout("Cross, layer 3, head 5.")
    app.expect_text("Exact weights: cross, layer 3, head 5")
    assert_shows(app, cat.stacks["cross"], 3, 5)
    app.choose_stack("Encoder")
    app.view.get_by_role("button", name="Previous layer").click()
    app.view.press("ArrowRight")
    app.expect_readout("Encoder, layer 2, head 6.")
    app.expect_text("Exact weights: encoder, layer 2, head 6")
    assert_shows(app, cat.stacks["encoder"], 2, 6)


def test_a_head_on_screen_is_the_papers_formula(open_app, model):
    """Every weight of a row, against softmax(Q K^T / sqrt(d_k)) computed here from the model's own matrices."""
    _, expected = expected_weights(model.trained, CAT, "cross", layer=1, head=2)
    app = open_app("/?text=the+cat+saw+the+cat&stack=cross&layer=2&head=3&exact=true")
    app.expect_readout("Cross, layer 2, head 3.")
    row = 2
    shown = [float(app.hover(row, column)[2]) for column in range(expected.shape[1])]
    np.testing.assert_allclose(shown, expected[row], atol=2e-6)


def test_repeated_words_stay_apart(open_app, cat):
    app = open_app("/?text=the+cat+saw+the+cat&stack=encoder&layer=2&head=3&exact=true")
    stack = cat.stacks["encoder"]
    assert app.column_labels() == app.row_labels() == list(stack.key_tokens) == app.queries
    repeated = [column for column, token in enumerate(stack.key_tokens) if token == "▁cat"]
    assert len(repeated) == 2
    assert_shows(app, stack, 2, 3, [(row, column) for row in (0, 2) for column in repeated])


def test_a_link_restores_the_view(open_app):
    link = f"/?text={CAT.replace(' ', '+')}&stack=decoder&layer=2&head=7&heads=3.7&rows=2&scale=linear&beam=2"
    app = open_app(link)
    app.expect_readout("Decoder, layer 2, ")
    expect(app.text_box).to_have_value(CAT)
    expected = {"stack": "decoder", "layer": 1, "head": 6, "heads": [2, 6], "pinnedQueries": [1], "scale": "linear"}
    app.expect_state(**expected)
    app.page.reload()
    app.wait()
    app.expect_state(**expected)


def test_what_is_done_in_the_view_reaches_the_server_once_it_has_settled(open_app):
    app = open_app("/?stack=encoder&layer=2&head=3")
    sent: list[int] = []
    app.page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(len(frame))))
    app.page.reload()
    app.wait()
    app.let_the_view_settle()
    sent.clear()
    tokens = app.view.get_by_role("listbox").first.get_by_role("option")
    for place in range(tokens.count()):
        tokens.nth(place).hover()
    app.let_the_view_settle()
    assert sent == []
    # Steps that follow each other at once are one message.
    steps = [{"layer": 0, "layers": [0]}, {"layer": 3, "layers": [3]}, {"pinnedQueries": [1]}]
    app.view.evaluate("(root, steps) => { for (const step of steps) root.view.setState(step); }", steps)
    expect(app.page).to_have_url(f"{app.server}/?stack=encoder&head=3&rows=2")
    app.let_the_view_settle()
    assert len(sent) == 1


def test_the_next_example_by_key_and_another_page_and_back(open_app):
    app = open_app("/?stack=encoder&layer=2&head=3&hide=special")
    app.view.press("n")
    expect(app.text_box).to_have_value(TRANSLATION.texts[1].text)
    app.wait()
    app.go_to("Positions")
    app.page.get_by_test_id("stTopNavLink").get_by_text("Attention", exact=True).click()
    app.expect_readout("Encoder, layer 2, head 3.")
    app.expect_state(hideSpecial=True)
    expect(app.text_box).to_have_value(TRANSLATION.texts[1].text)


@pytest.mark.parametrize("title", ["Positions", "Training", "Models"])
def test_a_link_leads_straight_to_a_page(open_app, title):
    app = open_app(f"/{title.lower()}")
    expect(app.page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(app.page.get_by_test_id("stTopNavLink")).to_have_count(4)


def test_schedules_come_with_the_link_and_survive_another_page(open_app):
    app = open_app("/training?curves=256,1000,2.0%3B64,10,1.0")
    legend = app.page.locator("[data-testid=stPlotlyChart]").first.locator(".legendtext")
    names = [
        "d_model 256, warm-up 1,000, scale 2: peak 3.953e-03 at 1,000",
        "d_model 64, warm-up 10: peak 3.953e-02 at 10",
    ]
    expect(legend).to_have_text(names)
    app.go_to("Positions")
    app.go_to("Training")
    expect(legend).to_have_text(names)
    assert "curves=256" in app.page.url


@pytest.mark.parametrize(
    "text", ["<b>bold</b> <script>alert(1)</script>", '<img src=x onerror="alert(1)"> **a** $x$ :red[b]']
)
def test_markup_in_the_text_is_only_text(open_app, model, text):
    app = open_app()
    app.translate(text, model.inspect(text).answer)
    app.choose_stack("Encoder")
    shown = "".join(app.view.get_by_role("option").all_inner_texts()).replace("▁", "")
    assert "<" in shown and ">" in shown
    assert app.view.locator("b, script, img[src=x]").count() == 0
    assert app.page.locator("img[src=x]").count() == 0


def test_an_empty_text_is_asked_for_and_the_next_one_works(open_app, cat):
    app = open_app()
    app.text_box.fill("   ")
    app.text_box.press("Enter")
    app.expect_message("no text")
    expect(app.view).to_have_count(0)
    expect(app.answer).to_have_count(0)
    app.translate(CAT, cat.answer)
    expect(app.page.get_by_test_id("stAlert")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read_in_both_themes(open_app, theme):
    app = open_app("/?exact=true", theme=theme)
    for text in (
        *(app.heatmap.locator(".x2tick text"), app.heatmap.locator(".y2title"), app.answer, app.readout),
        app.view.get_by_role("option").nth(1),
    ):
        assert app.contrast(text.first) >= 4.5
    for title, charts in (("Positions", 4), ("Training", 5), ("Models", len(zoo.available()) + 3)):
        app.go_to(title)
        app.expect_charts(charts)
        assert app.contrast(app.page.locator("[data-testid=stPlotlyChart] .xtick text").first) >= 4.5


def test_a_phone_is_wide_enough(open_app, cat):
    app = open_app(width=390, height=844)
    app.translate(CAT, cat.answer)
    app.expect_nothing_too_wide()
    app.chip(4).dblclick()
    app.expect_readout(f"Cross, layer {len(cat.stacks['cross'])}, head 4.")
    box = app.view.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
