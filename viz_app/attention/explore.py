"""Every layer and head of an inspection: the linked view, exact answers to what is pinned in it, and files to keep."""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from transformer_core.inspection.inspection import AttentionStack, Inspection
from transformer_core.view.payload import Detail, Payload
from transformer_core.view.state import checked_state, opening_state
from transformer_core.zoo import InspectableModel
from viz_app import link
from viz_app.attention.answers import answer
from viz_app.attention.files import FORMATS, file_name, obstacle, write
from viz_app.attention.running import maps
from viz_app.attention.words import how_to_read
from viz_app.components.attention_view import attention_view, channel, channel_key
from viz_app.errors import literal, plain_errors
from viz_app.figures.attention import MAX_HEATMAP_TOKENS, head_heatmap
from viz_app.figures.theme import CHART_CONFIG
from viz_app.library import ModelChoice, Request, without_snapshot
from viz_app.link.address import is_history_navigation

NO_NUMBERS = (
    "Weights of this head are not numbers (NaN), so they have no colour. The model's parameters may be damaged, or its "
    "values too large for the precision that is chosen in the options."
)

VIEW = "view"
"""Key of the linked view."""

SHOWN = "shown"
"""Where a session keeps what its view shows."""

PINS = ("pinnedQueries", "pinnedKeys", "pinnedCell")


def explore(model: InspectableModel, inspection: Inspection, request: Request) -> None:
    """The linked view with what belongs to it.

    The view stands outside of the fragment. Where a fragment is to rerun as soon as the page has, Streamlit may drop
    what the page has just sent of it, and then takes off the page what did not come. A view that comes back a moment
    later has lost full screen, focus and scrolling.
    """
    with plain_errors():
        payload = maps(request)
        if payload is None:
            return
        choice = without_snapshot(request[0])
        detail = detail_of(shown_state(payload.meta, choice)[0]) if payload.is_pooled else None
        if detail is not None:
            payload = maps(request, detail) or payload
        above = st.container()
        attention_view(payload, VIEW)
        show_beside(model, inspection, choice, payload, detail, above, link.page_parameters())


@st.fragment
def show_beside(
    model: InspectableModel,
    inspection: Inspection,
    choice: ModelChoice,
    payload: Payload,
    detail: Detail | None,
    above: st.delta_generator.DeltaGenerator,
    page_parameters: dict[str, str],
) -> None:
    """What follows the view: how to read it, exact answers, files. What is done in the view reruns this alone.

    Args:
        detail: whose maps the view has whole, if not those of all.
        above: a place above the view.
        page_parameters: what the address says of the page.
    """
    with plain_errors():
        # The browser sends its address with whatever is done, and may not have had the page's new one yet.
        if page_parameters != link.page_parameters():
            st.rerun()  # which writes it again
        state, ordered = shown_state(payload.meta, choice)
        if detail is not None and detail != detail_of(state):
            st.rerun()  # with other maps
        stack = inspection.stacks[state["stack"]]
        above.write(how_to_read(stack, model, payload.sees_later(stack) if has_same_axes(model, stack) else None))
        channel(payload.meta, state, ordered, answer(stack, state), VIEW, on_state=take_state)
        offer_files(inspection, state)
        show_exact_values(stack, state)


def forget_other_view(choice: ModelChoice) -> None:
    """Take what the view of another model shows out of the address."""
    shown = st.session_state.get(SHOWN)
    # Whoever goes back or forward wants what the address says.
    if shown and shown["choice"] != without_snapshot(choice) and not is_history_navigation():
        link.forget()


def detail_of(state: dict[str, Any]) -> Detail:
    """Whose maps a state shows."""
    return Detail(state["stack"], state["layer"], state["head"])


