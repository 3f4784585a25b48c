"""Deque's axe-core finds nothing to object to in the linked view, light and dark."""

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from tests.inspection import examples

pytestmark = pytest.mark.browser

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}

VIEWS = (
    {"view": "lines"},
    {"view": "lines", "heads": [0, 1, 2], "pinnedQueries": [1]},
    {"view": "lines", "overview": "lines", "hideSpecial": True, "pinnedQueries": [], "pinnedKeys": [1, 2]},
    {"view": "matrix", "combine": "mean", "layers": [0, 1]},
    {"view": "matrix", "combine": "head", "arrangement": "blocks", "pinnedCell": [1, 1]},
    {"view": "product"},
)
"""One after the other; what is not named stays."""


@pytest.fixture(scope="module")
def translation():
    random = torch.Generator().manual_seed(0)
    sizes = {"encoder": (5, 5), "decoder": (4, 4), "cross": (4, 5)}
    tokens = {5: ("The", "small", "ca", "t", "</s>"), 4: ("<s>", "Die", "Kat", "ze")}
    special, words = {5: (4,), 4: (0,)}, {5: (0, 1, 2, 2, 3), 4: (0, 1, 2, 2)}
    stacks = [
        examples.stack(
            name,
            [torch.randn(4, rows, columns, generator=random) * 2 for _ in range(2)],
            tokens[rows],
            tokens[columns],
            query_special=special[rows],
            key_special=special[columns],
            query_words=words[rows],
            key_words=words[columns],
        )
        for name, (rows, columns) in sizes.items()
    ]
    return examples.inspection(*stacks)


def objections(view) -> str:
    return Axe().run(view.page, ".headlight", RULES).generate_report()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_to_object_to(open_view, translation, theme):
    view = open_view(translation, theme=theme)
    for state in VIEWS:
        view.change(**state)
        assert objections(view).startswith("Found 0 "), (state, objections(view))
    view.change(view="lines")
    view.root.get_by_role("button", name="Display").click()
    assert objections(view).startswith("Found 0 "), objections(view)
    view.page.keyboard.press("Escape")
    view.press("?")
    assert objections(view).startswith("Found 0 "), objections(view)
    view.press("Escape", "f")
    view.page.wait_for_function("document.fullscreenElement !== null")
    view.wait()
    assert objections(view).startswith("Found 0 "), objections(view)


def test_narrow_windows_too(open_view, translation):
    view = open_view(translation, width=360, height=740)
    for state in VIEWS:
        view.change(**state)
        assert objections(view).startswith("Found 0 "), (state, objections(view))
