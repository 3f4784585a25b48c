"""The Training page: schedules against the paper's numbers, and the run that was measured."""

import math
import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz_app.reading import assert_calm, charts, open_page, words
from transformer_core.zoo import bundled
from viz_app import schedules

HEADER = "step,learning_rate,loss,tokens_per_second,seconds,validation_loss,validation_bleu\n"


@pytest.fixture
def page(app):
    return open_page(app, "training")


def test_the_curves_are_the_papers_schedule(page):
    figure = charts(page)[0]
    base, slower, big = figure["data"]
    for curve, d_model, warmup in ((base, 512, 4000), (slower, 512, 8000), (big, 1024, 4000)):
        expected = [d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) for step in map(int, curve["x"])]
        np.testing.assert_allclose(curve["y"], expected, rtol=1e-12)


def test_peaks_are_marked_with_step_and_value(page):
    curves = charts(page)[0]["data"]
    assert [curve["name"].partition(": ")[2] for curve in curves] == [
        "peak 6.988e-04 at 4,000",
        "peak 4.941e-04 at 8,000",
        "peak 4.941e-04 at 4,000",
    ]
    marked = [list(curve["x"][np.asarray(curve["marker"]["size"]) > 0]) for curve in curves]
    assert marked == [[4000], [8000], [4000]]


@pytest.mark.parametrize(
    ("step", "rates"),
    [
        (0, ["1.746928e-07", "6.176324e-08", "1.235265e-07"]),
        (1, ["1.746928e-07", "6.176324e-08", "1.235265e-07"]),
        (4_000, ["6.987712e-04", "2.470529e-04", "4.941059e-04"]),
        (16_000, ["3.493856e-04", "3.493856e-04", "2.470529e-04"]),
        (300_000, ["8.068715e-05", "8.068715e-05", "5.705443e-05"]),
    ],
)
def test_the_curves_can_be_read_at_any_step(page, step, rates):
    page.number_input(key="read_at").set_value(step).run()
    assert_calm(page)
    table = page.dataframe[-1].value
    assert list(table[f"rate at step {step:,}"]) == rates
    assert list(table["peak rate"]) == ["6.987712e-04", "4.941059e-04", "4.941059e-04"]
    assert list(table["peak at step"]) == ["4,000", "8,000", "4,000"]


def test_a_peak_beyond_the_last_step_is_named(page):
    page.number_input(key="last_step").set_value(5000).run()
    assert_calm(page)
    beyond = [caption.value for caption in page.caption if "lies beyond the last step" in caption.value]
    assert beyond == ["d_model 512, warm-up 8,000: its peak at step 8,000 lies beyond the last step."]


def test_the_table_survives_another_page(app):
    app.query_params["curves"] = "256,1000,2.0;64,10,1.0"
    page = open_page(app, "training")
    assert_calm(page)
    names = ["d_model 256, warm-up 1,000, scale 2", "d_model 64, warm-up 10"]
    assert [curve["name"].partition(":")[0] for curve in charts(page)[0]["data"]] == names
    page.switch_page("app_pages/positions.py").run()
    page.query_params.clear()
    page.switch_page("app_pages/training.py").run()
    assert_calm(page)
    assert [curve["name"].partition(":")[0] for curve in charts(page)[0]["data"]] == names
    assert page.query_params["curves"] == "256,1000,2.0;64,10,1.0"


def test_both_axes_can_be_logarithmic(page):
    page.toggle(key="log_steps").set_value(True)
    page.toggle(key="log_rates").set_value(True).run()
    assert_calm(page)
    layout = charts(page)[0]["layout"]
    assert layout["xaxis"]["type"] == layout["yaxis"]["type"] == "log"


def test_a_bad_row_is_named_and_the_good_ones_stay(app, monkeypatch):
    table = pd.DataFrame({"d_model": [512, 0, np.nan], "warm-up": [4000, 10.5, 100], "scale": [1.0, -1.0, 1.0]})
    monkeypatch.setattr(schedules, "DEFAULT", table)
    page = open_page(app, "training")
    assert_calm(page)
    assert [warning.value for warning in page.warning] == [
        "Row 2 is not drawn: d_model is 0 and must be a whole number from 1 to 10,000,000; warm-up is 10.5 and must be "
        "a whole number from 1 to 10,000,000; scale is -1 and must be more than 0.",
        "Row 3 is not drawn: d_model is missing.",
    ]
    assert len(charts(page)[0]["data"]) == 1


