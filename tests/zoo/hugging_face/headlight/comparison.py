"""Running Headlight's model beside the one of transformers that it got its weights from."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from transformer_core.inspection import Trace, record
from transformer_core.zoo.hugging_face.headlight.opening import headlight_model

WEIGHT_TOLERANCE = 5e-6
"""Of attention weights; float32 rounding over a few layers."""

LOGIT_TOLERANCE = 2e-6
"""As a share of the largest logit."""


@torch.no_grad()
def run_both(
    theirs: PreTrainedModel, inputs: dict[str, Tensor], *own_inputs: Tensor
) -> tuple[ModelOutput, Tensor, Trace]:
    """Outputs of transformers' model with its attention, logits of Headlight's, and what was recorded of it."""
    expected = theirs(**inputs, output_attentions=True)
    for name in expected.keys() & {"attentions", "encoder_attentions", "decoder_attentions", "cross_attentions"}:
        # Equal weights everywhere would be equal in any model.
        assert all(weights.max() > 3 / weights.size(-1) for weights in expected[name])
    ours = headlight_model(theirs)
    with record(ours) as trace:
        logits = ours(*own_inputs)
    return expected, logits, trace


def assert_same_logits(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=LOGIT_TOLERANCE * float(expected.abs().max()))


def assert_same_attention(trace: Trace, kind: str, expected: Sequence[Tensor], rows: Tensor | None = None) -> None:
    """Every head's weights in every layer of a stack.

    Args:
        expected: (batch, head, query, key) of each layer.
        rows: (batch, query), true for the queries that count; None for all.
    """
    calls = trace.of_kind(kind)
    assert len(calls) == len(expected)
    for call, weights in zip(calls, expected, strict=True):
        found = call.weights()
        assert found.shape == weights.shape
        if rows is not None:
            found, weights = found.transpose(1, 2)[rows], weights.transpose(1, 2)[rows]
        torch.testing.assert_close(found, weights, rtol=0, atol=WEIGHT_TOLERANCE)
