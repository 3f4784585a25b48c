"""The Models page: what is here, the published sizes, their costs, and the playground."""

import json
import shutil

import pandas as pd
import pytest

from tests.viz_app.link.test_problems import sentences
from tests.viz_app.reading import assert_calm, charts, open_page, words
from transformer_core.model import TransformerConfig
from transformer_core.model.parameters import parameters, total
from transformer_core.model.published import PUBLISHED
from transformer_core.zoo import bundled

FIGURES = ("card", "parts", "operations", "playground")


@pytest.fixture
def page(app):
    return open_page(app, "models")


def figure(page, name: str) -> dict:
    """A chart of the page with one model installed."""
    return dict(zip(FIGURES, charts(page), strict=True))[name]


def sum_of(figure: dict) -> int:
    return sum(int(count) for bar in figure["data"] for count in bar["x"])


def metrics(page) -> dict[str, str]:
    return {metric.label: metric.value for metric in page.metric}


def table(page) -> pd.DataFrame:
    """The published totals."""
    return page.table[-1].value


def costs(page) -> pd.DataFrame:
    (found,) = (each.value for each in page.dataframe if "KV cache, bfloat16" in each.value)
    return found.set_index("model")


def test_the_table_compares_the_sums_with_the_papers(page):
    assert_calm(page)
    rows = table(page)
    assert list(rows.index) == [published.name for published in PUBLISHED]
    assert list(rows.loc["Transformer base"]) == ["63,045,632", "65M", "-3.0%"]
    assert list(rows.loc["GPT-2 small"]) == ["124,439,808", "117M", "+6.4%"]
    assert list(rows.loc["GPT-3 175B"]) == ["174,604,259,328", "175.0B", "-0.2%"]
    assert list(rows.loc["T5 large"]) == ["737,668,096", "770M", "-4.2%"]
    text = words(page).replace("\\", "")
    assert all(published.difference in text for published in PUBLISHED)


def test_gpt4_has_no_number(page):
    (caption,) = (caption.value for caption in page.caption if "GPT-4" in caption.value)
    assert "its size is not published" in caption
    assert not any("GPT-4" in name for name in table(page).index)


def test_the_parts_of_the_chosen_model_are_drawn_and_listed(page):
    page.selectbox(key="shape").set_value("GPT-2 XL").run()
    assert_calm(page)
    assert sum_of(figure(page, "parts")) == 1_557_611_200
    assert metrics(page)["Sum of the parts"] == "1,557,611,200" and metrics(page)["Published"] == "1542M"
    parts = page.dataframe[0].value
    assert sum(int(count.replace(",", "")) for count in parts["parameters"]) == 1_557_611_200
    assert "N_d·(4·d·h·d_k + 3·h·d_k + d)" in set(parts["formula"])
    (legend,) = (caption.value.replace("\\", "") for caption in page.caption[1:2])
    assert "h = 25 (heads)" in legend and "n_max = 1,024 (longest sequence)" in legend and "S = " not in legend


def test_costs_follow_the_context(page):
    assert costs(page).loc["GPT-2 small", "FLOPs"] == "265.9 M a token"
    page.number_input(key="context").set_value(1024).run()
    assert_calm(page)
    rows = costs(page)
    assert list(rows.loc["GPT-2 small"]) == ["497.8 MB", "248.9 MB", "37.75 MB", "284.8 M a token"]
    assert rows.loc["GPT-3 175B", "KV cache, bfloat16"] == "4.832 GB"
    assert rows.loc["BERT-base", "FLOPs"] == rows.loc["BERT-base", "KV cache, bfloat16"] == "context too long"
    assert rows.loc["ViT-B/16", "FLOPs"] == "35.13 G an image" and rows.loc["ViT-B/16", "KV cache, bfloat16"] == "none"
    assert rows.loc["T5 small", "FLOPs"].endswith("a target token")
    said = words(page)
    assert "two for each multiply-add" in said and "as much again, for the n tokens of the source" in said


