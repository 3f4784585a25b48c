"""The view's bar, keys, readout and full screen in a real browser, against numbers made by hand or by numpy."""

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from tests.inspection import examples
from transformer_core.view import payload

pytestmark = pytest.mark.browser

QUERIES = ("<s>", "Die", "Kat", "ze")
KEYS = ("The", "cat", "</s>")
FIRST_HEAD = np.array([[0.1, 0.1, 0.8], [0.7, 0.2, 0.1], [0.05, 0.6, 0.35], [0.25, 0.25, 0.5]])
"""Of layer 1 of "cross"."""

HEADS = (3, 2, 12)
"""Of the layers of "cross"."""

FULL_SCREEN = "root => document.fullscreenElement === root"


@pytest.fixture(scope="module")
def weights() -> list[np.ndarray]:
    """Of "cross": (head, query, key) of each layer."""
    random = np.random.default_rng(0)
    layers = [random.dirichlet([0.5] * len(KEYS), size=(heads, len(QUERIES))) for heads in HEADS]
    layers[0][0] = FIRST_HEAD
    return layers


@pytest.fixture(scope="module")
def translation(weights):
    cross = examples.stack(
        "cross",
        [torch.from_numpy(np.log(layer)).float() for layer in weights],
        QUERIES,
        KEYS,
        query_special=(0,),
        key_special=(2,),
        query_words=(0, 1, 2, 2),
    )
    encoder = examples.stack("encoder", [torch.zeros(2, 3, 3)] * 2, KEYS, KEYS)
    return examples.inspection(cross, encoder)


@pytest.fixture
def view(open_view, translation):
    """The first layer's first head of "cross", as lines."""
    opened = open_view(translation)
    opened.change(stack="cross", layer=0, layers=[0], head=0, heads=[0])
    return opened


def chosen(view) -> tuple[int, list[int]]:
    """The open head, and those that are switched on, as the chips say, counted from 1."""
    view.wait()
    chips = view.root.locator(".head-chips .chip")
    found = chips.evaluate_all("all => all.map(each => [each.ariaPressed, each.getAttribute('aria-current')])")
    (open_one,) = [number for number, (_, current) in enumerate(found, start=1) if current == "true"]
    return open_one, [number for number, (pressed, _) in enumerate(found, start=1) if pressed == "true"]


def pointed(text: str) -> str:
    return f"Cross, layer 1, head 1. {text}"


def test_arrows_step_through_heads_and_layers(view):
    view.press("ArrowRight")
    assert chosen(view) == (2, [2])
    view.press("ArrowRight", "ArrowRight", "ArrowRight")
    assert chosen(view) == (3, [3])
    view.press("ArrowLeft")
    assert chosen(view) == (2, [2])
    view.press("ArrowDown", "ArrowDown")
    assert (view.state["layer"], view.state["layers"]) == (2, [2])
    expect(view.root.locator(".layer-name")).to_have_text("Layer 3 of 3")
    view.press("ArrowDown", *["ArrowRight"] * 20)
    assert (view.state["layer"], chosen(view)) == (2, (12, [12]))
    # Layer 2 has two heads only.
    view.press("ArrowUp")
    assert (view.state["layer"], chosen(view)) == (1, (2, [2]))
    assert view.root.locator(".head-chips .chip").all_text_contents() == ["1", "2"]
    view.press("ArrowUp", "ArrowUp")
    assert view.state["layer"] == 0


