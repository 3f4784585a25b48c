"""The benchmark of the views shows both contenders the same weights and does in a page what it says."""

import functools
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from benchmarks import bertviz_pages, random_attention, view_visits, views
from benchmarks.__main__ import main
from benchmarks.devtools import open_tab
from benchmarks.report import Comparison, Measurement
from benchmarks.servers import files
from transformer_core.text import Tokenizer
from transformer_core.view.html_file import to_page
from transformer_core.zoo.bundled import PRETRAINED

LENGTH = 8

PAGE = """<!DOCTYPE html><meta charset="utf-8"><body style="height: 3000px"><input>
<script>
  const input = document.querySelector("input");
  input.addEventListener("keydown", (event) => requestAnimationFrame(() => document.body.dataset.key = event.key));
  addEventListener("click", (event) => (document.body.dataset.click = `${event.clientX} ${event.clientY}`));
</script>"""


def in_a_thread(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a thread of its own: Playwright runs once in a thread, and that of the browser tests stays open."""

    @functools.wraps(test)
    def run(**fixtures) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(test, **fixtures).result()

    return run


def test_bertviz_gets_the_same_weights_and_asks_no_other_machine():
    attention = random_attention.maps(LENGTH)
    page = bertviz_pages.page("model_view", list(attention), random_attention.tokens(LENGTH), "http://127.0.0.1:1")
    parameters = json.loads(re.search("const params = (.*?); // HACK", page)[1])
    torch.testing.assert_close(torch.tensor(parameters["attention"][0]["attn"]), attention[:, 0])
    stack = random_attention.inspection(LENGTH).stacks["self"]
    torch.testing.assert_close(torch.stack([stack.weights(layer) for layer in range(len(stack))]), attention[:, 0])
    assert list(stack.query_tokens) == parameters["attention"][0]["left_text"]
    assert re.findall(r"(?:src=\"|d3: '|jquery: ')(.*?)[\"']", page) == [
        f"http://127.0.0.1:1/{name}" for name in ("require.js", "d3.min", "jquery.min")
    ]


def test_without_npm_it_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(bertviz_pages.shutil, "which", lambda name: None)
    with pytest.raises(OSError, match=r"require\.js, d3 and jQuery.*install Node\.js"):
        bertviz_pages.fetch_scripts(tmp_path)


def test_what_is_too_short_is_refused(capsys):
    assert main(["views", "--lengths", "64", "4"]) == 2
    assert "with 4 tokens: at least 8" in capsys.readouterr().err


def test_the_typed_texts_are_as_long_as_they_say():
    tokenizer = Tokenizer.load(PRETRAINED / "tatoeba-en-de" / "tokenizer.model")
    texts = views._texts(20)
    assert {len(tokenizer.encode(text)) for text in texts} == {views.TYPED}
    assert len(set(texts)) == 20


@in_a_thread
def test_a_tab_is_clicked_typed_into_and_scrolled(tmp_path):
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    with files(tmp_path) as address, open_tab() as tab:
        tab.open(f"{address}/page.html")
        tab.evaluate("stopwatch.painted(() => document.querySelector('input'))")
        tab.click(40, 70)
        assert tab.evaluate("document.body.dataset.click") == "40 70"
        tab.evaluate("document.querySelector('input').focus()")
        tab.type("Grüße")
        assert tab.evaluate("document.querySelector('input').value") == "Grüße"
        assert tab.timed("keydown", "document.body.dataset.key === 'Enter'", lambda: tab.press("Enter")) > 0
        assert len(view_visits._frames(tab, "scroll", [lambda: tab.wheel(40, 70, 10)] * 10)) >= 2
        with pytest.raises(OSError, match="nowhere is not defined"):
            tab.evaluate("nowhere")
        assert tab.memory() > 10e6


@in_a_thread
def test_a_visitor_of_the_view_finds_everything_that_is_compared(monkeypatch, tmp_path):
    monkeypatch.setattr(view_visits, "MOVES", 6)
    (tmp_path / "view.html").write_text(to_page(random_attention.inspection(32)), encoding="utf-8")
    with files(tmp_path) as address:
        found = view_visits.headlight_page(f"{address}/view.html")
    assert set(found) == {name for name in views.NAMES if not name.startswith("app ") and name != "payload"}
    assert all(value > 0 for value in found.values())


def test_a_comparison_says_what_is_met():
    measurements = [
        Measurement("size", "MB", [1.0, 2.0, 3.0], [40.0, 100.0, 90.0], "40 times smaller", is_met=True),
        Measurement("hover", "ms", [17.0], goal="one frame", is_met=False),
        Measurement("memory", "MB", [1234.0], [2468.0]),
    ]
    report = Comparison("Title", ("ours", "theirs"), measurements, {"hardware": "abacus"})
    rows = [re.split(" {2,}", line) for line in report.as_text().splitlines()[2:6]]
    assert rows == [
        ["", "ours", "theirs", "ratio", "goal"],
        ["size, MB", "2.00", "90.0", "40.0", "40 times smaller", "met"],
        ["hover, ms", "17.0", "one frame", "NOT MET"],
        ["memory, MB", "1,234", "2,468", "2.00"],
    ]
    assert "hardware: abacus" in report.as_text()
    assert [each["ratio"] for each in json.loads(report.as_json())["measurements"]] == [40.0, None, 2.0]


def test_goals_are_judged_by_the_medians():
    values = dict.fromkeys(views.NAMES, 20.0)
    visits = {"Headlight": [values | {"payload": size} for size in (1.0, 2.0, 9.0)], "BertViz": [values] * 3}
    found = {(length, contender): own for contender, own in visits.items() for length in (64, 128)}
    for each in visits["BertViz"][:1]:
        each["payload"] = 80.0
    judged = {each.name: each.is_met for each in views._compared(128, found)}
    assert judged["128 tokens: page, size"] is True  # 80 by 2
    assert judged["128 tokens: page, painted"] is False
    assert judged["128 tokens: hover, matrix"] is False
    assert judged["128 tokens: longest interaction"] is True
    assert {each.is_met for each in views._compared(64, found)} == {None}
