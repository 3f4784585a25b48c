"""Text into token ids, with a typed "[SEP]" or "</s>" read as text like any other."""

from dataclasses import dataclass
from typing import Literal

from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Encoding:
    """A text or a pair of texts as the model reads it: one entry for each token, the model's special tokens included."""

    ids: tuple[int, ...]
    token_types: tuple[int, ...] | None
    """The model's `token_type_ids`; None if this tokenizer makes none."""
    special: tuple[bool, ...]
    """Whether the tokenizer added the token ([CLS], </s>), or a typed special token was read as one."""
    sentences: tuple[Literal["A", "B"] | None, ...]
    """Which text the token comes from; None for what the tokenizer added."""


def encode_plain(
    tokenizer: PreTrainedTokenizerBase, text: str, second_text: str = "", read_special_tokens: bool = False
) -> Encoding:
    """Token ids of a text, or of a pair, with the special tokens that the model expects around them.

    Nothing is cut and nothing is padded. A lone surrogate, which no tokenizer can read, is the caller's to refuse.

    Args:
        read_special_tokens: whether a typed "[SEP]", "</s>" or "<|endoftext|>" is that special token; otherwise it is
            ordinary text.

    Raises:
        ValueError: a pair, for a tokenizer that joins none.
    """
    raise NotImplementedError
