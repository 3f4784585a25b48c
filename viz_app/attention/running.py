"""Waiting for a model: the page shows what it is doing and for how long, and the visitor can stop it.

Streamlit lets a page go on to something else only where the page draws. So it draws what a run is doing now and then,
and whoever changes the text, the model or the page meanwhile leaves the run as well.
"""

import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal, TypeVar

import streamlit as st

from transformer_core.inspection.inspection import Inspection
from transformer_core.view.payload import Detail, Payload
from transformer_core.zoo import InputError, InspectableModel, InspectionOptions
from viz_app import library
from viz_app.errors import literal
from viz_app.library import Content, ModelChoice, Request
from viz_app.pictures import Picture
from viz_app.runs import Run, Watch

Result = TypeVar("Result")

Kind = Literal["open", "inspect", "maps", "detail"]
"""Runs of a page: a session waits for one of each kind at most."""

CURRENT = "current runs"
"""Where a session keeps what it waits for, by kind: what was asked, and a weak reference to the run."""

STOPPED = "stopped runs"
"""Where a session keeps what its visitor stopped, by kind."""

SEEN = "seen image"
"""Where a session keeps the image that a model looked at last. It stays where the next one cannot be read."""

SECONDS_UNSHOWN = 0.5
"""Shorter runs come and go unseen."""


@dataclass(frozen=True)
class Stopped:
    """A run that the visitor stopped."""

    asked: Hashable
    seconds: float


def open_model(choice: ModelChoice) -> InspectableModel | None:
    """The model; None, and a message on the page, if it cannot be loaded or the visitor stopped it."""
    try:
        return wait_for("open", choice, lambda watch: library.load(choice, watch), "The model is not open.")
    except library.ModelError as error:
        show_model_error(error)
    return None


def inspect(choice: ModelChoice, content: Content, options: InspectionOptions) -> tuple[Inspection | None, Content]:
    """What the model makes of it; None, and a message on the page, if that cannot be or the visitor stopped it.

    Where an image cannot be read, the one before stays. Beside the result stands what it is about.
    """
    asked = choice, content, options
    kept = "The text is still there." if isinstance(content, str) else "The image is still there."
    try:
        inspection = wait_for("inspect", asked, lambda watch: library.inspect(*asked, watch), kept)
    except InputError as error:
        former = st.session_state.get(SEEN)
        if isinstance(content, Picture) and former not in (None, content):
            st.error(f"{literal(str(error))} Below is still what the model makes of {literal(former.name)}.")
            return inspect(choice, former, options)
        st.error(literal(str(error)))
        return None, content
    except library.ModelError as error:
        show_model_error(error)
        return None, content
    if inspection is not None and isinstance(content, Picture):
        st.session_state[SEEN] = content
    return inspection, content


def maps(request: Request, detail: Detail | None = None) -> Payload | None:
    """What the linked view draws of it; None, and a message on the page, if the visitor stopped it."""
    asked = *request, detail
    kind = "detail" if detail else "maps"
    return wait_for(kind, asked, lambda watch: library.view_payload(*asked, watch), "The answer is still there.")


def show_model_error(error: library.ModelError) -> None:
    st.error(f"The model cannot be loaded: {literal(str(error))}")


def wait_for(kind: Kind, asked: Hashable, compute: Callable[[Watch], Result], kept: str) -> Result | None:
    """The result of a run, which is shown while it lasts; None, and a message, if the visitor stopped it.

    Args:
        asked: what tells it from other runs of its kind.
        compute: does it, or waits for it, and calls what it is given now and then with the run.
        kept: a sentence for a visitor who stopped it.

    Raises:
        Whatever `compute` raises.
    """
    stopped = st.session_state.get(STOPPED, {}).get(kind)
    if stopped is not None and stopped.asked == asked:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Stopped after {stopped.seconds:.1f} s. {kept}", width="content")
            st.button("Run again", key=f"again-{kind}", on_click=run_again)
        return None
    st.session_state.get(STOPPED, {}).pop(kind, None)
    leave_former(kind, asked)
    place = st.empty()
    try:
        return compute(_Progress(kind, asked, place).show)
    finally:
        place.empty()


def leave_former(kind: Kind, asked: Hashable) -> None:
    """End the session's run of this kind if something else is asked for now."""
    former, reference = st.session_state.get(CURRENT, {}).pop(kind, (asked, None))
    run = reference and reference()
    if run is not None and former != asked:
        run.give_up()


class _Progress:
    """What a run is doing, and for how long, beside a button that stops it."""

    def __init__(self, kind: Kind, asked: Hashable, place: st.delta_generator.DeltaGenerator) -> None:
        self._kind = kind
        self._asked = asked
        self._place = place
        self._words: st.delta_generator.DeltaGenerator | None = None

    def show(self, run: Run) -> None:
        """Draw it. A visitor's wish to go on to something else is raised here."""
        reference = weakref.ref(run)  # the session must not keep its result
        st.session_state.setdefault(CURRENT, {})[self._kind] = self._asked, reference
        if run.seconds < SECONDS_UNSHOWN:
            return
        if self._words is None:
            with self._place.container(horizontal=True, vertical_alignment="center", key=f"running-{self._kind}"):
                self._words = st.empty()
                st.button(
                    "Stop",
                    key=f"stop-{self._kind}",
                    icon="spinner",
                    on_click=stop,
                    args=(self._kind, self._asked, reference),
                )
        text = f"{literal(run.stage.words or 'Starting')} · {run.seconds:.1f} s"
        if run.stage.share is None:
            self._words.markdown(text)
        else:
            self._words.progress(run.stage.share, text)


def stop(kind: Kind, asked: Hashable, reference: weakref.ref[Run]) -> None:
    """End a run, unless other sessions wait for it, and do not begin it again."""
    run = reference()
    if run is None or run.is_over:
        return
    st.session_state.setdefault(STOPPED, {})[kind] = Stopped(asked, run.seconds)
    run.give_up()


def run_again() -> None:
    """Forget that anything was stopped."""
    st.session_state.pop(STOPPED, None)
