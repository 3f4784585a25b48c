"""The linked view, and what it holds, stays in the browser while the page or parts of it rerun."""

import pytest
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from tests.viz_app.reading import assert_calm


@pytest.fixture
def sent(monkeypatch) -> list:
    """All messages that go to the browser."""
    messages = []
    monkeypatch.setattr(ForwardMsgQueue, "_before_enqueue_msg", messages.append)
    return messages


def fragments_of(sent: list, component: str) -> set[str]:
    """The fragments that a component's messages belong to; "" for those of the page itself."""
    deltas = [message.delta for message in sent if message.HasField("delta")]
    return {
        delta.fragment_id for delta in deltas if delta.new_element.bidi_component.component_name.endswith(component)
    }


def test_the_view_is_in_no_fragment_whose_rerun_could_take_it_off_the_page(app, sent):
    assert_calm(app.run())
    # Of a fragment that is to rerun next, Streamlit drops what is not sent yet.
    assert fragments_of(sent, "attention_view") == fragments_of(sent, "maps") == {""}
    (fragment,) = fragments_of(sent, "channel")
    assert fragment
    queue = ForwardMsgQueue()
    for message in list(sent):
        queue.enqueue(message)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[fragment])
    kept = [message for message in queue.flush() if message.HasField("delta")]
    assert "" in fragments_of(kept, "attention_view") and not fragments_of(kept, "channel")


def test_the_maps_of_the_shortest_text_are_not_sent_again(app, sent):
    app.query_params["text"] = "cat"
    app.run()
    sent.clear()
    app.run()
    kept = [message for message in sent if message.metadata.cacheable]
    assert fragments_of(kept, "attention_view") == fragments_of(kept, "maps") == {""}
