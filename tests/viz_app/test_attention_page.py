"""The Attention page: what it shows is what the model computed, and no text breaks it."""

import dataclasses
import shutil
import unicodedata

import numpy as np
import pytest

from tests.viz_app.formula import expected_weights
from tests.viz_app.reading import TEXT, assert_calm, charts, has_view, heatmap, say, view, words
from transformer_core.trained import Translator
from transformer_core.zoo import bundled
from viz_app.attention.explore import PINS
from viz_app.examples import TRANSLATION

HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Zs", "Cs", "Co", "Cn"}
"""Unicode categories of characters that nobody can see, but inside an emoji."""


@pytest.fixture(scope="module")
def translator(tiny_translator_folder) -> Translator:
    return Translator.load(tiny_translator_folder, "cpu")


def show(app, text=TEXT, stack="cross", layer=1, head=1):
    app.query_params.update({"text": text, "stack": stack, "layer": str(layer), "head": str(head), "exact": "true"})
    return app.run()


def test_it_opens_on_a_translated_example(app):
    app.run()
    assert_calm(app)
    assert app.text_input(key="text").value == TRANSLATION.texts[0].text
    assert app.get_by_key("example").value == TRANSLATION.texts[0].topic
    assert "headlight-answer" in words(app)
    assert has_view(app) and not charts(app)


def test_the_first_lines_say_what_this_is_and_name_the_models_size(app, translator):
    app.run()
    assert (
        "A real English-German Transformer translates your sentence; see what each of its attention heads reads."
        in words(app)
    )
    count = sum(parameter.numel() for parameter in translator.model.parameters())
    assert f"2 encoder + 2 decoder layers × 4 heads · {count:,} parameters" in words(app)
    assert app.text_input(key="text").label == "Your text, in English"


def test_another_language_has_its_own_words_and_no_english_examples(app, pretrained, tmp_path, monkeypatch):
    english = Translator.load(pretrained / "tiny-en-de", "cpu")
    Translator(english.model, english.tokenizer, "Danish", "Dutch").save(tmp_path / "tiny-da-nl")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    app.run()
    assert not app.exception
    assert "A real Danish-Dutch Transformer" in words(app)
    assert app.text_input(key="text").label == "Your text, in Danish"
    assert app.text_input(key="text").placeholder == "Type a sentence in Danish"
    assert app.text_input(key="text").value == ""
    app.text_input(key="text").set_value(TEXT).run()
    assert_calm(app)
    assert view(app).open_stack["key_label"] == "Danish" and view(app).open_stack["query_label"] == "Dutch"


def test_the_certificate_is_rounded_up_and_says_what_was_checked(app, monkeypatch):
    original = bundled.InspectableTranslator.inspect

    def inspect(self, text, options):
        return dataclasses.replace(original(self, text, options), certificate=7.05e-07, row_sum_error=1.2e-07)

    monkeypatch.setattr(bundled.InspectableTranslator, "inspect", inspect)
    app.run()
    badge = app.markdown[1]
    assert "Weights checked: exact to 8e-07, rows sum to 1" in badge.value and "green" in badge.value
    assert "on up to 4 rows of every head" in badge.proto.help
    assert "sum to 1 within 2e-07" in badge.proto.help


@pytest.mark.parametrize(
    ("values", "words_on_it"),
    [
        ({"certificate": float("nan")}, "not a number"),
        ({"certificate": 0.03}, "off by 3e-02"),
        ({"row_sum_error": 0.15}, "rows sum to 1 only within 2e-01"),
    ],
)
def test_a_failed_check_is_a_warning_and_no_reassurance(app, monkeypatch, values, words_on_it):
    original = bundled.InspectableTranslator.inspect

    def inspect(self, text, options):
        return dataclasses.replace(original(self, text, options), **values)

    monkeypatch.setattr(bundled.InspectableTranslator, "inspect", inspect)
    app.run()
    badge = app.markdown[1].value
    assert f"Do not rely on these weights: {words_on_it}" in badge
    assert "red" in badge and "green" not in badge


def test_notes_are_shown_once_and_as_text(app, monkeypatch):
    original = bundled.InspectableTranslator.inspect
    note = "**2** of <b>8</b> layers left no record."

    def inspect(self, text, options):
        return dataclasses.replace(original(self, text, options), notes=(note, "Another."))

    monkeypatch.setattr(bundled.InspectableTranslator, "inspect", inspect)
    notes = property(lambda self: (note,), lambda self, value: None)
    monkeypatch.setattr(bundled.InspectableTranslator, "notes", notes, raising=False)
    app.run()
    assert_calm(app)
    shown = [caption.value for caption in app.caption if "Note:" in caption.value]
    assert shown == [r"**Note:** \*\*2\*\* of \<b\>8\<\/b\> layers left no record\.", r"**Note:** Another\."]
    assert app.caption[0].value.endswith("· see the notes")
    assert "left no record" in app.caption[0].proto.help


