"""A figure of attention on an image: what one token reads from which patch."""

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from PIL import Image

from transformer_core.inspection.inspection import PatchImage
from viz_app.figures.theme import ACCENT, ColourScale, finished, weight_colours
from transformer_core.view.labels import printable

OPACITY = 0.65
"""Of the colours laid over the image: the patch must still be recognised."""


def patch_weights(weights: Float[np.ndarray, " key"], image: PatchImage) -> Float[np.ndarray, "row column"]:
    """The part of a row of weights that lies on the image, in the shape of its patches."""
    rows, columns = image.grid
    return weights[image.first_patch : image.first_patch + rows * columns].reshape(rows, columns)


def covers(image: PatchImage, num_tokens: int) -> bool:
    """Whether so many tokens include every patch of the image."""
    rows, columns = image.grid
    return num_tokens >= image.first_patch + rows * columns


def short_names(tokens: Sequence[str], image: PatchImage) -> tuple[str, ...]:
    """Names for the axes of a matrix: each patch by its row and column, say "2,3"; other tokens by their own."""
    rows, columns = image.grid
    patches = [f"{row + 1},{column + 1}" for row in range(rows) for column in range(columns)]
    last = image.first_patch + len(patches)
    return (*tokens[: image.first_patch], *patches, *tokens[last:])


def image_attention(
    image: PatchImage,
    weights: Float[np.ndarray, " key"],
    query: int,
    query_token: str,
    scale: ColourScale = "square root",
    height: int = 380,
) -> go.Figure:
    """One row of a head's weights laid over the image, each weight on the patch that it belongs to.

    Colours run from 0 to the largest weight on a patch. Every patch carries an invisible marker with `customdata` =
    the position of its token, so that a click can choose it as the next query.

    Args:
        weights: the row of the query, over all tokens.
        query: position of the token that reads; outlined if it is a patch.
        query_token: its label.

    Raises:
        ValueError: there are fewer weights than patches.
    """
    if not covers(image, len(weights)):
        raise ValueError(f"{len(weights)} weights do not cover {image.grid[0]} × {image.grid[1]} patches")
    on_patches = patch_weights(weights, image)
    rows, columns = on_patches.shape
    pixel_height, pixel_width = image.pixels.shape[:2]
    patch_height, patch_width = pixel_height / rows, pixel_width / columns
    largest = float(np.nanmax(on_patches))
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(on_patches, dtype=np.float32),
            x0=patch_width / 2,
            dx=patch_width,
            y0=patch_height / 2,
            dy=patch_height,
            zmin=0,
            zmax=largest if largest > 0 else 1,
            colorscale=weight_colours(scale),
            opacity=OPACITY,
            hoverinfo="skip",
            colorbar={
                "title": {"text": f"weight ({scale} colour scale)", "side": "right"},
                "thickness": 12,
            },
        )
    )
    figure.add_layout_image(
        source=Image.fromarray(image.pixels),
        x=0,
        y=0,
        sizex=pixel_width,
        sizey=pixel_height,
        xref="x",
        yref="y",
        sizing="stretch",
        layer="below",
    )
    places = [(row, column) for row in range(rows) for column in range(columns)]
    figure.add_scatter(
        x=[(column + 0.5) * patch_width for _, column in places],
        y=[(row + 0.5) * patch_height for row, _ in places],
        customdata=[image.first_patch + row * columns + column for row, column in places],
        text=[
            f"patch in row {row + 1}, column {column + 1}<br>weight {on_patches[row, column]:.9g}"
            for row, column in places
        ],
        mode="markers",
        marker={"opacity": 0, "size": 12, "symbol": "square"},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        hovertemplate="%{text}<br>click to read from here<extra></extra>",
        showlegend=False,
    )
    if 0 <= query - image.first_patch < rows * columns:
        row, column = divmod(query - image.first_patch, columns)
        figure.add_shape(
            type="rect",
            x0=column * patch_width,
            x1=(column + 1) * patch_width,
            y0=row * patch_height,
            y1=(row + 1) * patch_height,
            line={"color": ACCENT, "width": 3},
        )
    hidden = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": ""}
    figure.update_xaxes(
        range=[0, pixel_width],
        constrain="domain",
        side="top",
        title=f"read by (query): {html.escape(printable(query_token))}",
        **hidden,
    )
    figure.update_yaxes(range=[pixel_height, 0], scaleanchor="x", constrain="domain", **hidden)
    return finished(
        figure,
        height=height,
        margin={"l": 5, "r": 5, "t": 5, "b": 5},
        dragmode=False,
        hovermode="closest",
        hoverdistance=-1,
    )
