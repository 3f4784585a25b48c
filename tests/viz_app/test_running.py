"""Waiting for a model on the page: it is shown, it can be stopped, and nothing begins by itself again."""

import re
import threading

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx

from tests.viz_app.reading import assert_calm, html, words
from transformer_core import zoo
from transformer_core.interrupting import stage
from transformer_core.zoo import InspectionOptions, bundled
from transformer_core.zoo.bundled import InspectableTranslator
from viz_app import library, runs
from viz_app.attention import running

TEXT, ANSWER = "The dog sleeps.", "Der Hund schläft."
PATIENCE = 30
"""Seconds to wait for what must come."""


class SlowTexts:
    """Makes every text take until it is let go on."""

    def __init__(self, monkeypatch) -> None:
        self.go_on = threading.Event()
        self.ended = threading.Event()
        self.begun: list[str] = []
        inspect = InspectableTranslator.inspect

        def take_time(model, text, *arguments):
            self.begun.append(text)
            try:
                while not self.go_on.wait(0.005):
                    stage("Taking *its* time")
            except BaseException:
                self.ended.set()
                raise
            return inspect(model, text, *arguments)

        monkeypatch.setattr(InspectableTranslator, "inspect", take_time)


@pytest.fixture
def slow(app, monkeypatch):
    monkeypatch.setattr(running, "SECONDS_UNSHOWN", 0)
    monkeypatch.setattr(runs, "SECONDS_BETWEEN_LOOKS", 0.02)
    app.query_params["text"] = TEXT
    slow = SlowTexts(monkeypatch)
    yield slow
    slow.go_on.set()


@pytest.fixture
def shown(monkeypatch):
    """What the page shows of runs, oldest first. What is put into `shown.then` is done once `shown.stage` was shown."""

    class Shown(list):
        stage = r"Taking \*its\* time"
        then = None

    shown, drawn = Shown(), DeltaGenerator.markdown

    def draw(place, text, *arguments, **settings):
        if " · " in text and text.endswith(" s"):
            shown.append(text)
            # The button is drawn after the first words. (Opening the model takes its time on a busy machine, too.)
            if shown.then is not None and sum(each.startswith(shown.stage) for each in shown) > 1:
                then, shown.then = shown.then, None
                then()
        return drawn(place, text, *arguments, **settings)

    monkeypatch.setattr(DeltaGenerator, "markdown", draw)
    return shown


def press(key: str) -> None:
    """Press a button of the page that is being run, as a browser says so: among what the other widgets hold."""
    context = get_script_run_ctx()
    button = context.session_state._state._key_id_mapper.get_id_from_key(key)
    others = context.session_state._state.get_widget_states()
    context.script_requests.request_rerun(
        RerunData(
            widget_states=WidgetStates(widgets=[*others, WidgetState(id=button, trigger_value=True)]),
            page_script_hash=context.page_script_hash,
            query_string=context.query_string,
        )
    )


def answer(app) -> str:
    return next((body for body in html(app) if "headlight-answer" in body), "")


def test_what_is_done_is_shown_with_the_time(app, slow, shown):
    shown.then = slow.go_on.set
    app.run()
    assert_calm(app)
    assert all(re.fullmatch(r".+ · \d+\.\d s", text) for text in shown)
    assert any(text.startswith(r"Taking \*its\* time · ") for text in shown)
    assert ANSWER in answer(app)
    assert "stop-inspect" not in [button.key for button in app.button], "nothing is left to stop"


def stop(app, slow, shown) -> None:
    """Open the page and stop its text."""
    shown.then = lambda: press("stop-inspect")
    app.run()
    assert_calm(app)
    assert slow.ended.wait(PATIENCE)


def test_a_stopped_text_stays_and_does_not_begin_by_itself(app, slow, shown):
    stop(app, slow, shown)
    assert re.search(r"Stopped after \d+\.\d s\. The text is still there\.", words(app))
    assert app.text_input(key="text").value == TEXT and not answer(app)
    app.number_input(key="beam").set_value(4).run()
    app.run()
    assert slow.begun == [TEXT], "something else on the page does not begin it again"
    assert "Stopped after" in words(app)


def test_run_again(app, slow, shown):
    stop(app, slow, shown)
    slow.go_on.set()
    app.button(key="again-inspect").click().run()
    assert_calm(app)
    assert slow.begun == [TEXT, TEXT]
    assert ANSWER in answer(app) and "Stopped" not in words(app)


def test_another_text_begins_and_the_stopped_one_is_forgotten(app, slow, shown):
    stop(app, slow, shown)
    slow.go_on.set()
    for text, translation in (("The cat sleeps.", "Die Katze schläft."), (TEXT, ANSWER)):
        app.text_input(key="text").set_value(text).run()
        assert_calm(app)
        assert translation in answer(app)


def test_the_button_beside_the_text_begins_it_again(app, slow, shown):
    stop(app, slow, shown)
    slow.go_on.set()
    next(button for button in app.button if button.label == "Translate").click().run()
    assert ANSWER in answer(app)


def test_another_session_keeps_its_run(app, slow, shown):
    """One visitor stops; another, who wants the same, has the result of that very run."""
    choice = library.ModelChoice("tiny-en-de")
    got = []
    waits = threading.Event()
    other = threading.Thread(
        target=lambda: got.append(library.inspect(choice, TEXT, InspectionOptions(), lambda run: waits.set()))
    )
    other.start()
    assert waits.wait(PATIENCE)
    shown.then = lambda: press("stop-inspect")
    app.run()
    assert_calm(app)
    assert "Stopped after" in words(app) and not slow.ended.is_set()
    slow.go_on.set()
    other.join(PATIENCE)
    assert got[0].answer == ANSWER and slow.begun == [TEXT]


def test_a_new_text_ends_the_run_of_the_old_one(app, slow, shown):
    def type_another() -> None:
        context = get_script_run_ctx()
        field = context.session_state._state._key_id_mapper.get_id_from_key("text")
        states = [state for state in context.session_state._state.get_widget_states() if state.id != field]
        states.append(WidgetState(id=field, string_value="The cat sleeps."))
        context.script_requests.request_rerun(
            RerunData(
                widget_states=WidgetStates(widgets=states),
                page_script_hash=context.page_script_hash,
                query_string=context.query_string,
            )
        )
        shown.then = slow.go_on.set if slow.ended.wait(0) else lambda: (slow.ended.wait(PATIENCE), slow.go_on.set())

    shown.then = type_another
    app.run()
    assert_calm(app)
    assert slow.begun == [TEXT, "The cat sleeps."] and slow.ended.is_set()
    assert "Die Katze schläft." in answer(app)


def test_opening_a_model_can_be_stopped(app, monkeypatch, shown):
    monkeypatch.setattr(running, "SECONDS_UNSHOWN", 0)
    monkeypatch.setattr(runs, "SECONDS_BETWEEN_LOOKS", 0.02)
    go_on, load, opened = threading.Event(), zoo.load, []

    def take_time(*arguments, **options):
        opened.append(arguments[0])
        while not go_on.wait(0.005):
            stage("Opening tiny-en-de")
        return load(*arguments, **options)

    monkeypatch.setattr(zoo, "load", take_time)
    shown.stage = r"Opening tiny\-en\-de"
    shown.then = lambda: press("stop-open")
    app.query_params["text"] = TEXT
    app.run()
    assert_calm(app)
    assert "Stopped after" in words(app) and "The model is not open" in words(app)
    assert app.text_input(key="text").value == TEXT
    assert bundled.available() == opened
    go_on.set()
    app.button(key="again-open").click().run()
    assert_calm(app)
    assert ANSWER in answer(app)
