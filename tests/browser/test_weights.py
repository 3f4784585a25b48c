"""What the browser computes from the weights, beside NumPy on the weights themselves."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.inspection import examples
from transformer_core.view import modules
from transformer_core.view.payload import build

pytestmark = pytest.mark.browser

IMPORT = """async ([payload, weights, meta, codes]) => {
    const load = source => import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));
    window.W = await load(weights);
    const {Payload} = await load(payload);
    window.P = new Payload(meta, Uint8Array.from(codes));
    window.plain = value =>
        ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value, plain)
        : value && typeof value === "object"
            ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]))
        : Number.isNaN(value) ? "NaN" : value;
}"""

QUERIES = ("[CLS]", "play", "##ing", "now", "now", "[SEP]")
KEYS = ("[CLS]", "a", "play", "##er", "##s", ".", "[SEP]")
HEADS = 3


def softmax(scores: torch.Tensor) -> np.ndarray:
    exponentials = np.exp(scores.double().numpy())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def scores() -> torch.Tensor:
    return torch.randn(HEADS, len(QUERIES), len(KEYS), generator=torch.Generator().manual_seed(5)) * 2


@pytest.fixture(scope="module")
def weights(scores) -> np.ndarray:
    """The weights of all heads, in double precision."""
    return softmax(scores)


@pytest.fixture(scope="module")
def page(browser, scores):
    words = {"query_words": (0, 1, 1, 2, 3, 4), "key_words": (0, 1, 2, 2, 2, 3, 4)}
    special = {"query_special": (0, 5), "key_special": (0, 6)}
    cross = examples.stack("cross", [scores], QUERIES, KEYS, **words, **special)
    uniform = torch.full((1, 40, 40), -torch.inf).triu(1)
    uniform[0, 3, 1] = torch.nan
    tokens = tuple(map(str, range(40)))
    decoder = examples.stack("decoder", [uniform], tokens, tokens)
    sharp = torch.zeros(1, 3, 3)
    sharp[0, 1, 2] = 20  # leaves 2e-9 for each of the others, which is far below what a byte can tell from 0
    built = build(examples.inspection(cross, decoder, examples.stack("sharp", [sharp], "abc", "abc")))
    page = browser.new_page()
    sources = [modules.script(modules.FRONTEND / name) for name in ("payload.js", "weights.js")]
    page.evaluate(IMPORT, [*sources, built.meta, built.weights.tolist()])
    yield page
    page.close()


def lens(hide: bool, merge: bool) -> str:
    return f"W.lensOf(P.stack('cross'), {{hideSpecial: {str(hide).lower()}, mergeWords: {str(merge).lower()}}})"


def matrix(page, head: int = 0, hide: bool = False, merge: bool = False) -> dict[str, Any]:
    found = page.evaluate(f"plain(W.matrixOf(P.stack('cross'), 0, {head}, {lens(hide, merge)}))")
    found["values"] = np.array(found["values"], float).reshape(found["rows"], found["columns"])
    return found


def groups(count: int, words: list[int], special: set[int], hide: bool, merge: bool) -> np.ndarray:
    """A row for each group of tokens that is shown, with 1 at its members."""
    members: list[list[int]] = []
    for position in range(count):
        if hide and position in special:
            continue
        last = members[-1][-1] if members else None
        joined = merge and last is not None and words[last] == words[position] and position not in special
        if joined:
            members[-1].append(position)
        else:
            members.append([position])
    return np.array([[float(position in group) for position in range(count)] for group in members])


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("head", range(HEADS))
def test_hidden_tokens_and_merged_words(page, weights, head, hide, merge):
    rows = groups(6, [0, 1, 1, 2, 3, 4], {0, 5}, hide, merge)
    columns = groups(7, [0, 1, 2, 2, 2, 3, 4], {0, 6}, hide, merge)
    shown = weights[head] @ columns.T
    removed = 1 - shown.sum(axis=1)
    shown = shown / shown.sum(axis=1, keepdims=True)
    average = rows / rows.sum(axis=1, keepdims=True)
    found = matrix(page, head, hide, merge)
    np.testing.assert_allclose(found["values"], average @ shown, atol=0.02)
    np.testing.assert_allclose(found["values"].sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(found["removed"], average @ removed, atol=0.02)
    assert found["hasNaN"] is False


def test_what_filters_leave_is_named(page):
    found = page.evaluate(f"plain({lens(True, True)})")
    assert [group["label"] for group in found["queries"]] == ["playing", "now", "now"]
    assert [group["label"] for group in found["keys"]] == ["a", "players", "."]
    assert [group["members"] for group in found["keys"]] == [[1], [2, 3, 4], [5]]
    everything = page.evaluate(f"plain({lens(False, False)})")
    assert [group["isSpecial"] for group in everything["keys"]] == [True, *[False] * 5, True]


def test_many_equal_small_weights_keep_their_sum(page):
    """1/k in each of k cells, of which a byte keeps up to 3 % too much or too little."""
    found = page.evaluate("plain(W.matrixOf(P.stack('decoder'), 0, 0, W.lensOf(P.stack('decoder'), {})))")
    values = np.array([[float(value) for value in found["values"]]]).reshape(40, 40)
    for row in range(40):
        if row == 3:
            assert np.isnan(values[row]).all()
            continue
        np.testing.assert_allclose(values[row, : row + 1], 1 / (row + 1), rtol=1e-6)
        assert (values[row, row + 1 :] == 0).all()
    assert found["hasNaN"] is True


@pytest.mark.parametrize(("how", "fold"), [("mean", np.mean), ("max", np.max)])
def test_heads_are_combined(page, weights, how, fold):
    found = page.evaluate(
        f"plain(W.combined([0, 1, 2].map(head => W.matrixOf(P.stack('cross'), 0, head, {lens(False, False)})), "
        f"'{how}'))"
    )
    values = np.array(found["values"]).reshape(6, 7)
    np.testing.assert_allclose(values, fold(weights, axis=0), atol=0.006)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.7, 0.95, 1.0])
def test_the_strongest_edges_make_up_the_share_of_each_row(page, share):
    values = matrix(page)["values"]
    found = page.evaluate(f"plain(W.strongestEdges(W.matrixOf(P.stack('cross'), 0, 0, {lens(False, False)}), {share}))")
    edges = list(zip(found["rows"], found["columns"], found["values"], strict=True))
    assert len(edges) == found["count"]
    for row in range(6):
        order = np.argsort(-values[row], kind="stable")
        reached = np.cumsum(values[row, order]) >= share * values[row].sum() * (1 - 1e-6)
        count = int(np.argmax(reached)) + 1 if share < 1 else int((values[row] > 0).sum())
        kept = [(column, value) for place, column, value in edges if place == row]
        assert [column for column, _ in kept] == order[:count].tolist()
        np.testing.assert_allclose([value for _, value in kept], values[row, order[:count]], rtol=1e-6)


def test_rows_without_numbers_have_no_edges(page):
    found = page.evaluate(
        "plain(W.strongestEdges(W.matrixOf(P.stack('decoder'), 0, 0, W.lensOf(P.stack('decoder'), {})), 0.7).rows)"
    )
    assert 3 not in found and set(found) == set(range(40)) - {3}


def test_sums_of_rows_and_columns(page, weights):
    source = f"W.matrixOf(P.stack('cross'), 0, 1, {lens(False, False)})"
    marginals = page.evaluate(f"plain(W.marginals({source}))")
    np.testing.assert_allclose(marginals["rows"], 1, atol=1e-5)
    np.testing.assert_allclose(marginals["columns"], weights[1].sum(axis=0), atol=0.02)
    summed = page.evaluate(f"plain(W.summed({source}, [1, 3], [2]))")
    np.testing.assert_allclose(summed["columns"], weights[1][[1, 3]].sum(axis=0), atol=0.01)
    np.testing.assert_allclose(summed["rows"], weights[1][:, 2], atol=0.006)
    assert page.evaluate(f"plain(W.summed({source}, [], []))") == {"columns": None, "rows": None}


def test_the_strongest_pair(page, weights):
    found = page.evaluate(f"plain(W.strongestPair(W.matrixOf(P.stack('cross'), 0, 2, {lens(False, False)})))")
    row, column = np.unravel_index(weights[2].argmax(), weights[2].shape)
    assert (found["row"], found["column"]) == (row, column)
    # The first row of a causal head has nothing to choose from.
    causal = page.evaluate(
        "plain(W.strongestPair(W.matrixOf(P.stack('decoder'), 0, 0, W.lensOf(P.stack('decoder'), {}))))"
    )
    assert (causal["row"], causal["column"]) == (1, 0)
    # A sharp row had a choice, though what it did not choose is next to nothing.
    sharp = page.evaluate("plain(W.strongestPair(W.matrixOf(P.stack('sharp'), 0, 0, W.lensOf(P.stack('sharp'), {}))))")
    assert (sharp["row"], sharp["column"]) == (1, 2) and sharp["value"] == pytest.approx(1, abs=1e-4)
    nothing = "{rows: 1, columns: 2, values: Float32Array.of(0, NaN)}"
    assert page.evaluate(f"W.strongestPair({nothing})") is None


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("linear", lambda weight, largest: weight),
        ("square root", lambda weight, largest: weight**0.5),
        ("log", lambda weight, largest: max(0, 1 + np.log10(max(weight, 1e-9)) / 4)),
        ("row", lambda weight, largest: weight / largest),
    ],
)
def test_scales(page, scale, expected):
    for weight in (0, 1e-5, 1e-4, 0.01, 0.25, 1):
        found = page.evaluate(f"W.scaled({weight}, '{scale}', 1)")
        assert found == pytest.approx(expected(weight, 1), abs=1e-6)
    assert page.evaluate("W.scaled(0.2, 'row', 0.8)") == pytest.approx(0.25)
    assert page.evaluate("W.scaled(0, 'row', 0)") == 0
