"""An inspection as one HTML file that keeps the linked view: no server, no network, nothing beside it."""

import base64
import html
import json
import zlib
from hashlib import sha256
from typing import Any

from transformer_core.inspection.inspection import Inspection
from transformer_core.view import modules
from transformer_core.view.payload import build
from transformer_core.view.state import opening_state

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {script_hash}; style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="view"></div>
<script type="application/json" id="meta">{meta}</script>
<script type="application/json" id="start">{start}</script>
<script type="text/plain" id="weights">{weights}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def to_page(inspection: Inspection, state: dict[str, Any] | None = None) -> str:
    """The whole file."""
    payload = build(inspection)
    script = modules.script(modules.FRONTEND / "file.js")
    return _PAGE.format(
        script_hash=f"'sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}'",
        title=html.escape(f"{inspection.text} · {inspection.provenance.model}"),
        style=(modules.FRONTEND / "page.css").read_text(encoding="utf-8") + modules.style(),
        meta=_json(payload.meta),
        start=_json(state or opening_state(payload.meta)),
        weights=base64.b64encode(zlib.compress(payload.weights.tobytes(), 9)).decode(),
        script=script,
    )


def _json(value: Any) -> str:
    """JSON that cannot end the script element it is in."""
    return json.dumps(value).replace("<", "\\u003c")
