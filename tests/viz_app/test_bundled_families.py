"""Every bundled family answers in its own way on the Attention page, against the networks themselves."""

import base64
import io
import json
import shutil
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest
import torch
from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.viz_app import tiny_families
from tests.viz_app.conftest import MAIN
from tests.viz_app.link.test_problems import sentences
from tests.viz_app.reading import assert_calm, charts, has_view, html, say, view, words
from transformer_core import trained
from transformer_core.inspection import record
from transformer_core.zoo import bundled
from viz_app import library
from viz_app.attention.files import FORMATS, write
from viz_app.examples import MASKED, PLAYS, SYMBOLS, TRANSLATION
from viz_app.figures.predictions import percent
from viz_app.pictures import digits

NAMES = ["shakespeare-gpt", "tatoeba-bert", "digits-vit", "induction"]


@pytest.fixture(scope="session")
def families(tmp_path_factory, tiny_translator_folder):
    """A folder like pretrained/ with a tiny model of every family."""
    folder = tmp_path_factory.mktemp("families")
    tiny_families.save_all(folder)
    shutil.copytree(tiny_translator_folder, folder / "tiny-en-de")
    return folder


@pytest.fixture
def app(app, families, monkeypatch):
    monkeypatch.setattr(bundled, "PRETRAINED", families)
    return app


def show(app, model, **query):
    app.query_params.update({"model": model} | query)
    app.run()
    assert_calm(app)
    return app


def choose(app, model):
    app.selectbox(key="model").set_value(model).run()
    assert_calm(app)
    return app


def bars(app):
    """Names and probabilities of what the model expects at the chosen place."""
    (chart,) = (chart["data"][0] for chart in charts(app) if chart["data"][0]["type"] == "bar")
    return list(chart["customdata"]), list(chart["x"])


def address(app) -> dict[str, str]:
    """What a copied link holds."""
    return {name: values[-1] for name, values in parse_qs(urlencode(app.query_params, doseq=True)).items()}


def test_the_list_of_models_says_what_each_does(app, families):
    show(app, "induction")
    options = dict(option.split(" · ", 1) for option in app.selectbox(key="model").options if " · " in option)
    assert set(options) == {*NAMES, "tiny-en-de"}
    assert options["tiny-en-de"].startswith("translates English into German · 2 + 2 layers × 4 heads · ")
    model = trained.load(families / "shakespeare-gpt", "cpu").model
    count = sum(parameter.numel() for parameter in model.parameters())
    assert options["shakespeare-gpt"] == f"writes on · 2 layers × 4 heads · {count:,}"
    does = {name: text.split(" · ")[0] for name, text in options.items()}
    assert does["tatoeba-bert"] == "guesses masked words" and does["digits-vit"] == "reads digits"
    assert does["induction"] == "repeats sequences"
    assert app.selectbox(key="model").value == "induction" and app.query_params["model"] == "induction"
    assert "model" not in choose(app, library.models()[0]).query_params


def test_each_kind_of_model_keeps_its_own_text(app):
    show(app, "tiny-en-de")
    assert app.text_input(key="text").value == TRANSLATION.opening
    app.text_input(key="text").set_value("The cat sleeps.").run()
    choose(app, "tatoeba-bert")
    assert app.text_input(key="text").value == MASKED.opening and app.get_by_key("mask").value == ["are"]
    app.get_by_key("mask").set_value(["children", "garden"]).run()
    choose(app, "shakespeare-gpt")
    assert app.text_area(key="text").value == PLAYS.opening
    app.text_area(key="text").set_value("ROMEO:\nSpeak").run()
    choose(app, "digits-vit")
    assert not {"text", "packed", "mask"} & set(app.query_params)
    choose(app, "induction")
    assert app.text_input(key="text").value == SYMBOLS.opening
    choose(app, "tatoeba-bert")
    assert app.text_input(key="text").value == MASKED.opening
    assert app.get_by_key("mask").value == ["children", "garden"]
    assert app.text_input(key="text").value == MASKED.opening
    assert choose(app, "shakespeare-gpt").text_area(key="text").value == "ROMEO:\nSpeak"
    assert choose(app, "tiny-en-de").text_input(key="text").value == "The cat sleeps."


