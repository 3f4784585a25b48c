"""The sum of token, position and segment vectors, by hand."""

import pytest
import torch
import torch.nn.functional as F

from transformer_core.model import TransformerConfig
from transformer_core.model.embedding import Embedding

SMALL = {"vocab_size": 20, "d_model": 8, "num_heads": 2, "max_length": 6, "dropout": 0.0}
IDS = torch.tensor([[3, 7, 7], [1, 2, 0]])


def embedding(**changes) -> Embedding:
    torch.manual_seed(0)
    return Embedding(TransformerConfig(**SMALL | changes))


def test_learned_positions_are_added():
    ours = embedding(positions="learned", scale_embeddings=False)
    expected = ours.tokens.weight[IDS] + ours.learned_positions.weight[:3]
    assert torch.equal(ours(IDS), expected)
    later = ours.tokens.weight[IDS] + ours.learned_positions.weight[2:5]
    assert torch.equal(ours(IDS, start=2), later)


@pytest.mark.parametrize("positions", ["rotary", "alibi", "relative", "none"])
def test_positions_that_are_told_elsewhere_are_not_added(positions):
    ours = embedding(positions=positions)
    torch.testing.assert_close(ours(IDS), ours.tokens.weight[IDS] * 8**0.5)


def test_segments_are_added_and_the_sum_is_normalised():
    ours = embedding(positions="learned", scale_embeddings=False, num_segments=2, norm_embeddings=True)
    segment_ids = torch.tensor([[0, 0, 1], [0, 1, 1]])
    tokens, positions, segments = ours.tokens.weight, ours.learned_positions.weight, ours.segments.weight
    expected = F.layer_norm(tokens[IDS] + positions[:3] + segments[segment_ids], (8,))
    torch.testing.assert_close(ours(IDS, segment_ids=segment_ids), expected)
    assert torch.equal(ours(IDS), ours(IDS, segment_ids=torch.zeros_like(IDS)))


def test_segments_are_not_overlooked_by_a_model_without_them():
    with pytest.raises(ValueError, match=r"no segments apart \(num_segments=0\): leave segment_ids out"):
        embedding()(IDS, segment_ids=torch.zeros_like(IDS))


def test_what_is_learned_and_not_scaled_starts_small():
    ours = embedding(vocab_size=5000, max_length=5000, positions="learned", scale_embeddings=False)
    for table in (ours.tokens, ours.learned_positions):
        assert table.weight.std().item() == pytest.approx(0.02, rel=0.02)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "relative", "none"])
def test_the_longest_text_and_one_more(positions):
    ours = embedding(positions=positions)
    assert ours(IDS, start=3).shape == (2, 3, 8)
    with pytest.raises(ValueError, match="7 tokens are more than this model's max_length of 6"):
        ours(IDS, start=4)
