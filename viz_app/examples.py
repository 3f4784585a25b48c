"""Sentences worth a look, in the short everyday English that the bundled translator was trained on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A sentence, and what to look for in it."""

    topic: str
    text: str
    look_for: str


LANGUAGES = ("English", "German")
"""The language of all examples, and that of the translations that EXAMPLES speak of."""

EXAMPLES = (
    Example(
        "Coreference",
        "I bought a car, but it is too small.",
        "What “it” stands for decides the German pronoun: er, sie or es. In Encoder, click “it”: which heads "
        "reach back to “car”? Then put a hat in its place: is the pronoun still right?",
    ),
    Example(
        "Word order",
        "Yesterday I read a very good book.",
        "German may put the verb in two places. In Cross, which rows read “read”, and do they leave the diagonal?",
    ),
    Example(
        "Agreement",
        "The children who live next door are very loud.",
        "“are” agrees with “children”, not with its neighbour “door”. Pin “are” in Encoder: which heads connect them?",
    ),
    Example(
        "Ambiguity",
        "He sat on the bank of the river.",
        "A bank can be Bank or Ufer. Which did the model take, and which heads of the row “bank” reach “river”?",
    ),
    Example(
        "Repetition",
        "Tom does not like coffee and Mary does not like tea.",
        "“does not like” is there twice. In Cross, does each half of the translation read its own half of the text?",
    ),
    Example(
        "Separable verb",
        "Please turn off the light when you leave.",
        "“turn off” can become a verb in two parts, as in schalten … aus. In Cross, which rows read “off”?",
    ),
)


GENERAL = (
    Example(
        "Coreference",
        EXAMPLES[0].text,
        "“it” is the car. Which heads of the row “it” reach back to “car”?",
    ),
    Example(
        "Agreement",
        "The children who live next door are very loud.",
        "“are” agrees with “children”, not with its neighbour “door”. Which heads of the row “are” read “children”?",
    ),
    Example(
        "Ambiguity",
        "She swam in the river and then sat on the bank.",
        "This “bank” is no company. Which heads of the row “bank” reach back to “river”?",
    ),
    Example(
        "Repetition",
        "Tom does not like coffee and Mary does not like tea.",
        "“does not like” is there twice. Which heads of the second read the first?",
    ),
)
"""English sentences for a model that does not say which languages it reads."""


def examples_for(languages: tuple[str, str] | None) -> tuple[Example, ...]:
    """The examples for a model that translates from one language into the other, or that names no language."""
    if languages is None:
        return GENERAL
    return EXAMPLES if languages == LANGUAGES else ()