def greedy(model: trained.TrainedLanguageModel, text: str, count: int) -> list[int]:
    """The likeliest tokens, one after the other, without a cache."""
    ids = model.ids(text)
    for _ in range(count):
        with torch.no_grad():
            ids.append(int(model.model(torch.tensor([ids]))[0, -1].argmax()))
    return ids[-count:]


def test_a_language_model_goes_on_with_several_lines(app, families):
    text = "ROMEO:\nBut"
    show(app, "shakespeare-gpt", text=text, temperature="0", new="4")
    model = trained.load(families / "shakespeare-gpt", "cpu")
    written = model.tokenizer.decode(greedy(model, text, 4))
    shown = words(app)
    assert f'<span class="headlight-prompt">{text}</span>' in shown and "Sample (" not in shown
    with torch.no_grad():
        expected = model.model(torch.tensor([model.ids(text)]))[0, -1].softmax(-1).topk(5).values
    np.testing.assert_allclose(bars(app)[1], expected, rtol=1e-4)
    assert written.strip() in "".join(html(app)).replace("&#x27;", "'")


@pytest.mark.parametrize("between", [[], ["tatoeba-bert", "digits-vit"]])
def test_each_kind_of_model_is_continued_in_its_own_way(app, between):
    show(app, "shakespeare-gpt", new="7", temperature="1.5", seed="3")
    for model in between:
        choose(app, model)
    choose(app, "induction")
    assert app.number_input(key="new").value == SYMBOLS.new_tokens == 0
    assert app.slider(key="temperature").value == SYMBOLS.temperature == 0.0
    assert {"new", "temperature", "seed"}.isdisjoint(app.query_params)
    choose(app, "shakespeare-gpt")
    fields = [
        app.number_input(key="new").value,
        app.slider(key="temperature").value,
        app.number_input(key="seed").value,
    ]
    assert fields == [7, 1.5, 3]


def test_a_sample_comes_again_with_its_link_and_another_with_another_seed(app):
    show(app, "shakespeare-gpt", temperature="1.5", new="12", seed="7", top_k="50", top_p="0.9")
    assert "Sample (temperature 1.5, seed 7)" in words(app)
    first = html(app)
    assert address(app) | {"temperature": "1.5", "new": "12", "seed": "7", "top_k": "50", "top_p": "0.9"} == address(
        app
    )
    app.button(key="resample").click().run()
    assert_calm(app)
    assert address(app)["seed"] != "7" and html(app) != first
    app.number_input(key="seed").set_value(7).run()
    assert html(app) == first


def test_a_masked_model_guesses_from_the_start_and_masks_whole_words(app, families):
    show(app, "tatoeba-bert")
    assert app.get_by_key("mask").value == ["are"] and "mask" not in app.query_params
    model = trained.load(families / "tatoeba-bert", "cpu")

    def expected(pieces: set[int]) -> np.ndarray:
        ids = model.ids(MASKED.opening)
        masked = [model.tokenizer.mask_id if place - 1 in pieces else id for place, id in enumerate(ids)]
        with torch.no_grad():
            return model.model(torch.tensor([masked]))[0, 1 + min(pieces)].softmax(-1).topk(5).values.numpy()

    pieces = model.tokenizer.pieces(model.ids(MASKED.opening))[1:-1]
    starts = [place for place, piece in enumerate(pieces) if piece.startswith("▁")]
    np.testing.assert_allclose(bars(app)[1], expected(set(range(starts[2], starts[3]))), rtol=1e-4)
    # A word that the small vocabulary has in several pieces.
    app.text_input(key="text").set_value("The gardener drinks").run()
    pieces = model.tokenizer.pieces(model.ids("The gardener drinks"))[1:-1]
    assert len(pieces) > 3 and app.get_by_key("mask").options == ["The", "gardener", "drinks"]
    app.get_by_key("mask").set_value(["gardener"]).run()
    assert_calm(app)
    labels = view(app).open_stack["queries"]
    starts = [place for place, piece in enumerate(pieces) if piece.startswith("▁")]
    first, last = 1 + starts[1], 1 + starts[2]
    assert last - first > 1 and labels[first:last] == ["<mask>"] * (last - first)
    assert "<mask>" not in labels[:first] + labels[last:]