def test_operations_of_a_model_that_reads_no_such_context_are_not_drawn(page):
    page.selectbox(key="shape").set_value("BERT-large")
    page.number_input(key="context").set_value(513).run()
    assert_calm(page)
    assert len(charts(page)) == len(FIGURES) - 1
    page.number_input(key="context").set_value(512).run()
    assert sum_of(figure(page, "operations")) == 654_311_424 + 2 * 1024 * 1024


def test_the_playground_recomputes_at_once(page):
    page.number_input(key="field d_model").set_value(1024).run()
    assert_calm(page)
    expected = total(parameters(TransformerConfig.base(d_model=1024)))
    assert sum_of(figure(page, "playground")) == expected
    (metric,) = (metric for metric in page.metric if metric.label == "Parameters")
    assert metric.value == f"{expected / 1e6:.4g} M"
    assert metric.delta == f"{expected / 63_045_632 - 1:+.1%} against Transformer base"
    assert page.query_params["changes"] == "d_model-1024"
    page.number_input(key="field d_model").set_value(512).run()
    assert "changes" not in page.query_params


def test_a_bad_combination_is_explained_and_nothing_is_lost(page):
    page.selectbox(key="preset").set_value("T5 base").run()
    page.number_input(key="field d_ff").set_value(1000)
    page.number_input(key="field num_heads").set_value(7).run()
    assert not page.exception
    (error,) = page.error
    assert "d_model=768 is not divisible by num_heads=7" in error.value.replace("\\", "")
    assert len(charts(page)) == len(FIGURES) - 1
    assert page.query_params["changes"] == "num_heads-7.d_ff-1000"
    page.number_input(key="field head_size").set_value(64).run()
    assert_calm(page)
    assert page.number_input(key="field d_ff").value == 1000
    config = TransformerConfig.t5(
        d_model=768, num_heads=7, head_size=64, d_ff=1000, num_encoder_layers=12, num_decoder_layers=12
    )
    assert sum_of(figure(page, "playground")) == total(parameters(config))


def test_another_preset_starts_again(page):
    page.number_input(key="field d_model").set_value(1024).run()
    page.selectbox(key="preset").set_value("ViT-B/16").run()
    assert_calm(page)
    assert page.number_input(key="field d_model").value == 768
    assert metrics(page)["FLOPs an image"] == "35.13 G" and sum_of(figure(page, "playground")) == 86_567_656
    assert "changes" not in page.query_params
    page.number_input(key="field patch_size").set_value(32).run()
    assert page.query_params["changes"] == "patch_size-32"
    page.selectbox(key="preset").set_value("Transformer base").run()
    assert_calm(page)
    assert sum_of(figure(page, "playground")) == 63_045_632


def test_the_design_survives_another_page(page):
    page.selectbox(key="preset").set_value("GPT-2 small").run()
    page.number_input(key="field num_decoder_layers").set_value(3).run()
    page.selectbox(key="field positions").set_value("rotary").run()
    page.switch_page("app_pages/positions.py").run()
    page.query_params.clear()
    page.switch_page("app_pages/models.py").run()
    assert_calm(page)
    assert page.selectbox(key="preset").value == "GPT-2 small"
    assert page.query_params["changes"] == "num_decoder_layers-3.positions-rotary"
    config = TransformerConfig.gpt2(num_decoder_layers=3, positions="rotary")
    assert sum_of(figure(page, "playground")) == total(parameters(config))


def test_a_link_restores_the_page(app):
    app.query_params.update({"shape": "T5 3B", "context": "64", "preset": "BERT-base"})
    app.query_params["changes"] = "num_encoder_layers-2.top-masked words.share_output-false"
    page = open_page(app, "models")
    assert_calm(page)
    assert sentences(page) == []
    assert sum_of(figure(page, "parts")) == 2_851_598_336
    config = TransformerConfig.bert(num_encoder_layers=2, share_output=False)
    assert sum_of(figure(page, "playground")) == total(parameters(config, "masked words"))
    assert page.query_params["changes"] == "num_encoder_layers-2.top-masked words.share_output-false"


