"""What the linked view shows: which stack, layer and heads, drawn how, with what pinned.

The state is plain JSON, the same in Python and in the browser (`frontend/state.js`). It goes into links and comes back
from them, so that whatever comes back is checked here before anything reads it. Layers, heads and tokens are counted
from 0 in the state and from 1 in every sentence.
"""

import math
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

from transformer_core.view.labels import printable

VIEWS = ("lines", "matrix", "product", "image")
OVERVIEWS = ("maps", "lines")
ARRANGEMENTS = ("stacks", "blocks")
COMBINATIONS = ("head", "mean", "max")
SCALES = ("square root", "linear", "log", "row")

SHARE = 0.7
"""How much of a row's mass the drawn edges make up at first."""

MIN_SHARE = 0.05

LONGEST_FOR_LINES = 512
"""Tokens on the longer side up to which a stack opens as lines."""

MAX_PINS = 100
"""Pinned tokens a side."""

MAX_ENTRIES = 10_000
"""Of a list that are looked at. No view has so many layers or heads."""

MAX_PROBLEMS = 8
"""Sentences; the last one counts what the others leave out."""

MAX_NAMED = 5
"""Entries that one sentence names."""

MAX_SHOWN = 30
"""Characters of a text that a sentence shows."""


def opening_state(meta: dict[str, Any], stack: str | None = None) -> dict[str, Any]:
    """The state in which a view opens: the last layer's first head, nothing pinned, nothing filtered.

    Args:
        meta: that of a `Payload`.
        stack: name of the stack to open; None: "cross" where there is one, else the first whole one.
    """
    opened = _stack(meta, stack) or _opening_stack(meta)
    layer = len(opened["heads"]) - 1
    longest = max(len(opened["queries"]), len(opened["keys"]))
    return {
        "stack": opened["name"],
        "view": "image" if shows_image(meta, opened) else "lines" if longest <= LONGEST_FOR_LINES else "matrix",
        "overview": "maps",
        "arrangement": "stacks",
        "layer": layer,
        "head": 0,
        "heads": [0],
        "layers": [layer],
        "combine": "head",
        "scale": "square root",
        "share": SHARE,
        "hideSpecial": False,
        "mergeWords": False,
        "pinnedQueries": [],
        "pinnedKeys": [],
        "pinnedCell": None,
    }


def shows_image(meta: dict[str, Any], stack: dict[str, Any]) -> bool:
    """Whether the keys of one of the meta's stacks include every patch of its image."""
    image = meta.get("image")
    return image is not None and len(stack["keys"]) >= image["first_patch"] + image["rows"] * image["columns"]


