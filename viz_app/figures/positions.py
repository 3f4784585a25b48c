"""Figures of the sinusoidal position encoding."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_app.figures.theme import DIVERGING, dashes, finished


def dimension_curves(encoding: Float[np.ndarray, "position dimension"], dimensions: Sequence[int]) -> go.Figure:
    """PE(pos, dimension) against the position, one curve for each chosen dimension."""
    figure = go.Figure()
    for dimension, dash in zip(dimensions, dashes(len(dimensions)), strict=True):
        kind = "cos" if dimension % 2 else "sin"
        figure.add_scatter(
            x=np.arange(len(encoding)),
            y=encoding[:, dimension],
            mode="lines",
            name=f"dimension {dimension} ({kind})",
            line={"dash": dash, "width": 2},
            hovertemplate="%{y:.6f}",
        )
    figure.update_xaxes(title="position")
    figure.update_yaxes(title="value", range=[-1.08, 1.08])
    return finished(figure, height=340, hovermode="x unified", showlegend=True)


def encoding_heatmap(encoding: Float[np.ndarray, "position dimension"]) -> go.Figure:
    """The whole table: a row is the vector of one position, a column one dimension."""
    figure = go.Figure(
        go.Heatmap(
            z=encoding,
            zmin=-1,
            zmax=1,
            colorscale=DIVERGING,
            colorbar={"title": {"text": "value (linear)", "side": "right"}, "thickness": 12},
            hovertemplate="position %{y}<br>dimension %{x}<br>value %{z:.6f}<extra></extra>",
        )
    )
    figure.update_xaxes(title="dimension", showgrid=False)
    figure.update_yaxes(title="position", autorange="reversed", showgrid=False)
    return finished(figure, height=420)


def offset_products(products: dict[int, Float[np.ndarray, " offset"]]) -> go.Figure:
    """PE(p)·PE(p + k) against k, one curve for each position p: the curves lie on each other."""
    figure = go.Figure()
    # Wide below narrow, so that all of the coinciding lines can be seen.
    widths = np.linspace(9, 2, len(products)) if len(products) > 1 else [3]
    styles = ["solid", *dashes(len(products))[1:]]
    for (position, values), width, dash in zip(products.items(), widths, styles, strict=True):
        figure.add_scatter(
            x=np.arange(len(values)),
            y=values,
            mode="lines",
            name=f"p = {position:,}",
            line={"width": float(width), "dash": dash},
            hovertemplate="%{y:.4f}",
        )
    figure.update_xaxes(title="offset k, in positions")
    figure.update_yaxes(title="PE(p) · PE(p + k)")
    return finished(figure, height=340, hovermode="x unified", showlegend=True)


def wavelength_curve(wavelengths: Float[np.ndarray, " pair"], d_model: int, limit: float) -> go.Figure:
    """The wavelength of every sine-cosine pair on a logarithmic axis, below the `limit` that none reaches.

    The last pair of an odd d_model lacks its cosine.
    """
    pairs = np.arange(len(wavelengths))
    figure = go.Figure(
        go.Scatter(
            x=pairs,
            y=wavelengths,
            mode="lines+markers" if len(wavelengths) <= 64 else "lines",
            name="wavelength",
            text=[
                f"dimensions {first}, {first + 1}" if first + 1 < d_model else f"dimension {first} alone"
                for first in range(0, d_model, 2)
            ],
            hovertemplate="pair %{x} (%{text})<br>%{y:,.2f} positions<extra></extra>",
        )
    )
    for value, name in ((limit, f"limit {limit:,.0f}: not reached"), (2 * math.pi, "2π: the first pair")):
        figure.add_hline(y=value, line={"dash": "dot", "width": 1.5, "color": "gray"})
        # On a logarithmic axis Plotly wants the exponent for an annotation, the value for a line.
        figure.add_annotation(x=0.5, xref="x domain", y=math.log10(value), yanchor="bottom", text=name, showarrow=False)
    figure.update_xaxes(title="sine-cosine pair i", rangemode="tozero")
    figure.update_yaxes(title="positions (logarithmic)", type="log", dtick=1, range=[0.4, math.log10(limit) + 0.5])
    return finished(figure, height=340, showlegend=False)