def test_a_mask_on_nothing_says_what_to_do_and_comes_with_the_link(app):
    show(app, "tatoeba-bert", mask="")
    assert app.get_by_key("mask").value == []
    assert "No word is masked" in app.info[0].value and "Click a word" in app.info[0].value
    assert has_view(app)


def test_another_example_brings_its_masks(app):
    show(app, "tatoeba-bert")
    app.get_by_key("example").set_value(MASKED.texts[1].topic).run()
    assert_calm(app)
    assert app.get_by_key("mask").value == list(MASKED.texts[1].masked)
    assert len(app.selectbox(key="place").options) >= 2
    app.get_by_key("mask").set_value(["open"]).run()
    assert app.get_by_key("mask").value == ["open"]


def test_a_word_beyond_the_vocabulary_is_masked_by_its_letters(app):
    show(app, "tatoeba-bert", text="Öl 長", mask="Öl")
    assert app.get_by_key("mask").options == ["Öl", "長"] and app.get_by_key("mask").value == ["Öl"]
    tokens = library.load(library.settled(library.ModelChoice("tatoeba-bert", "cpu"))).tokens("Öl 長")
    last = [f"<0x{byte:02X}>" for byte in "長".encode()]
    assert list(tokens[-3:]) == last and "<0xC3>" in tokens
    labels = view(app).open_stack["queries"][1:-1]
    others = [place for place, label in enumerate(labels) if label != "<mask>"]
    # The mark of the second word's beginning, and its bytes.
    assert labels[-3:] == last and others == list(range(len(labels) - 4, len(labels)))


def pixels(app) -> np.ndarray:
    _, data = view(app).meta["image"]["uri"].split("base64,")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("L"))


def test_a_digit_of_the_data_set_is_read_as_it_is(app, families):
    show(app, "digits-vit", digit="7")
    ink = 1 - np.asarray(digits()["7"].image.convert("L")).astype(np.float32) / 255
    assert ink.shape == (8, 8)
    model = trained.load(families / "digits-vit", "cpu").model
    with torch.no_grad():
        expected = model(torch.from_numpy(ink)[None, None])[0].softmax(-1).sort(descending=True)
    names, probabilities = bars(app)
    np.testing.assert_allclose(probabilities, expected.values[:5], rtol=2e-2)
    assert names == [str(index) for index in expected.indices[:5].tolist()]
    assert view(app).state["view"] == "image"
    assert (view(app).meta["image"]["rows"], view(app).meta["image"]["columns"]) == (4, 4)


def drawing(rows: slice, columns: slice) -> str:
    """A filled rectangle, as the pad packs it."""
    ink = np.zeros((32, 32), np.uint8)
    ink[rows, columns] = 1
    return base64.urlsafe_b64encode(np.packbits(ink).tobytes()).decode().rstrip("=")


def test_keys_step_through_the_digits_and_back_from_a_drawing(app):
    show(app, "digits-vit", digit="8")
    names = list(digits())
    for key, name in (("next-example", "9"), ("next-example", names[0]), ("previous-example", "9")):
        app.button(key=key).click().run()
        assert_calm(app)
        assert app.pills(key="digit").value == name
        assert app.query_params.get("digit", names[0]) == name
    app.segmented_control(key="source").set_value("Draw").run()
    app.button(key="next-example").click().run()
    assert_calm(app)
    assert app.segmented_control(key="source").value == "Example"
    assert app.pills(key="digit").value == names[0]