def test_arrows_step_through_the_chosen_heads_where_several_are(view):
    view.change(layer=2, layers=[2], heads=[1, 4, 9], head=4)
    view.press("ArrowRight")
    assert chosen(view) == (10, [2, 5, 10])
    view.press("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert chosen(view) == (2, [2, 5, 10])
    # A matrix is of one head: all can be reached.
    view.press("m", "ArrowRight")
    assert view.state["head"] == 2


def test_digits_switch_heads(view):
    view.press("2")
    assert chosen(view) == (2, [1, 2])
    view.press("3", "1")
    assert chosen(view) == (3, [2, 3])
    view.press("3")
    assert chosen(view) == (2, [2])
    view.press("2")
    assert chosen(view) == (2, [2]), "the last one stays"
    view.press("9")
    assert chosen(view) == (2, [2]), "there is no head 9"


def test_two_digits_are_one_number(view):
    def press_at(milliseconds: int, *digits: str) -> None:
        view.page.evaluate("now => void (performance.now = () => now)", milliseconds)
        view.press(*digits)

    view.change(layer=2, layers=[2])
    press_at(0, "1")
    press_at(499, "2")
    assert chosen(view) == (12, [1, 12])
    press_at(1100, "1", "1")
    assert chosen(view) == (11, [1, 11, 12])
    press_at(1700, "0")
    assert chosen(view) == (10, [1, 10, 11, 12])
    press_at(2300, "2")
    press_at(2800, "3")
    assert chosen(view) == (3, [1, 2, 3, 10, 11, 12])
    # There is no head 34.
    press_at(3400, "3", "4")
    assert chosen(view) == (4, [1, 2, 4, 10, 11, 12])


def test_letters(view):
    view.press("a")
    assert chosen(view) == (1, [1, 2, 3])
    view.press("3", "3", "o")
    assert chosen(view) == (3, [3])
    names = []
    for _ in range(3):
        view.press("v")
        names.append(view.state["view"])
    assert names == ["matrix", "product", "lines"]
    view.press("m")
    assert view.state["view"] == "matrix"
    view.press("l")
    assert view.state["view"] == "lines"
    view.press("w")
    assert view.state["mergeWords"]
    view.press("w", "t")
    assert (view.state["mergeWords"], view.state["hideSpecial"]) == (False, True)
    view.press("t")
    assert not view.state["hideSpecial"]
    view.change(pinnedQueries=[1], pinnedKeys=[0], pinnedCell=[1, 1])
    view.press("Escape")
    assert (view.state["pinnedQueries"], view.state["pinnedKeys"], view.state["pinnedCell"]) == ([], [], None)
    view.press("s")
    assert view.state["stack"] == "encoder"
    # Every token of the encoder is a word here, and none is special.
    view.press("w", "t")
    assert (view.state["mergeWords"], view.state["hideSpecial"]) == (False, False)
    view.press("s")
    assert view.state["stack"] == "cross"


def test_the_host_hears_of_examples_and_of_the_wish_to_type(view):
    view.root.evaluate(
        """({view}) => {
            window.heard = [];
            view.host.example = step => heard.push(step);
            view.host.focusText = () => heard.push("text");
        }"""
    )
    view.press("n", "p", "/")
    assert view.page.evaluate("heard") == [1, -1, "text"]


def test_keys_leave_typing_other_controls_and_the_browser_alone(view):
    view.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<input id=text><button id=button>b</button>')")
    before = view.state
    view.page.focus("#text")
    view.press("a", "2", "m", "s")
    assert view.page.input_value("#text") == "a2ms"
    view.root.get_by_role("radio", name="Matrix", exact=True).click()
    view.press("l")
    assert view.page.input_value("#text") == "a2ms", "a click in the view ends typing"
    assert view.state == before
    view.page.focus("#button")
    view.press("a", "2", "m", "ArrowDown")
    view.page.evaluate("document.activeElement.blur()")
    view.press("Control+a", "Alt+2", "Meta+m", "x")
    assert view.state == before
    view.root.evaluate("root => root.style.marginTop = '3000px'")
    view.press("m")
    assert view.state == before, "the view is out of sight"
    view.page.evaluate("scrollTo(0, 3000)")
    view.press("m")
    assert view.state["view"] == "matrix"


def test_a_slider_and_a_list_keep_their_keys(view):
    view.root.get_by_role("button", name="Display").click()
    view.root.get_by_role("slider").focus()
    view.press("ArrowRight", "ArrowUp")
    assert (view.state["share"], view.state["head"], view.state["layer"]) == (0.72, 0, 0)
    view.press("m")
    assert view.state["view"] == "matrix"
    view.root.get_by_role("combobox").focus()
    view.press("l")
    assert (view.state["view"], view.state["scale"]) == ("matrix", view.state["scale"])


def test_of_two_views_the_last_touched_one_has_the_keys(view):
    view.page.evaluate(
        """() => {
            const first = document.querySelector(".headlight").view;
            const place = document.createElement("div");
            document.body.prepend(place);
            const second = new first.constructor(place, {answers: false});
            second.setPayload(first.payload, first.state);
            window.views = [first, second];
        }"""
    )
    heads = "views.map(view => view.state.head)"
    view.page.keyboard.press("ArrowRight")
    assert view.page.evaluate(heads) == [0, 1]
    view.page.evaluate("views[0].root.dispatchEvent(new PointerEvent('pointerdown'))")
    view.page.keyboard.press("ArrowRight")
    assert view.page.evaluate(heads) == [1, 1]
    view.page.evaluate("views[0].destroy()")
    view.page.keyboard.press("ArrowRight")
    assert view.page.evaluate(heads) == [1, 1]


def test_chips(view):
    view.chip(2).click()
    assert chosen(view) == (2, [1, 2])
    view.chip(1).click()
    assert chosen(view) == (2, [2])
    view.chip(2).click()
    assert chosen(view) == (2, [2]), "the last one stays"
    view.root.get_by_role("button", name="all heads").click()
    assert chosen(view) == (2, [1, 2, 3])
    # The open one goes: the closest opens, the lower of two.
    view.chip(2).click()
    assert chosen(view) == (1, [1, 3])
    view.chip(3).dblclick()
    assert chosen(view) == (3, [3])
    view.chip(2).dblclick()
    assert chosen(view) == (2, [2])
    view.chip(1).click()
    view.root.get_by_role("button", name="only one head").click()
    assert chosen(view) == (1, [1])
    # By key too, and the chip keeps the focus.
    view.chip(3).press("Enter")
    view.chip(2).press(" ")
    assert chosen(view) == (2, [1, 2, 3])
    expect(view.chip(2)).to_be_focused()


def test_a_chip_opens_where_one_head_is_drawn(view):
    view.change(view="matrix", heads=[0, 1])
    view.chip(3).click()
    assert (view.state["head"], view.state["heads"]) == (2, [1, 2])
    assert chosen(view) == (3, [3])
    view.chip(3).click()
    assert view.state["head"] == 2


def test_chips_have_the_colour_and_dashes_of_their_lines(view):
    view.change(layer=2, layers=[2])
    images = view.root.locator(".head-chips .chip").evaluate_all(
        "all => all.map(each => getComputedStyle(each, '::before').backgroundImage)"
    )
    assert len(set(images)) == 12
    assert images[0].startswith("linear-gradient(rgb(51, 34, 136)")
    assert images[10].startswith("repeating-linear-gradient(90deg, rgb(51, 34, 136) 0px")


def test_clicks_on_switches_leave_the_arrows_to_heads(view):
    matrix = view.root.get_by_role("radio", name="Matrix")
    matrix.click()
    expect(matrix).to_be_checked()
    view.press("ArrowRight")
    assert (view.state["view"], view.state["head"]) == ("matrix", 1)
    # Reached by Tab, the group has them.
    matrix.focus()
    view.press("ArrowLeft")
    expect(view.root.get_by_role("radio", name="Lines", exact=True).first).to_be_focused()
    assert (view.state["view"], view.state["head"]) == ("lines", 1)
    view.root.get_by_role("radio", name="Encoder").click()
    assert view.state["stack"] == "encoder"


def test_the_wheel_and_the_buttons_step_layers_and_pins_stay(view):
    view.change(pinnedQueries=[1], pinnedKeys=[0, 2])
    view.root.locator(".layer-name").hover()
    view.page.mouse.wheel(0, 100)
    view.page.wait_for_function("document.querySelector('.headlight').view.state.layer === 1")
    view.root.get_by_role("button", name="Next layer").click()
    next_layer = view.root.get_by_role("button", name="Next layer")
    next_layer.press("Enter")
    assert view.state["layer"] == 2
    expect(next_layer).to_be_focused()
    expect(next_layer).to_have_attribute("aria-disabled", "true")
    view.press("ArrowRight", "m", "v", "l")
    view.root.get_by_role("button", name="Previous layer").click()
    assert (view.state["pinnedQueries"], view.state["pinnedKeys"]) == ([1], [0, 2])
    view.root.get_by_role("button", name="Let go of pins").click()
    assert (view.state["pinnedQueries"], view.state["pinnedKeys"]) == ([], [])
    expect(view.root.get_by_role("button", name="Let go of pins")).to_be_hidden()


def test_means_and_maxima_over_heads_and_layers(view, weights):
    view.press("m")
    view.root.get_by_role("radio", name="Mean").click()
    expect(view.root.locator(".head-chips .chip")).to_have_count(HEADS[0])
    view.chip(3, "Layer").click()
    assert (view.state["layers"], view.state["layer"]) == ([0, 2], 2)
    # As many heads as the layer with the most of them has.
    expect(view.root.locator(".head-chips .chip")).to_have_count(HEADS[2])
    view.chip(2).click()
    view.chip(11).click()
    view.hover({"query": 1, "key": 0})
    heads = [(0, 0), (0, 1), (2, 0), (2, 1), (2, 10)]
    mean = np.mean([weights[layer][head][1, 0] for layer, head in heads])
    expected = f"Cross, mean over heads 1, 2, 11 of layers 1, 3. Query “Die” (row 2) → key “The” (column 1): {mean:.2f}"
    view.expect_readout(expected)
    view.root.get_by_role("radio", name="Maximum").click()
    most = max(weights[layer][head][1, 0] for layer, head in heads)
    view.expect_readout(expected.replace("mean", "maximum").replace(f"{mean:.2f}", f"{most:.2f}"))
    view.chip(1, "Layer").dblclick()
    assert (view.state["layers"], view.state["layer"], view.state["head"]) == ([0], 0, 1)
    view.root.get_by_role("button", name="all layers").click()
    assert view.state["layers"] == [0, 1, 2]


def test_the_readout_names_the_strongest_and_what_is_pointed_at(view, weights):
    view.expect_readout(pointed("Strongest: Query “<s>” (row 1) → key “</s>” (column 3): 0.80"))
    view.hover({"query": 1, "key": 0})
    view.expect_readout(pointed("Query “Die” (row 2) → key “The” (column 1): 0.70"))
    view.hover({"query": 2})
    view.expect_readout(pointed("Query “Kat” (row 3): to “cat” 0.60, “</s>” 0.35, “The” 0.05"))
    view.hover({"key": 1})
    view.expect_readout(pointed("Key “cat” (column 2): from “Kat” 0.60, “ze” 0.25, “Die” 0.20"))
    expect(view.root.locator(".readout .note")).to_have_text("From all rows together 1.15.")
    view.hover({"stack": "cross", "layer": 2, "head": 7})
    head = weights[2][7]
    row, column = np.unravel_index(head.argmax(), head.shape)
    pair = f"Query “{QUERIES[row]}” (row {row + 1}) → key “{KEYS[column]}” (column {column + 1}): {head.max():.2f}"
    view.expect_readout(f"Cross, layer 3, head 8. Strongest: {pair}")


def test_the_readout_adds_up_what_is_pinned(view):
    view.change(pinnedQueries=[1])
    view.expect_readout(pointed("Query “Die” (row 2): to “The” 0.70, “cat” 0.20, “</s>” 0.10"))
    view.change(pinnedQueries=[1, 2])
    view.expect_readout(pointed("Queries “Die”, “Kat” together: to “cat” 0.80, “The” 0.75, “</s>” 0.45"))
    view.change(pinnedKeys=[0, 1])
    view.expect_readout(pointed("Queries “Die”, “Kat” → keys “The”, “cat”: 1.55 in all"))
    view.change(pinnedQueries=[])
    view.expect_readout(pointed("Keys “The”, “cat” together: from “Die” 0.90, “Kat” 0.65, “ze” 0.50"))
    # What is pointed at goes first.
    view.hover({"query": 0, "key": 0})
    view.expect_readout(pointed("Query “<s>” (row 1) → key “The” (column 1): 0.10"))
    view.hover(None)
    view.change(pinnedKeys=[1], pinnedQueries=[3])
    view.expect_readout(pointed("Query “ze” (row 4) → key “cat” (column 2): 0.25"))


def test_exact_weights_come_from_the_host_and_only_for_their_pair(view):
    answer = {"stack": "cross", "layer": 0, "head": 0, "cell": {"query": 1, "key": 0, "weight": 0.7000000298}}
    view.root.evaluate("(root, answer) => root.view.setAnswer(answer)", answer)
    view.change(pinnedCell=[1, 0])
    view.expect_readout(pointed("Query “Die” (row 2) → key “The” (column 1): 0.70 (exact 0.7000)"))
    view.press("t")
    # 0.7 of what is left, 0.9.
    pair = "Query “Die” (row 1) → key “The” (column 1): 0.78"
    view.expect_readout(pointed(f"{pair} (exact 0.7000, before tokens were hidden or merged)"))
    expect(view.root.locator(".readout .note")).to_have_text(
        "10 % of the row went to hidden tokens and is spread over the others."
    )
    view.press("t")
    view.hover({"query": 2, "key": 0})
    view.expect_readout(pointed("Query “Kat” (row 3) → key “The” (column 1): 0.05"))
    view.press("ArrowRight")
    view.hover(None)
    assert "exact" not in view.readout


def test_merged_words_and_hidden_tokens_are_said(view):
    view.press("w")
    view.hover({"query": 2, "key": 1})
    # The mean of two rows.
    view.expect_readout(pointed("Query “Katze” (row 3) → key “cat” (column 2): 0.43"))
    view.press("w", "t")
    view.hover(None)
    # "Die", "Kat" and "ze" lose 0.1, 0.35 and 0.5.
    view.expect_readout(pointed("Strongest: Query “Kat” (row 2) → key “cat” (column 2): 0.92"))
    expect(view.root.locator(".readout .note")).to_have_text(
        "32 % of an average row went to hidden tokens and is spread over the others."
    )


def test_of_maps_that_are_not_here_in_full_the_largest_around_is_said(open_view, monkeypatch):
    # Twenty tokens a side are sent as ten blocks.
    monkeypatch.setattr(payload, "MAX_BYTES", 100)
    monkeypatch.setattr(payload, "MAX_CELLS", 8)
    weights = np.random.default_rng(0).dirichlet([0.3] * 20, size=(2, 20))
    tokens = [f"t{number}" for number in range(1, 21)]
    stack = examples.stack("self", [torch.from_numpy(np.log(weights)).float()], tokens, tokens)
    view = open_view(examples.inspection(stack))
    view.change(view="matrix", head=0)
    view.expect_readout("Self, layer 1, head 1.")
    view.hover({"query": 5, "key": 12})
    most = weights[0, 4:6, 12:14].max()
    text = f"Self, layer 1, head 1. Query “t6” (row 6) → key “t13” (column 13): at most {most:.2f}"
    view.expect_readout(text)
    expect(view.root.locator(".readout .note")).to_have_text(
        "20 × 20 tokens: a cell shows the largest weight of a block."
    )
    view.hover(None)
    answer = {"stack": "self", "layer": 0, "head": 0, "cell": {"query": 5, "key": 12, "weight": weights[0, 5, 12]}}
    view.root.evaluate("(root, answer) => root.view.setAnswer(answer)", answer)
    view.change(pinnedCell=[5, 12])
    exact = np.format_float_positional(weights[0, 5, 12], precision=4, fractional=False)
    view.expect_readout(f"{text} (exact {exact})")


def test_weights_that_are_no_numbers_are_said(open_view):
    view = open_view(examples.broken())
    view.change(layer=0, head=1, heads=[1])
    view.hover({"query": 2, "key": 0})
    assert view.readout.endswith(": not a number")


def test_what_is_settled_is_read_out_and_summed_up(view, weights):
    status, summary = view.root.get_by_role("status"), view.root.get_by_role("region", name="Strongest pairs")
    expect(status).to_contain_text("Cross, layer 1, head 1. Strongest: Query")
    said = status.text_content()
    view.hover({"query": 2, "key": 1})
    # A timer that begins later and takes longer than the view's own ends after it.
    view.page.evaluate("new Promise(done => setTimeout(done, 600))")
    assert status.text_content() == said, "a hover is not read out"
    view.press("ArrowRight")
    expect(status).to_contain_text("Cross, layer 1, head 2")
    head = weights[0][1]
    expected = []
    for place in np.argsort(-head, axis=None)[:5]:
        row, column = divmod(int(place), len(KEYS))
        names = f"Query “{QUERIES[row]}” (row {row + 1}) → key “{KEYS[column]}” (column {column + 1})"
        expected.append(f"{names}: {head[row, column]:.2f}")
    pairs = summary.get_by_role("listitem").all_text_contents()
    assert [pair.replace("\u2068", "").replace("\u2069", "") for pair in pairs] == expected


def test_the_display_menu(view):
    display = view.root.get_by_role("button", name="Display")
    display.click()
    menu = view.root.locator(".menu.display")
    slider = menu.get_by_role("slider")
    slider.fill("40")
    assert view.state["share"] == 0.4
    expect(menu.locator("output")).to_have_text("40 %")
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("5", "100")
    menu.get_by_label("Hide special tokens").check()
    menu.get_by_label("Merge sub-words").check()
    assert (view.state["hideSpecial"], view.state["mergeWords"]) == (True, True)
    expect(display).to_have_text("Display (2)")
    view.change(pinnedQueries=[1])
    view.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    assert view.state["pinnedQueries"] == [1], "Escape closes the menu, and nothing else"
    view.change(view="matrix", stack="encoder")
    display.click()
    expect(slider).to_be_hidden()
    scales = menu.get_by_role("combobox")
    assert [scales.select_option(scale) and view.state["scale"] for scale in ("linear", "log", "row")] == [
        "linear",
        "log",
        "row",
    ]
    # The encoder's tokens are words, and none is special.
    expect(menu.get_by_label("Hide special tokens")).to_be_disabled()
    expect(menu.get_by_text("No special tokens here")).to_be_visible()
    expect(menu.get_by_label("Merge sub-words")).to_be_disabled()
    expect(menu.get_by_text("Every token here is a word")).to_be_visible()
    view.page.mouse.click(700, 690)
    expect(menu).to_be_hidden()


def test_help_lists_the_keys_that_there_are(view):
    view.change(pinnedQueries=[1])
    view.press("?")
    dialog = view.root.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    caps = [row.split("\t")[0] for row in dialog.get_by_role("table").first.inner_text().split("\n")]
    assert ["".join(cap.split()) for cap in caps] == ["←→", "↑↓", "1…90", *"AOVLMSWTF", "Esc", "?"]
    mouse = dialog.get_by_role("table").last
    assert mouse.get_by_role("rowheader").all_inner_texts() == ["Double click", "Ctrl and click", "Wheel"]
    view.press("m")
    assert view.state["view"] == "lines", "behind the window nothing changes"
    view.press("Escape")
    expect(dialog).to_have_count(0)
    assert view.state["pinnedQueries"] == [1]
    view.root.get_by_role("button", name="Keys").click()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    view.change(view="matrix")
    view.press("?")
    # Where one head is drawn, a double click does no more than a click.
    assert mouse.get_by_role("rowheader").all_inner_texts() == ["Ctrl and click", "Wheel"]


def test_full_screen_shows_the_drawing_alone_in_large_type(view):
    size = "root => parseFloat(getComputedStyle(root).fontSize)"
    layout = "root => [...root.querySelectorAll('.controls, .map, .detail, .readout')].map(each => each.offsetWidth)"
    small, before = view.root.evaluate(size), view.root.evaluate(layout)
    view.press("f")
    view.page.wait_for_function("document.fullscreenElement !== null")
    assert view.root.evaluate(FULL_SCREEN)
    assert view.root.evaluate(size) > small
    title = view.root.locator(".presenting-title")
    expect(title.locator(".text")).to_have_text("The cat, “the” cat.")
    expect(title.locator(".answer")).to_have_text("Die Katze")
    for hidden in (".map", ".tools", ".views"):
        expect(view.root.locator(hidden)).to_be_hidden()
    for shown in (".detail", ".layers", ".head-chips", ".readout .selected"):
        expect(view.root.locator(shown).first).to_be_visible()
    assert view.root.locator(".detail").evaluate("place => place.clientWidth / innerWidth") > 0.9
    # Keys act whatever has the focus.
    view.page.evaluate("document.activeElement.blur()")
    view.press("m", "2")
    assert (view.state["view"], view.state["head"]) == ("matrix", 1)
    view.press("l", "o", "f")
    view.page.wait_for_function("document.fullscreenElement === null")
    expect(title).to_be_hidden()
    view.wait()
    assert view.root.evaluate(layout) == before
    assert view.root.evaluate(size) == small


def test_full_screen_ends_by_the_browser_and_by_its_button(view):
    view.root.get_by_role("button", name="Full screen").click()
    view.page.wait_for_function("document.fullscreenElement !== null")
    view.page.evaluate("document.exitFullscreen()")
    expect(view.root).not_to_have_class("headlight presenting")
    expect(view.root.locator(".map")).to_be_visible()
    view.press("f")
    view.page.wait_for_function("document.fullscreenElement !== null")
    view.root.get_by_role("button", name="Leave full screen").click()
    view.page.wait_for_function("document.fullscreenElement === null")
    expect(view.root.locator(".map")).to_be_visible()


def test_without_full_screen_the_window_is_covered(view):
    view.root.evaluate("root => root.requestFullscreen = () => Promise.reject(new TypeError('refused'))")
    # As inside a page with a column of its own.
    view.page.evaluate("document.body.style.cssText = 'width: 300px; transform: translateX(50px); overflow: hidden'")
    view.change(pinnedQueries=[1])
    view.press("f")
    covers = "root => root.matches(':popover-open') && JSON.stringify(root.getBoundingClientRect().toJSON())"
    view.page.wait_for_function("document.querySelector('.headlight').matches(':popover-open')")
    box = view.root.bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1376, 700), view.root.evaluate(covers)
    view.press("ArrowRight", "Escape")
    expect(view.root.locator(".map")).to_be_visible()
    assert view.root.evaluate("root => root.popover") is None
    assert (view.state["head"], view.state["pinnedQueries"]) == (1, [1])


