"""Results that sessions share: who waits, who leaves, and what ends then."""

import threading
from dataclasses import dataclass, field

import pytest
from cachetools import LRUCache

from transformer_core.interrupting import Stage, Stopped, stage
from viz_app import runs
from viz_app.runs import SharedResults

PATIENCE = 30
"""Seconds to wait for what must come."""


class Leave(BaseException):
    """As Streamlit raises where a session goes on to something else."""


@dataclass
class Work:
    """Something that takes until it is let go on, and notes how it went."""

    go_on: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    times: int = 0

    def __call__(self) -> str:
        self.times += 1
        self.begun.set()
        try:
            while not self.go_on.wait(0.005):
                stage("Working", 0.5)
        except Stopped:
            self.ended.set()
            raise
        return f"result {self.times}"


class Session:
    """One who waits in a thread of its own, until it has the result or is told to leave."""

    def __init__(self, results: SharedResults, work: Work, key: str = "key") -> None:
        self.leaves = threading.Event()
        self.watches = threading.Event()
        self.run = None
        self.outcome: list[object] = []
        self._thread = threading.Thread(target=self._wait, args=(results, work, key), daemon=True)
        self._thread.start()

    def _wait(self, results: SharedResults, work: Work, key: str) -> None:
        try:
            self.outcome.append(results.get(key, work, self._watch))
        except BaseException as error:
            self.outcome.append(error)

    def _watch(self, run: runs.Run) -> None:
        self.run = run
        self.watches.set()
        if self.leaves.is_set():
            raise Leave

    def result(self) -> object:
        self._thread.join(PATIENCE)
        (outcome,) = self.outcome
        return outcome

    def leave(self) -> None:
        self.leaves.set()
        assert isinstance(self.result(), Leave)


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setattr(runs, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(runs, "SECONDS_TO_RETURN", 3600)


@pytest.fixture
def results() -> SharedResults:
    return SharedResults(LRUCache(2))


@pytest.fixture
def work():
    work = Work()
    yield work
    work.go_on.set()


def test_those_who_want_the_same_wait_for_one_run(results, work):
    first, second = Session(results, work), Session(results, work)
    assert first.watches.wait(PATIENCE) and second.watches.wait(PATIENCE)
    assert first.run is second.run
    work.go_on.set()
    assert first.result() == second.result() == "result 1"
    assert results.get("key", work) == "result 1" and work.times == 1


def test_one_leaves_and_the_other_has_the_result(results, work):
    first, second = Session(results, work), Session(results, work)
    assert first.watches.wait(PATIENCE) and second.watches.wait(PATIENCE)
    first.leave()
    first.run.give_up()
    assert not work.ended.wait(0.3)
    work.go_on.set()
    assert second.result() == "result 1"


def test_a_run_that_nobody_waits_for_ends_and_the_next_who_asks_begins_anew(results, work, monkeypatch):
    only = Session(results, work)
    assert only.watches.wait(PATIENCE)
    monkeypatch.setattr(runs, "SECONDS_TO_RETURN", 0)
    only.leave()
    assert work.ended.wait(PATIENCE)
    work.go_on.set()
    assert Session(results, work).result() == "result 2"


def test_who_comes_back_in_time_waits_for_the_same_run(results, work):
    before = Session(results, work)
    assert before.watches.wait(PATIENCE)
    before.leave()
    after = Session(results, work)
    assert after.watches.wait(PATIENCE) and after.run is before.run
    work.go_on.set()
    assert after.result() == "result 1"


def test_a_run_that_is_given_up_ends_at_once_and_is_never_joined(results, work):
    before = Session(results, work)
    assert before.watches.wait(PATIENCE)
    before.leave()
    before.run.give_up()
    after = Session(results, work)
    assert after.watches.wait(PATIENCE) and after.run is not before.run
    assert work.ended.wait(PATIENCE)
    work.go_on.set()
    assert after.result() == "result 2"


def test_those_who_watch_see_what_is_done_and_for_how_long(results, work):
    session = Session(results, work)
    assert session.watches.wait(PATIENCE) and work.begun.wait(PATIENCE)
    while session.run.stage == Stage(""):
        assert session.run.seconds < PATIENCE
    assert session.run.stage == Stage("Working", 0.5)
    assert session.run.seconds > 0 and not session.run.is_over
    work.go_on.set()
    session.result()
    assert session.run.is_over


def test_failures_are_told_to_all_who_wait_and_not_kept(results):
    def fail():
        begun.wait(PATIENCE)
        raise ValueError("broken")

    begun = threading.Event()
    sessions = [Session(results, fail) for _ in range(2)]
    assert all(session.watches.wait(PATIENCE) for session in sessions)
    begun.set()
    assert all(isinstance(session.result(), ValueError) for session in sessions)
    assert results.get("key", lambda: "whole") == "whole"


def test_nobody_waits_for_a_run_that_got_no_thread(results, work, monkeypatch):
    def no_thread():
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(runs._Worker, "free", no_thread)
        with pytest.raises(RuntimeError, match="new thread"):
            results.get("key", work)
    work.go_on.set()
    session = Session(results, work)
    assert session.result() == "result 1"


def test_a_run_inside_a_run_ends_with_it(results, work, monkeypatch):
    """As when a text waits for its model."""
    models = SharedResults(LRUCache(2))
    monkeypatch.setattr(runs, "SECONDS_TO_RETURN", 0)
    passed_on = []

    def inspect() -> str:
        def pass_on(run):
            passed_on.append(run.stage)
            stage(run.stage.words, run.stage.share)

        return models.get("model", work, pass_on)

    session = Session(results, inspect)
    assert session.watches.wait(PATIENCE) and work.begun.wait(PATIENCE)
    while Stage("Working", 0.5) not in passed_on:
        assert session.run.seconds < PATIENCE
    session.leave()
    assert work.ended.wait(PATIENCE)


def test_what_is_kept_is_bounded_and_what_is_dropped_is_computed_again(results):
    for key in "abc":
        results.get(key, lambda key=key: key)
    assert len(results) == 2
    assert results.get("b", lambda: "new") == "b"
    results.make_room(1)
    assert len(results) == 1 and results.get("b", lambda: "new") == "b"
    assert results.get("a", lambda: "new") == "new"


def test_what_is_on_its_way_while_everything_is_forgotten_is_not_kept(results, work):
    session = Session(results, work)
    assert session.watches.wait(PATIENCE)
    results.clear()
    work.go_on.set()
    assert session.result() == "result 1"
    assert len(results) == 0