def test_the_translation_is_the_models(app, translator):
    show(app)
    assert f">{translator.translate([TEXT])[0]}<" in words(app)


@pytest.mark.parametrize(
    ("stack", "layer", "head"),
    [("encoder", 1, 1), ("encoder", 2, 4), ("decoder", 2, 3), ("cross", 1, 2), ("cross", 2, 4)],
)
def test_the_heatmap_holds_the_models_weights(app, translator, stack, layer, head):
    show(app, stack=stack, layer=layer, head=head)
    assert_calm(app)
    target, weights = expected_weights(translator, TEXT, stack, layer - 1, head - 1)
    figure = heatmap(app)
    shown = figure["data"][0]["z"]
    assert shown.dtype == np.float32
    np.testing.assert_allclose(shown, weights, atol=2e-6)
    source_pieces = translator.tokenizer.pieces(translator.source_ids(TEXT))
    target_pieces = translator.tokenizer.pieces(target)
    rows, columns = figure["layout"]["yaxis2"]["ticktext"], figure["layout"]["xaxis2"]["ticktext"]
    escaped = {"<s>": "&lt;s&gt;", "</s>": "&lt;/s&gt;"}
    assert rows == [escaped.get(piece, piece) for piece in (source_pieces if stack == "encoder" else target_pieces)]
    assert columns == [escaped.get(piece, piece) for piece in (target_pieces if stack == "decoder" else source_pieces)]


def test_rows_are_queries_and_run_downwards(app):
    show(app, stack="cross")
    layout = heatmap(app)["layout"]
    assert layout["yaxis2"]["title"]["text"] == "query (row): German"
    assert layout["xaxis2"]["title"]["text"] == "key (column): English"
    first, last = layout["yaxis"]["range"]
    assert first > last


def test_the_decoder_never_looks_ahead(app):
    show(app, stack="decoder", head=2)
    weights = heatmap(app)["data"][0]["z"]
    assert np.all(weights[np.triu_indices_from(weights, k=1)] == 0)


def test_the_encoder_looks_both_ways(app):
    show(app, stack="encoder", head=2)
    weights = heatmap(app)["data"][0]["z"]
    assert np.all(weights[np.triu_indices_from(weights, k=1)] > 0)


def test_repeated_words_are_columns_of_their_own(app, translator):
    text = "the cat sees the cat"
    show(app, text, "encoder")
    axis = heatmap(app)["layout"]["xaxis"]
    pieces = translator.tokenizer.pieces(translator.source_ids(text))
    assert pieces.count("▁cat") == 2
    assert list(axis["tickvals"]) == list(range(len(pieces)))
    assert [text for text in axis["ticktext"] if text.startswith("▁cat")] == [
        f"▁cat · position {position}" for position, piece in enumerate(pieces, start=1) if piece == "▁cat"
    ]
    assert heatmap(app)["data"][0]["z"].shape == (len(pieces), len(pieces))


def test_the_view_holds_every_head_of_every_stack(app, translator):
    show(app, stack="encoder", layer=2, head=3)
    assert [stack["name"] for stack in view(app).meta["stacks"]] == ["encoder", "decoder", "cross"]
    for name in ("encoder", "decoder", "cross"):
        for layer in range(2):
            for head in range(4):
                _, weights = expected_weights(translator, TEXT, name, layer, head)
                np.testing.assert_allclose(view(app).weights(name, layer, head), weights, atol=0.004)
    assert {key: view(app).state[key] for key in ("stack", "layer", "head")} == {
        "stack": "encoder",
        "layer": 1,
        "head": 2,
    }


def test_what_the_browser_says_is_checked_kept_and_put_into_the_address(app):
    app.run()
    before = view(app).ordered
    say(app, stack="encoder", layer=0, head=3, heads=[1, 3], pinnedQueries=[2, 10**6], view="nonsense", evil="<b>")
    assert_calm(app)
    state = view(app).state
    assert (state["stack"], state["layer"], state["head"], state["heads"]) == ("encoder", 0, 3, [1, 3])
    assert state["pinnedQueries"] == [2] and state["view"] == "lines" and "evil" not in state
    expected = {"stack": "encoder", "layer": "1", "head": "4", "heads": "2.4", "rows": "3"}
    assert {name: app.query_params[name] for name in expected} == expected | {}
    app.text_input(key="text").set_value(TEXT).run()
    assert_calm(app)
    assert view(app).state["heads"] == [1, 3] and view(app).ordered == before | dict.fromkeys(PINS, 1)


