"""What the Attention page says about each kind of model. It names a language only where the model names it."""

from collections.abc import Collection, Iterable, Sequence

from transformer_core.inspection.inspection import AttentionStack
from transformer_core.zoo import Ability, Family, InspectableModel, Outline, StackShape
from viz_app.numbers import amount

PURPOSE: dict[Family, str] = {
    "text-to-text": "turns your text into another",
    "causal": "continues your text",
    "masked": "guesses the words that you mask",
    "classifier": "sorts your text into classes",
    "embedding": "turns your text into one vector",
    "encoder": "turns each token of your text into a vector",
    "image": "looks at an image",
}

VERB: dict[Family, str] = {"text-to-text": "Answer", "causal": "Continue", "masked": "Guess", "classifier": "Classify"}
"""On the button beside the text; "Read" for the others."""

ANSWER: dict[Family, str] = {
    "text-to-text": "Answer",
    "causal": "Continuation",
    "masked": "Text with the likeliest guesses",
    "classifier": "Class",
    "embedding": "Sentence vector",
    "encoder": "Answer",
    "image": "Class",
}
"""What the model's answer is called."""

NO_ANSWER: dict[Family, str] = {
    "causal": "What the model expects next. To let it write, raise the new tokens in the options.",
    "masked": "No word is masked, so there is nothing to guess. Click a word below the text to mask it.",
    "encoder": "This model gives a vector for each token, and no answer in words. Its attention is below.",
    "image": "This model has no classes. What it reads from the image is below.",
}
"""What there is to do, or to see, where a model gave no answer in words."""

IN_SHORT: dict[Family, str] = {
    "text-to-text": "answers",
    "causal": "writes on",
    "masked": "guesses masked words",
    "classifier": "classifies",
    "embedding": "embeds",
    "encoder": "encodes",
    "image": "looks at images",
}
"""What a model does, in a few words."""


IN_WORDS = {
    "LanguageModel": "a decoder-only Transformer",
    "MaskedLanguageModel": "an encoder-only Transformer",
    "VisionTransformer": "a Vision Transformer",
}
"""What the classes of this project are called outside of it."""


def purpose_in_short(outline: Outline) -> str:
    """What a bundled model does, in a few words."""
    if outline.languages:
        return "translates {} into {}".format(*outline.languages)
    if "symbols" in outline.abilities:
        return "repeats sequences"
    if "drawing" in outline.abilities:
        return "reads digits"
    return IN_SHORT[outline.family]


def purpose(name: str, architecture: str, family: Family, abilities: Collection[Ability] = ()) -> str:
    """What the model does, in a sentence. Of a folder, the last two names are enough to tell which it is."""
    short = "/".join(name.replace("\\", "/").rstrip("/").split("/")[-2:])
    does = PURPOSE[family]
    if "symbols" in abilities:
        does = "foretells how a sequence of symbols repeats"
    elif "drawing" in abilities:
        does = "names a handwritten digit"
    kind = IN_WORDS.get(architecture, f"a {architecture}")
    return f"{short}, {kind}, {does}; see what each of its attention heads reads."


def layers_and_heads(stacks: Sequence[StackShape], is_short: bool = False) -> str:
    """Such as "6 layers × 12 heads" or "3 encoder + 3 decoder layers × 8 heads", in short "3 + 3 layers × 8 heads"."""
    # Cross attention is part of the decoder's layers.
    counted = [stack for stack in stacks if stack.name != "cross"]
    heads = _range(number for stack in stacks for number in stack.heads)
    names = ["" if is_short or stack.name == "self" else f" {stack.name}" for stack in counted]
    layers = " + ".join(f"{len(stack.heads)}{name}" for stack, name in zip(counted, names, strict=True))
    noun = "layer" if sum(len(stack.heads) for stack in counted) == 1 else "layers"
    head = "head" if heads == "1" else "heads"
    return f"{layers} {noun} × {heads} {head}"


def sizes(stacks: Sequence[StackShape], num_parameters: int) -> str:
    """Layers, heads and parameters: "6 layers × 12 heads · 22.71 M parameters"."""
    return f"{layers_and_heads(stacks)} · {amount(num_parameters)} parameters"


def _range(numbers: Iterable[int]) -> str:
    """Both ends of what the numbers cover: "12", or "4 to 12"."""
    found = sorted(set(numbers))
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


def how_to_read(stack: AttentionStack, model: InspectableModel, sees_later: bool | None) -> str:
    """What a row and a column of the stack's heatmap are.

    Args:
        sees_later: whether rows read from columns behind their own; None: the question does not arise.
    """
    if model.family == "image":
        return (
            "On the image: how much of its attention one token (query) gives to each patch (key), from 0 to the "
            f"largest. In the matrix each row is a query, each column a key; “2,3” is the patch in row 2, column 3; "
            f"{_row_sum(stack)}."
        )
    row, column = _row_and_column(stack, model)
    order = {
        None: ".",
        True: ", earlier and later ones alike.",
        False: ": itself and earlier ones, never later ones.",
    }[sees_later]
    decides = model.family in ("causal", "text-to-text") and stack.name in ("self", "decoder", "cross")
    next_token = "next token of the " + _answer(model) if stack.name == "cross" else "next token"
    share = (
        f"At each row the {next_token} is decided" if decides else "A weight is the share of the row that goes there"
    )
    return (
        f"Each row is {row} that reads (query), each column {column} that it reads from (key){order} "
        f"{share}; {_row_sum(stack)}.{_word_marks(stack)}"
    )


def _row_and_column(stack: AttentionStack, model: InspectableModel) -> tuple[str, str]:
    if stack.is_part:
        rows, columns = stack.name.split(" to ")
        return f"a token of text {rows}", f"a token of text {columns}"
    answer = f"a token of the {_answer(model)}"
    return {
        "encoder": ("a token", "a token"),
        "decoder": (answer, "a token"),
        "cross": (answer, "a token of the text"),
    }.get(stack.name, ("a token", "a token"))


def _answer(model: InspectableModel) -> str:
    return "translation" if model.languages else "answer"


def _row_sum(stack: AttentionStack) -> str:
    if stack.columns is not None:
        return "what a row reads from other tokens is not shown, so it sums to less than 1"
    if any(call.sinks is not None for call in stack.calls):
        return "a row sums to less than 1, because the rest goes to the head's sink, which is no token"
    return "a row sums to 1"


def _word_marks(stack: AttentionStack) -> str:
    """What the marks in the tokens' labels mean."""
    tokens = (*stack.query_tokens, *stack.key_tokens)
    if any(token.startswith("##") for token in tokens):
        return " “##” goes on with a word."
    return " “▁” starts a word." if any(token.startswith("▁") for token in tokens) else ""
