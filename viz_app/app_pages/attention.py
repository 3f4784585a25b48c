"""The attention of every layer and head of a translator, for a text of your own."""

import html

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_core.inspection.inspection import AttentionStack, Inspection
from transformer_core.zoo import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY, DecodingOptions, InputError
from viz_app import library
from viz_app.errors import escape_markdown
from viz_app.examples import EXAMPLES, Example
from viz_app.figures.attention import MAX_HEATMAP_TOKENS, head_grid, head_heatmap, strongest_pair
from viz_app.figures.theme import COLOUR_SCALES
from viz_app.figures.tokens import label
from viz_app.state import clean_text, keep_in_range

STACK_NAMES = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}

OPENING_LAYER = 3
"""The last decoder layer of the bundled model, whose cross attention shows which words translate each other."""

HOW_TO_READ = {
    "encoder": "Each row is a token of the text that reads (query), each column a token that it reads from (key). The "
    "colour of a cell is the share of the row's attention that goes there; a row sums to 1. “▁” starts a word.",
    "decoder": "Each row is a token of the translation that reads (query), each column a token that it reads from "
    "(key): itself and earlier ones, never later ones. At each row the next token is decided; a row sums to 1. "
    "“▁” starts a word.",
    "cross": "Each row is a token of the translation that reads (query), each column a token of the text that it reads "
    "from (key). At each row the next token of the translation is decided; a row sums to 1. “▁” starts a word.",
}

NOT_AN_EXPLANATION = (
    "Attention is not explanation: a weight says how much of a token's value vector is read, not that the token caused "
    "the answer. Other weights can give the same answer (Jain & Wallace 2019; the reply: Wiegreffe & Pinter 2019)."
)

CHART_CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage", "resetScale2d"]]}


def page() -> None:
    names = library.models()
    if not names:
        st.info(library.NO_MODELS)
        return
    question, answer = st.columns(2, gap="medium")
    with question:
        model, device, options, facts = choose_model(names)
        text = ask()
    with answer:
        inspection = inspect(model, device, text, options)
        if inspection is not None:
            show_answer(inspection)
            if example := example_of(text):
                st.write(f"**Look for:** {example.look_for}")
    if inspection is not None:
        facts.caption(sizes(inspection), width="content")
        explore(inspection, (model, device, text, options))


def choose_model(names: list[str]) -> tuple[str, str, DecodingOptions, DeltaGenerator]:
    """Model, device, decoding options, and a place beside them for facts about the model."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = st.selectbox("Model", names, key="model", bind="query-params", width=180, label_visibility="collapsed")
        device = st.selectbox(
            "Device",
            library.devices(),
            format_func=library.device_name,
            key="device",
            bind="query-params",
            width=130,
            label_visibility="collapsed",
        )
        with st.popover("Decoding"):
            beam_size = st.number_input(
                "Beam size",
                1,
                MAX_BEAM_SIZE,
                4,
                key="beam",
                bind="query-params",
                help="How many translations are followed at a time; 1 is greedy search. The paper used 4.",
            )
            length_penalty = st.number_input(
                "Length penalty α",
                0.0,
                MAX_LENGTH_PENALTY,
                0.6,
                step=0.1,
                key="penalty",
                bind="query-params",
                help="Larger values favour longer translations; 0 compares plain probabilities. The paper used 0.6.",
            )
        facts = st.empty()
    return model, device, DecodingOptions(beam_size, length_penalty), facts


def sizes(inspection: Inspection) -> str:
    """Layers and heads of the stacks, as they were recorded."""
    layers = " + ".join(str(len(stack)) for name, stack in inspection.stacks.items() if name != "cross")
    heads = sorted({stack.num_heads(layer) for stack in inspection.stacks.values() for layer in range(len(stack))})
    return f"{layers} layers × {' or '.join(map(str, heads))} heads"


def ask() -> str:
    """The text box and the examples, of which one is marked as long as it is the text."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Your text, in English",
            EXAMPLES[0].text,
            key="text",
            bind="query-params",
            placeholder="Type an English sentence",
            label_visibility="collapsed",
        )
        # Leaving the text box already sends the text: the button is there for those who look for one.
        st.button("Translate", type="primary")
    shown = example_of(text)
    st.session_state["example"] = shown.topic if shown else None
    st.pills(
        "Examples",
        [example.topic for example in EXAMPLES],
        key="example",
        on_change=take_example,
        label_visibility="collapsed",
    )
    return clean_text(text)


def example_of(text: str) -> Example | None:
    """The example whose sentence this is."""
    return next((example for example in EXAMPLES if example.text == text), None)


def take_example() -> None:
    """Put the chosen example into the text box."""
    for example in EXAMPLES:
        if example.topic == st.session_state["example"]:
            st.session_state["text"] = example.text


