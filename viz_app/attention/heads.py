"""The attention of all heads at a glance, and one of them in full."""

import dataclasses
import html

import numpy as np
import streamlit as st

from transformer_core.inspection.inspection import AttentionStack, Inspection, PatchImage
from transformer_core.inspection.thumbnails import strongest_pair
from transformer_core.zoo import InspectableModel, InspectionOptions
from viz_app import library
from viz_app.attention.words import how_to_read, stack_name
from viz_app.figures.attention import (
    MAX_HEATMAP_TOKENS,
    head_grid,
    head_heatmap,
    sees_later,
    thumbnail_cells,
    thumbnail_note,
)
from viz_app.figures.image import covers, image_attention, patch_weights, short_names
from viz_app.figures.theme import CHART_CONFIG, COLOUR_SCALES
from transformer_core.view.labels import printable
from viz_app.figures.tokens import label
from viz_app.library import Content, ModelChoice
from viz_app.state import keep_in_range

VIEWS = ("On the image", "Matrix")

NO_NUMBERS = (
    "Weights of this head are not numbers (NaN), so they have no colour. The model's parameters may be damaged, or its "
    "values too large for the precision that is chosen in the options."
)

HEIGHT = 380
"""Of the overview, and of a head with few tokens, in pixels."""

LOWER = 340
"""The same for models whose questions and answers take more room."""


def explore(
    model: InspectableModel, inspection: Inspection, request: tuple[ModelChoice, Content, InspectionOptions]
) -> None:
    """The grid of all heads, and the one that is chosen."""
    controls, reading = st.columns([12, 8], gap="medium", vertical_alignment="bottom")
    with controls, st.container(horizontal=True, vertical_alignment="bottom"):
        name = choose_stack(inspection)
        stack = inspection.stacks[name]
        keep_in_range("layer", 1, len(stack))
        layer = st.number_input("Layer", 1, len(stack), len(stack), key="layer", bind="query-params", width=130) - 1
        keep_in_range("head", 1, stack.num_heads(layer))
        head = st.number_input("Head", 1, stack.num_heads(layer), key="head", bind="query-params", width=130) - 1
        scale = (
            st.segmented_control(
                "Colour scale", COLOUR_SCALES, default=COLOUR_SCALES[0], required=True, key="scale", bind="query-params"
            )
            or COLOUR_SCALES[0]
        )
    same_axes = stack.query_tokens == stack.key_tokens and not stack.is_part and model.family != "image"
    thumbnails = library.overview(*request, name)
    reading.write(how_to_read(stack, model, sees_later(thumbnails[0]) if same_axes else None))
    height = HEIGHT if model.languages else LOWER
    overview, detail = st.columns([2, 3], gap="medium")
    with overview, st.container(key="overview"):
        # The outline of the selected head makes each selection a new chart in which no point is selected yet, so that a
        # click on any thumbnail is news.
        st.plotly_chart(
            head_grid(thumbnails, (layer, head), scale, height),
            key="grid",
            on_select=take_head,
            selection_mode="points",
            config={"displayModeBar": False},
            alt=f"All heads of the {name} attention: a row of thumbnails for each of the {len(stack)} layers. "
            f"Layer {layer + 1}, head {head + 1} is outlined. The fields Layer and Head choose another.",
        )
        cells = thumbnail_cells(max(stack.num_heads(each) for each in range(len(stack))))
        st.caption(thumbnail_note(len(stack.query_tokens), len(stack.key_tokens), cells))
    with detail:
        unknown = np.isnan(thumbnails[layer][head])
        if unknown.any():
            st.warning(NO_NUMBERS)
        if unknown.all():
            return
        image = inspection.image
        if image is None or not covers(image, len(stack.key_tokens)):
            show_head(stack, layer, head, scale, height)
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            on_image = choose_view() == VIEWS[0]
            row = choose_query(stack) if on_image else 0
        if on_image:
            show_on_image(stack, image, (layer, head, row), scale, height)
        else:
            names = short_names(stack.key_tokens, image)
            show_head(dataclasses.replace(stack, query_tokens=names, key_tokens=names), layer, head, scale, height)


