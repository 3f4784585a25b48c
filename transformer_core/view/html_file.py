"""An inspection as one HTML file that keeps the linked view: no server, no network, nothing beside it."""

import base64
import html
import json
import zlib
from dataclasses import replace
from hashlib import sha256
from typing import Any

from transformer_core.inspection.inspection import Inspection
from transformer_core.inspection.summary import summary
from transformer_core.view import modules
from transformer_core.view.labels import clean_text
from transformer_core.view.payload import Detail, build, public_name
from transformer_core.view.state import opening_state

# Only this very script may run, and nothing may be fetched: text and tokens could do no harm even as markup.
_POLICY = "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data: blob:"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="view"></div>
<noscript>The heads are drawn by a script of this file. Open it in a browser that runs scripts.</noscript>
<details>
<summary>Where this comes from</summary>
<dl>
{facts}
</dl>
</details>
<script type="application/json" id="meta">{meta}</script>
<script type="application/json" id="start">{start}</script>
<script type="text/plain" id="weights">{weights}</script>
<script type="module">{script}</script>
</body>
</html>
"""

FRAME_HEIGHT = 760
"""Of the view in a notebook, in pixels."""


def to_page(inspection: Inspection, state: dict[str, Any] | None = None) -> str:
    """The whole file.

    Of an inspection whose maps are too large to be sent together (`payload.MAX_BYTES`), it holds small pictures of all
    heads and the whole maps of the layer, or of the head, that it opens with.

    Args:
        state: what to show first, checked; None: what a view opens with.
    """
    source = inspection.provenance
    inspection = replace(inspection, provenance=replace(source, model=public_name(source.model)))
    payload = build(inspection)
    if state is None:
        state = opening_state(payload.meta)
    if payload.is_pooled:
        payload = build(inspection, Detail(state["stack"], state["layer"], state["head"]))
    script = modules.script(modules.FRONTEND / "file.js")
    return _PAGE.format(
        policy=_POLICY.format(hash=base64.b64encode(sha256(script.encode()).digest()).decode()),
        title=html.escape(clean_text(f"{inspection.text} · {inspection.provenance.model}")),
        style=(modules.FRONTEND / "page.css").read_text(encoding="utf-8") + modules.style(),
        facts=_facts(inspection),
        meta=_json(payload.meta),
        start=_json(state),
        weights=base64.b64encode(zlib.compress(payload.weights.tobytes(), 9)).decode(),
        script=script,
    )


def to_frame(inspection: Inspection) -> str:
    """The file as a frame in a notebook's page, of which it can reach nothing."""
    return (
        f'<iframe srcdoc="{html.escape(to_page(inspection))}" sandbox="allow-scripts allow-downloads" '
        f'title="Attention of every head" style="width:100%;height:{FRAME_HEIGHT}px;border:0"></iframe>'
    )


def _facts(inspection: Inspection) -> str:
    """Model, texts, answer, what was checked and what has to be known, as plain text."""
    return "\n".join(
        f"<dt>{html.escape(name)}</dt><dd><bdi>{html.escape(value)}</bdi></dd>" for name, value in summary(inspection)
    )


def _json(value: Any) -> str:
    """JSON that cannot end the script element it is in."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
