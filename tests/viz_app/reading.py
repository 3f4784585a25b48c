"""Opening pages of the app without a browser, and reading what they show."""

import base64
import json
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

TEXT = "The cat sees the dog because it is big."
"""A sentence that the tiny translator knows."""


def open_page(app: AppTest, name: str) -> AppTest:
    """Open the app and go to one of its pages."""
    return app.run().switch_page(f"app_pages/{name}.py").run()


def charts(app: AppTest) -> list[dict[str, Any]]:
    """The Plotly figures on the page as the browser gets them, their arrays decoded."""
    return [_decoded(json.loads(chart.proto.spec)) for chart in app.get("plotly_chart")]


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "bdata" not in value:
        return {key: _decoded(item) for key, item in value.items()}
    array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
    return array.reshape([int(size) for size in str(value.get("shape", array.size)).split(",")])


def heatmap(app: AppTest) -> dict[str, Any]:
    """The figure of the chosen head on the Attention page."""
    return charts(app)[1]


def words(app: AppTest) -> str:
    """All text that the page shows, HTML included."""
    parts = [*app.markdown, *app.caption, *app.error, *app.info, *app.warning, *app.header, *app.title]
    return "\n".join([*(part.value for part in parts), *html(app)])


def html(app: AppTest) -> list[str]:
    """The pieces of HTML on the page, the style sheet aside."""
    bodies = [part.proto.body for part in app.get("html")]
    return [body for body in bodies if not body.startswith("<style>")]


def assert_calm(app: AppTest) -> None:
    """Nothing on the page failed: no exception and no error message."""
    assert not app.exception, app.exception[0]
    assert not app.error, app.error[0].value
