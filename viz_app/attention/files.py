"""An inspection as files to keep: all weights with full precision, or the linked view itself."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformer_core.inspection.export import save
from transformer_core.inspection.inspection import Inspection
from transformer_core.view.html_file import to_page

FORMATS = {
    ".html": "Web page: this view, without a server",
    ".npz": "NumPy: all weights as arrays",
    ".json": "JSON: all weights as numbers",
    ".csv": "CSV: a row for each weight",
}
"""What each suffix is, for a button."""

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
