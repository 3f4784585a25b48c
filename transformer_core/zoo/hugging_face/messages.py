"""What libraries say, and lists of names, inside messages for users."""

from collections.abc import Sequence


def first_line(error: Exception) -> str:
    """What an error says, as a sentence."""
    lines = str(error).strip().splitlines()
    text = lines[0].strip() if lines else type(error).__name__
    return text if text.endswith((".", "!", "?")) else f"{text}."


def some(names: Sequence[str], shown: int = 4) -> str:
    """The first names, and how many more there are."""
    further = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + further
