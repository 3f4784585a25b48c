"""The attention of every layer and head of a translator, for a text of your own."""

import html
from collections.abc import Sequence

import streamlit as st

from transformer_core.inspection.inspection import AttentionStack, Inspection
from transformer_core.inspection.recording import CHECKED_ROWS
from transformer_core.zoo import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY, InputError, InspectableModel, InspectionOptions
from viz_app import library
from viz_app.errors import escape_markdown
from viz_app.examples import Example, for_languages
from viz_app.figures.attention import MAX_HEATMAP_TOKENS, head_grid, head_heatmap, strongest_pair, thumbnail_note
from viz_app.figures.theme import CHART_CONFIG, COLOUR_SCALES
from viz_app.figures.tokens import label
from viz_app.numbers import at_most, millions
from viz_app.state import clean_text, keep_in_range

STACK_NAMES = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}

HOW_TO_READ = {
    "encoder": "Each row is a token of the text that reads (query), each column a token that it reads from (key). The "
    "colour of a cell is the share of the row's attention that goes there; a row sums to 1. “▁” starts a word.",
    "decoder": "Each row is a token of the translation that reads (query), each column a token that it reads from "
    "(key): itself and earlier ones, never later ones. At each row the next token is decided; a row sums to 1. "
    "“▁” starts a word.",
    "cross": "Each row is a token of the translation that reads (query), each column a token of the text that it reads "
    "from (key). At each row the next token of the translation is decided; a row sums to 1. “▁” starts a word.",
}

PAPER = "“Attention Is All You Need”, section 6.1,"

NOT_AN_EXPLANATION = (
    "Attention is not explanation: a weight says how much of a token's value vector is read, not that the token caused "
    "the answer. Other weights can give the same answer (Jain & Wallace 2019; the reply: Wiegreffe & Pinter 2019)."
)


def page() -> None:
    names = library.models()
    if not names:
        st.info(library.NO_MODELS)
        return
    introduction = st.container(horizontal=True, vertical_alignment="bottom")
    question, answer = st.columns(2, gap="medium")
    with question:
        name, device, options = choose_model(names)
        model = load(name, device)
        examples = for_languages(*model.languages) if model else ()
        text = ask(model.languages[0] if model else None, examples)
    if model is None:
        return
    introduction.markdown(
        f"A real {escape_markdown('-'.join(model.languages))} Transformer "
        "translates your sentence; see what each of its attention heads reads.",
        width="content",
    )
    introduction.caption(sizes(model), width="content")
    request = name, device, text, options
    with answer:
        inspection = inspect(*request)
        if inspection is not None:
            show_answer(inspection)
            if example := example_of(text, examples):
                st.write(f"**Look for:** {example.look_for}")
    if inspection is not None:
        explore(inspection, request)


def choose_model(names: list[str]) -> tuple[str, str, InspectionOptions]:
    """Model, device and decoding options."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = st.selectbox("Model", names, key="model", bind="query-params", width=180)
        device = st.selectbox(
            "Device",
            library.devices(),
            format_func=library.device_name,
            key="device",
            bind="query-params",
            width=130,
        )
        with st.popover("Decoding"):
            beam_size = st.number_input(
                "Beam size",
                1,
                MAX_BEAM_SIZE,
                4,
                key="beam",
                bind="query-params",
                help=f"How many translations are followed at a time; 1 is greedy search. {PAPER} used 4.",
            )
            length_penalty = st.number_input(
                "Length penalty α",
                0.0,
                MAX_LENGTH_PENALTY,
                0.6,
                step=0.1,
                key="penalty",
                bind="query-params",
                help=f"Larger values favour longer translations; 0 compares plain probabilities. {PAPER} used 0.6.",
            )
    return model, device, InspectionOptions(beam_size, length_penalty)


def load(name: str, device: str) -> InspectableModel | None:
    """The model; None, and a message on the page, if it cannot be loaded."""
    with st.spinner("Loading the model", show_time=True):
        try:
            return library.load(name, device)
        except library.ModelError as error:
            st.error(f"The model {escape_markdown(name)} cannot be loaded: {escape_markdown(str(error))}")
    return None


def sizes(model: InspectableModel) -> str:
    """Layers, heads and parameters."""
    config = model.config
    return (
        f"{config.num_encoder_layers} encoder + {config.num_decoder_layers} decoder layers × {config.num_heads} heads "
        f"· {millions(model.num_parameters)} parameters"
    )


def ask(language: str | None, examples: Sequence[Example]) -> str:
    """The text box and the examples, of which one is marked as long as it is the text."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Your text" + (f", in {escape_markdown(language)}" if language else ""),
            examples[0].text if examples else "",
            key="text",
            bind="query-params",
            placeholder="Type a sentence" + (f" in {language}" if language else ""),
            label_visibility="collapsed",
        )
        # Leaving the text box already sends the text: the button is there for those who look for one.
        st.button("Translate", type="primary")
    shown = example_of(text, examples)
    st.session_state["example"] = shown.topic if shown else None
    if examples:
        st.pills(
            "Examples",
            [example.topic for example in examples],
            key="example",
            on_change=take_example,
            args=(examples,),
            label_visibility="collapsed",
        )
    return clean_text(text)


def example_of(text: str, examples: Sequence[Example]) -> Example | None:
    """The example whose sentence this is."""
    return next((example for example in examples if example.text == text), None)


def take_example(examples: Sequence[Example]) -> None:
    """Put the chosen example into the text box."""
    for example in examples:
        if example.topic == st.session_state["example"]:
            st.session_state["text"] = example.text


def inspect(model: str, device: str, text: str, options: InspectionOptions) -> Inspection | None:
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
        f"{inspection.seconds:.2f} s on {source.device} · weights exact to {at_most(inspection.certificate)}, "
        f"checked on up to {CHECKED_ROWS} rows of every head · rows sum to 1 within "
        f"{at_most(inspection.row_sum_error)}",
        help="Exact: on the checked rows, the weights times the values differ from what the model's own attention "
        "kernel returned by at most this much, relative to the largest value. They are computed from the recorded "
        "queries and keys, before dropout. The sums are those of all rows.\n\n"
        f"Model {escape_markdown(source.model)}, weights {source.weights_hash}, {source.dtype}, "
        f"PyTorch {source.torch_version}.",
    )
    for note in inspection.notes:
        st.caption(f"**Note:** {escape_markdown(note)}")


def explore(inspection: Inspection, request: tuple[str, str, str, InspectionOptions]) -> None:
    """The grid of all heads, and the one that is chosen."""
    controls, how_to_read = st.columns([11, 9], gap="medium", vertical_alignment="bottom")
    with controls, st.container(horizontal=True, vertical_alignment="bottom"):
        opening = "cross" if "cross" in inspection.stacks else next(iter(inspection.stacks))
        # An empty parameter in the address makes a required choice None.
        name = (
            st.segmented_control(
                "Attention of",
                list(inspection.stacks),
                format_func=lambda name: STACK_NAMES.get(name, name),
                default=opening,
                required=True,
                key="stack",
                bind="query-params",
                width="content",
            )
            or opening
        )
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
    how_to_read.write(HOW_TO_READ.get(name, ""))
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
        st.caption(thumbnail_note(len(stack.query_tokens), len(stack.key_tokens)))
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
