"""What is chosen in one go is one step of the browser's history."""

from urllib.parse import parse_qsl

import pytest
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from tests.viz_app.reading import say, view
from tests.viz_app.test_bundled_families import app, choose, families, show  # noqa: F401


@pytest.fixture
def steps(monkeypatch) -> list[dict[str, str]]:
    """The addresses that the browser was told to show, each that differs from the one before."""
    found = []

    def note(message) -> None:
        if message.HasField("page_info_changed"):
            address = dict(parse_qsl(message.page_info_changed.query_string))
            if not found or found[-1] != address:
                found.append(address)

    monkeypatch.setattr(ForwardMsgQueue, "_before_enqueue_msg", note)
    return found


def test_another_model_is_one_step_back_whatever_text_and_view_it_brings(app, steps):  # noqa: F811
    show(app, "tiny-en-de", text="The cat sleeps.")
    say(app, layer=0, layers=[0], pinnedQueries=[1])
    assert steps[-1] == {"model": "tiny-en-de", "text": "The cat sleeps.", "layer": "1", "rows": "2"}
    for model, brings in (("induction", {}), ("tiny-en-de", {"text": "The cat sleeps."}), ("digits-vit", {})):
        steps.clear()
        choose(app, model)
        assert steps == [{"model": model} | brings]


def test_nothing_that_is_done_while_another_model_is_under_way_is_kept(app):  # noqa: F811
    show(app, "tiny-en-de")
    before = max(view(app).ordered.values(), default=0)
    choose(app, "induction")
    # What the browser says after an older order does not count, and its view takes over what is ordered.
    assert view(app).ordered == dict.fromkeys(view(app).state, before + 1)