def test_a_pin_goes_with_its_token(app):
    show(app, "The cat sees the dog.", "encoder")
    say(app, pinnedQueries=[1, 2], pinnedKeys=[4], pinnedCell=[1, 4])
    before = view(app).ordered
    app.text_input(key="text").set_value("The dog sees the dog.").run()
    assert_calm(app)
    assert view(app).open_stack["queries"][1:5] == ["▁dog", "▁sees", "▁the", "▁dog"]
    state = view(app).state
    assert (state["pinnedQueries"], state["pinnedKeys"], state["pinnedCell"]) == ([2], [4], None)
    assert view(app).ordered == before | dict.fromkeys(PINS, 2), "the browser has to follow, in this alone"


@pytest.mark.parametrize(("pins", "axis"), [({"pinnedQueries": [3]}, 1), ({"pinnedKeys": [3]}, 0)])
def test_of_a_single_pin_the_strongest_pair_is_explained(app, translator, pins, axis):
    show(app, stack="encoder", layer=2, head=4)
    say(app, view="product", **pins)
    _, weights = expected_weights(translator, TEXT, "encoder", 1, 3)
    partner = int(np.take(weights, 3, axis=1 - axis).argmax())
    pair = view(app).answer["pair"]
    assert (pair["query"], pair["key"]) == ((3, partner) if axis == 1 else (partner, 3))


@pytest.mark.parametrize("garbage", [None, 3, "x", [1], {"layer": "NaN"}, {"heads": [[]], "pinnedCell": [1]}])
def test_no_message_of_a_browser_breaks_the_page(app, garbage):
    app.run()
    app.session_state["view state"] = garbage
    app.run()
    assert_calm(app)
    assert view(app).state["stack"] == "cross"


def test_a_pinned_pair_has_its_exact_weight_and_where_it_comes_from(app, translator):
    show(app, stack="encoder", layer=1, head=2)
    say(app, pinnedCell=[1, 3], view="product")
    assert_calm(app)
    _, weights = expected_weights(translator, TEXT, "encoder", 0, 1)
    answer = view(app).answer
    assert (answer["stack"], answer["layer"], answer["head"]) == ("encoder", 0, 1)
    assert (answer["cell"]["query"], answer["cell"]["key"]) == (1, 3)
    assert answer["cell"]["weight"] == pytest.approx(weights[1, 3], abs=2e-6)
    assert (answer["pair"]["query"], answer["pair"]["key"]) == (1, 3)
    assert answer["pair"]["weight"] == pytest.approx(weights[1, 3], abs=2e-6)
    assert sum(answer["pair"]["products"]) == pytest.approx(answer["pair"]["dot_product"], abs=1e-4)


def test_the_next_example_is_asked_for_from_the_view(app):
    app.run()
    app.button(key="next-example").click().run()
    assert app.text_input(key="text").value == TRANSLATION.texts[1].text
    app.button(key="previous-example").click().run()
    app.button(key="previous-example").click().run()
    assert_calm(app)
    assert app.text_input(key="text").value == TRANSLATION.texts[-1].text


def test_an_example_is_one_click_away(app):
    app.run()
    app.get_by_key("example").set_value(TRANSLATION.texts[2].topic).run()
    assert_calm(app)
    assert app.text_input(key="text").value == TRANSLATION.texts[2].text
    assert TRANSLATION.texts[2].look_for in words(app)
    app.text_input(key="text").set_value(TEXT).run()
    assert app.get_by_key("example").value is None
    assert TRANSLATION.texts[2].look_for not in words(app)


def test_beam_size_and_length_penalty_reach_the_search(app, monkeypatch):
    seen = []
    original = bundled.InspectableTranslator.inspect

    def inspect(self, text, options):
        seen.append((options.beam_size, options.length_penalty))
        return original(self, text, options)

    monkeypatch.setattr(bundled.InspectableTranslator, "inspect", inspect)
    show(app)
    app.number_input(key="beam").set_value(1).run()
    app.number_input(key="penalty").set_value(1.5).run()
    assert seen == [(4, 0.6), (1, 0.6), (1, 1.5)]


@pytest.mark.parametrize("text", ["", "   ", "\t\n"])
def test_no_text_is_asked_for(app, text):
    show(app)
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    assert "no text" in app.error[0].value
    # The last result belongs to another text.
    assert not has_view(app)
    assert "headlight-answer" not in words(app)