def test_the_link_of_the_page_is_copied_where_it_is_one(view):
    assert view.root.get_by_role("button", name="Copy link").count() == 0
    view.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    view.page.evaluate(
        """() => {
            const {view} = document.querySelector(".headlight");
            const place = document.createElement("div");
            document.body.replaceChildren(place);
            new view.constructor(place, {answers: true, link: true}).setPayload(view.payload, view.state);
            window.setTimeout = () => 0;  // what the button says stays
        }"""
    )
    button = view.root.get_by_role("button", name="Copy link")
    button.click()
    expect(view.root.get_by_role("button", name="Copied")).to_be_visible()
    assert view.page.evaluate("navigator.clipboard.readText()") == view.page.url


def test_everything_fits_and_can_be_hit(open_view, translation):
    view = open_view(translation)
    controls = view.root.locator(".controls")
    assert controls.bounding_box()["height"] <= 40
    view.change(view="matrix", combine="mean", layers=[0, 1, 2])
    assert controls.bounding_box()["height"] <= 80
    view.resize(360, 740)
    for name in ("lines", "matrix"):
        view.change(view=name)
        assert view.overflow() <= 0, name
    small = view.root.locator(".controls button:visible").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).filter(({width, height}) => width < 24 || height < 24)"
    )
    assert small == []


