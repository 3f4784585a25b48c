"""What a browser needs to draw an inspection: one description, and every weight in one byte.

A weight w travels as round(254 * sqrt(w)), which keeps small weights apart: the step is 0.0008 at 0.01
and 0.006 at 0.5, so that two digits can be read off. 255 stands for a weight that is not a number.
"""

import base64
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

from transformer_core.inspection.inspection import AttentionStack, Inspection, PatchImage
from transformer_core.inspection.thumbnails import thumbnails
from transformer_core.view.labels import clean_text, printable, visible

LEVELS = 254
"""Code of the weight 1."""

NOT_A_NUMBER = 255

MAX_BYTES = 10 * 2**20
"""Up to here all maps are sent whole: 12 x 12 heads with 256 tokens. A browser draws them within a second."""

POOLED_BYTES = 2 * 2**20
"""Size of all maps together where they are not sent whole."""

MIN_CELLS, MAX_CELLS = 8, 64
"""Cells a side of a map that is not sent whole."""

MAX_LABEL = 200
"""Characters of a token that are sent. Where it is drawn, a token is shorter."""

TITLES = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross", "self": "Self"}
"""Names of stacks for a reader."""


@dataclass(frozen=True)
class Detail:
    """Whose maps are sent whole where the others are not."""

    stack: str
    layer: int
    head: int


@dataclass(frozen=True)
class Payload:
    """An inspection as the linked view takes it."""

    meta: dict[str, Any]
    """Tokens and sizes, as JSON has them; see `build`."""
    weights: UInt8[np.ndarray, " weight"]
    """The maps of all heads: stack after stack, layer after layer, head after head, row by row."""

    @property
    def is_pooled(self) -> bool:
        """Whether maps have fewer cells than the heads have weights."""
        return any(
            (stack["rows"], stack["columns"]) != (len(stack["queries"]), len(stack["keys"]))
            for stack in self.meta["stacks"]
            if stack["offset"] is not None
        )

    def sees_later(self, stack: AttentionStack) -> bool | None:
        """Whether any query reads from a key behind it; None where only one token is, or no numbers (NaN).

        Args:
            stack: one whose rows and columns are the same tokens.
        """
        described = next(each for each in self.meta["stacks"] if each["name"] == stack.name)
        size = described["rows"] * described["columns"]
        layer = self.weights[described["offset"] :][: size * described["heads"][0]]
        maps = layer.reshape(-1, described["rows"], described["columns"])
        if size == 1 or (maps == NOT_A_NUMBER).any():
            return None
        return bool(np.triu(maps, 1).any())


def build(inspection: Inspection, detail: Detail | None = None) -> Payload:
    """Everything the view draws.

    Args:
        detail: where all maps together are larger than MAX_BYTES, whose maps to send whole beside the small ones: all
            heads of the layer, or, if these are too large, the head alone. Without effect for smaller inspections.

    Raises:
        ValueError: the detail is of a stack that the inspection does not have.
    """
    stacks = list(inspection.stacks.values())
    if detail is not None and detail.stack not in inspection.stacks:
        raise ValueError(f"there is no stack {detail.stack!r} to send whole: there are {', '.join(inspection.stacks)}")
    whole = [stack for stack in stacks if not stack.is_part]
    cells = _cells(whole)
    maps: list[UInt8[np.ndarray, "head row column"]] = []
    described, offset = [], 0
    for stack in stacks:
        # Patches have names, not tokens: a blank in one is just a blank.
        description = _describe(stack, whole, printable if inspection.image else _token)
        if not stack.is_part:
            # One layer after the other: all float maps together can be gigabytes.
            layers = [_layer(stack, layer, cells) for layer in range(len(stack))]
            description |= {"offset": offset, "rows": layers[0].shape[1], "columns": layers[0].shape[2]}
            offset += sum(layer.size for layer in layers)
            maps += layers
        described.append(description)
    meta = {
        **_about(inspection),
        "stacks": described,
        "image": inspection.image and _image(inspection.image),
        "detail": None,
    }
    if detail is not None and cells is not None:
        place, detailed = _detail(_whole_of(inspection.stacks[detail.stack], whole), detail)
        meta["detail"] = {**place, "offset": offset}
        maps += detailed
    weights = np.concatenate([layer.reshape(-1) for layer in maps]) if maps else np.zeros(0, np.uint8)
    weights.flags.writeable = False  # it is shared between visitors
    digest = hashlib.sha256(json.dumps(meta).encode())
    digest.update(weights.data)
    return Payload({"id": digest.hexdigest()[:16], **meta}, weights)


def coded(weights: Float[Tensor, "*shape"]) -> UInt8[np.ndarray, "*shape"]:
    """The weights as codes of one byte. Only a weight of exactly 0, as a mask makes it, has the code 0."""
    codes = (weights.clamp(0, 1).sqrt() * LEVELS).round().clamp_min(1) * (weights > 0)
    return codes.masked_fill(~weights.isfinite(), NOT_A_NUMBER).to(torch.uint8).cpu().numpy()