def test_too_long_a_text_is_refused_with_its_length_and_kept(app, translator):
    text = " ".join(["cat"] * 2000)
    show(app)
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    message = app.error[0].value
    assert f"{len(translator.source_ids(text)) - 1:,}" in message.replace("\\", "")
    assert str(translator.max_source_tokens - 1) in message
    assert app.text_input(key="text").value == text
    app.text_input(key="text").set_value(TEXT).run()
    assert_calm(app)


@pytest.mark.parametrize(
    "text",
    [
        "cat",
        ".",
        "🙂🙃👩‍👩‍👧",
        "<script>alert(1)</script>",
        "<b>cat</b> <img src=x onerror=alert(1)>",
        "**cat** $x^2$ :red[dog] [link](http://x) `code`",
        "שלום עולם",
        "\u202eabc\u202c",
        "这是一只猫",
        "ÅÄÖ ﷽ 𝔘𝔫𝔦",
        "%{x} %{z:.2f}",
        "\x00\x1b[31m",
    ],
)
def test_any_text_is_shown_as_it_is(app, text):
    app.query_params["exact"] = "true"
    app.run()
    app.text_input(key="text").set_value(text).run()
    assert_calm(app)
    tokens = [*view(app).open_stack["queries"], *view(app).open_stack["keys"]]
    assert all(token and not any(unicodedata.category(each) in HIDDEN for each in token) for token in tokens)
    figure = heatmap(app)
    labels = [*figure["layout"]["xaxis"]["ticktext"], *figure["layout"]["yaxis"]["ticktext"]]
    assert not any("<" in text for text in labels)
    assert figure["data"][0]["z"].shape == tuple(len(figure["layout"][axis]["ticktext"]) for axis in ("yaxis", "xaxis"))
    assert np.isfinite(figure["data"][0]["z"]).all()


@pytest.mark.parametrize("text", ["\u200b", "\u200b \u200b"])
def test_a_text_of_invisible_characters_is_refused_in_words(app, text):
    app.run()
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    assert "only invisible characters" in app.error[0].value
    assert not has_view(app)


def test_a_layer_that_the_next_stack_lacks_becomes_its_last(app, pretrained, tmp_path, monkeypatch):
    from transformer_core.model import Transformer, TransformerConfig

    small = Translator.load(pretrained / "tiny-en-de", "cpu")
    config = TransformerConfig.from_dict(
        small.model.config.to_dict() | {"num_encoder_layers": 3, "num_decoder_layers": 1}
    )
    Translator(Transformer(config).eval(), small.tokenizer, "English", "German").save(tmp_path / "uneven")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    show(app, stack="encoder", layer=3)
    assert view(app).state["layer"] == 2
    say(app, stack="decoder")
    assert_calm(app)
    assert view(app).state["layer"] == 0


@pytest.mark.parametrize(
    "link",
    [
        {"layer": "99"},
        {"head": "-1", "beam": "none", "penalty": "nan"},
        {"stack": "Basement", "scale": "loud", "model": "../../etc", "device": "toaster"},
    ],
)
def test_a_link_with_impossible_values_falls_back(app, link):
    app.query_params.update({"text": TEXT} | link)
    app.run()
    assert_calm(app)
    assert (view(app).state["stack"], view(app).state["layer"], view(app).state["head"]) == ("cross", 1, 0)
    assert app.number_input(key="beam").value == 4
    assert app.selectbox(key="model").value == "tiny-en-de"


def test_empty_choices_in_a_link_fall_back(app):
    app.query_params.update({"text": TEXT, "stack": "", "scale": ""})
    app.run()
    assert_calm(app)
    assert (view(app).state["stack"], view(app).state["scale"]) == ("cross", "square root")


def test_a_text_too_long_for_a_heatmap_still_has_its_view(app, monkeypatch):
    monkeypatch.setattr("viz_app.attention.explore.MAX_HEATMAP_TOKENS", 5)
    show(app, stack="encoder")
    assert_calm(app)
    assert "up to 5 tokens a side" in app.info[0].value
    assert has_view(app) and not charts(app)


def test_without_a_model_the_page_says_where_to_get_one(app, tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    app.run()
    assert_calm(app)
    assert "no trained model" in app.info[0].value


def test_a_damaged_model_is_named_with_the_reason(app, pretrained, tmp_path, monkeypatch):
    shutil.copytree(pretrained / "tiny-en-de", tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"not a model")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    app.run()
    assert not app.exception
    assert "cannot be loaded" in app.error[0].value and "safetensors" in app.error[0].value
