"""What of a link cannot be is said, once, and nothing else is."""

import ast
from pathlib import Path

import pytest

import viz_app
from tests.viz_app.reading import TEXT, assert_calm, open_page
from viz_app.link.problems import BOUND, MAX_SENTENCES, OTHERS, link_problems
from viz_app.link.values import MODEL

TITLE = "**Not all of this link can be shown**"


def sentences(app) -> list[str]:
    """What the message on the page says, its escapes taken out."""
    if not app.toast:
        return []
    (message,) = app.toast
    title, *rest = message.value.split("  \n")
    assert title == TITLE
    return [line.replace("\\", "") for line in rest]


def bound_keys() -> dict[str, set[str]]:
    """The keys of all widgets in the app that are bound to the address, by the page that they are on."""
    root = Path(viz_app.__file__).parent
    found: dict[str, set[str]] = {page: set() for page in BOUND}
    for path in root.rglob("*.py"):
        places = (place.title() for place in path.relative_to(root).with_suffix("").parts)
        page = next((place for place in places if place in BOUND), "Attention")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call):
                keywords = {keyword.arg: keyword.value for keyword in call.keywords}
                if "bind" in keywords:
                    found[page].add(ast.literal_eval(keywords["key"]))
    return found


@pytest.mark.parametrize("number", ["9" * 400, "-1e400", "inf"])
def test_a_number_without_end_is_one_that_cannot_be(app, number):
    app.query_params.update({"beam": number, "penalty": number, "last_step": number})
    app.run()
    assert_calm(app)
    assert [each.split(" cannot be ")[0] for each in sentences(app)] == ["The beam size", "The length penalty"]
    assert not {"beam", "penalty"} & {*app.query_params}
    open_page(app, "training")
    assert_calm(app)
    assert [each.split(" cannot be ")[0] for each in sentences(app)] == ["The last step"]


def test_every_bound_widget_is_known():
    found = bound_keys()
    # Written into the address by `link.remember_value`: the widget's labels say more than a model's name.
    found["Attention"].add(MODEL)
    assert found == {page: set(names) for page, names in BOUND.items()}


def test_no_parameter_has_two_meanings():
    names = [*OTHERS, *(name for names in BOUND.values() for name in names)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("asked", "kept", "shown", "problem"),
    [
        ({"model": ["missing"]}, {}, {"model": "good"}, "There is no model “missing” here; “good” is shown."),
        ({"device": ["toaster"]}, {}, {"device": "auto"}, "There is no device “toaster” here; “auto” is shown."),
        ({"beam": ["999"]}, {}, {"beam": 4}, "The beam size cannot be “999”; it is 4."),
        ({"beam": ["2.7"]}, {"beam": ["2"]}, {"beam": 2}, "The beam size cannot be “2.7”; it is 2."),
        ({"penalty": ["nan"]}, {}, {"penalty": 0.6}, "The length penalty cannot be “nan”; it is 0.6."),
        ({"new": [""]}, {}, {"new": 5}, "The number of new tokens cannot be “”; it is 5."),
        ({"chat": ["yes"]}, {}, {"chat": False}, "Chat is on or off, not “yes”; it is off."),
        ({"mask": ["cat", "cow", "sow"]}, {"mask": ["cat"]}, {"mask": ["cat"]}, "There is no word “cow”, “sow” here."),
        ({"beam": ["2"], "chat": ["true"]}, {}, {}, "Nothing here uses “beam”, “chat”."),
        ({"Model": ["good"]}, {"Model": ["good"]}, {"model": "good"}, "Headlight knows no parameter “Model”."),
        ({"": ["a"]}, {}, {}, "Headlight knows no parameter “”."),
        (
            {"<b>" + "x" * 10**6: ["1"], "a\n\u202e": ["2"]},
            {},
            {},
            f"Headlight knows no parameter “<b>{'x' * 27}…”, “a⏎[U+202E]”.",
        ),
        (
            {"model": ["[a](http://x) **b** \x00" * 10**5]},
            {},
            {"model": "good"},
            "There is no model “[a](http://x) **b** [U+0000][a](http:…” here; “good” is shown.",
        ),
    ],
)
def test_what_is_not_used_is_named(asked, kept, shown, problem):
    assert link_problems(asked, kept, shown, "Attention") == [problem]


