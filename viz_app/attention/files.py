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

LONGEST_NAME = 40
"""Characters of the model's name, and of the text, in the name of a file."""


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