def choose_stack(inspection: Inspection) -> str:
    """The name of a stack. Where there is one only, there is nothing to choose."""
    names = list(inspection.stacks)
    opening = "cross" if "cross" in names else names[0]
    if len(names) == 1:
        return opening
    # An empty parameter in the address makes a required choice None.
    return (
        st.segmented_control(
            "Attention of",
            names,
            format_func=stack_name,
            default=opening,
            required=True,
            key="stack",
            bind="query-params",
            width="content",
        )
        or opening
    )


def choose_view() -> str:
    """How one head is shown."""
    return (
        st.segmented_control(
            "View",
            VIEWS,
            default=VIEWS[0],
            required=True,
            key="view",
            bind="query-params",
            label_visibility="collapsed",
        )
        or VIEWS[0]
    )


def take_head() -> None:
    """Open the head whose thumbnail was clicked."""
    points = st.session_state["grid"].selection.points
    if points:
        layer, head = points[0]["customdata"]
        st.session_state["layer"], st.session_state["head"] = layer + 1, head + 1


def choose_query(stack: AttentionStack) -> int:
    """Position of the token whose row lies on the image."""
    return st.selectbox(
        "Read by (query)",
        range(len(stack.query_tokens)),
        format_func=lambda position: stack.query_tokens[position],
        key="query",
        bind="query-params",
        label_visibility="collapsed",
    )


def show_on_image(
    stack: AttentionStack, image: PatchImage, place: tuple[int, int, int], scale: str, height: int
) -> None:
    """What one token reads, laid over the image, and in words what is selected.

    Args:
        place: layer, head and query, counted from 0.
    """
    layer, head, row = place
    token = stack.query_tokens[row]
    weights = stack.weights(layer, head)[row].cpu().numpy()
    where = f"{stack_name(stack.name)}, layer {layer + 1}, head {head + 1}"
    st.plotly_chart(
        image_attention(image, weights, row, token, scale, height),
        key="picture",
        on_select=take_query,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"The image with what {token} reads from each patch in {where}. The matrix has the exact weights.",
    )
    on_image = float(patch_weights(weights, image).sum())
    rest = f" The other {1 - on_image:.3f} is on tokens that are no patches." if image.first_patch else ""
    reader = f"<code><bdi>{html.escape(printable(token))}</bdi></code>"
    st.html(
        f'<div class="headlight-readout"><b>{html.escape(where)}.</b> {reader} '
        f"gives <b>{on_image:.3f}</b> of its attention to the image.{rest}</div>"
    )


def take_query() -> None:
    """Read from the patch that was clicked."""
    points = st.session_state["picture"].selection.points
    if points:
        st.session_state["query"] = points[0]["customdata"]


def show_head(stack: AttentionStack, layer: int, head: int, scale: str, height: int) -> None:
    """The heatmap of one head, and in words what is selected."""
    queries, keys = stack.query_tokens, stack.key_tokens
    if max(len(queries), len(keys)) > MAX_HEATMAP_TOKENS:
        st.info(
            f"This head has {len(queries):,} queries and {len(keys):,} keys. A heatmap with exact values is drawn up "
            f"to {MAX_HEATMAP_TOKENS} tokens a side, because a browser would take too long over more. The overview "
            "still shows every head; a shorter text shows its values."
        )
        return
    weights = stack.weights(layer, head).cpu().numpy()
    row, column, weight = strongest_pair(np.nan_to_num(weights))
    where = f"{stack_name(stack.name)}, layer {layer + 1}, head {head + 1}"
    st.plotly_chart(
        head_heatmap(weights, queries, keys, stack.query_label, stack.key_label, scale, height),
        key="heatmap",
        config=CHART_CONFIG,
        alt=f"Attention weights of {where}: {len(queries)} queries as rows, {len(keys)} keys as columns.",
    )
    st.html(
        f'<div class="headlight-readout"><b>{html.escape(where)}.</b> Strongest: query '
        f"<code><bdi>{label(queries[row])}</bdi></code> (row {row + 1}) → key "
        f"<code><bdi>{label(keys[column])}</bdi></code> (column {column + 1}), weight <b>{weight:.3f}</b>.</div>"
    )
