"""The learning-rate schedule, and how the bundled models were trained."""

from itertools import cycle

import pandas as pd
import streamlit as st

from transformer_core.training.schedule import learning_rate, peak_learning_rate
from viz_app import library, link, schedules
from viz_app.errors import escape_markdown
from viz_app.figures import training as figures
from viz_app.figures.theme import CHART_CONFIG

st.title("Training")
st.write("How fast a Transformer may learn at each step, and the course of the training of the models in this app.")

st.header("Why warm up?", anchor="schedule")
st.latex(
    r"\mathit{lrate} = \mathit{scale}\cdot d_{model}^{-0.5}\cdot"
    r"\min\!\left(\mathit{step}^{-0.5},\ \mathit{step}\cdot \mathit{warmup}^{-1.5}\right)"
)
settings, picture = st.columns([2, 3], gap="medium")
with settings:
    st.caption("One row a curve. Edit a cell, add rows at the bottom, tick rows to delete them.")
    if "schedules" not in st.session_state:
        # The editor is new on the screen. It starts from what it held when the page was left, or from the link.
        asked = st.query_params.get("curves", "")
        start = st.session_state.get("schedules_left", schedules.from_link(asked))
        if asked and start is schedules.DEFAULT:
            link.note_problems(["The curves in the link cannot be read; those of the paper are drawn."])
        st.session_state["schedules_start"] = start
    table = st.data_editor(
        st.session_state["schedules_start"],
        num_rows="dynamic",
        key="schedules",
        hide_index=True,
        column_config={
            "d_model": st.column_config.NumberColumn("d_model", help="Width of the model: a whole number, 1 or more."),
            "warm-up": st.column_config.NumberColumn(
                "warm-up", help="Steps until the peak: a whole number, 1 or more."
            ),
            "scale": st.column_config.NumberColumn(
                "scale", help="Multiplies the whole curve; “Attention Is All You Need” has 1."
            ),
        },
    )
    last_step = st.number_input("Last step", 10, 10_000_000, 50_000, step=1000, key="last_step", bind="query-params")
    read_at = st.number_input(
        "Read the curves at step",
        0,
        10_000_000,
        10_000,
        step=100,
        key="read_at",
        bind="query-params",
        help="Step 0 counts as step 1.",
    )
    with st.container(horizontal=True):
        log_steps = st.toggle("Logarithmic steps", key="log_steps", bind="query-params")
        log_rates = st.toggle("Logarithmic rates", key="log_rates", bind="query-params")
st.session_state["schedules_left"] = table
good, problems = schedules.read(table)
if table.equals(schedules.DEFAULT):
    st.query_params.pop("curves", None)
else:
    st.query_params["curves"] = schedules.to_link(good)
with picture:
    for problem in problems:
        st.warning(problem)
    if good:
        peaks = [row.warmup for row in good]
        steps = figures.drawn_steps(last_step, peaks, log_steps)
        curves = [
            figures.Schedule(
                row.name,
                schedules.rates(row, steps),
                row.warmup,
                peak_learning_rate(row.d_model, row.warmup, row.scale),
            )
            for row in good
        ]
        st.plotly_chart(
            figures.schedule_curves(
                steps, curves, log_steps, log_rates, read_at if 1 <= read_at <= last_step else None
            ),
            config=CHART_CONFIG,
            alt="Learning rate against step for " + "; ".join(row.name for row in good),
        )
        for curve in curves:
            if curve.peak_step > last_step:
                st.caption(f"{curve.name}: its peak at step {curve.peak_step:,} lies beyond the last step.")
        st.dataframe(
            pd.DataFrame(
                {
                    "setting": [row.name for row in good],
                    f"rate at step {read_at:,}": [
                        f"{learning_rate(read_at, row.d_model, row.warmup, row.scale):.6e}" for row in good
                    ],
                    "peak rate": [f"{curve.peak_rate:.6e}" for curve in curves],
                    "peak at step": [f"{curve.peak_step:,}" for curve in curves],
                }
            ),
            hide_index=True,
        )
    else:
        st.info("No curve to draw yet: add a row with d_model, warm-up and scale.")
st.write(
    "The rate rises in a straight line for the warm-up steps and then falls with the square root of the step; the "
    "peak, scale / √(d_model · warm-up), lies where the two meet. Adam divides each step by a running estimate of the "
    "gradient's size; during the first steps the estimate rests on few gradients, and small steps keep its errors from "
    "doing harm (Liu et al. 2019, arXiv 1908.03265). Curves of equal d_model and scale coincide once the longer "
    "warm-up is over. "
    "(“Attention Is All You Need”, section 5.3, equation 3; the scale is an addition that many implementations make.)"
)

st.header("How did a model of this app learn?", anchor="measured")
names = library.models()
if not names:
    st.info(library.NO_MODELS)
    st.stop()
name = st.selectbox("Model", names, key="run", bind="query-params", width=320)
link.tell_problems("Training")
try:
    run = library.training_run(name)
except library.ModelError as error:
    st.warning(f"Nothing to draw for {escape_markdown(name)}: {escape_markdown(str(error))}.")
    st.stop()
if run is None:
    st.info(f"{escape_markdown(name)} has no training.csv beside its weights, so there is nothing to draw.")
    st.stop()
st.write(
    f"Measured while {escape_markdown(name)} was trained: {len(run):,} rows up to step {run['step'].max():,} of its "
    "training.csv. Training loss, with dropout where the model has any, and speed are means since the row before; what "
    "is called validation was measured at its step, on data held out and without dropout."
)
left, right = st.columns(2, gap="medium")
for place, chart in zip(cycle([left, right]), figures.charts_of(run.columns), strict=False):
    with place:
        st.subheader(chart.title)
        if run[list(chart.columns)].notna().any(axis=None):
            st.plotly_chart(
                figures.measured_curves(run, chart), config=CHART_CONFIG, alt=f"{chart.title} against step for {name}"
            )
        else:
            st.info("Not measured at any step so far.")
