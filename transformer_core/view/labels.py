"""Tokens as text that can be seen: token text is data, never HTML and never Markdown."""

import unicodedata

import regex

SYMBOLS = {"\n": "⏎", "\r": "␍", "\t": "⇥", " ": "␣", "\u00a0": "⍽"}

JOINERS = {"\u200d", "\ufe0f"}
"""Hold the parts of one emoji together, or choose its shape: inside a grapheme they are no characters of their own."""

INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs", "Cs", "Co", "Cn"}
"""Unicode categories without a shape of their own: controls, direction marks, separators, lone surrogates, ..."""

MAX_LENGTH = 14


def visible(token: str, max_length: int = MAX_LENGTH) -> str:
    """The token as plain text in which everything can be seen.

    Spaces, tabs and newlines become symbols, other invisible characters their code point ("[U+202E]"), an empty token
    "∅". Text longer than `max_length` graphemes (what a reader calls characters) is cut between two of them and ends
    on "…".
    """
    if not token:
        return "∅"
    shown = [_visible_grapheme(grapheme) for grapheme in regex.findall(r"\X", token)]
    # A code point in brackets is as wide as its letters; anything else is one grapheme.
    widths = [len(part) if part.startswith("[U+") else 1 for part in shown]
    if sum(widths) <= max_length:
        return "".join(shown)
    kept, width = [], 0
    for part, part_width in zip(shown, widths, strict=True):
        width += part_width
        if width > max_length - 1:
            break
        kept.append(part)
    return "".join(kept) + "…"


def _visible_grapheme(grapheme: str) -> str:
    if grapheme == "\r\n":
        return SYMBOLS["\r"] + SYMBOLS["\n"]
    joined = len(grapheme) > 1
    return "".join(
        character if joined and character in JOINERS else _visible_character(character) for character in grapheme
    )


def _visible_character(character: str) -> str:
    if character in SYMBOLS:
        return SYMBOLS[character]
    return f"[U+{ord(character):04X}]" if unicodedata.category(character) in INVISIBLE else character


def clean_text(text: str) -> str:
    """The text with lone surrogates replaced by "?": they are no characters, and no browser can be sent one."""
    return text.encode("utf-8", "replace").decode()


def printable(text: str) -> str:
    """A text of any origin in which nothing is hidden: controls, direction marks and lone surrogates as code points.

    Unlike in `visible`, blanks and newlines stay what they are.
    """
    return "".join(character if character in " \n" else _visible_character(character) for character in text)
