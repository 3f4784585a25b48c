"""An inspection as a file: the weights of all layers and heads, and where they come from.

The suffix chooses the form. In the first three, layers, heads, rows and columns count from 0, as in Python, and every
weight reads back as the same float32, bit for bit.

- ".npz", for NumPy (`numpy.load`, no pickle in it): an array "encoder.0" (head, query, key) for layer 0 of the stack
  "encoder", and so on, arrays "encoder.query_tokens" and "encoder.key_tokens", and "about", JSON with everything else.
  An image that the model saw is the array "image.pixels".
- ".json": the object that "about" holds, with the weights as `weights[stack][layer][head][query][key]`.
- ".csv" (RFC 4180, UTF-8): a row for each weight, with its tokens and with the model it comes from. "about" is in the
  first row alone. Tokens are written as they are, for a changed one would be wrong: a spreadsheet has to import the
  file with the token columns as text, or it takes "=x" for a formula; pandas needs `keep_default_na=False`, or it takes
  "null" for a gap.
- ".html": a page with the linked view, which opens in a browser without a server or a network. Its weights are made
  for drawing: one byte each, good to two digits.

Only whole stacks are written. Parts of them, such as what sentence A reads from sentence B, are named in "about" with
their rows and columns.
"""

import contextlib
import csv
import dataclasses
import io
import json
import os
import re
import uuid
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import numpy as np
from jaxtyping import Float32

from transformer_core import __version__
from transformer_core.inspection.finite import finite
from transformer_core.inspection.inspection import AttentionStack, Inspection

CONVENTIONS = {
    "counting": "Layers, heads, rows and columns count from 0. (The app shows them from 1.)",
    "axes": "Rows are queries, columns are keys.",
    "precision": "Weights are float32, after the softmax and before dropout, written with as many digits as a float32 "
    "needs: read as float32, they are the same bit for bit.",
    "special": "The places, among the tokens of an axis, of those that are no words of the text, such as <s>.",
    "words": "The number of the word that each token of the axis belongs to, or null if every token is a word.",
    "null": "A number that the model did not give: not a number (NaN), or infinite.",
}
"""What the file says of itself, so that nobody has to guess."""

CSV_COLUMNS = (
    *("stack", "layer", "head", "query", "query_token", "key", "key_token", "weight", "counts_from"),
    *("model", "weights_hash", "device", "dtype", "torch_version", "headlight_version", "about"),
)


