"""A token's text as a label, in which everything can be seen."""

import unicodedata

SYMBOLS = str.maketrans({" ": "▁", "\n": "⏎", "\r": "␍", "\t": "⇥"})
"""A space is what SentencePiece writes for one, so that it looks alike for all tokenizers."""

INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs", "Cs", "Co", "Cn"}
"""Unicode categories without a shape of their own."""


def visible(text: str) -> str:
    """The text with signs for its blanks and line ends; if nothing in it can be seen, its characters' code points."""
    if not text:
        return "∅"
    text = text.translate(SYMBOLS)
    if all(unicodedata.category(character) in INVISIBLE for character in text):
        return "".join(f"[U+{ord(character):04X}]" for character in text)
    return text
