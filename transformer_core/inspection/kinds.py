"""Which stack an attention call belongs to, guessed from names and masks.

- "cross" when a part of the module's path says so (cross_attn, crossattention, encoder_attn, EncDecAttention, ...; in
  `nn.TransformerDecoderLayer` also multihead_attn), or when it is not called "self" and several queries meet another
  number of keys without a causal mask;
- else "encoder" or "decoder" when a part of the path says so;
- else "decoder" when the module calls itself causal or no query sees a later key, and "self" in all other cases.
"""

import re

from torch import Tensor, nn

from transformer_core.inspection.trace import Kind, forbids

CROSS_ATTENTION = re.compile(r"cross|cross_?att\w*|\w+_cross_?att\w*|att\w*_cross|encoder_att\w*|enc_?dec\w*")
"""A whole part of a path."""


def kind_of(
    name: str,
    module: nn.Module,
    parent: nn.Module | None,
    num_queries: int,
    num_keys: int,
    mask: Tensor | None,
    is_causal: bool,
) -> Kind:
    """The stack, by the rules at the top of this file.

    Args:
        name: path of the module that attends.
        module: that module.
        parent: the module that it belongs to, if any.
        num_queries: rows of the weights.
        num_keys: columns of the weights.
        mask: (batch, head, query, key), as in `ScoredAttention.mask`.
        is_causal: whether query i sees the keys 0 to i only.
    """
    parts = name.lower().split(".")
    is_causal = is_causal or getattr(module, "is_causal", None) is True
    is_second_of_a_decoder = parts[-1] == "multihead_attn" and isinstance(parent, nn.TransformerDecoderLayer)
    if is_second_of_a_decoder or any(CROSS_ATTENTION.fullmatch(part) for part in parts):
        return "cross"
    if num_queries not in (1, num_keys) and not is_causal and not any("self" in part for part in parts):
        return "cross"
    for part in reversed(parts):
        if "decoder" in part:
            return "decoder"
        if "encoder" in part:
            return "encoder"
    return "decoder" if is_causal or (mask is not None and _hides_the_future(mask)) else "self"


def _hides_the_future(mask: Tensor) -> bool:
    return mask.size(-2) > 1 and not bool((~forbids(mask)).triu(1).any())
