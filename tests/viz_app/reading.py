"""Opening pages of the app without a browser, and reading what they show."""

import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.ipc
from streamlit.testing.v1 import AppTest

from transformer_core.view.state import opening_state

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
    """The figure with the exact weights of the open head, which is drawn where `exact=true` is in the address."""
    (figure,) = (chart for chart in charts(app) if "xaxis2" in chart["layout"])
    return figure


@dataclass(frozen=True)
class View:
    """The linked view as the browser gets it."""

    meta: dict[str, Any]
    state: dict[str, Any]
    answer: dict[str, Any] | None
    ordered: dict[str, int]
    codes: np.ndarray

    def stack(self, name: str) -> dict[str, Any]:
        (stack,) = (stack for stack in self.meta["stacks"] if stack["name"] == name)
        return stack

    @property
    def open_stack(self) -> dict[str, Any]:
        return self.stack(self.state["stack"])

    def weights(self, name: str, layer: int, head: int) -> np.ndarray:
        """The weights behind the codes of one head, (row, column); layer and head count from 0."""
        stack = self.stack(name)
        size = stack["rows"] * stack["columns"]
        start = stack["offset"] + (sum(stack["heads"][:layer]) + head) * size
        codes = self.codes[start : start + size].reshape(stack["rows"], stack["columns"]).astype(float)
        return np.where(codes == 255, np.nan, (codes / 254) ** 2)


def view(app: AppTest) -> View:
    """The linked view on the page."""
    parts = {part.proto.component_name: part.proto for part in app.get("bidi_component")}
    message, payload = parts["headlight.channel"], parts["headlight.maps"].mixed
    told, sent = json.loads(message.json), json.loads(payload.json)
    assert told["id"] == sent["meta"]["id"] and told["view"] == sent["view"]
    (blob,) = payload.arrow_blobs.values()
    codes = pyarrow.ipc.open_stream(blob.data).read_all()["code"].to_numpy()
    # What is left out is as the stack opens.
    state = opening_state(sent["meta"], told["state"]["stack"]) | told["state"]
    return View(sent["meta"], state, told["answer"], told["ordered"], codes)


def has_view(app: AppTest) -> bool:
    return bool(app.get("bidi_component"))


def say(app: AppTest, **changes: Any) -> AppTest:
    """What the browser says once its view shows something else, and what the page makes of it."""
    state = {**view(app).state, **changes}
    app.session_state["view state"] = state
    app.session_state["shown"] = {**app.session_state["shown"], "state": state}
    return app.run()


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
