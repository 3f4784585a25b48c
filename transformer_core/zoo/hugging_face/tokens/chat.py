"""A user's message in a model's chat template."""

import jinja2
from transformers import PreTrainedTokenizerBase

from transformer_core.inspection.words import words_of_labels
from transformer_core.zoo.hugging_face.tokens.encoding import Encoding, lock, special_ids
from transformer_core.zoo.hugging_face.tokens.labels import labels
from transformer_core.zoo.hugging_face.tokens.time_limit import time_limit

CHAT_SECONDS = 5
"""A chat template is a program. One that runs longer is ended: nobody else's text is read meanwhile."""


def encode_chat(tokenizer: PreTrainedTokenizerBase, message: str, read_special_tokens: bool = False) -> Encoding:
    """Token ids of a user's message in the model's chat template, up to where the model's answer begins.

    The template's special tokens are read as such; those typed into the message only with `read_special_tokens`.
    Which tokens are the message's own is not told: all `sentences` are None.

    Raises:
        ValueError: the tokenizer has no chat template, or one that does not work.
    """
    with lock:
        try:
            _refuse_powers(tokenizer.get_chat_template())
            with time_limit(CHAT_SECONDS):
                ids = tokenizer.apply_chat_template(
                    [{"role": "user", "content": message}],
                    add_generation_prompt=True,
                    sanitize_control_tokens=not read_special_tokens,
                    return_dict=False,
                )
        except Exception as error:  # the template is a program of the checkpoint's own: it may raise anything
            raise ValueError(f"This model's chat template cannot be used: {error}") from error
    specials = special_ids(tokenizer)
    special = [token in specials for token in ids]
    return Encoding(
        ids=tuple(ids),
        token_types=None,
        special=tuple(special),
        sentences=(None,) * len(ids),
        words=words_of_labels(labels(tokenizer, ids), special),
    )


def _refuse_powers(template: str) -> None:
    """9**9**9 is one step of Python, which takes for ever, and which no time limit ends."""
    if any(kind == "operator" and value == "**" for _, kind, value in jinja2.Environment().lex(template)):
        raise ValueError("it reckons with powers (**), which may take for ever")
