"""The sinusoidal position encoding: four questions, each answered by a figure."""

import streamlit as st

from transformer_core.model.positions import (
    WAVELENGTH_LIMIT,
    largest_difference,
    offset_dot_products,
    sinusoidal_encoding,
    wavelengths,
)
from viz_app import link
from viz_app.figures import positions as figures
from viz_app.figures.theme import CHART_CONFIG
from viz_app.state import keep_options

MAX_D_MODEL = 1024
MAX_LENGTH = 512

st.title("Positions")
st.write(
    "Attention by itself does not know the order of its tokens. The Transformer therefore adds a vector to each token "
    "that says where it stands. Choose the size of these vectors and how many positions to look at; every figure on "
    "this page is computed from the formula below."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    d_model = st.number_input(
        "Dimensions (d_model)",
        1,
        MAX_D_MODEL,
        128,
        key="d_model",
        bind="query-params",
        width=200,
        help="The base model of “Attention Is All You Need” has 512, its big one 1,024 (Table 3). "
        f"From 1 to {MAX_D_MODEL:,}.",
    )
    length = st.number_input(
        "Positions",
        2,
        MAX_LENGTH,
        100,
        key="length",
        bind="query-params",
        width=200,
        help=f"How many positions are drawn, from 2 to {MAX_LENGTH}. The formula itself has no last position.",
    )
encoding = sinusoidal_encoding(length, d_model).numpy()
waves = wavelengths(d_model).numpy()
if d_model % 2:
    st.info(
        f"{d_model} is odd, so the last dimension is a sine whose cosine is missing. Everything below is drawn that "
        "way; published models use an even number."
    )

st.header("How does a position become a vector?", anchor="curves")
controls, picture = st.columns([1, 3], gap="medium")
with controls:
    st.latex(r"PE_{(pos,\,2i)} = \sin\!\left(\frac{pos}{10000^{2i/d_{model}}}\right)")
    st.latex(r"PE_{(pos,\,2i+1)} = \cos\!\left(\frac{pos}{10000^{2i/d_{model}}}\right)")
    keep_options("dimensions", range(d_model))
    dimensions = st.multiselect(
        "Dimensions to draw",
        list(range(d_model)),
        default=[dimension for dimension in (8, 9, 24, 25, 48) if dimension < d_model] or [0, 1][:d_model],
        key="dimensions",
        bind="query-params",
    )
with picture:
    if dimensions:
        st.plotly_chart(
            figures.dimension_curves(encoding, dimensions),
            config=CHART_CONFIG,
            alt=f"Values of dimensions {', '.join(map(str, dimensions))} over {length} positions: waves.",
        )
    else:
        st.info("Choose at least one dimension to draw.")
st.write(
    "Each dimension is a wave. Even dimensions are sines, odd ones cosines, and two neighbours 2i and 2i + 1 share one "
    "wavelength. Low dimensions turn quickly and tell neighbours apart; high ones turn slowly and tell far from near. "
    "One position is what all the waves read at that place. (“Attention Is All You Need”, section 3.5.)"
)

st.header("What do all positions look like side by side?", anchor="table")
st.plotly_chart(
    figures.encoding_heatmap(encoding),
    config=CHART_CONFIG,
    alt=f"Heatmap of the encoding: {length} positions as rows, {d_model} dimensions as columns, values from -1 to 1.",
)
norm = (
    f"Every row has the same length, ‖PE(pos)‖² = d_model / 2 = {d_model // 2:,}, because sin² + cos² = 1 in each pair."
    if d_model % 2 == 0
    else "With an even d_model every row would have the same length, because sin² + cos² = 1 in each pair."
)
turns = (
    f"The leftmost pair of columns repeats after {waves[0]:.2f} positions, the rightmost after {waves[-1]:,.0f}."
    if len(waves) > 1
    else f"The values repeat after {waves[0]:.2f} positions."
)
st.write(f"A row is the vector of one position, a column one dimension. {turns} {norm}")

st.header("What does the dot product of two positions know?", anchor="products")
controls, picture = st.columns([1, 3], gap="medium")
with controls:
    st.latex(
        r"\begin{aligned}&PE(p)\cdot PE(p+k)\\ &= \sum_i \cos\!\left(\frac{k}{10000^{2i/d_{model}}}\right)\end{aligned}"
    )
    starts = st.multiselect(
        "First positions p",
        [0, 1, 10, 50, 100, 500, 1_000, 5_000],
        default=[0, 10, 100, 1_000],
        key="starts",
        bind="query-params",
    )
    max_offset = st.number_input("Largest offset k", 1, MAX_LENGTH, 100, key="max_offset", bind="query-params")
products = {start: offset_dot_products(d_model, max_offset, start) for start in starts}
with picture:
    if products:
        st.plotly_chart(
            figures.offset_products({start: values.numpy() for start, values in products.items()}),
            config=CHART_CONFIG,
            alt=f"Dot product of the encodings of p and p + k for offsets up to {max_offset}; one curve for each p.",
        )
    else:
        st.info("Choose at least one first position.")
if products:
    several = len(products) > 1
    largest = largest_difference(list(products.values()))
    if d_model % 2 == 0:
        compared = f" (largest difference here {largest:.1e}, rounding of float32)" if several else ""
        st.write(
            "Only how far apart two positions are, not where they stand: the curves of all first positions lie on "
            f"each other{compared}. They start at d_model / 2 = {d_model // 2:,} and fall, with ripples, as the "
            "positions move apart. It is a property of the bare encodings: in attention, learned matrices come between "
            "the two."
        )
    else:
        compared = f", and the curves differ by up to {largest:.2g}" if several else ""
        st.write(
            "For an even d_model the curves lie on each other: only how far apart two positions are matters. Here the "
            f"sine without its cosine adds a part that depends on p{compared}."
        )

st.header("How far apart must two positions be to look the same to a dimension?", anchor="wavelengths")
controls, picture = st.columns([1, 3], gap="medium")
with controls:
    st.latex(r"\lambda_i = 2\pi\cdot 10000^{2i/d_{model}}")
    st.metric("Shortest wavelength (positions)", f"{waves[0]:,.4f}", help="2π, for every d_model.")
    st.metric(f"Longest, with d_model = {d_model:,}", f"{waves[-1]:,.0f}")
with picture:
    st.plotly_chart(
        figures.wavelength_curve(waves, d_model, WAVELENGTH_LIMIT),
        config=CHART_CONFIG,
        alt=f"Wavelengths of the {len(waves)} sine-cosine pairs, from {waves[0]:.2f} to {waves[-1]:,.0f} positions.",
    )
st.write(
    "After one wavelength a pair has gone round once and reads the same again. The paper speaks of wavelengths “from "
    f"2π to 10000 · 2π”. The second, {WAVELENGTH_LIMIT:,.0f}, is a limit that no pair reaches, because the last "
    "exponent is (d_model − 2) / d_model and not 1: with the paper's 512 dimensions the longest wavelength is "
    f"{wavelengths(512)[-1].item():,.0f}. On the logarithmic axis the wavelengths are a straight line, a geometric "
    "progression."
)
link.tell_problems("Positions")
