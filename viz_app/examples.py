"""Texts worth a look for each kind of model, and how it is asked to read them at first."""

from dataclasses import dataclass

from transformer_core.zoo import InspectableModel


@dataclass(frozen=True)
class Example:
    """A text, and what to look for in it."""

    topic: str
    text: str
    look_for: str
    masked: tuple[str, ...] = ()
    """Words of the text that a model is to guess."""


@dataclass(frozen=True)
class Examples:
    """What a kind of model is asked. All models of the kind share the text that a visitor types."""

    name: str
    texts: tuple[Example, ...]
    has_lines: bool = False
    """Whether a text may have several lines."""
    new_tokens: int = 5
    """What a causal model writes on at first."""
    temperature: float = 0.0
    """Of a causal model, at first."""

    @property
    def opening(self) -> str:
        """The text that is there at first."""
        return self.texts[0].text if self.texts else ""


LANGUAGES = ("English", "German")
"""The language of all examples, and that of the translations that TRANSLATION speaks of."""

TRANSLATION = Examples(
    "sentences",
    (
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
            "“are” agrees with “children”, not with its neighbour “door”. Pin “are” in Encoder: which heads connect "
            "both?",
        ),
        Example(
            "Ambiguity",
            "He sat on the bank of the river.",
            "A bank can be Bank or Ufer. Which did the model take, and which heads of the row “bank” reach “river”?",
        ),
        Example(
            "Repetition",
            "Tom does not like coffee and Mary does not like tea.",
            "“does not like” is there twice. In Cross, does each half of the translation read its own half of the "
            "text?",
        ),
        Example(
            "Separable verb",
            "Please turn off the light when you leave.",
            "“turn off” can become a verb in two parts, as in schalten … aus. In Cross, which rows read “off”?",
        ),
    ),
)

GENERAL = Examples(
    "sentences",
    (
        Example(
            "Coreference",
            "I bought a car, but it is too small.",
            "“it” is the car. Which heads of the row “it” reach back to “car”?",
        ),
        Example(
            "Agreement",
            "The children who live next door are very loud.",
            "“are” agrees with “children”, not with its neighbour “door”. Which heads of the row “are” read "
            "“children”?",
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
    ),
)
"""English sentences for a model that does not say which languages it reads."""

MASKED = Examples(
    "masked words",
    (
        Example(
            "Agreement",
            "The children are playing in the garden.",
            "Which forms of the verb fit “children”? Move the mask to “children”: what fits “are”?",
            ("are",),
        ),
        Example(
            "Two masks",
            "Please open the door and close the window.",
            "Each mask is guessed by itself: the guess for one does not know the guess for the other. Are both the "
            "same? Unmask “window”: is “door” still guessed?",
            ("door", "window"),
        ),
        Example(
            "Participle",
            "You should have told me the truth.",
            "After “have” comes a participle. Delete “have”: is another form guessed? Which heads of the masked “told” "
            "read it?",
            ("told",),
        ),
        Example(
            "Pronoun",
            "Mary said that she was very tired.",
            "“she” stands for “Mary”. Put Tom in Mary’s place: does the guess change?",
            ("she",),
        ),
        Example(
            "Tense",
            "Yesterday we went to the park with our dog.",
            "“Yesterday” says that it is over. Which heads of the masked “went” read it? Write Tomorrow in its place: "
            "which form is guessed then?",
            ("went",),
        ),
    ),
)
"""English sentences with a word to guess."""

PLAYS = Examples(
    "plays",
    (
        Example(
            "Romeo speaks",
            "ROMEO:\nBut, soft! what light",
            "Names of speakers stand on lines of their own. Which heads look back to “ROMEO”?",
        ),
        Example(
            "First Citizen",
            "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\n",
            "Everything after “All:” is the model’s. Which heads find the former speech?",
        ),
        Example("A king", "KING RICHARD III:\nNow is the winter of", "Which heads of “of” read “winter”?"),
        Example(
            "A question",
            "JULIET:\nO Romeo, Romeo! wherefore art thou",
            "“Romeo” is there twice. Which heads of the second read the first?",
        ),
    ),
    has_lines=True,
    new_tokens=40,
    temperature=0.8,
)
"""Beginnings for a model that was trained on Shakespeare's plays."""

SYMBOLS = Examples(
    "symbols",
    (
        Example(
            "Once repeated",
            "K T B Q A M D R K T B Q A",
            "Which heads of layer 2 read “M” from the last “A”? They have learned to repeat: induction heads. Move the "
            "training step back, and see when they do.",
        ),
        Example(
            "Early in the repetition",
            "P C X L E G S H P",
            "One symbol of the repetition is enough. In which layer does “P” reach “C”?",
        ),
        Example(
            "Three times",
            "Z F N J Z F N J Z F",
            "“F” was there twice. Does the head read both “N”, or the nearer one?",
        ),
        Example(
            "Nothing repeats",
            "A B C D E F G H",
            "“H” was not there before, so there is nothing to copy. The model has seen nothing but repetitions, and "
            "still expects a symbol that was there: which one do the heads of layer 2 read?",
        ),
    ),
    new_tokens=0,
)
"""Sequences for a model that was trained on repeated random symbols."""

BY_MODEL = {"shakespeare-gpt": PLAYS}
"""What a bundled model is asked that was trained on texts of one kind."""


def examples_for(model: InspectableModel) -> Examples:
    """The examples for a model: there are none where nothing is known to fit."""
    if model.languages:
        return TRANSLATION if model.languages == LANGUAGES else Examples("-".join(model.languages), ())
    if "symbols" in model.abilities:
        return SYMBOLS
    if "mask" in model.abilities:
        return MASKED
    return BY_MODEL.get(model.name, GENERAL)