def test_many_heads_and_layers_fit(open_view):
    stack = examples.stack("self", [torch.zeros(48, 2, 2)] * 32, "ab", "ab")
    view = open_view(examples.inspection(stack))
    assert view.root.get_by_role("radiogroup", name="Attention").count() == 0, "one stack is no choice"
    view.change(view="matrix", combine="max", head=47)
    assert view.root.locator(".controls").bounding_box()["height"] <= 200
    assert view.overflow() <= 0
    view.resize(360, 740)
    assert view.overflow() <= 0
    expect(view.chip(48)).to_be_in_viewport()
    # The chips move, the page does not.
    view.page.evaluate("scrollTo(0, 300)")
    view.press("ArrowLeft", "ArrowUp")
    assert view.page.evaluate("scrollY") == 300


def test_on_paper_everything_is_there(open_view):
    stack = examples.stack("self", [torch.zeros(4, 60, 60)] * 12, map(str, range(60)), map(str, range(60)))
    view = open_view(examples.inspection(stack), height=500)
    cut = """root => [root, ...root.querySelectorAll(".layout, .map, .detail, .map .scroll")]
        .filter(each => getComputedStyle(each).overflowY !== "visible" && each.scrollHeight > each.clientHeight)
        .map(each => each.className)"""
    assert "detail" in view.root.evaluate(cut)
    view.page.emulate_media(media="print")
    view.wait_for_layout()
    assert view.root.evaluate(cut) == []
    expect(view.root.locator(".tools")).to_be_hidden()
    bottom, top = view.root.evaluate(
        """root => [root.querySelector(".detail").getBoundingClientRect().bottom,
            root.querySelector(".readout").getBoundingClientRect().top]"""
    )
    assert bottom <= top
