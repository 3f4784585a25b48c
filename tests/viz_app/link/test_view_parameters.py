"""The state of the linked view in the address: there and back, readable, and whatever an address says."""

import re
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, strategies
from streamlit.testing.v1 import AppTest

from tests.view.metas import TRANSLATOR, meta, stack
from transformer_core.view.state import ARRANGEMENTS, COMBINATIONS, OVERVIEWS, SCALES, checked_state, opening_state
from viz_app.link import address
from viz_app.link.view_state import PARAMETERS, from_parameters, to_parameters

ODD_NAMES = meta(
    stack("self", 3, 3), stack("self, second text", 4, 4, (1, 2, 3)), stack("A to B", 2, 2, part_of="self")
)


@strategies.composite
def views(draw):
    """A meta, and one of its possible states."""
    shown = draw(strategies.sampled_from([TRANSLATOR, ODD_NAMES]))
    one = draw(strategies.sampled_from(shown["stacks"]))

    def places(count):
        return strategies.lists(strategies.integers(0, count - 1), max_size=count)

    layer = draw(strategies.integers(0, len(one["heads"]) - 1))
    queries, keys = len(one["queries"]), len(one["keys"])
    raw = {
        "stack": one["name"],
        "view": draw(strategies.sampled_from(["lines", "matrix", "product"])),
        "overview": draw(strategies.sampled_from(OVERVIEWS)),
        "arrangement": draw(strategies.sampled_from(ARRANGEMENTS)),
        "layer": layer,
        "head": draw(strategies.integers(0, one["heads"][layer] - 1)),
        "heads": draw(places(one["heads"][layer])),
        "layers": draw(places(len(one["heads"]))),
        "combine": draw(strategies.sampled_from(COMBINATIONS)),
        "scale": draw(strategies.sampled_from(SCALES)),
        "share": draw(strategies.integers(5, 100)) / 100,
        "hideSpecial": draw(strategies.booleans()),
        "mergeWords": draw(strategies.booleans()),
        "pinnedQueries": draw(places(queries)),
        "pinnedKeys": draw(places(keys)),
        "pinnedCell": draw(
            strategies.none() | strategies.tuples(strategies.integers(0, queries - 1), strategies.integers(0, keys - 1))
        ),
    }
    state, problems = checked_state(raw, shown)
    assert not problems
    return shown, state


@given(views())
def test_an_address_restores_every_state(view):
    shown, state = view
    parameters = to_parameters(state, shown)
    assert set(parameters) <= set(PARAMETERS)
    # Through an address and back, as a browser takes it.
    read = dict(parse_qsl(urlencode(parameters), keep_blank_values=True, strict_parsing=bool(parameters)))
    raw, problems = from_parameters(read, shown)
    assert problems == []
    assert checked_state(raw, shown) == (state, [])


@given(views())
def test_an_address_is_readable(view):
    shown, state = view
    parameters = to_parameters(state, shown)
    assert "%" not in urlencode({name: value for name, value in parameters.items() if name != "stack"})


def test_the_opening_view_needs_no_parameters():
    for shown in (TRANSLATOR, ODD_NAMES):
        assert to_parameters(opening_state(shown), shown) == {}
    # Nor does a stack, beside its name.
    assert to_parameters(opening_state(TRANSLATOR, "encoder"), TRANSLATOR) == {"stack": "encoder"}


def test_parameters_count_from_one():
    raw = {
        "stack": "encoder",
        "view": "matrix",
        "overview": "lines",
        "arrangement": "blocks",
        "layer": 1,
        "head": 2,
        "heads": [0, 2, 3],
        "layers": [0, 1],
        "combine": "mean",
        "scale": "log",
        "share": 0.9,
        "hideSpecial": True,
        "mergeWords": True,
        "pinnedQueries": [2, 4],
        "pinnedKeys": [1],
        "pinnedCell": [2, 6],
    }
    parameters = {
        "stack": "encoder",
        "view": "matrix",
        "overview": "lines",
        "arrangement": "blocks",
        "layer": "2",
        "head": "3",
        "heads": "1.3.4",
        "layers": "1.2",
        "combine": "mean",
        "scale": "log",
        "share": "0.9",
        "hide": "special",
        "merge": "words",
        "rows": "3.5",
        "columns": "2",
        "cell": "3.7",
    }
    assert checked_state(raw, TRANSLATOR) == (raw, [])
    assert to_parameters(raw, TRANSLATOR) == parameters
    assert from_parameters(parameters, TRANSLATOR) == (raw, [])


@pytest.mark.parametrize("text", ["Encoder", "ENCODER", "encoder"])
def test_a_stack_may_be_called_as_on_the_page(text):
    assert from_parameters({"stack": text}, TRANSLATOR) == ({"stack": "encoder"}, [])


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"layer": "0"}, "Layer 0 does not exist: “Cross” has 4 layers; layer 1 is shown."),
        ({"layer": "two"}, "“two” is no layer; layer 4 is shown."),
        ({"layer": "9" * 5000}, f"“{'9' * 30}…” is no layer; layer 4 is shown."),
        ({"layer": "٣"}, "“٣” is no layer; layer 4 is shown."),
        ({"head": ""}, "“” is no head; head 1 is shown."),
        ({"heads": "1..5"}, "No head “”, 5 in “Cross”: there are 4 heads."),
        ({"heads": "1,2"}, "No head “1,2” in “Cross”: there are 4 heads."),
        ({"cell": "3"}, "A list is no cell: a cell is a query and a key."),
        ({"cell": "9.1"}, "There is no cell at query and key 9 and 1: “Cross” has 5 × 7 tokens."),
        ({"share": "1e-400"}, "The share of a row's weights is 0.05 to 1, not “1e-400”; 0.7 is shown."),
        ({"share": "."}, "The share of a row's weights is 0.05 to 1, not “.”; 0.7 is shown."),
        ({"share": "7"}, "The share of a row's weights is 0.05 to 1, not 7; 0.7 is shown."),
        ({"scale": "foo"}, "There is no colour scale “foo”; “square root” is shown."),
        ({"stack": ""}, "There is no attention “”; “cross” is shown."),
        ({"hide": "everything"}, "A link can hide special, not “everything”."),
    ],
)
def test_what_no_view_has_is_named(parameters, problem):
    raw, problems = from_parameters(parameters, TRANSLATOR)
    state, more = checked_state(raw, TRANSLATOR)
    assert problems + more == [problem]
    assert state | {"layer": 3, "layers": [3]} == opening_state(TRANSLATOR)


