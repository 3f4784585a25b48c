"""BertViz's views as pages that need no network: https://github.com/jessevig/bertviz (Vig 2019, arXiv 1906.05714).

Its pages load three scripts from a CDN. Here they come from npm packages and lie beside the page.
"""

import importlib.util
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

from jaxtyping import Float
from torch import Tensor

SCRIPTS = {
    "https://cdnjs.cloudflare.com/ajax/libs/require.js/2.3.6/require.min.js": ("requirejs@2.3.8", "require.js"),
    "https://cdnjs.cloudflare.com/ajax/libs/d3/5.7.0/d3.min": ("d3@5.7.0", "dist/d3.min.js"),
    "https://cdnjs.cloudflare.com/ajax/libs/jquery/2.0.0/jquery.min": ("jquery@2.1.1", "dist/jquery.min.js"),
}
"""What the pages ask for, and the npm package and file that answer. There is no jquery 2.0 on npm."""


def fetch_scripts(folder: Path) -> None:
    """Put the scripts that the pages need into a folder.

    Raises:
        OSError: npm is missing, or does not get them.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise OSError("BertViz needs require.js, d3 and jQuery, which come from npm packages: install Node.js with npm")
    for package, file in SCRIPTS.values():
        packed = subprocess.run([npm, "pack", "--silent", package], cwd=folder, capture_output=True, text=True)
        if packed.returncode:
            raise OSError(f"npm does not get {package}, which BertViz needs: {packed.stderr.strip()}")
        archive = folder / packed.stdout.split()[-1]
        with tarfile.open(archive) as files:
            (folder / Path(file).name).write_bytes(files.extractfile(f"package/{file}").read())
        archive.unlink()


def page(
    view: Literal["model_view", "head_view"],
    attention: Sequence[Float[Tensor, "1 head token token"]],
    tokens: list[str],
    scripts: str,
) -> str:
    """The HTML that BertViz makes for a self-attention model, with its scripts from the address `scripts`.

    Raises:
        OSError: BertViz is not installed.
    """
    bertviz = _bertviz()
    options = {"display_mode": "light"} if view == "model_view" else {}
    html = getattr(bertviz, view)(attention=attention, tokens=tokens, html_action="return", **options).data
    for address, (_, file) in SCRIPTS.items():
        # require.js adds the ending itself where the page leaves it out.
        name = Path(file).name if address.endswith(".js") else Path(file).stem
        html = html.replace(address, f"{scripts}/{name}")
    return f"<!DOCTYPE html><meta charset='utf-8'><title>BertViz</title>{html}"


@cache
def _bertviz() -> ModuleType:
    """The package. Of IPython, which its `html_action="return"` hardly uses, a stand-in will do."""

    class Shown:
        def __init__(self, data: str) -> None:
            self.data = data

    if importlib.util.find_spec("IPython") is None:
        display = ModuleType("IPython.display")
        display.display, display.HTML, display.Javascript = print, Shown, Shown
        sys.modules |= {"IPython": ModuleType("IPython"), "IPython.display": display}
    try:
        import bertviz
    except ImportError:
        raise OSError(
            "BertViz is not installed: `pip install --no-deps -r requirements-dev-no-deps.txt` does that"
        ) from None
    return bertviz