def shown_state(meta: dict[str, Any], choice: ModelChoice) -> tuple[dict[str, Any], dict[str, int]]:
    """What the view shows, and the numbers of the orders by which the browser is to take over entries of it.

    At first it is what the address asks for. Another text keeps as much as it can; another model opens anew.
    """
    tokens = {stack["name"]: (stack["queries"], stack["keys"]) for stack in meta["stacks"]}
    shown = st.session_state.get(SHOWN, {"choice": choice, "tokens": tokens, "state": None, "ordered": {}})
    is_other_model, is_other_text = shown["choice"] != choice, shown["tokens"] != tokens
    # Whoever goes back or forward wants what the address says.
    if not is_history_navigation():
        if is_other_model:
            link.remember(opening_state(meta), meta)
        elif is_other_text:
            state = checked_state(st.session_state[link.VIEW_STATE], meta)[0]
            before = shown["tokens"].get(state["stack"], ([], []))
            link.remember(with_pins_that_stay(state, before, tokens[state["stack"]]), meta)
    state, problems = link.restore(meta)
    link.note_problems(problems)
    # What the browser said itself it need not be told. What is pinned while another text is under way is none of it,
    # and nothing that is done while another model is.
    known = checked_state(shown["state"], meta)[0]
    news = [name for name in state if state[name] != known[name] or is_other_model or (is_other_text and name in PINS)]
    ordered = shown["ordered"] | dict.fromkeys(news, max(shown["ordered"].values(), default=0) + 1)
    st.session_state[SHOWN] = {"choice": choice, "tokens": tokens, "state": state, "ordered": ordered}
    return state, ordered


def with_pins_that_stay(
    state: dict[str, Any], before: tuple[list[str], list[str]], after: tuple[list[str], list[str]]
) -> dict[str, Any]:
    """The state without pins of tokens that another text does not have at the same place.

    Args:
        before, after: labels of the rows and of the columns.
    """
    rows, columns = (
        {place for place, (old, new) in enumerate(zip(*labels, strict=False)) if old == new}
        for labels in zip(before, after, strict=True)
    )
    cell = state["pinnedCell"]
    return {
        **state,
        "pinnedQueries": [place for place in state["pinnedQueries"] if place in rows],
        "pinnedKeys": [place for place in state["pinnedKeys"] if place in columns],
        "pinnedCell": cell if cell and cell[0] in rows and cell[1] in columns else None,
    }


def take_state() -> None:
    """Keep what the browser says of its view. It is checked before it is used."""
    said, shown = st.session_state[channel_key(VIEW)]["state"], st.session_state[SHOWN]
    # Orders that had not arrived when it was said are carried out nevertheless.
    later = [name for name, order in shown["ordered"].items() if order > said["order"]]
    state = said["state"] | {name: shown["state"][name] for name in later}
    st.session_state[link.VIEW_STATE] = shown["state"] = state


def has_same_axes(model: InspectableModel, stack: AttentionStack) -> bool:
    """Whether rows and columns are the same tokens in the order of a text."""
    return stack.query_tokens == stack.key_tokens and not stack.is_part and model.family != "image"


def show_exact_values(stack: AttentionStack, state: dict[str, Any]) -> None:
    """The open head as a heatmap whose cells have their float32 weights, for who wants them."""
    layer, head = state["layer"], state["head"]
    place = f"{stack.name}, layer {layer + 1}, head {head + 1}"
    opened = st.expander(f"Exact weights: {literal(place)}", key="exact", on_change="rerun", bind="query-params")
    if not opened.open:
        return
    queries, keys = stack.query_tokens, stack.key_tokens
    if max(len(queries), len(keys)) > MAX_HEATMAP_TOKENS:
        opened.info(
            f"This head has {len(queries):,} queries and {len(keys):,} keys. The heatmap with exact weights is drawn "
            f"up to {MAX_HEATMAP_TOKENS} tokens a side; the files under Download have them all."
        )
        return
    weights = stack.weights(layer, head).cpu().numpy()
    if np.isnan(weights).any():
        opened.warning(NO_NUMBERS)
    opened.plotly_chart(
        head_heatmap(weights, queries, keys, stack.query_label, stack.key_label),
        key="heatmap",
        config=CHART_CONFIG,
        alt=f"Attention weights of {place}: {len(queries)} queries as rows, {len(keys)} keys as columns.",
    )


def offer_files(inspection: Inspection, state: dict[str, Any]) -> None:
    """Everything as files. They are written when somebody wants one."""
    # As long as it is closed, its buttons are not sent with every answer to the view.
    popover = st.popover("Download", key="files", on_change="rerun")
    if not popover.open:
        return
    obstacles = {suffix: obstacle(inspection, suffix) for suffix in FORMATS}
    with popover.container(horizontal=True):
        for suffix, (name, what) in FORMATS.items():
            st.download_button(
                name,
                partial(write, inspection, suffix, state),
                file_name(inspection, suffix),
                key=f"download{suffix}",
                help=what,
                on_click="ignore",
                disabled=bool(obstacles[suffix]),
            )
    for reason in filter(None, obstacles.values()):
        popover.caption(reason)