@given(strategies.dictionaries(strategies.sampled_from(PARAMETERS), strategies.text(max_size=30)))
def test_no_address_breaks_it(parameters):
    raw, problems = from_parameters(parameters, TRANSLATOR)
    state, more = checked_state(raw, TRANSLATOR)
    assert checked_state(state, TRANSLATOR) == (state, [])
    assert len(problems) + len(more) <= len(parameters) + 1


def test_a_long_address_is_read_in_part():
    raw, _ = from_parameters({"heads": "1." * 250_000}, TRANSLATOR)
    assert checked_state(raw, TRANSLATOR)[1] == ["Only the first 10,000 of 250,001 heads are read."]


# --- With a session and its address ----------------------------------------------------------------------------------


def page() -> None:
    """A page with a linked view of three tokens, the second time of two."""
    import streamlit as st

    from tests.view.metas import meta, stack
    from viz_app import link

    tokens = st.number_input("Tokens", 1, 5, 3)
    shown = meta(stack("self", tokens, tokens, (4, 4)))
    if message := st.session_state.pop("from the browser", None):
        link.remember(message, shown)
    state, problems = link.restore(shown)
    st.json(state)
    st.session_state["found"] = state, problems
    st.session_state["address"] = dict(st.query_params)


def found(app):
    assert not app.exception, app.exception[0]
    return app.session_state["found"]


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(page)


def test_a_session_starts_from_its_address_and_goes_on_with_what_is_remembered(app):
    app.query_params.update({"layer": "1", "rows": "1.3", "d_model": "64"})
    state, problems = found(app.run())
    assert (state["layer"], state["pinnedQueries"], problems) == (0, [0, 2], [])
    app.session_state["from the browser"] = state | {"layer": 1, "head": 2, "heads": [2], "layers": [1]}
    state, problems = found(app.run())
    assert (state["layer"], state["head"], state["pinnedQueries"], problems) == (1, 2, [0, 2], [])
    assert dict(app.query_params) == {"head": "3", "rows": "1.3", "d_model": "64"}
    assert found(app.run()) == (state, [])


def test_an_address_is_corrected_to_what_is_shown(app):
    app.query_params.update({"layer": "9", "rows": "1.9", "hide": "all", "text": "a"})
    state, problems = found(app.run())
    assert state["pinnedQueries"] == [0]
    assert len(problems) == 3
    assert dict(app.query_params) == app.session_state["address"] == {"rows": "1", "text": "a"}
    assert found(app.run()) == (state, [])


def test_going_back_shows_what_the_address_says(app, monkeypatch):
    app.query_params.update({"layer": "1"})
    state, _ = found(app.run())
    app.session_state["from the browser"] = state | {"head": 2, "heads": [2]}
    app.run()
    assert dict(app.query_params) == {"layer": "1", "head": "3"}
    # Going back to where the address was {}.
    monkeypatch.setattr(address, "is_history_navigation", lambda: True)
    app.query_params.clear()
    state, problems = found(app.run())
    assert (state["layer"], state["head"], problems) == (1, 0, [])
    assert dict(app.query_params) == {}
    # And to where it was another model's, which nobody asks for.
    app.query_params.update({"stack": "elsewhere", "layer": "77", "share": "much"})
    state, problems = found(app.run())
    assert (state["layer"], problems) == (1, [])


def test_another_text_keeps_what_it_can_without_a_word(app):
    app.query_params.update({"rows": "1.3", "layer": "1"})
    app.run()
    app.number_input[0].set_value(2).run()
    state, problems = found(app)
    assert (state["layer"], state["pinnedQueries"], problems) == (0, [0], [])
    assert dict(app.query_params) == {"layer": "1", "rows": "1"}


def test_the_address_is_written_once_and_only_if_it_changes(app, monkeypatch):
    from streamlit.runtime.state.query_params import QueryParams

    written = []
    send = QueryParams._send_query_param_msg

    def note(self):
        written.append(urlencode(self._query_params, doseq=True))
        send(self)

    monkeypatch.setattr(QueryParams, "_send_query_param_msg", note)
    app.query_params.update({"layer": "1", "rows": "1.3", "cell": "1.2", "text": "a"})
    state, _ = found(app.run())
    assert written == []
    app.session_state["from the browser"] = state | {"head": 2, "heads": [2], "pinnedQueries": [], "pinnedCell": None}
    app.run()
    # A browser makes a step of its history of each address that differs from the one before.
    assert set(map(normal, written)) == {"head=3&layer=1&text=a"}


def normal(query: str) -> str:
    assert not re.search(r"rows|cell", query)
    return urlencode(sorted(parse_qsl(query)))
