"""What the page says about a model: true of it, and no language that it does not name."""

from types import SimpleNamespace
from typing import get_args

import pytest

from transformer_core.model import LanguageModel, MaskedLanguageModel, VisionTransformer
from transformer_core.zoo import Family, StackShape
from viz_app.attention import words
from viz_app.attention.words import how_to_read, purpose, sizes


def stack(name="self", tokens=("a", "b"), columns=None, sinks=None):
    return SimpleNamespace(
        name=name,
        query_tokens=tokens,
        key_tokens=tokens,
        columns=columns,
        is_part=columns is not None,
        calls=(SimpleNamespace(sinks=sinks),),
    )


def model(family="encoder", languages=None):
    return SimpleNamespace(family=family, languages=languages)


@pytest.mark.parametrize("family", get_args(Family))
def test_every_family_has_its_words(family):
    assert purpose("owner/name", "SomeModel", family).startswith("owner/name, a SomeModel, ")
    assert purpose("/home/me/models/mine/", "SomeModel", family).startswith("models/mine, a SomeModel, ")
    assert words.ANSWER[family]


def test_our_own_models_are_called_what_the_field_calls_them():
    begin = "mine, an encoder-only Transformer, guesses the words that you mask; "
    assert purpose("mine", MaskedLanguageModel.__name__, "masked").startswith(begin)
    assert set(words.IN_WORDS) == {kind.__name__ for kind in (LanguageModel, MaskedLanguageModel, VisionTransformer)}


@pytest.mark.parametrize(
    ("shapes", "parameters", "text"),
    [
        ([("self", (12,) * 6)], 22_713_216, "6 layers × 12 heads · 22.71 M parameters"),
        ([("self", (1,))], 5, "1 layer × 1 head · 5 parameters"),
        ([("self", (4, 12, 8))], 1_000_000, "3 layers × 4 to 12 heads · 1 M parameters"),
        (
            [("encoder", (8,) * 4), ("decoder", (8,) * 3), ("cross", (8,) * 3)],
            8_400_000,
            "4 encoder + 3 decoder layers × 8 heads · 8.4 M parameters",
        ),
        (
            [("encoder", (8, 8)), ("decoder", (8,)), ("cross", (4,))],
            500_000,
            "2 encoder + 1 decoder layers × 4 to 8 heads · 500 K parameters",
        ),
    ],
)
def test_sizes(shapes, parameters, text):
    assert sizes([StackShape(name, heads) for name, heads in shapes], parameters) == text


def test_a_row_and_a_column_are_explained_for_each_kind():
    causal = how_to_read(stack(), model("causal"), sees_later=False)
    assert "itself and earlier ones, never later ones" in causal and "the next token is decided" in causal
    bert = how_to_read(stack(), model("masked"), sees_later=True)
    assert "earlier and later ones alike" in bert and "next token" not in bert and "a row sums to 1" in bert
    cross = how_to_read(stack("cross"), model("text-to-text"), sees_later=None)
    assert "token of the answer" in cross and "token of the text" in cross and "translation" not in cross
    translator = how_to_read(stack("cross"), model("text-to-text", ("English", "German")), sees_later=None)
    assert "next token of the translation" in translator
    image = how_to_read(stack(), model("image"), sees_later=None)
    assert "patch" in image and "text" not in image


def test_a_part_of_a_pair_does_not_claim_to_sum_to_one():
    part = how_to_read(stack("A to B", columns=(3, 4)), model("masked"), sees_later=None)
    assert "a token of text A" in part and "a token of text B" in part
    assert "sums to less than 1" in part and "a row sums to 1" not in part


def test_a_sink_takes_its_share():
    text = how_to_read(stack(sinks=object()), model("causal"), sees_later=False)
    assert "sink" in text and "a row sums to 1" not in text


@pytest.mark.parametrize(
    ("tokens", "mark"), [(("▁a", "b"), "“▁” starts a word"), (("a", "##b"), "“##” goes on"), (("a", "b"), None)]
)
def test_only_marks_that_are_there_are_explained(tokens, mark):
    text = how_to_read(stack(tokens=tokens), model(), sees_later=True)
    assert (mark in text) if mark else ("“" not in text)
