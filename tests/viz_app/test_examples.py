"""The sentences offered on the Attention page."""

from viz_app.examples import EXAMPLES


def test_examples_differ_and_say_what_to_look_for():
    assert len({example.text for example in EXAMPLES}) == len({example.topic for example in EXAMPLES}) == len(EXAMPLES)
    assert all(len(example.look_for) > 20 for example in EXAMPLES)


def test_the_promised_kinds_are_there():
    topics = {example.topic for example in EXAMPLES}
    assert {"Coreference", "Word order", "Agreement", "Ambiguity"} <= topics