def test_without_a_row_the_page_asks_for_one(app, monkeypatch):
    monkeypatch.setattr(schedules, "DEFAULT", schedules.DEFAULT.iloc[:0])
    page = open_page(app, "training")
    assert_calm(page)
    assert "add a row" in words(page)


def test_the_measured_run_is_the_models_file(page, pretrained):
    run = pd.read_csv(pretrained / "tiny-en-de" / "training.csv")
    loss, rate, bleu, speed = charts(page)[1:]
    assert list(loss["data"][0]["x"]) == list(run["step"])
    np.testing.assert_allclose(loss["data"][0]["y"], run["loss"])
    assert list(loss["data"][1]["y"]) == list(run["validation_loss"].dropna())
    assert list(bleu["data"][0]["y"]) == list(run["validation_bleu"].dropna())
    np.testing.assert_allclose(rate["data"][0]["y"], run["learning_rate"])
    np.testing.assert_allclose(speed["data"][0]["y"], run["tokens_per_second"])


def test_a_model_without_a_record_of_its_training_says_so(app, pretrained, tmp_path, monkeypatch):
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "config.json").write_bytes((pretrained / "tiny-en-de" / "config.json").read_bytes())
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    page = open_page(app, "training")
    assert_calm(page)
    assert "no training.csv" in words(page)


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "is empty"), ("step,loss\n", "lacks"), (HEADER, "no rows yet"), ("step,le", "is empty")],
)
def test_a_record_that_cannot_be_drawn_is_met_with_words(app, pretrained, tmp_path, monkeypatch, content, message):
    shutil.copytree(pretrained / "tiny-en-de", tmp_path / "tiny-en-de")
    (tmp_path / "tiny-en-de" / "training.csv").write_text(content)
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    page = open_page(app, "training")
    assert_calm(page)
    assert message in page.warning[0].value
    assert "nan" not in words(page)
    assert len(charts(page)) == 1


def test_what_was_not_measured_yet_has_no_empty_chart(app, pretrained, tmp_path, monkeypatch):
    shutil.copytree(pretrained / "tiny-en-de", tmp_path / "tiny-en-de")
    (tmp_path / "tiny-en-de" / "training.csv").write_text(HEADER + "100,0.1,2.5,3,4,,\n")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    page = open_page(app, "training")
    assert_calm(page)
    assert page.info[0].value == "Not measured at any step so far."
    assert len(charts(page)) == 4


@pytest.mark.parametrize("text", ["", "x", "512", "512,4000", "512,4000,1;;", "0,4000,1", "512,4000,nan", "1,2,3,4"])
def test_a_link_with_impossible_settings_falls_back(text):
    assert schedules.from_link(text) is schedules.DEFAULT


@given(
    st.lists(
        st.builds(
            schedules.Setting,
            st.integers(1, schedules.LARGEST),
            st.integers(1, schedules.LARGEST),
            st.floats(min_value=1e-9, max_value=1e9),
        ),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
def test_a_link_holds_the_settings_exactly(settings):
    assert schedules.read(schedules.from_link(schedules.to_link(settings))) == (settings, [])


def test_settings_of_a_table():
    table = pd.DataFrame({"d_model": [256, None, 256], "warm-up": [100, None, 100], "scale": [2.0, None, 2.0]})
    settings, problems = schedules.read(table)
    assert settings == [schedules.Setting(256, 100, 2.0)]
    assert problems == ["Row 3 is the same as row 1 and is drawn once."]
    assert settings[0].name == "d_model 256, warm-up 100, scale 2"


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, -5, 0, 0.5])
def test_an_impossible_size_is_a_problem_and_no_failure(value):
    table = pd.DataFrame({"d_model": [value], "warm-up": [4000], "scale": [1.0]})
    settings, problems = schedules.read(table)
    assert not settings and "d_model" in problems[0]
