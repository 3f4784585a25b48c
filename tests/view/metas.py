"""The `meta` of payloads for tests: everything but the weights."""

from typing import Any


def stack(name: str, queries: int = 5, keys: int = 5, heads: tuple[int, ...] = (4, 4), part_of: str | None = None):
    """One stack of a meta, with tokens "a1", "a2", ... and no words or special tokens."""
    return {
        "name": name,
        "title": name.capitalize(),
        "query_label": "reads",
        "key_label": "is read",
        "queries": [f"a{number}" for number in range(1, queries + 1)],
        "keys": [f"b{number}" for number in range(1, keys + 1)],
        "query_special": [],
        "key_special": [],
        "query_words": list(range(queries)),
        "key_words": list(range(keys)),
        "heads": list(heads),
        "rows": queries,
        "columns": keys,
        "offset": None if part_of else 0,
        "part_of": part_of,
        "part_rows": list(range(queries)) if part_of else None,
        "part_columns": list(range(keys)) if part_of else None,
    }


def meta(*stacks: dict[str, Any], image: dict[str, Any] | None = None) -> dict[str, Any]:
    """A meta with these stacks."""
    return {
        "id": "test",
        "title": "A model",
        "text": "b1 b2",
        "second_text": "",
        "answer": "a1 a2",
        "source": "A model, float32, cpu",
        "stacks": list(stacks),
        "image": image,
    }


TRANSLATOR = meta(stack("encoder", 7, 7, (4, 4, 4)), stack("decoder", 5, 5, (2, 8)), stack("cross", 5, 7, (4, 4, 4, 4)))
"""Three stacks; the decoder's layers differ in their heads."""
