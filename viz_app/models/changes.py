"""Changed fields as text for the address: "d_model-1024.norm-pre", all of which an address leaves as it is."""

import json
from collections.abc import Mapping
from typing import Any

from transformer_core.view.state import quoted
from viz_app.models.fields import CHOICES, LARGEST, SWITCHES, Fields


def to_link(changes: Mapping[str, Any]) -> str:
    """The text of these fields."""
    return ".".join(f"{name}-{_text(value)}" for name, value in changes.items())


def from_link(text: str, fields: Fields) -> tuple[Fields, list[str]]:
    """The changes that a link asks for, and a sentence for each that cannot be.

    Args:
        fields: those of the published model that is started from, which alone can change.
    """
    changes: Fields = {}
    problems = []
    for part in text.split(".") if text else []:
        name, _, value = part.partition("-")
        if name not in fields:
            problems.append(f"The link changes {quoted(name)}, which is no field of this model.")
            continue
        found = _value(name, value)
        if found is None:
            problems.append(f"{name} cannot be {quoted(value)}; it is {_text(fields[name])}.")
        else:
            changes[name] = found[0]
    return changes, problems


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _value(name: str, text: str) -> tuple[Any] | None:
    """What a field's text means, in a tuple, for it may mean None; None if it means nothing."""
    if name in CHOICES:
        return (text,) if text in CHOICES[name][0] else None
    if name in SWITCHES:
        return (text == "true",) if text in ("true", "false") else None
    if name == "head_size" and text == "null":
        return (None,)
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= 9
    return (int(text),) if is_number and abs(int(text)) <= LARGEST else None
