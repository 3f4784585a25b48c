"""How an inspection shows itself in a notebook: a static page with a small picture of every head.

No script and no file of its own, so that it also lives in a saved notebook. Text and lines take the colours of what is
around them, and thus those of a light or a dark theme.
"""

import base64
import html
import io
import math

import numpy as np
from jaxtyping import Float
from PIL import Image

from transformer_core.inspection.inspection import AttentionStack, Inspection
from transformer_core.inspection.summary import one_line, summary
from transformer_core.inspection.thumbnails import strongest_pair, thumbnails

CIVIDIS = ("00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "e1cc55", "fee838")
"""Even in lightness, and readable with every common colour blindness (Nunez et al. 2018, arXiv 1712.01662)."""

SHADES = 64
"""Colours in a picture. More could not be told apart, and would make every picture's palette longer."""

NOT_A_NUMBER = (128, 128, 128)
"""The colour of weights that a broken model left without a value."""

MAX_CELLS = 48
"""Cells a side of a picture, which covers at most 64 pixels."""

ALL_CELLS = 300_000
"""Cells of all pictures together. Measured with random weights, which hardly compress: a page of 0.34 MB for 12 x 12
heads, whatever the length of the text, and of 0.95 MB for 32 x 32."""

IMAGE_SIDE = 160
"""Pixels that the longer side of an image is shown with."""

MAX_LABEL = 40
"""Characters of a token that a picture's title quotes."""

_FAINT = "opacity:.75"
_OUTLINE = "outline:1px solid rgba(128,128,128,.6)"


def to_html(inspection: Inspection) -> str:
    """A piece of HTML for a notebook: model, text and answer, then all heads of every stack.

    Parts of stacks are left out, because the stack they belong to shows them.
    """
    stacks = [stack for stack in inspection.stacks.values() if not stack.is_part]
    num_heads = sum(stack.num_heads(layer) for stack in stacks for layer in range(len(stack)))
    cells = min(MAX_CELLS, max(8, math.isqrt(ALL_CELLS // max(num_heads, 1))))
    facts = "".join(
        f'<div style="{_FAINT}">{html.escape(name)}</div><div style="overflow-wrap:anywhere"><bdi>{html.escape(value)}'
        "</bdi></div>"
        for name, value in summary(inspection)
    )
    return (
        '<div style="line-height:1.4;max-width:100%">'
        f'<div style="display:grid;grid-template-columns:max-content 1fr;column-gap:1em">{facts}</div>'
        f"{_image(inspection)}{_how_to_read()}{''.join(_stack(stack, cells) for stack in stacks)}</div>"
    )


def _image(inspection: Inspection) -> str:
    """What a vision model looked at."""
    if inspection.image is None:
        return ""
    picture = Image.fromarray(inspection.image.pixels)
    picture.thumbnail((IMAGE_SIDE, IMAGE_SIDE))
    rows, columns = inspection.image.grid
    name = f"what the model looked at, in {rows:,} x {columns:,} patches"
    return (
        f'<div style="margin-top:.8em"><img src="{_data_uri(picture)}" alt="{name}" style="margin:0"><div>'
        f"{name[0].upper()}{name[1:]}, read row by row.</div></div>"
    )


def _how_to_read() -> str:
    bar = _picture(np.linspace(0, 1, 160, dtype=np.float32)[None], "the colours of weights from 0 to 1", "", 160, 10)
    return (
        '<div style="margin-top:.8em">A picture for each head: a row is a token that reads (query), a column a token '
        "that is read from (key), and the colour is the weight, which is the share of the row’s attention that goes "
        f"there: 0 {bar} 1, on a square root scale (cividis). Hover over a picture for its strongest pair. Layers, "
        "heads, rows and columns count from 0, as in <code>inspection.stacks[name].weights(layer, head)</code>.</div>"
    )


def _stack(stack: AttentionStack, cells: int) -> str:
    """A row of pictures for each layer."""
    heads = [stack.num_heads(layer) for layer in range(len(stack))]
    side = min(64, max(32, 640 // max(heads, default=1)))
    num_queries, num_keys = len(stack.query_tokens), len(stack.key_tokens)
    # Square cells, unless a side would be too short to be seen.
    width, height = (max(12, side * length // max(num_queries, num_keys)) for length in (num_keys, num_queries))
    rows = "".join(
        f'<div style="grid-column:1;{_FAINT}">layer {layer}</div>{_layer(stack, layer, cells, width, height)}'
        for layer in range(len(stack))
    )
    numbers = "".join(f'<div style="{_FAINT}">{head}</div>' for head in range(max(heads, default=0)))
    return (
        f'<div style="margin-top:.8em"><b><bdi>{html.escape(one_line(stack.name))}</bdi></b>: {_axes(stack)}'
        f"{_block_note(num_queries, num_keys, cells)}</div>"
        f'<div style="overflow-x:auto;padding:3px"><div style="display:grid;justify-content:start;align-items:center;'
        f"justify-items:center;grid-template-columns:max-content repeat({max(heads, default=0)},{width}px);gap:5px;"
        f'image-rendering:pixelated"><div style="{_FAINT}">head</div>{numbers}{rows}</div></div>'
    )


def _axes(stack: AttentionStack) -> str:
    queries, keys = (f"{len(tokens):,}" for tokens in (stack.query_tokens, stack.key_tokens))
    query_label, key_label = (html.escape(one_line(label)) for label in (stack.query_label, stack.key_label))
    if (stack.query_tokens, query_label) == (stack.key_tokens, key_label):
        return f"rows and columns are the same {queries} tokens (<bdi>{query_label}</bdi>)."
    return f"rows are {queries} tokens (<bdi>{query_label}</bdi>), columns {keys} (<bdi>{key_label}</bdi>)."


def _block_note(num_queries: int, num_keys: int, cells: int) -> str:
    if max(num_queries, num_keys) <= cells:
        return ""
    rows, columns = (max(length / cells, 1) for length in (num_queries, num_keys))
    return f" A cell shows the largest of about {rows:.2g}\u00a0×\u00a0{columns:.2g} weights."


def _layer(stack: AttentionStack, layer: int, cells: int, width: int, height: int) -> str:
    pictures = []
    for head in range(stack.num_heads(layer)):
        weights = stack.weights(layer, head).cpu().numpy()
        name = f"layer {layer}, head {head}"
        pictures.append(
            _picture(thumbnails(weights[None], cells)[0], name, f"{name}: {_strongest(stack, weights)}", width, height)
        )
    return "".join(pictures)


def _strongest(stack: AttentionStack, weights: Float[np.ndarray, "query key"]) -> str:
    if not np.isfinite(weights).all():
        return "some of its weights are not a number (grey)"
    row, column, weight = strongest_pair(weights)
    return (
        f"strongest is {_quoted(stack.query_tokens[row])} (row {row}) → {_quoted(stack.key_tokens[column])} "
        f"(column {column}), weight {weight:.3f}"
    )


def _quoted(token: str) -> str:
    shown = one_line(token)
    shown = shown if len(shown) <= MAX_LABEL else shown[: MAX_LABEL - 1] + "…"
    return f"“\u2068{shown}\u2069”"  # isolated, so that a word from right to left turns nothing but itself


def _picture(weights: Float[np.ndarray, "row column"], name: str, title: str, width: int, height: int) -> str:
    """One pixel a weight, coloured by its square root, which makes small weights visible."""
    shades = np.rint(np.sqrt(np.clip(np.nan_to_num(weights), 0, 1)) * (SHADES - 1))
    picture = Image.fromarray(np.where(np.isfinite(weights), shades, SHADES).astype(np.uint8))
    picture.putpalette(_palette())
    title = f' title="{html.escape(title)}"' if title else ""
    return (
        f'<img src="{_data_uri(picture)}" alt="{html.escape(name)}"{title} '
        f'style="width:{width}px;height:{height}px;max-width:none;margin:0;{_OUTLINE}">'
    )


def _data_uri(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _palette() -> list[int]:
    """Red, green and blue of every shade, and of what is not a number."""
    stops = np.array([tuple(bytes.fromhex(stop)) for stop in CIVIDIS])
    places = np.linspace(0, len(CIVIDIS) - 1, SHADES)
    colours = [np.interp(places, np.arange(len(CIVIDIS)), stops[:, channel]) for channel in range(3)]
    return [*np.rint(np.stack(colours, axis=1)).astype(int).flatten().tolist(), *NOT_A_NUMBER]
