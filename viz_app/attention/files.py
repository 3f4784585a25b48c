"""An inspection as files to keep: all weights with full precision, or the linked view itself."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformer_core.inspection.export import save
from transformer_core.inspection.inspection import Inspection
from transformer_core.view.html_file import to_page

FORMATS = {
    ".html": ("Web page", "This view in a file that needs no server and no network"),
    ".npz": ("NumPy", "All weights as arrays, in full precision"),
    ".json": ("JSON", "All weights as numbers, in full precision"),
    ".csv": ("CSV", "A row for each weight, in full precision"),
}
"""What each suffix is called on its button, and what it is."""

MOST_WEIGHTS = {".json": 30_000_000, ".csv": 3_000_000}
"""Weights up to which these files are offered: about 300 MB, which the server holds in memory until they are sent."""

LONGEST_NAME = 40
"""Characters of the model's name, and of the text, in the name of a file."""


def obstacle(inspection: Inspection, suffix: str) -> str:
    """Why the file with this suffix is not offered; empty if it is."""
    stacks = [stack for stack in inspection.stacks.values() if not stack.is_part]
    heads = ((stack, stack.num_heads(layer)) for stack in stacks for layer in range(len(stack)))
    count = sum(number * len(stack.query_tokens) * len(stack.key_tokens) for stack, number in heads)
    if count <= MOST_WEIGHTS.get(suffix, count):
        return ""
    return (
        f"{FORMATS[suffix][0]}: {count:,} weights are too many for a file of text from here. NumPy has them all, and "
        f"`python -m transformer_core inspect --out seen{suffix}` writes such a file."
    )


def write(inspection: Inspection, suffix: str, state: dict[str, Any]) -> bytes:
    """The file with this suffix.

    Args:
        state: what a web page is to show first.
    """
    if suffix == ".html":
        return to_page(inspection, state).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"inspection{suffix}"
        save(inspection, path)
        return path.read_bytes()


def file_name(inspection: Inspection, suffix: str) -> str:
    """A name that says which model and which text, and that every file system takes."""
    model, text = inspection.provenance.model.replace("\\", "/").rstrip("/").split("/")[-1], inspection.text
    parts = (re.sub(r"[^\w-]+", "-", part)[:LONGEST_NAME].strip("-") for part in (model, text))
    return "-".join(part for part in ("headlight", *parts) if part) + suffix
