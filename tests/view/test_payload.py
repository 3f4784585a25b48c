"""What is sent to the browser: every weight is in it, at the place that the description says."""

import dataclasses
import html
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.inspection import examples
from transformer_core.view import payload
from transformer_core.view.html_file import to_page
from transformer_core.view.payload import LEVELS, NOT_A_NUMBER, Detail, build, coded


def expected_codes(scores: torch.Tensor) -> np.ndarray:
    """Codes of the weights that NumPy computes in double precision from these scores, (head, query, key)."""
    shifted = scores.double().numpy()
    exponentials = np.exp(shifted - shifted.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    # What float32 cannot hold is 0 there.
    return np.maximum(np.rint(np.sqrt(weights) * 254), weights.astype(np.float32) > 0).astype(np.uint8)


def maps(built, name: str) -> list[np.ndarray]:
    """The maps of each layer of a stack, (head, row, column), found as the description says."""
    described = next(stack for stack in built.meta["stacks"] if stack["name"] == name)
    place, found = described["offset"], []
    for heads in described["heads"]:
        size = heads * described["rows"] * described["columns"]
        found.append(built.weights[place : place + size].reshape(heads, described["rows"], described["columns"]))
        place += size
    return found


def test_every_weight_is_where_the_description_says():
    built = build(examples.odd())
    total = 0
    for name, layers in examples.odd_scores().items():
        for found, scores in zip(maps(built, name), layers, strict=True):
            expected = expected_codes(scores)
            # float32 and float64 may fall on different sides of a half.
            assert np.abs(found.astype(int) - expected).max() <= 1
            assert (found != expected).mean() < 0.01
            total += found.size
    assert built.weights.size == total and built.weights.dtype == np.uint8
    assert not built.is_pooled


@given(st.floats(0, 1, width=32))
def test_a_code_gives_its_weight_back_to_half_a_step(weight):
    code = int(coded(torch.tensor([weight]))[0])
    # Half a step of the square root, and what squaring makes of it; a little for rounding at the border. The smallest
    # weights are one step rather than nothing.
    assert abs((code / 254) ** 2 - weight) <= max(np.sqrt(weight) / 254 + (0.5 / 254) ** 2 + 1e-6, (1 / 254) ** 2)
    assert (code == 0) == (weight == 0)


def test_weights_that_are_no_numbers_have_a_code_of_their_own():
    assert coded(torch.tensor([float("nan"), float("inf"), -float("inf"), 0, 1])).tolist() == [255, 255, 255, 0, LEVELS]
    described = maps(build(examples.broken()), "self")[0]
    assert (described[1, 2] == NOT_A_NUMBER).all() and (described[0] != NOT_A_NUMBER).all()


def test_the_description_is_json_and_names_tokens_that_can_be_seen():
    meta = json.loads(json.dumps(build(examples.odd()).meta, allow_nan=False))
    cross, encoder = meta["stacks"]
    assert cross["heads"] == [1, 3] and encoder["heads"] == [1]
    assert (cross["query_label"], cross["key_label"]) == ("German", "English")
    assert cross["queries"] == ["<s>", "Die", "Die"]
    assert (
        cross["keys"][:4] == ["∅", "␣", "⏎", "␍⏎"] and "</script>" in cross["keys"] and "[U+202E]abc" in cross["keys"]
    )
    assert meta["answer"] == "Die Katze"
    for part in ("a-model", "0123456789ab", "float32", "cpu", torch.__version__):
        assert part in meta["source"]


def test_the_same_inspection_has_the_same_id_and_another_weight_another_one():
    first, again = build(examples.odd()), build(examples.odd())
    assert first.meta["id"] == again.meta["id"]
    scores = torch.zeros(1, 2, 2)
    other = scores.clone()
    other[0, 0, 0] = 1
    ids = {
        build(examples.inspection(examples.stack("self", [each], "ab", "ab"))).meta["id"] for each in (scores, other)
    }
    assert len(ids) == 2
    renamed = dataclasses.replace(examples.odd(), text="another")
    assert build(renamed).meta["id"] != first.meta["id"]


def test_special_tokens_words_and_parts_are_named():
    whole, part = build(examples.pair()).meta["stacks"]
    assert whole["query_special"] == [0] and whole["query_words"] == [0, 1, 1, 2]
    assert whole["key_special"] == [] and whole["key_words"] == [0, 1, 2, 3]
    assert (part["part_of"], part["part_rows"], part["part_columns"]) == ("self", [2, 3], [0])
    assert part["offset"] is None and part["queries"] == ["c", "d"]
    assert whole["sums_to_one"] and not part["sums_to_one"]


def test_an_image_is_a_picture_with_its_patches():
    image = build(examples.image()).meta["image"]
    assert (image["rows"], image["columns"], image["first_patch"]) == (2, 3, 1)
    assert image["uri"].startswith("data:image/png;base64,")


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(payload, "MAX_BYTES", 2000)
    monkeypatch.setattr(payload, "POOLED_BYTES", 600)
    monkeypatch.setattr(payload, "MIN_CELLS", 4)


def planted(num_tokens: int = 30, heads: tuple[int, ...] = (2, 3)):
    """A stack in which head h of layer l gives nearly all of row 7 to key 11 + h + 3 l."""
    layers = []
    for layer, count in enumerate(heads):
        scores = torch.zeros(count, num_tokens, num_tokens)
        for head in range(count):
            scores[head, 7, 11 + head + 3 * layer] = 20
        layers.append(scores)
    return examples.inspection(examples.stack("self", layers, map(str, range(num_tokens)), map(str, range(num_tokens))))


def test_maps_too_large_together_are_pooled_and_keep_their_peaks(small_limits):
    built = build(planted())
    assert built.is_pooled and built.meta["detail"] is None
    first, second = maps(built, "self")
    cells = first.shape[-1]
    assert cells == int((600 / 5) ** 0.5)
    starts = np.arange(cells) * 30 // cells
    for layer, found in enumerate((first, second)):
        for head, small in enumerate(found):
            row = np.searchsorted(starts, 7, side="right") - 1
            column = np.searchsorted(starts, 11 + head + 3 * layer, side="right") - 1
            assert small[row, column] == LEVELS
            assert (small == LEVELS).sum() == 1


@pytest.mark.parametrize(("limit", "heads"), [(3000, [0, 1, 2]), (2000, [1])])
def test_the_layer_or_the_head_that_is_looked_at_is_whole(small_limits, monkeypatch, limit, heads):
    monkeypatch.setattr(payload, "MAX_BYTES", limit)
    inspection = planted()
    built = build(inspection, Detail("self", 1, 1))
    detail = built.meta["detail"]
    assert (detail["stack"], detail["layer"], detail["heads"]) == ("self", 1, heads)
    whole = built.weights[detail["offset"] :].reshape(len(heads), 30, 30)
    for place, head in enumerate(heads):
        assert whole[place, 7].argmax() == 11 + head + 3
    assert build(inspection).meta["id"] != built.meta["id"]


def test_a_part_is_cut_from_the_whole_maps_of_its_stack(small_limits):
    inspection = planted()
    part = inspection.stacks["self"].part("part", range(5, 10), range(10, 20), "reads", "is read")
    inspection = dataclasses.replace(inspection, stacks={**inspection.stacks, "part": part})
    built = build(inspection, Detail("part", 1, 1))
    detail = built.meta["detail"]
    assert (detail["stack"], detail["rows"], detail["columns"]) == ("self", 30, 30)
    whole = built.weights[detail["offset"] :].reshape(-1, 30, 30)
    assert whole[detail["heads"].index(1), 7].argmax() == 11 + 1 + 3


def test_a_head_too_large_to_be_sent_is_pooled_too(small_limits, monkeypatch):
    monkeypatch.setattr(payload, "MAX_BYTES", 400)
    detail = build(planted(), Detail("self", 0, 1)).meta["detail"]
    assert (detail["heads"], detail["rows"], detail["columns"]) == ([1], 20, 20)


def test_a_detail_changes_nothing_where_everything_is_sent():
    assert build(planted(), Detail("self", 1, 1)).meta["id"] == build(planted()).meta["id"]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (torch.zeros(1, 3, 3), True),
        (torch.full((1, 3, 3), -torch.inf).triu(1), False),
        (torch.zeros(1, 1, 1), None),
        (torch.full((1, 3, 3), torch.nan), None),
    ],
)
def test_whether_later_tokens_are_read_is_seen(scores, expected):
    tokens = tuple(map(str, range(scores.shape[-1])))
    built = build(examples.inspection(stack := examples.stack("self", [scores], tokens, tokens)))
    assert built.sees_later(stack) is expected


def test_a_detail_of_a_stack_that_is_not_there_is_an_error_that_says_so():
    with pytest.raises(ValueError, match=r"no stack 'decoder'.*self"):
        build(planted(), Detail("decoder", 0, 0))


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("tatoeba-en-de", "tatoeba-en-de"),
        ("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("/home/ada/models/my-bert/", "my-bert"),
        ("./my-bert", "my-bert"),
        ("~/my-bert", "my-bert"),
        ("models/ours/my-bert", "my-bert"),
        ("C:\\Users\\ada\\my-bert", "my-bert"),
    ],
)
def test_what_is_shown_to_others_names_a_folder_without_its_place(model, shown):
    inspection = examples.odd()
    inspection = dataclasses.replace(inspection, provenance=dataclasses.replace(inspection.provenance, model=model))
    meta = build(inspection).meta
    assert meta["title"] == shown and meta["source"].startswith(f"{shown}, weights ")
    page = to_page(inspection)
    assert shown in page and (model == shown or html.escape(model) not in page)