def inspect(model: str, device: str, text: str, options: DecodingOptions) -> Inspection | None:
    """The text seen by the model; None, and a message on the page, if that cannot be."""
    with st.spinner("Reading your text", show_time=True):
        try:
            return library.inspect(model, device, text, options)
        except InputError as error:
            st.error(escape_markdown(str(error)))
        except library.ModelError as error:
            st.error(f"The model {escape_markdown(model)} cannot be loaded: {escape_markdown(str(error))}")
    return None


def show_answer(inspection: Inspection) -> None:
    """The translation, how long it took, and what vouches for the weights."""
    language = html.escape(inspection.stacks["decoder"].query_label)
    # Text from the model is escaped: it is shown as it is, whatever it holds.
    st.html(
        f'<div class="headlight-answer-label">{language}</div>'
        f'<div class="headlight-answer" dir="auto">{html.escape(inspection.answer) or "(empty)"}</div>'
    )
    source = inspection.provenance
    st.caption(
        f"{inspection.seconds:.2f} s on {source.device} · weights exact to {inspection.certificate:.0e} · "
        f"rows sum to 1 within {inspection.row_sum_error:.0e}",
        help="Exact: the weights times the values differ from what the model's own attention kernel returned by at "
        "most this much, relative to the largest value. They are computed from the recorded queries and keys, before "
        f"dropout.\n\nModel {escape_markdown(source.model)}, weights {source.weights_hash}, {source.dtype}, "
        f"PyTorch {source.torch_version}.",
    )
    for note in inspection.notes:
        st.caption(f"**Note:** {escape_markdown(note)}")


def explore(inspection: Inspection, request: tuple[str, str, str, DecodingOptions]) -> None:
    """The grid of all heads, and the one that is chosen."""
    controls, how_to_read = st.columns([5, 4], gap="medium", vertical_alignment="bottom")
    with controls, st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.segmented_control(
            "Attention of",
            list(inspection.stacks),
            format_func=lambda name: STACK_NAMES.get(name, name),
            default="cross" if "cross" in inspection.stacks else None,
            required=True,
            key="stack",
            bind="query-params",
            width="content",
        )
        stack = inspection.stacks[name]
        keep_in_range("layer", 1, len(stack))
        layer = (
            st.number_input(
                "Layer", 1, len(stack), min(OPENING_LAYER, len(stack)), key="layer", bind="query-params", width=140
            )
            - 1
        )
        keep_in_range("head", 1, stack.num_heads(layer))
        head = st.number_input("Head", 1, stack.num_heads(layer), key="head", bind="query-params", width=140) - 1
        scale = st.segmented_control(
            "Colour scale", COLOUR_SCALES, default=COLOUR_SCALES[0], required=True, key="scale", bind="query-params"
        )
    how_to_read.caption(HOW_TO_READ.get(name, ""))
    overview, detail = st.columns([2, 3], gap="medium")
    with overview, st.container(key="overview"):
        # The outline of the selected head makes each selection a new chart in which no point is selected yet, so that a
        # click on any thumbnail is news.
        st.plotly_chart(
            head_grid(library.overview(*request, name), (layer, head), scale),
            key="grid",
            on_select=take_head,
            selection_mode="points",
            config={"displayModeBar": False},
            alt=f"All heads of the {name} attention: a row of thumbnails for each of the {len(stack)} layers. "
            f"Layer {layer + 1}, head {head + 1} is outlined. The fields Layer and Head choose another.",
        )
    with detail:
        show_head(stack, layer, head, scale)


def take_head() -> None:
    """Open the head whose thumbnail was clicked."""
    points = st.session_state["grid"].selection.points
    if points:
        layer, head = points[0]["customdata"]
        st.session_state["layer"], st.session_state["head"] = layer + 1, head + 1


def show_head(stack: AttentionStack, layer: int, head: int, scale: str) -> None:
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
    row, column, weight = strongest_pair(weights)
    where = f"{STACK_NAMES.get(stack.name, stack.name)}, layer {layer + 1}, head {head + 1}"
    st.plotly_chart(
        head_heatmap(weights, queries, keys, stack.query_label, stack.key_label, scale),
        key="heatmap",
        config=CHART_CONFIG,
        alt=f"Attention weights of {where}: {len(queries)} queries as rows, {len(keys)} keys as columns.",
    )
    st.html(
        f'<div class="headlight-readout"><b>{html.escape(where)}.</b> Strongest: query '
        f"<code><bdi>{label(queries[row])}</bdi></code> (row {row + 1}) → key "
        f"<code><bdi>{label(keys[column])}</bdi></code> (column {column + 1}), weight <b>{weight:.3f}</b>.</div>"
    )


page()
st.caption(NOT_AN_EXPLANATION)
