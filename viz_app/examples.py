"""Sentences worth a look, in the short everyday English that the bundled translator was trained on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A sentence, and what to look for in it."""

    topic: str
    text: str
    look_for: str


EXAMPLES = (
    Example(
        "Coreference",
        "The dog didn't eat the meat because it was not hungry.",
        "What does “it” stand for: the dog or the meat? German has to decide (er or es). Look in Encoder for heads "
        "whose row “it” has weight on “dog”, and in Cross for what the German pronoun reads.",
    ),
    Example(
        "Word order",
        "I have never seen such a beautiful sunset.",
        "German puts the participle last. In Cross the weights mostly run along the diagonal; look how the row of the "
        "last verb leaves it for “seen”.",
    ),
    Example(
        "Agreement",
        "The keys that were on the table are gone.",
        "The verb “are” agrees with “keys”, not with its neighbour “table”. Look in Encoder for heads that connect "
        "them across the relative clause.",
    ),
    Example(
        "Ambiguity",
        "She sat down on the bank of the river.",
        "A bank can be Bank or Ufer in German. Look in Encoder at the row “bank”: which heads reach “river”?",
    ),
    Example(
        "Negation",
        "He does not like coffee, and she does not like tea.",
        "“not” and “like” occur twice: two rows and two columns each. Look in Cross which one each “nicht” reads.",
    ),
    Example(
        "Separable verb",
        "Please turn off the light when you leave.",
        "“turn off” is two words apart from each other in German too. Look in Cross for the two parts of the verb.",
    ),
)
