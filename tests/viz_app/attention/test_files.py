"""The files that the Attention page offers."""

import pytest

from tests.inspection import examples
from viz_app.attention import files
from viz_app.attention.files import FORMATS, obstacle

COUNT = 4 * 3 * len(examples.ODD_TOKENS) + 60 * 60
"""Weights of `examples.odd`: of four heads and of one."""


@pytest.mark.parametrize("most", [COUNT - 1, COUNT])
def test_a_text_file_of_too_many_weights_is_not_offered_and_says_where_they_are(monkeypatch, most):
    inspection = examples.odd()
    monkeypatch.setattr(files, "MOST_WEIGHTS", {".csv": most})
    reasons = {suffix: obstacle(inspection, suffix) for suffix in FORMATS}
    assert [reasons.pop(suffix) for suffix in (".html", ".npz", ".json")] == ["", "", ""]
    if most >= COUNT:
        assert reasons[".csv"] == ""
    else:
        assert reasons[".csv"].startswith(f"CSV: {COUNT:,} weights are too many") and "NumPy" in reasons[".csv"]


def test_rows_and_columns_of_a_part_are_not_counted_twice(monkeypatch):
    monkeypatch.setattr(files, "MOST_WEIGHTS", {".csv": 2 * 4 * 4})
    assert obstacle(examples.pair(), ".csv") == ""


def test_the_page_says_why_a_file_is_not_offered(app, monkeypatch):
    monkeypatch.setattr(files, "MOST_WEIGHTS", {".csv": 1})
    app.session_state["files"] = True
    app.run()
    buttons = {each.proto.label: each.proto.disabled for each in app.get("download_button")}
    assert buttons == {"Web page": False, "NumPy": False, "JSON": False, "CSV": True}
    assert any("weights are too many" in caption.value for caption in app.caption)
