"""Attention of random weights, the same for every contender: 12 layers x 12 heads of softmax over normal scores."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.inspection.inspection import AttentionStack, Inspection, Provenance
from transformer_core.inspection.trace import StoredAttention

LAYERS = HEADS = 12
SEED = 0
SPREAD = 2.0
"""Standard deviation of the scores."""

SENTENCE = "The quick brown fox jumps over the lazy dog and then it sleeps near a river bank"


def maps(length: int) -> Float[Tensor, "12 1 12 token token"]:
    """The weights of all layers and heads, the same at every call."""
    generator = torch.Generator().manual_seed(SEED)
    scores = SPREAD * torch.randn(LAYERS, 1, HEADS, length, length, generator=generator)
    return torch.softmax(scores, dim=-1)


def tokens(length: int) -> list[str]:
    """As many words, which come again and again."""
    words = SENTENCE.split()
    return [words[place % len(words)] for place in range(length)]


def inspection(length: int) -> Inspection:
    """These weights as if a model had been recorded."""
    calls = tuple(
        StoredAttention(
            name=f"layers.{layer}",
            kind="self",
            route="written out",
            value=torch.zeros(1, HEADS, length, 1),
            dropout=0.0,
            checked_rows=torch.arange(0),
            checked_output=torch.zeros(1, HEADS, 0, 1),
            stored_weights=weights,
        )
        for layer, weights in enumerate(maps(length))
    )
    words = tuple(tokens(length))
    stack = AttentionStack("self", calls, words, words, query_label="text", key_label="text")
    return Inspection(
        text=" ".join(words),
        answer="",
        stacks={"self": stack},
        provenance=Provenance("random weights", "", "cpu", "float32", torch.__version__),
        seconds=0.0,
        notes=(),
        certificate=None,
        row_sum_error=0.0,
    )