def checked_state(raw: Any, meta: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A full and possible state from JSON of any origin, and a sentence for each thing in it that could not be used.

    What is missing is as in `opening_state` of the chosen stack. Lists come back sorted, each entry once; `heads` and
    `layers` hold the shown one. A chosen head is one that any layer has, so that stepping through layers loses none.

    Args:
        raw: what a link or a browser sent. Nothing in it is trusted, and nothing in it raises.
        meta: that of the `Payload` that is shown.
    """
    problems = _Problems()
    if not isinstance(raw, dict):
        problems.add("What the view is to show could not be read; it opens as it does at first.")
        raw = {}
    return _checked(raw, meta, problems), problems.sentences()


def _checked(raw: dict[Any, Any], meta: dict[str, Any], problems: "_Problems") -> dict[str, Any]:
    name = None
    if "stack" in raw:
        names = [stack["name"] for stack in meta["stacks"]]
        name = _choice(raw["stack"], names, _opening_stack(meta)["name"], "attention", problems)
    state = opening_state(meta, name)
    stack = _stack(meta, state["stack"])
    unknown = raw.keys() - state.keys()
    if unknown:
        problems.add(f"The view has nothing called {listed(sorted(map(_shown, islice(unknown, MAX_ENTRIES))))}.")

    choices = (
        ("view", VIEWS, "view"),
        ("overview", OVERVIEWS, "overview"),
        ("arrangement", ARRANGEMENTS, "arrangement"),
        ("combine", COMBINATIONS, "way to combine heads"),
        ("scale", SCALES, "colour scale"),
    )
    for key, options, noun in choices:
        if key in raw:
            state[key] = _choice(raw[key], options, state[key], noun, problems)
    if state["view"] == "image" and not shows_image(meta, stack):
        state["view"] = opening_state(meta, stack["name"])["view"]
        problems.add(f"{_name(stack)} has no image to draw on; {state['view']} is shown.")
    for key, name in (("hideSpecial", "Hiding special tokens"), ("mergeWords", "Merging words")):
        if isinstance(value := raw.get(key, False), bool):
            state[key] = value
        else:
            problems.add(f"{name} is on or off, not {_shown(value)}; it is off.")
    if "share" in raw:
        state["share"] = _share(raw["share"], problems)

    heads = stack["heads"]
    if "layer" in raw:
        state["layer"] = _place(raw["layer"], len(heads), state["layer"], "layer", _name(stack), problems)
    if "head" in raw:
        layer = f"layer {state['layer'] + 1} of {_name(stack)}"
        state["head"] = _place(raw["head"], heads[state["layer"]], state["head"], "head", layer, problems)
    layers = _places(raw.get("layers", []), len(heads), ("layer", "layers"), _name(stack), problems)
    state["layers"] = sorted({*layers, state["layer"]})
    # A head that only other layers have stays chosen for when one of them is shown.
    chosen = _places(raw.get("heads", []), max(heads), ("head", "heads"), _name(stack), problems)
    state["heads"] = sorted({*chosen, state["head"]})

    for key, noun, tokens in (("pinnedQueries", "query", "queries"), ("pinnedKeys", "key", "keys")):
        pins = sorted(_places(raw.get(key, []), len(stack[tokens]), (noun, tokens), _name(stack), problems))
        if len(pins) > MAX_PINS:
            problems.add(f"Only the first {MAX_PINS} of {len(pins):,} pinned {tokens} are kept.")
        state[key] = pins[:MAX_PINS]
    state["pinnedCell"] = _cell(raw.get("pinnedCell"), stack, problems)
    return state


def quoted(text: str) -> str:
    """A text of any origin within a sentence: short, on one line, and hiding nothing."""
    start = printable(text[:MAX_SHOWN]).replace("\n", "⏎")
    return f"“{start if len(text) <= MAX_SHOWN else start + '…'}”"


def listed(shown: Sequence[str]) -> str:
    """The first few of many within a sentence."""
    named = ", ".join(shown[:MAX_NAMED])
    return named if len(shown) <= MAX_NAMED else f"{named} and {len(shown) - MAX_NAMED:,} more"


class _Problems:
    """Sentences about what could not be used, each once and not too many."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    def add(self, sentence: str) -> None:
        self._found[sentence[0].upper() + sentence[1:]] = None

    def sentences(self) -> list[str]:
        found = list(self._found)
        if len(found) <= MAX_PROBLEMS:
            return found
        kept = found[: MAX_PROBLEMS - 1]
        return [*kept, f"{len(found) - len(kept)} more things could not be used."]


def _opening_stack(meta: dict[str, Any]) -> dict[str, Any]:
    whole = next(stack for stack in meta["stacks"] if stack["part_of"] is None)
    return _stack(meta, "cross") or whole


def _stack(meta: dict[str, Any], name: str | None) -> dict[str, Any] | None:
    return next((stack for stack in meta["stacks"] if stack["name"] == name), None)


def _name(stack: dict[str, Any]) -> str:
    """The stack in a sentence."""
    return _shown(stack["title"])


def _choice(value: Any, options: Collection[str], default: str, noun: str, problems: _Problems) -> str:
    if isinstance(value, str) and value in options:
        return value
    problems.add(f"There is no {noun} {_shown(value)}; {_shown(default)} is shown.")
    return default


def _share(value: Any, problems: _Problems) -> float:
    """The share in whole percent."""
    if _is_number(value) and MIN_SHARE <= value <= 1:
        return round(float(value), 2)
    problems.add(f"The share of a row's weights is {MIN_SHARE} to 1, not {_shown(value)}; {SHARE} is shown.")
    return SHARE


def _whole(value: Any) -> int | None:
    """The value as a whole number, which JavaScript may have sent as 3.0; None if it is none."""
    return int(value) if _is_number(value) and value == math.floor(value) else None


def _is_number(value: Any) -> bool:
    """Whether it is a finite number. JSON's true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _place(value: Any, count: int, default: int, noun: str, of: str, problems: _Problems) -> int:
    """A layer or head, counted from 0: the nearest there is."""
    place = _whole(value)
    if place is not None and 0 <= place < count:
        return place
    shown = default if place is None else min(max(place, 0), count - 1)
    if place is None:
        problems.add(f"{_shown(value)} is no {noun}; {noun} {shown + 1} is shown.")
    else:
        has = f"{of} has {count:,} {noun}{'s' if count > 1 else ''}"
        problems.add(f"{noun.capitalize()} {_shown(place + 1)} does not exist: {has}; {noun} {shown + 1} is shown.")
    return shown


def _places(values: Any, count: int, noun: tuple[str, str], of: str, problems: _Problems) -> set[int]:
    """Those of the values that are places below `count`; the others are named.

    Args:
        noun: what is counted, one and several.
    """
    one, several = noun
    if not isinstance(values, list | tuple):
        problems.add(f"{_shown(values)} is no list of {several}.")
        return set()
    if len(values) > MAX_ENTRIES:
        problems.add(f"Only the first {MAX_ENTRIES:,} of {len(values):,} {several} are read.")
    found, odd = set(), {}
    for value in values[:MAX_ENTRIES]:
        place = _whole(value)
        if place is not None and 0 <= place < count:
            found.add(place)
        else:
            odd[_shown(value) if place is None else _shown(place + 1)] = None
    if odd:
        there = f"there is 1 {one}" if count == 1 else f"there are {count:,} {several}"
        problems.add(f"No {one} {listed(list(odd))} in {of}: {there}.")
    return found


def _cell(value: Any, stack: dict[str, Any], problems: _Problems) -> list[int] | None:
    if value is None:
        return None
    sizes = (len(stack["queries"]), len(stack["keys"]))
    if isinstance(value, list | tuple) and len(value) == 2:
        query, key = map(_whole, value)
        if query is not None and key is not None and 0 <= query < sizes[0] and 0 <= key < sizes[1]:
            return [query, key]
        pair = " and ".join(
            _shown(each) if place is None else _shown(place + 1)
            for each, place in zip(value, (query, key), strict=True)
        )
        problems.add(
            f"There is no cell at query and key {pair}: {_name(stack)} has {sizes[0]:,} × {sizes[1]:,} tokens."
        )
    else:
        problems.add(f"{_shown(value)} is no cell: a cell is a query and a key.")
    return None


def _shown(value: Any) -> str:
    """A value of any origin in a few characters."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "“true”", False: "“false”"}[value]
    if isinstance(value, int):
        # Python refuses to write out numbers of thousands of digits.
        return str(value) if abs(value) < 10**15 else "over 10^15" if value > 0 else "under -10^15"
    if isinstance(value, float):
        return "“not a number”" if math.isnan(value) else f"{value:g}"
    return {list: "a list", tuple: "a list", dict: "an object"}.get(type(value), "something unknown")
