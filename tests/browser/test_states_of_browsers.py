"""What a browser makes of a state that cannot be, beside what Python makes of it: the same."""

import pytest

from tests.view.metas import TRANSLATOR, meta, stack
from transformer_core.view import modules
from transformer_core.view.state import checked_state, opening_state

pytestmark = pytest.mark.browser

LOAD = """async ([state, payload]) => {
    const load = source => import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));
    const [{normalized}, {Payload}] = [await load(state), await load(payload)];
    window.checked = (raw, meta) => normalized(raw, new Payload(meta, new Uint8Array(0)));
}"""

LONG = meta(stack("self", 600, 600))
IMAGE = {"uri": "", "rows": 2, "columns": 3, "first_patch": 1}
VISION = meta(stack("encoder", 7, 7), stack("pooled", 2, 6), image=IMAGE)
MOST = list(range(100))

CASES = {
    "nothing": (TRANSLATOR, {}, {}),
    "an unknown stack": (TRANSLATOR, {"stack": "nowhere"}, {"stack": "cross"}),
    "an unknown name": (TRANSLATOR, {"colour": "red"}, {}),
    "unknown choices": (
        TRANSLATOR,
        {"view": "film", "overview": 3, "arrangement": None, "combine": "sum", "scale": "root"},
        {},
    ),
    "layers that are not there": (TRANSLATOR, {"layer": 9, "layers": [-1, 1, 1, 4, 0.5, 2]}, {"layers": [1, 2, 3]}),
    "negative places": (TRANSLATOR, {"layer": -2, "head": -1}, {"layer": 0, "layers": [0]}),
    "halves": (TRANSLATOR, {"layer": 1.5, "head": 0.5, "heads": [1.5, 2]}, {"heads": [0, 2]}),
    "a head of another layer": (
        TRANSLATOR,
        {"stack": "decoder", "layer": 0, "head": 5, "heads": [7]},
        {"stack": "decoder", "layer": 0, "head": 1, "heads": [1, 7], "layers": [0]},
    ),
    "words for numbers": (TRANSLATOR, {"layer": "1", "share": "0.5", "hideSpecial": "yes", "mergeWords": 1}, {}),
    "too small a share": (TRANSLATOR, {"share": 0.01}, {}),
    "parts of a percent": (TRANSLATOR, {"share": 0.333}, {"share": 0.33}),
    "pins that are not there": (
        TRANSLATOR,
        {"pinnedQueries": [4, -1, 2.5, 5, 4], "pinnedKeys": "all", "pinnedCell": [-1, 2]},
        {"pinnedQueries": [4]},
    ),
    "a cell": (TRANSLATOR, {"pinnedCell": [4, 6]}, {"pinnedCell": [4, 6]}),
    "half a cell": (TRANSLATOR, {"pinnedCell": [0.5, 1]}, {}),
    "too many pins": (
        LONG,
        {"pinnedQueries": list(range(150)), "pinnedKeys": list(range(99, -1, -1))},
        {"pinnedQueries": MOST, "pinnedKeys": MOST},
    ),
    "an image that is not there": (TRANSLATOR, {"view": "image"}, {}),
    "an image of more patches than keys": (VISION, {"stack": "pooled", "view": "image"}, {"view": "lines"}),
    "an image": (VISION, {"view": "image"}, {}),
}
"""The meta, what came, and in what the result differs from what the stack opens with."""


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    page.evaluate(LOAD, [modules.script(modules.FRONTEND / name) for name in ("state.js", "payload.js")])
    yield page
    page.close()


@pytest.mark.parametrize("case", CASES)
def test_the_same_on_both_sides(page, case):
    shown, raw, differs = CASES[case]
    expected = opening_state(shown, raw.get("stack")) | differs
    assert checked_state(raw, shown)[0] == expected
    assert page.evaluate("([raw, meta]) => checked(raw, meta)", [raw, shown]) == expected
