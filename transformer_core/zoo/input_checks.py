"""What is wrong with a text, in words for the one who typed it."""

from collections.abc import Sequence

from transformer_core.zoo.interface import InputError


def sentence(error: ValueError) -> str:
    """What an error says, as a sentence of its own."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def check_text(text: str, what: str = "text") -> None:
    """Refuse a text that no model can read.

    Raises:
        InputError: the text is blank, or holds half a character.
    """
    if not text.strip():
        raise InputError(f"There is no {what} yet. Type a sentence, or choose an example.")
    for position, character in enumerate(text, start=1):
        if "\ud800" <= character <= "\udfff":
            raise InputError(
                f"Character {position:,} of the {what} is only half of a character (a lone surrogate, "
                f"U+{ord(character):04X}), which no model can read. Delete it or type it again."
            )


def check_tokens(length: int, what: str = "text") -> None:
    """Refuse a text of which the model reads nothing.

    Args:
        length: the text's tokens, special ones aside.

    Raises:
        InputError: there are none.
    """
    if length == 0:
        raise InputError(
            f"The {what} holds only invisible characters, of which this model reads none. Type a sentence."
        )


def check_length(text: str, length: int, max_tokens: int | None, what: str = "This text is") -> None:
    """Refuse a text that is too long.

    Args:
        length: the text's tokens, special ones aside.
        max_tokens: the most that the model reads; None if there is no limit.

    Raises:
        InputError: the text has too many tokens. The message says how much to cut.
    """
    if max_tokens is not None and length > max_tokens:
        excess = length - max_tokens
        tokens = "1 token" if excess == 1 else f"{excess:,} tokens"
        characters = -(-len(text) * excess // length)
        raise InputError(
            f"{what} {length:,} tokens long; this model reads at most {max_tokens:,}. "
            f"Shorten it by {tokens}, which is about {characters:,} of the {len(text):,} characters."
        )


def check_masked(masked: Sequence[int], length: int) -> None:
    """Refuse to mask a token that a text does not have.

    Args:
        masked: the tokens' places.
        length: the text's tokens, special ones aside.

    Raises:
        InputError: there is no such token.
    """
    for number in masked:
        if not 0 <= number < length:
            raise InputError(f"There is no token {number + 1:,} to mask: the text has {length:,}. Choose among those.")