def _cells(stacks: list[AttentionStack]) -> int | None:
    """Cells a side of every map; None: all are sent whole."""
    sizes = [(len(stack.query_tokens) * len(stack.key_tokens), _num_heads(stack)) for stack in stacks]
    if sum(size * heads for size, heads in sizes) <= MAX_BYTES:
        return None
    return int(np.clip((POOLED_BYTES / sum(heads for _, heads in sizes)) ** 0.5, MIN_CELLS, MAX_CELLS))


def _num_heads(stack: AttentionStack) -> int:
    return sum(stack.num_heads(layer) for layer in range(len(stack)))


def _layer(stack: AttentionStack, layer: int, cells: int | None) -> UInt8[np.ndarray, "head row column"]:
    if cells is None:
        return coded(stack.weights(layer))
    return np.concatenate(list(_small(stack, layer, range(stack.num_heads(layer)), cells)))


def _small(stack: AttentionStack, layer: int, heads: range, cells: int) -> Iterator[UInt8[np.ndarray, "1 row column"]]:
    """The codes grow with the weights, so the largest code of a block is that of its largest weight."""
    for head in heads:
        yield thumbnails(coded(stack.weights(layer, head))[None], cells)


def _whole_of(stack: AttentionStack, whole: list[AttentionStack]) -> AttentionStack | None:
    """The stack whose maps hold this one: itself, or that which it is a part of."""
    return next((each for each in whole if each.calls == stack.calls), None)


def _detail(stack: AttentionStack, detail: Detail) -> tuple[dict[str, Any], list[UInt8[np.ndarray, "1 row column"]]]:
    num_queries, num_keys = len(stack.query_tokens), len(stack.key_tokens)
    heads = range(stack.num_heads(detail.layer))
    if num_queries * num_keys * len(heads) > MAX_BYTES:
        heads = range(detail.head, detail.head + 1)
    cells = max(num_queries, num_keys) if num_queries * num_keys <= MAX_BYTES else int(MAX_BYTES**0.5)
    maps = list(_small(stack, detail.layer, heads, cells))
    rows, columns = maps[0].shape[1:]
    place = {"stack": stack.name, "layer": detail.layer, "heads": list(heads), "rows": rows, "columns": columns}
    return place, maps


def public_name(model: str) -> str:
    """A model's name in what is made to be shown to others: of a folder, only its last part.

    A name on the Hugging Face hub stays as it is: "name" or "owner/name".
    """
    parts = [part for part in re.split(r"[\\/]", model) if part]
    is_hub_name = len(parts) <= 2 and not model.startswith(("/", "\\", ".", "~")) and ":" not in model
    return model if is_hub_name or not parts else parts[-1]


def _about(inspection: Inspection) -> dict[str, Any]:
    source = inspection.provenance
    name = public_name(source.model)
    return {
        "title": name,
        "text": clean_text(inspection.text),
        "second_text": clean_text(inspection.second_text),
        "answer": clean_text(inspection.answer),
        "source": f"{name}, weights {source.weights_hash}, {source.dtype} on {source.device}, "
        f"PyTorch {source.torch_version}",
    }


def _token(token: str) -> str:
    return visible(token, MAX_LABEL)


def _describe(stack: AttentionStack, whole: list[AttentionStack], label: Callable[[str], str]) -> dict[str, Any]:
    stack_name, comma, rest = stack.name.partition(",")
    part_of = _whole_of(stack, whole) if stack.is_part else None
    return {
        "name": stack.name,
        "title": TITLES.get(stack_name, stack_name) + comma + rest,
        "query_label": stack.query_label,
        "key_label": stack.key_label,
        "queries": [label(token) for token in stack.query_tokens],
        "keys": [label(token) for token in stack.key_tokens],
        "query_special": list(stack.query_special),
        "key_special": list(stack.key_special),
        "query_words": list(stack.query_words or range(len(stack.query_tokens))),
        "key_words": list(stack.key_words or range(len(stack.key_tokens))),
        "heads": [stack.num_heads(layer) for layer in range(len(stack))],
        "sums_to_one": not stack.is_part and all(call.sinks is None for call in stack.calls),
        "part_of": part_of and part_of.name,
        "part_rows": None if stack.rows is None else list(stack.rows),
        "part_columns": None if stack.columns is None else list(stack.columns),
        "offset": None,
        "rows": None,
        "columns": None,
    }


def _image(image: PatchImage) -> dict[str, Any]:
    file = io.BytesIO()
    Image.fromarray(image.pixels).save(file, "PNG")
    return {
        "uri": f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}",
        "rows": image.grid[0],
        "columns": image.grid[1],
        "first_patch": image.first_patch,
    }