@pytest.mark.parametrize(
    ("asked", "kept", "shown"),
    [
        ({}, {}, {"model": "good"}),
        ({"model": ["good"]}, {}, {"model": "good"}),
        ({"model": ["other"]}, {"model": ["other"]}, {"model": "other"}),
        ({"beam": ["4"]}, {}, {"beam": 4}),
        ({"beam": ["4.0"]}, {}, {"beam": 4}),
        ({"beam": ["8", "2"]}, {"beam": ["2"]}, {"beam": 2}),
        ({"penalty": ["0.60"]}, {}, {"penalty": 0.6}),
        ({"chat": ["FALSE"]}, {}, {"chat": False}),
        ({"chat": ["True"]}, {"chat": ["true"]}, {"chat": True}),
        ({"mask": [""]}, {}, {"mask": []}),
        ({"device": ["cpu: 1"]}, {"device": ["cpu: 1"]}, {"device": "cpu"}),
        # Of the linked view, the texts and the other pages: not for this to judge.
        ({"rows": ["99"], "text": ["a"], "curves": ["x"], "d_model": ["-1"]}, {}, {}),
    ],
)
def test_what_is_used_needs_no_word(asked, kept, shown):
    assert link_problems(asked, kept, shown, "Attention") == []


def test_dimensions_that_are_drawn_anyway_need_no_word():
    asked = {"dimensions": ["8", "9", "24", "25", "48"]}
    assert link_problems(asked, {}, {"dimensions": [8, 9, 24, 25, 48]}, "Positions") == []
    assert link_problems({"dimensions": ["900"]}, {}, {"dimensions": [8, 9]}, "Positions") == [
        "There is no dimension “900” here."
    ]


def test_a_page_says_it_once(app):
    app.query_params.update({"d_model": "1e9", "length": "-3", "starts": "7", "max_offset": "x", "<i>": "1"})
    app.run()
    assert sentences(app) == ["Headlight knows no parameter “<i>”."]
    # Shown as it is written: no Markdown, no HTML.
    assert r"\<i\>" in app.toast[0].value
    page = app.switch_page("app_pages/positions.py").run()
    assert_calm(page)
    assert sentences(page) == [
        "The number of dimensions cannot be “1e9”; it is 128.",
        "The number of positions cannot be “-3”; it is 100.",
        "There is no first position “7” here.",
        "The largest offset cannot be “x”; it is 100.",
    ]
    assert dict(page.query_params) == {}
    page.run()
    assert sentences(page) == []


def test_a_model_that_is_not_there(app):
    app.query_params.update({"model": "missing", "text": TEXT, "beam": "99", "chat": "true", "layer": "9"})
    app.run()
    assert_calm(app)
    assert sentences(app) == [
        "There is no model “missing” here; “tiny-en-de” is shown.",
        "The beam size cannot be “99”; it is 4.",
        "Nothing here uses “chat”.",
        "Layer 9 does not exist: “Cross” has 2 layers; layer 2 is shown.",
    ]
    assert dict(app.query_params) == {"text": TEXT}


def test_there_are_not_too_many_sentences(app):
    app.query_params.update(dict.fromkeys([*OTHERS, *BOUND["Attention"], "?"], "~"))
    app.run()
    assert_calm(app)
    assert len(sentences(app)) == MAX_SENTENCES
    assert sentences(app)[-1].endswith("more things are not used.")


def test_values_for_a_model_of_ones_own(app, tiny_checkpoints):
    app.query_params.update(
        {"model": "Your own model", "own": str(tiny_checkpoints["masked"]), "text": TEXT, "second": "a\nb"}
        | {"dtype": "float7", "implementation": "tensorflow"}
        | {"mask": "nothing", "place": "nowhere", "special": "perhaps"}
    )
    app.run()
    assert_calm(app)
    assert sentences(app) == [
        "There is no precision “float7” here; “auto” is shown.",
        "There is no implementation “tensorflow” here; “transformers” is shown.",
        "Read special tokens is on or off, not “perhaps”; it is off.",
        "There is no word “nothing” here.",
        "Nothing here uses “place”.",
        "The second text in the link has line breaks or control characters; here they are blanks.",
    ]
    app.run()
    assert_calm(app)
    assert sentences(app) == []


def test_nothing_is_said_before_a_model_is_open(app):
    app.query_params.update({"model": "Your own model", "own": "somebody/model", "second": "two", "?": "1"})
    app.run()
    assert "Press Open" in app.info[0].value
    assert sentences(app) == []
    assert app.query_params["second"] == "two"


def test_what_is_meant_for_another_page_waits_for_it(app):
    app.query_params.update({"d_model": "64", "last_step": "-1", "curves": "1,2", "log_rates": "perhaps"})
    page = open_page(app, "positions")
    assert sentences(page) == []
    page.switch_page("app_pages/training.py").run()
    assert_calm(page)
    assert sentences(page) == [
        "The last step cannot be “-1”; it is 50000.",
        "Logarithmic rates is on or off, not “perhaps”; it is off.",
        "The curves in the link cannot be read; those of the paper are drawn.",
    ]


def test_a_good_link_has_no_message(app):
    app.query_params.update({"d_model": "64", "dimensions": ["0", "3"], "max_offset": "100"})
    page = open_page(app, "positions")
    assert_calm(page)
    assert sentences(page) == []
    assert page.multiselect(key="dimensions").value == [0, 3]
