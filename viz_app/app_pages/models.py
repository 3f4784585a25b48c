"""The models that are here, and the sizes and costs of published ones and of your own design."""

import streamlit as st

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.costs import flops
from transformer_core.model.parameters import Part, parameters, total
from transformer_core.model.published import BY_NAME
from viz_app import library, link
from viz_app.errors import literal
from viz_app.figures.parts import parts_bars
from viz_app.figures.theme import CHART_CONFIG
from viz_app.figures.training import LOSS, measured_curves
from viz_app.models.costs import FORMULAS, OPERATIONS, costs_of, fits, published_costs, work_of
from viz_app.models.fields import LEFT_OUT
from viz_app.models.installed import installed
from viz_app.models.playground import design
from viz_app.models.sizes import change, legend, parts_table, published_table, reasons_for_differences
from viz_app.numbers import amount, operations

GPT_4 = (
    "GPT-4 is not in this table: its size is not published. Its technical report (OpenAI 2023, section 2) “contains no "
    "further details about the architecture (including model size)”."
)


def show_card(name: str) -> None:
    """What a bundled model is, how its training went, and what its makers say of it."""
    st.subheader(literal(name), anchor=False)
    try:
        model = installed(name)
    except (ValueError, OSError) as error:
        st.warning(f"Not to be opened: {literal(str(error))}.")
        return
    st.write(literal(model.purpose) + ".")
    facts, curve = st.columns(2, gap="small")
    facts.table(model.facts, border="horizontal")
    with curve:
        show_training(name)
    st.markdown(model.quality)
    for line in model.training:
        st.markdown(line)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link("app_pages/attention.py", label="Open on the Attention page →", query_params={"model": name})
        if model.card:
            with st.popover("Model card"):
                st.markdown(model.card)


def show_training(name: str) -> None:
    """The loss over the steps of a bundled model's training."""
    try:
        run = library.training_run(name)
    except library.ModelError as error:
        st.caption(f"No curve: {literal(str(error))}.")
        return
    if run is None:
        st.caption("No curve: it has no training.csv.")
        return
    st.plotly_chart(
        measured_curves(run, LOSS, height=210),
        config={"displayModeBar": False},
        alt=f"Loss against step in the training of {name}",
    )


def show_parts(name: str, config: TransformerConfig | VisionConfig, parts: list[Part], key: str) -> None:
    """Where the parameters are: a figure, and the sum."""
    st.plotly_chart(
        parts_bars(parts, "parameters"),
        config=CHART_CONFIG,
        key=f"{key} figure",
        alt=f"Parameters of {name} in each block, by part; the table below has the numbers.",
    )
    st.dataframe(parts_table(parts), hide_index=True, key=f"{key} table")
    st.caption(literal(legend(config, parts) + "."))


st.title("Models")
st.write(
    "The models that this app has, and how large those of the papers are. Every size is worked out from the shape of "
    "the model, part by part, with the formula beside it."
)

st.header("Which models are here?", anchor="installed")
names = library.models()
if not names:
    st.info(library.NO_MODELS)
for left, right in zip(names[::2], [*names[1::2], None], strict=False):
    places = st.columns(2, gap="medium")
    for place, name in zip(places, (left, right), strict=True):
        if name is not None:
            with place, st.container(border=True):
                show_card(name)

st.header("Do the parts add up to what the papers say?", anchor="published")
st.write(
    "The difference is the sum of the parts minus the published total. A matrix that two places share counts once: "
    "token vectors and output matrix mostly do."
)
numbers, reasons = st.columns([3, 2], gap="medium")
numbers.table(published_table(), border="horizontal")
with reasons:
    for reason, of in reasons_for_differences().items():
        st.write(f"**{', '.join(of)}**: {literal(reason)}")
st.caption(GPT_4)

st.header("Where are the parameters of a model?", anchor="parts")
controls, picture = st.columns([1, 3], gap="medium")
with controls:
    chosen = BY_NAME[
        st.selectbox("Published model", list(BY_NAME), key="shape", bind="query-params", persist_state="session")
    ]
    st.metric("Sum of the parts", f"{total(chosen.parts):,}")
    st.metric("Published", chosen.total)
    st.write(f"**Source.** {literal(chosen.source)}")
    st.write(f"**Difference.** {literal(chosen.difference)}")
with picture:
    show_parts(chosen.name, chosen.config, chosen.parts, "published")
st.write(
    "The wider a model, the smaller the share of its token vectors: the matrices of a layer grow with the square of "
    "d_model, the token vectors only with d_model. The number of heads changes nothing as long as they share d_model "
    "among them."
)

st.header("What does it cost to hold a model, and to run it?", anchor="costs")
controls, picture = st.columns([1, 3], gap="medium")
with controls:
    context = st.number_input(
        "Context (tokens)",
        1,
        1_000_000,
        512,
        key="context",
        bind="query-params",
        persist_state="session",
        help="How many tokens a token attends to, itself included. An encoder-decoder has as many in its source.",
    )
    for formula, meaning in FORMULAS.items():
        # Not st.latex, which becomes a scrolling region that no key reaches where a formula just fits.
        st.write(formula)
        st.caption(meaning)
with picture:
    st.dataframe(published_costs(context), hide_index=True, height="content")
if fits(chosen.config, context):
    work = flops(chosen.config, context, chosen.top)
    st.write(f"**Of {chosen.name}**, which is chosen above, the operations are:")
    st.plotly_chart(
        parts_bars(work, "FLOPs"),
        config=CHART_CONFIG,
        key="operations",
        alt=f"Floating-point operations of {chosen.name} by part: "
        + "; ".join(f"{part.block}: {part.name} {operations(part.count)}" for part in work),
    )
st.caption(OPERATIONS)

st.header("What if it were wider, deeper or told its positions otherwise?", anchor="playground")
st.write("Start from a published model and change its fields; everything below is worked out again at once.")
wanted = design()
if wanted.config is None:
    st.error(f"No model can be built so: {literal(wanted.problem)}. Change a field, and the numbers come back.")
else:
    parts = parameters(wanted.config, wanted.top)
    size, size_before = total(parts), total(wanted.preset.parts)
    delta = f"{change(size, size_before)} against {wanted.preset.name}" if size != size_before else None
    with st.container(horizontal=True):
        st.metric("Parameters", amount(size), delta, delta_color="off", width="content")
        for label, value in costs_of(wanted.config, parts, context).items():
            st.metric(label[0].upper() + label[1:], value, width="content")
        if fits(wanted.config, context):
            for unit, number in work_of(wanted.config, wanted.top, context).items():
                st.metric(f"FLOPs {unit}", number, width="content")
    show_parts("this design", wanted.config, parts, "playground")
st.caption(f"The context is the one chosen above. Fields that change none of these numbers are left out: {LEFT_OUT}.")
link.read_again(link.MODEL)
link.tell_problems("Models")
