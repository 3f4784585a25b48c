"""What the model made of the input, and what vouches for the weights below."""

import html
from collections.abc import Sequence

import numpy as np
import streamlit as st
from jaxtyping import UInt8

from transformer_core.inspection.inspection import Inspection, PatchImage, Prediction
from transformer_core.zoo import InspectableModel, InspectionOptions
from transformer_core.zoo.bundled.language_model import INDUCED
from viz_app.attention.badge import judge
from viz_app.attention.repetition import show_repetition
from viz_app.attention.words import ANSWER, NO_ANSWER
from viz_app.errors import literal
from viz_app.figures.predictions import probability_bars

IMAGE_SIDE = 96
"""Of the image that the model read, the longer side in pixels of the screen."""


def show_answer(model: InspectableModel, inspection: Inspection, options: InspectionOptions) -> None:
    """The answer with what else was likely beside it, and how far the weights below can be relied on."""
    # That of the induced token stands in the words.
    predictions = [prediction for prediction in inspection.predictions if prediction.place != INDUCED]
    if predictions:
        # A sequence needs more room than a class or a few words.
        words, chart = st.columns([2, 1] if "symbols" in model.abilities else 2, gap="small")
        with chart:
            show_predictions(predictions)
    else:
        words = st.container()
    with words:
        if inspection.image is None:
            show_text(model, inspection, options)
        else:
            with st.container(horizontal=True, gap="medium"):
                with st.container(width="content"):
                    show_image(inspection.image)
                with st.container(width="stretch"):
                    show_text(model, inspection, options)
        show_badge(inspection)
    # What is true of the model is true of every result; a sentence stands here once.
    for note in dict.fromkeys((*model.notes, *inspection.notes)):
        st.caption(f"**Note:** {literal(note)}")


def show_text(model: InspectableModel, inspection: Inspection, options: InspectionOptions) -> None:
    """The answer in words, or what takes its place."""
    name, answer, prompt = ANSWER[model.family], inspection.answer, ""
    if "symbols" in model.abilities:
        show_repetition(model.tokens(inspection.text), inspection)
        if not options.new_tokens:
            return
    if not (answer or options.new_tokens) and model.family in NO_ANSWER:
        st.info(NO_ANSWER[model.family])
        return
    if model.languages:
        name = model.languages[1]
    if options.chat and "chat" in model.abilities:
        name = "Reply"
    elif model.family == "embedding" and options.second_text.strip():
        name = "Both texts"
    elif model.family == "causal":
        if options.temperature:
            name = f"Sample (temperature {options.temperature:g}, seed {options.seed})"
        prompt = f'<span class="headlight-prompt">{html.escape(inspection.text)}</span>'
    # Text from the model is escaped: it is shown as it is, whatever it holds.
    st.html(
        f'<div class="headlight-answer-label">{html.escape(name)}</div>'
        f'<div class="headlight-answer" dir="auto">{prompt}{html.escape(answer) or "(empty)"}</div>'
    )


def show_image(image: PatchImage) -> None:
    """What the model read, with nothing laid over it. A pixel of a small image is seen as the square that it is."""
    height, width = image.pixels.shape[:2]
    st.html(f'<div class="headlight-answer-label">It reads {width} × {height} pixels</div>')
    st.image(
        enlarged(image.pixels, IMAGE_SIDE),
        width=round(IMAGE_SIDE * width / max(height, width)),
        output_format="PNG",  # every pixel as it is
        alt=f"The image as the model read it: {width} by {height} pixels",
    )


def enlarged(
    pixels: UInt8[np.ndarray, "height width 3"], side: int
) -> UInt8[np.ndarray, "larger_height larger_width 3"]:
    """The same with every pixel so many times as fit into `side`; a larger image as it is."""
    times = max(1, side // max(pixels.shape[:2]))
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def show_predictions(predictions: Sequence[Prediction]) -> None:
    """The likeliest candidates at one place, with their probabilities."""
    titles = [f"Probabilities: {prediction.place}" for prediction in predictions]
    chosen = 0
    if len(predictions) > 1:
        chosen = titles.index(
            st.selectbox("Probabilities", titles, key="place", bind="query-params", label_visibility="collapsed")
        )
    else:
        st.html(f'<div class="headlight-answer-label">{html.escape(titles[0])}</div>')
    st.plotly_chart(
        probability_bars(predictions[chosen]),
        key="predictions",
        config={"displayModeBar": False},
        alt=f"{titles[chosen]}, of the likeliest candidates.",
    )


def show_badge(inspection: Inspection) -> None:
    """Whether the weights can be trusted; hovering says how that was found out."""
    badge, source = judge(inspection), inspection.provenance
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="badge"):
        st.badge(badge.label, color="green" if badge.good else "red", help=badge.explanation)
        st.caption(
            f"{inspection.seconds:.2f} s on {source.device}",
            help=f"{literal(source.model)}, weights {source.weights_hash}, {source.dtype}, "
            f"PyTorch {source.torch_version}.",
            width="content",
        )
