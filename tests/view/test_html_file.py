"""The file that keeps the view: nothing in it reaches out of it, and no text breaks it."""

import base64
import dataclasses
import html
import json
import re
import zlib
from hashlib import sha256

import numpy as np
import torch

from tests.inspection import examples
from transformer_core.inspection import export
from transformer_core.view import payload
from transformer_core.view.html_file import to_frame, to_page
from transformer_core.view.payload import build
from transformer_core.view.state import opening_state

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\u2028&amp;\ud800"


def element(page: str, name: str) -> str:
    """The text of the script element with this id."""
    return re.search(rf'<script type="[a-z/]+" id="{name}">(.*?)</script>', page, re.DOTALL)[1]


def test_it_holds_the_payload_and_what_to_show():
    inspection = examples.odd()
    built, page = build(inspection), to_page(inspection)
    assert json.loads(element(page, "meta")) == json.loads(json.dumps(built.meta))
    assert json.loads(element(page, "start")) == opening_state(built.meta)
    weights = np.frombuffer(zlib.decompress(base64.b64decode(element(page, "weights"))), np.uint8)
    np.testing.assert_array_equal(weights, built.weights)


def test_only_its_own_script_may_run_and_nothing_is_fetched():
    page = to_page(examples.odd())
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}';" in policy


def test_no_text_ends_an_element(tmp_path):
    stack = examples.stack("</script><b>", [torch.zeros(1, 2, 2)], (HOSTILE, "<b>"), (HOSTILE, "]]>"))
    inspection = examples.inspection(stack, text=HOSTILE, answer=HOSTILE, notes=(HOSTILE,))
    page = to_page(inspection)
    assert page.count("</script") == page.count("<script") == 4
    assert "<img" not in page and "<!--" not in page
    assert "onerror" in json.loads(element(page, "meta"))["text"]
    assert html.unescape(to_frame(inspection)).count("<iframe") == 1


def test_twelve_by_twelve_heads_of_64_tokens_are_less_than_a_megabyte():
    random = torch.Generator().manual_seed(0)
    layers = [torch.randn(12, 64, 64, generator=random) * 2 for _ in range(12)]
    tokens = tuple(f"token {number}" for number in range(64))
    assert len(to_page(examples.inspection(examples.stack("self", layers, tokens, tokens))).encode()) < 1e6


def test_what_is_known_of_it_can_be_read_without_the_view():
    page = to_page(dataclasses.replace(examples.odd(), notes=("A <note>.",)))
    for words in ("a-model", "0123456789ab", "A &lt;note&gt;.", "Die Katze", "The cat, “the” cat."):
        assert words in page


def test_too_large_for_one_file_it_holds_the_layer_that_it_opens_with(monkeypatch):
    monkeypatch.setattr(payload, "MAX_BYTES", 2000)
    monkeypatch.setattr(payload, "POOLED_BYTES", 600)
    tokens = tuple(map(str, range(30)))
    layers = [torch.zeros(2, 30, 30)] * 3
    inspection = examples.inspection(examples.stack("self", layers, tokens, tokens))
    state = {**opening_state(build(inspection).meta), "layer": 1, "head": 1}
    detail = json.loads(element(to_page(inspection, state), "meta"))["detail"]
    assert (detail["layer"], detail["heads"]) == (1, [0, 1])


def test_a_notebook_shows_the_file_in_a_frame_that_reaches_nothing():
    inspection = examples.odd()
    frame = inspection._repr_html_()
    source = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="([^"]*)" [^<>]*></iframe>', frame)
    assert html.unescape(source[1]) == to_page(inspection)
    assert source[2].split() == ["allow-scripts", "allow-downloads"]


def test_saving_with_its_suffix_writes_it(tmp_path):
    export.save(examples.odd(), tmp_path / "seen.HTML")
    assert (tmp_path / "seen.HTML").read_text(encoding="utf-8") == to_page(examples.odd())
