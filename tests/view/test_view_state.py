"""The state of the linked view: whatever comes in, what comes out can be shown."""

import json
import math
import re

import pytest
from hypothesis import example, given, strategies

from tests.view.metas import TRANSLATOR, meta, stack
from transformer_core.view.state import (
    ARRANGEMENTS,
    COMBINATIONS,
    MAX_PINS,
    MAX_PROBLEMS,
    OVERVIEWS,
    SCALES,
    VIEWS,
    checked_state,
    opening_state,
)

VISION = {"uri": "", "rows": 2, "columns": 3, "first_patch": 1}
"""An image of six patches behind one token that is none."""

CROSS = {
    "stack": "cross",
    "view": "lines",
    "overview": "maps",
    "arrangement": "stacks",
    "layer": 3,
    "head": 0,
    "heads": [0],
    "layers": [3],
    "combine": "head",
    "scale": "square root",
    "share": 0.7,
    "hideSpecial": False,
    "mergeWords": False,
    "pinnedQueries": [],
    "pinnedKeys": [],
    "pinnedCell": None,
}
"""How the view of TRANSLATOR opens."""

NO_NUMBERS = strategies.sampled_from([math.nan, math.inf, -math.inf, 1e308, -0.0, 10**30, -(10**30), 10**4000])
NUMBERS = strategies.integers(-3, 12) | strategies.floats(-3, 12) | NO_NUMBERS
JSON = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | NUMBERS
    | strategies.text(strategies.characters(), max_size=50)
    | strategies.sampled_from([*VIEWS, *SCALES, "cross", "encoder", "decoder", "blocks", "mean"]),
    lambda inner: (
        strategies.lists(inner, max_size=5) | strategies.dictionaries(strategies.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
STATES = strategies.fixed_dictionaries({}, optional={key: JSON | NUMBERS | strategies.lists(NUMBERS) for key in CROSS})


def assert_possible(state, shown):
    """Every rule of the state, written out once more."""
    assert list(state) == list(CROSS)
    assert json.loads(json.dumps(state, allow_nan=False)) == state
    (one,) = [each for each in shown["stacks"] if each["name"] == state["stack"]]
    assert state["view"] in VIEWS
    assert state["overview"] in OVERVIEWS
    assert state["arrangement"] in ARRANGEMENTS
    assert state["combine"] in COMBINATIONS
    assert state["scale"] in SCALES
    assert isinstance(state["share"], float) and 0.05 <= state["share"] <= 1
    assert isinstance(state["hideSpecial"], bool) and isinstance(state["mergeWords"], bool)
    places = [
        state["layer"],
        state["head"],
        *state["pinnedQueries"],
        *state["pinnedKeys"],
        *(state["pinnedCell"] or []),
    ]
    assert all(type(place) is int for place in [*places, *state["heads"], *state["layers"]])
    assert 0 <= state["layer"] < len(one["heads"])
    assert 0 <= state["head"] < one["heads"][state["layer"]]
    bounds = {
        "layers": len(one["heads"]),
        "heads": max(one["heads"]),
        "pinnedQueries": len(one["queries"]),
        "pinnedKeys": len(one["keys"]),
    }
    for key, bound in bounds.items():
        assert state[key] == sorted(set(state[key]))
        assert all(0 <= place < bound for place in state[key])
    assert state["layer"] in state["layers"] and state["head"] in state["heads"]
    if state["pinnedCell"] is not None:
        query, key = state["pinnedCell"]
        assert 0 <= query < len(one["queries"]) and 0 <= key < len(one["keys"])


def assert_short_sentences(problems):
    assert len(problems) <= MAX_PROBLEMS
    for problem in problems:
        assert problem.endswith(".") and not problem[0].islower()
        assert len(problem) < 2000
        assert not re.search("[\x00-\x1f\x7f\u2028-\u202e\ud800-\udfff]", problem)


def test_it_opens_on_the_last_layer_of_the_cross_attention():
    assert opening_state(TRANSLATOR) == CROSS
    assert checked_state({}, TRANSLATOR) == (CROSS, [])


def test_without_cross_attention_it_opens_on_the_first_whole_stack():
    pair = meta(stack("A to B", 2, 3, part_of="self"), stack("self", heads=(1,)))
    assert opening_state(pair)["stack"] == "self"
    assert opening_state(pair)["layer"] == 0
    assert opening_state(pair, "A to B")["stack"] == "A to B"
    assert opening_state(pair, "B to C")["stack"] == "self"


@pytest.mark.parametrize(("queries", "keys", "view"), [(512, 512, "lines"), (513, 2, "matrix"), (2, 513, "matrix")])
def test_many_tokens_open_as_a_matrix(queries, keys, view):
    assert opening_state(meta(stack("self", queries, keys)))["view"] == view


def test_a_stack_opens_on_the_image_if_its_tokens_are_the_patches():
    both = meta(stack("self", 7, 7), stack("text", 5, 6), image=VISION)
    assert opening_state(both)["view"] == "image"
    assert opening_state(both, "text")["view"] == "lines"
    state, problems = checked_state({"stack": "text", "view": "image"}, both)
    assert state["view"] == "lines"
    assert problems == ["“Text” has no image to draw on; lines is shown."]
    assert checked_state({"view": "lines"}, both)[0]["view"] == "lines"
    assert checked_state({"view": "image"}, both) == (opening_state(both), [])


def test_a_possible_state_stays_as_it_is():
    state = CROSS | {
        "stack": "decoder",
        "view": "product",
        "overview": "lines",
        "arrangement": "blocks",
        "layer": 0,
        "head": 1,
        "heads": [1, 7],
        "layers": [0, 1],
        "combine": "max",
        "scale": "log",
        "share": 0.95,
        "hideSpecial": True,
        "mergeWords": True,
        "pinnedQueries": [0, 4],
        "pinnedKeys": [2],
        "pinnedCell": [4, 0],
    }
    assert checked_state(state, TRANSLATOR) == (state, [])
    # JavaScript and other programs may write whole numbers with a point.
    assert checked_state(state | {"layer": 0.0, "pinnedCell": [4.0, 0.0]}, TRANSLATOR) == (state, [])


def test_lists_hold_each_place_once_in_order_and_always_the_shown_one():
    state, problems = checked_state(
        {"layer": 1, "head": 2, "heads": [3, 0, 3], "layers": [0], "pinnedKeys": [6, 1, 1, 6]}, TRANSLATOR
    )
    assert (state["heads"], state["layers"], state["pinnedKeys"]) == ([0, 2, 3], [0, 1], [1, 6])
    assert problems == []


@pytest.mark.parametrize(
    ("raw", "changed", "problem"),
    [
        ({"layer": 8}, {}, "Layer 9 does not exist: “Cross” has 4 layers; layer 4 is shown."),
        (
            {"layer": -5},
            {"layer": 0, "layers": [0]},
            "Layer -4 does not exist: “Cross” has 4 layers; layer 1 is shown.",
        ),
        ({"layer": "2"}, {}, "“2” is no layer; layer 4 is shown."),
        ({"layer": 1.5}, {}, "1.5 is no layer; layer 4 is shown."),
        ({"layer": True}, {}, "“true” is no layer; layer 4 is shown."),
        ({"layer": None}, {}, "Nothing is no layer; layer 4 is shown."),
        ({"layer": math.nan}, {}, "“not a number” is no layer; layer 4 is shown."),
        ({"layer": 10**5000}, {}, "Layer over 10^15 does not exist: “Cross” has 4 layers; layer 4 is shown."),
        (
            {"layer": -(10**5000)},
            {"layer": 0, "layers": [0]},
            "Layer under -10^15 does not exist: “Cross” has 4 layers; layer 1 is shown.",
        ),
        (
            {"stack": "decoder", "layer": 0, "head": 7},
            {"stack": "decoder", "layer": 0, "layers": [0], "head": 1, "heads": [1]},
            "Head 8 does not exist: layer 1 of “Decoder” has 2 heads; head 2 is shown.",
        ),
        (
            {"heads": [1, 4, "x"]},
            {"heads": [0, 1]},
            "No head 5, “x” in “Cross”: there are 4 heads.",
        ),
        ({"layers": {"0": 1}}, {}, "An object is no list of layers."),
        ({"pinnedQueries": [4, 5]}, {"pinnedQueries": [4]}, "No query 6 in “Cross”: there are 5 queries."),
        (
            {"pinnedKeys": list(range(-1, 20))},
            {"pinnedKeys": [*range(7)]},
            "No key 0, 8, 9, 10, 11 and 9 more in “Cross”: there are 7 keys.",
        ),
        (
            {"pinnedCell": [5, 6]},
            {},
            "There is no cell at query and key 6 and 7: “Cross” has 5 × 7 tokens.",
        ),
        ({"pinnedCell": [1, 2, 3]}, {}, "A list is no cell: a cell is a query and a key."),
        ({"stack": "basement"}, {}, "There is no attention “basement”; “cross” is shown."),
        ({"stack": ["encoder"]}, {}, "There is no attention a list; “cross” is shown."),
        ({"scale": "loud"}, {}, "There is no colour scale “loud”; “square root” is shown."),
        ({"combine": "<b>sum</b>"}, {}, "There is no way to combine heads “<b>sum</b>”; “head” is shown."),
        ({"hideSpecial": 1}, {}, "Hiding special tokens is on or off, not 1; it is off."),
        ({"share": 0}, {}, "The share of a row's weights is 0.05 to 1, not 0; 0.7 is shown."),
        (
            {"share": math.inf},
            {},
            "The share of a row's weights is 0.05 to 1, not inf; 0.7 is shown.",
        ),
        ({"colour": 1, "id": 2}, {}, "The view has nothing called “colour”, “id”."),
        ([], {}, "What the view is to show could not be read; it opens as it does at first."),
        (None, {}, "What the view is to show could not be read; it opens as it does at first."),
    ],
)
def test_what_cannot_be_is_named(raw, changed, problem):
    assert checked_state(raw, TRANSLATOR) == (CROSS | changed, [problem])


@pytest.mark.parametrize(("given", "kept"), [(0.123, 0.12), (1, 1.0), (0.05, 0.05), (0.30000000000000004, 0.3)])
def test_a_share_is_in_whole_percent(given, kept):
    assert checked_state({"share": given}, TRANSLATOR) == (CROSS | {"share": kept}, [])


def test_pins_are_bounded():
    long = meta(stack("self", 300, 300))
    state, problems = checked_state({"pinnedQueries": list(range(300))}, long)
    assert state["pinnedQueries"] == list(range(MAX_PINS))
    assert problems == [f"Only the first {MAX_PINS} of 300 pinned queries are kept."]


def test_a_million_entries_are_not_all_read():
    state, problems = checked_state({"heads": ["<script>"] * 500_000 + [1] * 500_000}, TRANSLATOR)
    assert state == CROSS
    assert problems == [
        "Only the first 10,000 of 1,000,000 heads are read.",
        "No head “<script>” in “Cross”: there are 4 heads.",
    ]
    _, problems = checked_state({str(number): 1 for number in range(1_000_000)}, TRANSLATOR)
    assert len(problems) == 1 and len(problems[0]) < 200


def test_there_are_not_too_many_sentences():
    raw = dict.fromkeys(CROSS, "?\n\u202e" + "!" * 10**6)
    state, problems = checked_state(raw, TRANSLATOR)
    assert_possible(state, TRANSLATOR)
    assert len(problems) == MAX_PROBLEMS
    assert problems[-1] == f"{len(CROSS) - MAX_PROBLEMS + 1} more things could not be used."
    assert_short_sentences(problems)
    assert "“?⏎[U+202E]!!!" in problems[0] and "…" in problems[0]


@given(JSON | STATES)
@example({"stack": "decoder", "layer": 0, "head": 7, "heads": [7]})
def test_whatever_comes_in_what_comes_out_is_possible(raw):
    for shown in (TRANSLATOR, meta(stack("self", 1, 1, (1,))), meta(stack("self", 7, 7), image=VISION)):
        state, problems = checked_state(raw, shown)
        assert_possible(state, shown)
        assert_short_sentences(problems)
        assert checked_state(state, shown) == (state, [])
