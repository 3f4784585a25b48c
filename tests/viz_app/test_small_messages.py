"""What is sent with every rerun holds nothing that the browser knows, or does not need."""

import json

from tests.viz_app.reading import say, view


def component(app, name: str):
    (found,) = (part.proto for part in app.get("bidi_component") if part.proto.component_name == f"headlight.{name}")
    return found


def told(app) -> dict:
    return json.loads(component(app, "channel").json)


def test_of_the_views_state_only_what_is_not_as_it_opens_is_sent(app):
    app.run()
    assert told(app)["state"] == {"stack": "cross"} and told(app)["answer"] is None
    opened = view(app).state
    say(app, layer=0, layers=[0], pinnedCell=[0, 1])
    assert told(app)["state"] == {"stack": "cross", "layer": 0, "layers": [0], "pinnedCell": [0, 1]}
    assert view(app).state == opened | {"layer": 0, "layers": [0], "pinnedCell": [0, 1]}


def test_the_style_sheet_comes_without_its_comments(app):
    app.run()
    (sheet,) = (part.proto.body for part in app.get("html") if "<style>" in part.proto.body)
    assert ".stMainBlockContainer { padding-left" in sheet and ".st-key-view-channel" in sheet
    assert "/*" not in sheet and "\n" not in sheet


def test_another_text_sends_its_maps_without_the_views_script(app):
    app.run()
    drawing, maps = component(app, "attention_view"), component(app, "maps")
    app.text_input(key="text").set_value("The dog sleeps.").run()
    assert component(app, "attention_view") == drawing and len(drawing.js_content) > 100_000
    assert component(app, "maps").mixed != maps.mixed and len(maps.js_content) < 500