def test_a_drawing_is_looked_at_and_comes_with_the_link(app):
    show(app, "digits-vit", source="Draw")
    assert "Until then the model looks at a handwritten 0" in words(app).replace("\\", "")
    before = pixels(app)
    bar = drawing(slice(2, 30), slice(14, 18))
    app.session_state["pad"] = {"drawing": bar}
    app.session_state["drawing"] = bar
    app.run()
    assert_calm(app)
    assert app.query_params["drawing"] in (bar, [bar]) and len(bar) <= 180
    drawn = pixels(app)
    assert (drawn != before).any()
    assert drawn[:, 0].min() > drawn[:, 3:5].max(), "black ink in the middle of white paper"
    again = AppTest.from_file(MAIN, default_timeout=60)
    show(again, **address(app))
    np.testing.assert_array_equal(pixels(again), drawn)
    app.get_by_key("source").set_value("Example").run()
    assert_calm(app)
    assert "drawing" not in app.query_params
    app.get_by_key("source").set_value("Draw").run()
    np.testing.assert_array_equal(pixels(app), drawn)


@pytest.mark.parametrize("damaged", ["", "AAAA", "<b>", "é", "A" * 171, "A" * 5000])
def test_a_damaged_drawing_in_a_link_is_left_out(app, damaged):
    show(app, "digits-vit", source="Draw", drawing=damaged)
    assert "Until then" in words(app)
    assert "drawing" not in app.query_params
    assert sentences(app) == ["The drawing in the link is damaged. Perhaps the link was cut off."]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no image", "no PNG, JPEG or WebP"),
        (b"", "no PNG, JPEG or WebP"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "damaged"),
    ],
)
def test_an_image_that_cannot_be_read_leaves_the_answer_before(app, data, reason):
    show(app, "digits-vit", source="Upload")
    file = io.BytesIO()
    digits()["4"].image.save(file, "PNG")
    app.file_uploader(key="image").upload("four.png", file.getvalue(), "image/png").run()
    assert_calm(app)
    before, answer = pixels(app), html(app)
    app.file_uploader(key="image").upload("x.png", data, "image/png").run()
    assert reason in app.error[0].value.replace("\\", "")
    np.testing.assert_array_equal(pixels(app), before)
    assert html(app) == answer


def test_an_image_that_the_model_refuses_is_not_said_to_be_looked_at(app):
    show(app, "digits-vit", source="Upload")
    before = pixels(app)
    file = io.BytesIO()
    Image.new("L", (1, 1)).save(file, "PNG")
    app.file_uploader(key="image").upload("dot.png", file.getvalue(), "image/png").run()
    assert "nothing on this image" in app.error[0].value
    assert app.error[0].value.endswith("Below is still what the model makes of a handwritten 0.")
    assert app.file_uploader(key="image").label == r"Your image: dot\.png"
    np.testing.assert_array_equal(pixels(app), before)


def test_the_induced_token_is_marked_and_its_probability_is_the_models(app, families):
    show(app, "induction", text="K T B K")
    model = trained.load(families / "induction", "cpu")
    ids = model.ids("K T B K")
    with torch.no_grad():
        expected = float(model.model(torch.tensor([ids]))[0, -1].softmax(-1)[ids[2]])
    (sequence,) = (text for text in html(app) if "headlight-symbols" in text)
    assert '<span class="earlier">K</span><span class="induced">T</span><span class="">B</span>' in sequence
    assert '<span class="last">K</span>' in sequence
    assert "“T” (framed) followed it" in sequence
    assert f"with a probability of {percent(expected)}." in sequence
    app.text_input(key="text").set_value("A B C").run()
    assert_calm(app)
    assert "nothing to repeat" in words(app) and 'class="induced"' not in words(app)


def exact_weights(app) -> np.ndarray:
    (chart,) = (chart for chart in charts(app) if chart["data"][0]["type"] == "heatmap")
    return np.asarray(chart["data"][0]["z"])


def test_a_snapshot_takes_the_models_place_and_text_layer_head_and_pins_stay(app, families):
    show(app, "induction", text="K T B K", layer="1", head="3", exact="true")
    say(app, pinnedQueries=[2])
    assert app.select_slider(key="step").value == tiny_families.STEPS[-1] and "step" not in app.query_params
    now = exact_weights(app)
    app.select_slider(key="step").set_value(tiny_families.STEPS[1]).run()
    assert_calm(app)
    then = exact_weights(app)
    assert np.abs(then - now).max() > 1e-3
    model = trained.load(families / "induction", "cpu", step=200)
    with torch.no_grad(), record(model.model) as trace:
        model.model(torch.tensor([model.ids("K T B K")]))
    np.testing.assert_allclose(then, trace[0].weights(2)[0], atol=1e-5)
    state = view(app).state
    assert (state["layer"], state["head"], state["pinnedQueries"]) == (0, 2, [2])
    assert app.text_input(key="text").value == "K T B K"
    again = AppTest.from_file(MAIN, default_timeout=60)
    show(again, **address(app) | {"step": "200"})
    np.testing.assert_array_equal(exact_weights(again), then)
    assert view(again).state == state


