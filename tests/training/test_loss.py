import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.model import LanguageModel, TransformerConfig
from transformer_core.training.loss import label_smoothed_loss, next_token_loss
from transformer_core.training.task import NO_LABEL
from transformer_core.training.windows import TokenBatch


@given(vocab_size=st.integers(2, 50), smoothing=st.floats(0.01, 0.9))
def test_of_the_smoothed_target_itself_only_its_entropy_is_left(vocab_size, smoothing):
    probabilities = torch.full((1, vocab_size), smoothing / vocab_size, dtype=torch.float64)
    probabilities[0, 1] += 1 - smoothing
    loss = label_smoothed_loss(probabilities.log(), torch.tensor([1]), smoothing, pad_id=0)
    assert loss.item() == pytest.approx(-(probabilities * probabilities.log()).sum().item(), abs=1e-5)


def test_the_loss_by_hand():
    # Probabilities 1/2, 1/4, 1/4; the true token is the second; eps = 0.3, so the target is 0.1, 0.8, 0.1.
    logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
    expected = 0.1 * math.log(2) + 0.9 * math.log(4)
    assert label_smoothed_loss(logits, torch.tensor([1]), 0.3, pad_id=0).item() == pytest.approx(expected)


def test_padding_counts_for_nothing():
    logits = torch.randn(2, 3, 7, requires_grad=True)
    targets = torch.tensor([[3, 4, 0], [5, 0, 0]])
    loss = label_smoothed_loss(logits, targets, 0.1, pad_id=0)
    alone = [label_smoothed_loss(logits[i, j][None], targets[i, j][None], 0.1, 0) for i, j in ((0, 0), (0, 1), (1, 0))]
    assert loss.item() == pytest.approx(sum(x.item() for x in alone), rel=1e-5)
    loss.backward()
    assert (logits.grad[targets == 0] == 0).all()
    assert (logits.grad[targets != 0] != 0).all()


def test_padding_alone_is_no_loss():
    assert label_smoothed_loss(torch.randn(1, 4, 7), torch.zeros(1, 4, dtype=torch.long), 0.1, pad_id=0) == 0


def test_the_next_token_loss_counts_what_has_a_label():
    sizes = {"d_model": 8, "num_heads": 2, "num_decoder_layers": 1, "d_ff": 8, "max_length": 3, "dropout": 0.0}
    model = LanguageModel(TransformerConfig.gpt2(vocab_size=7, **sizes))
    batch = TokenBatch(torch.tensor([[1, 4, 3], [1, 5, 2]]), torch.tensor([[1, NO_LABEL, 6], [NO_LABEL, NO_LABEL, 2]]))
    probabilities = model(batch.token_ids).log_softmax(-1)
    expected = -sum(probabilities[place].item() for place in ((0, 0, 1), (0, 2, 6), (1, 2, 2)))
    assert next_token_loss(model, batch).item() == pytest.approx(expected, rel=1e-5)