def test_what_a_link_asks_for_in_vain_is_said(app):
    app.query_params.update({"shape": "GPT-5", "context": "0", "preset": "<b>", "changes": "d_model-9e9.hats-2.hats-3"})
    page = open_page(app, "models")
    assert_calm(page)
    assert sentences(page) == [
        "There is no published model “GPT-5” here; “Transformer base” is shown.",
        "The context length cannot be “0”; it is 512.",
        "There is no published model to start from “<b>” here; “Transformer base” is shown.",
        "d_model cannot be “9e9”; it is 512.",
        "The link changes “hats”, which is no field of this model.",
    ]
    assert "changes" not in page.query_params


def test_the_largest_sizes_are_no_failure(app):
    names = ("d_model", "num_heads", "d_ff", "num_encoder_layers", "num_decoder_layers", "vocab_size", "max_length")
    app.query_params["changes"] = ".".join(f"{name}-10000000" for name in names)
    page = open_page(app, "models")
    assert_calm(page)
    assert metrics(page)["Parameters"].endswith(" T")


def test_a_card_shows_a_model_and_links_to_it(app, pretrained):
    page = open_page(app, "models")
    facts = page.table[0].value
    assert page.subheader[0].value == r"tiny\-en\-de"
    assert "2 encoder + 2 decoder, post-norm" in facts.to_string()
    run = pd.read_csv(pretrained / "tiny-en-de" / "training.csv")
    assert list(figure(page, "card")["data"][0]["y"]) == list(run["loss"])
    assert "A model of the tests." in words(page)
    card = pretrained / "tiny-en-de" / "MODEL_CARD.md"
    before = card.read_text()
    try:
        card.write_text(f"{before}\n## How good it is\n\n| text | loss |\n|---|---|\n| x | 2 |\n\n- Data: a book\n")
        page.run()
        assert_calm(page)
        assert "| x | 2 |" in [each.value.splitlines()[-1] for each in page.markdown]
        assert "Data: a book" in [each.value for each in page.markdown]
    finally:
        card.write_text(before)
    (opening,) = (each.proto for each in page.get("page_link"))
    assert (opening.label, opening.query_string) == ("Open on the Attention page →", "model=tiny-en-de")


def test_a_cards_link_opens_its_model_after_another_was_open(app, pretrained, tmp_path, monkeypatch):
    for name in ("one", "two"):
        shutil.copytree(pretrained / "tiny-en-de", tmp_path / name)
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    app.run()
    assert app.session_state["model"] == "one"
    app.switch_page("app_pages/models.py").run()
    # What the browser does with the card's link.
    app.query_params["model"] = "two"
    app.switch_page("app_pages/attention.py").run()
    assert_calm(app)
    assert app.session_state["model"] == "two"


def test_models_that_cannot_be_read_leave_the_others(app, pretrained, tmp_path, monkeypatch):
    for name, config in (("bad", "{"), ("evil", json.dumps({"transformer": {}}))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(config)
    (tmp_path / "evil" / "model.safetensors").touch()
    (tmp_path / "evil" / "MODEL_CARD.md").write_text("<script>alert(1)</script> ![x](http://example.com/x.png)")
    (tmp_path / "evil" / "training.csv").write_text("step,loss\n")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    page = open_page(app, "models")
    assert_calm(page)
    (warning,) = page.warning
    assert "its config.json does not describe a model" in warning.value.replace("\\", "")
    assert "! [x](http://example.com/x.png)" in words(page)
    assert not any(part.allow_html for part in page.markdown)
    assert any(caption.value.startswith("No curve: ") for caption in page.caption)


def test_without_models_the_sizes_are_still_there(app, tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    page = open_page(app, "models")
    assert_calm(page)
    assert "There is no trained model" in page.info[0].value
    assert len(charts(page)) == len(FIGURES) - 1