def test_the_heads_scores_are_drawn_and_the_best_head_is_a_click_away(app):
    show(app, "induction", step="200")
    (chart,) = (chart for chart in charts(app) if "xaxis2" in chart["layout"] and len(chart["data"]) == 16)
    (popover,) = (block for block in app.get("popover") if block.proto.popover.label == "All scores")
    assert len(popover.get("plotly_chart")) == 1, "out of the way of the linked view"
    best = next(line for line in chart["data"] if line["name"] == "layer 1, head 2" and line["xaxis"] == "x")
    assert list(best["x"]) == list(tiny_families.STEPS)
    np.testing.assert_allclose(best["y"], [1 / 3000, 200 / 3000, 1], atol=1e-4)
    assert [shape["x0"] for shape in chart["layout"]["shapes"]] == [200, 200]
    button = app.button(key="best-prefix_matching")
    assert button.label.startswith("Prefix matching: layer 2, head 4")
    before = view(app).ordered
    button.click().run()
    assert_calm(app)
    state = view(app).state
    assert (state["layer"], state["head"], state["heads"], state["layers"]) == (1, 3, [3], [1])
    assert view(app).ordered != before, "the browser has to follow"
    app.button(key="best-previous_token").click().run()
    assert (view(app).state["layer"], view(app).state["head"]) == (0, 1)


def test_scores_that_are_missing_at_a_step_are_no_failure(app, families, tmp_path, monkeypatch):
    shutil.copytree(families / "induction", tmp_path / "induction")
    table = (tmp_path / "induction" / "heads.csv").read_text().replace("200,0,1,0.0667,0.0000", "200,0,1,,")
    rows = [f"3000,{row.split(',')[1]},{row.split(',')[2]},," if row[:4] == "3000" else row for row in table.split()]
    (tmp_path / "induction" / "heads.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    show(app, "induction")
    assert not [button for button in app.button if str(button.key).startswith("best-")]
    app.select_slider(key="step").set_value(200).run()
    assert_calm(app)
    assert app.button(key="best-prefix_matching").label.startswith("Prefix matching: layer 2, head 4")
    assert not app.button(key="best-previous_token").label.startswith("Previous token: layer 1, head 2")


def test_damaged_scores_are_named_and_the_rest_stays(app, families, tmp_path, monkeypatch):
    shutil.copytree(families / "induction", tmp_path / "induction")
    (tmp_path / "induction" / "heads.csv").write_text("step,layer\n1,2\n")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    show(app, "induction")
    assert "its heads.csv lacks the columns head" in words(app).replace("\\", "")
    assert has_view(app)


@pytest.mark.parametrize("name", NAMES)
def test_every_family_is_exported_whole(pretrained, families, monkeypatch, name):
    monkeypatch.setattr(bundled, "PRETRAINED", families)
    content = digits()["3"] if name == "digits-vit" else "K T B K" if name == "induction" else "Speak, speak."
    choice, options = library.settled(library.ModelChoice(name, "cpu")), library.zoo.InspectionOptions()
    inspection = library.inspect(choice, content, options)
    expected = inspection.stacks["self"].weights(1, 2).numpy()
    files = {suffix: write(inspection, suffix, {}) for suffix in FORMATS}
    arrays = np.load(io.BytesIO(files[".npz"]))
    assert any(array.ndim >= 2 and np.array_equal(array[..., 2, :, :], expected) for array in arrays.values())
    assert json.loads(files[".json"]) and files[".csv"].count(b"\n") > expected.size
    assert b"</html>" in files[".html"]