def save(inspection: Inspection, path: Path | str) -> None:
    """Write the inspection to `path`, in the form that its suffix names. An older file of that name is replaced.

    Layers are computed and written one after the other. When anything fails, no half file is left behind and an older
    file stays as it was.

    Raises:
        ValueError: the suffix is none of .npz, .json, .csv and .html.
        OSError: the folder does not exist, or the file cannot be written.
    """
    path = Path(path)
    check_path(path)
    partial = path.with_name(f".{uuid.uuid4().hex}.partial")  # beside it, so that it can take its name in one step
    try:
        with partial.open("xb") as file:
            _WRITERS[path.suffix.lower()](inspection, file)
        os.replace(partial, path)
    except OSError as error:
        raise type(error)(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def check_path(path: Path) -> None:
    """Whether `save` could write there, before the work is done.

    Raises:
        ValueError: the suffix is none of .npz, .json, .csv and .html.
        OSError: the folder does not exist, or the path is a folder itself.
    """
    if path.suffix.lower() not in _WRITERS:
        found = f"not {path.suffix}" if path.suffix else "and this name has none"
        raise ValueError(f"{path} cannot be written: the suffix has to be .npz, .json, .csv or .html, {found}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} cannot be written: it is a folder")


def _write_npz(inspection: Inspection, file: IO[bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:

        def add(name: str, array: np.ndarray) -> None:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)

        add("about", np.array(_json(_about(inspection))))
        if inspection.image is not None:
            add("image.pixels", inspection.image.pixels)
        for stack in _whole_stacks(inspection):
            add(f"{stack.name}.query_tokens", np.array(stack.query_tokens, dtype=str))
            add(f"{stack.name}.key_tokens", np.array(stack.key_tokens, dtype=str))
            for layer in range(len(stack)):
                add(f"{stack.name}.{layer}", np.stack(list(_heads(stack, layer))))


def _write_json(inspection: Inspection, file: IO[bytes]) -> None:
    def write(text: str) -> None:
        file.write(text.encode())

    # Everything but the weights at once, and these in front of the closing brace.
    write(_json(_about(inspection), indent=1).removesuffix("\n}"))
    write(',\n "weights": {')
    for number, stack in enumerate(_whole_stacks(inspection)):
        write(f"{',' if number else ''}\n  {_json(stack.name)}: [")
        for layer in range(len(stack)):
            write(",\n   [" if layer else "\n   [")
            for head, weights in enumerate(_heads(stack, layer)):
                rows = (re.sub("-?(nan|inf)", "null", f"[{','.join(row)}]") for row in _digits(weights))
                write((",\n" if head else "\n") + "    [" + ",\n     ".join(rows) + "]")
            write("\n   ]")
        write("\n  ]")
    write("\n }\n}\n")


def _write_csv(inspection: Inspection, file: IO[bytes]) -> None:
    source = inspection.provenance
    origin = (source.model, source.weights_hash, source.device, source.dtype, source.torch_version, __version__)
    about = _json(_about(inspection))
    # No lone surrogate can be written in UTF-8. A model's tokens hold none; the name of its folder might.
    with io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(CSV_COLUMNS)
        for stack in _whole_stacks(inspection):
            for layer in range(len(stack)):
                for head, weights in enumerate(_heads(stack, layer)):
                    for query, row in enumerate(_digits(weights)):
                        for key, weight in enumerate(row):
                            tokens = query, stack.query_tokens[query], key, stack.key_tokens[key]
                            writer.writerow((stack.name, layer, head, *tokens, weight, 0, *origin, about))
                            about = ""


def _write_html(inspection: Inspection, file: IO[bytes]) -> None:
    from transformer_core.view.html_file import to_page  # what is drawn stands above what is recorded

    file.write(to_page(inspection).encode())


_WRITERS: dict[str, Callable[[Inspection, IO[bytes]], None]] = {
    ".npz": _write_npz,
    ".json": _write_json,
    ".csv": _write_csv,
    ".html": _write_html,
}


def _about(inspection: Inspection) -> dict[str, Any]:
    """All of an inspection except its weights and pixels, as JSON has it."""
    image = inspection.image
    return {
        "format": "headlight-inspection",
        "headlight_version": __version__,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "conventions": CONVENTIONS,
        **dataclasses.asdict(inspection.provenance),
        "text": inspection.text,
        "second_text": inspection.second_text,
        "options": inspection.options,
        "answer": inspection.answer,
        "predictions": [dataclasses.asdict(prediction) for prediction in inspection.predictions],
        "notes": inspection.notes,
        "certificate": inspection.certificate,
        "row_sum_error": inspection.row_sum_error,
        "seconds": inspection.seconds,
        "image": image
        and {
            "height": image.pixels.shape[0],
            "width": image.pixels.shape[1],
            "patch_grid": {"rows": image.grid[0], "columns": image.grid[1]},
            "first_patch": image.first_patch,
        },
        "stacks": {
            stack.name: {
                "query_label": stack.query_label,
                "key_label": stack.key_label,
                "query_tokens": stack.query_tokens,
                "key_tokens": stack.key_tokens,
                "query_special": stack.query_special,
                "key_special": stack.key_special,
                "query_words": stack.query_words,
                "key_words": stack.key_words,
                "layers": [{"module": call.name, "heads": call.num_heads} for call in stack.calls],
            }
            for stack in _whole_stacks(inspection)
        },
        "parts": {
            part.name: {
                "of": next((stack.name for stack in _whole_stacks(inspection) if stack.calls == part.calls), None),
                "rows": part.rows,
                "columns": part.columns,
            }
            for part in inspection.stacks.values()
            if part.is_part
        },
    }


def _whole_stacks(inspection: Inspection) -> list[AttentionStack]:
    return [stack for stack in inspection.stacks.values() if not stack.is_part]


def _heads(stack: AttentionStack, layer: int) -> Iterator[Float32[np.ndarray, "query key"]]:
    """The weights of each head of a layer."""
    for head in range(stack.num_heads(layer)):
        yield stack.weights(layer, head).cpu().numpy()


def _digits(weights: Float32[np.ndarray, "query key"]) -> list[list[str]]:
    """The shortest decimal numbers that are these float32 when read back."""
    return weights.astype(str).tolist()


def _json(value: Any, indent: int | None = None) -> str:
    """Strict JSON, in which letters of all scripts can be read."""
    text = json.dumps(finite(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)  # UTF-8 has no lone surrogates
