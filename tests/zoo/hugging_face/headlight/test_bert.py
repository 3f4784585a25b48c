"""Headlight's masked language model with a BERT's weights, against that BERT."""

import pytest
import torch
from transformers import BertConfig

from tests.zoo.hugging_face.headlight.comparison import assert_same_attention, assert_same_logits, run_both
from tests.zoo.hugging_face.headlight.originals import original
from transformer_core.model import TransformerConfig
from transformer_core.zoo.hugging_face.headlight.bert import config_of
from transformer_core.zoo.hugging_face.headlight.opening import headlight_model
from transformer_core.zoo.interface import InputError


def inputs() -> dict[str, torch.Tensor]:
    """A batch of pairs of unequal lengths, with all three segments of the model."""
    torch.manual_seed(1)
    ids, mask = torch.randint(8, 53, (3, 20)), torch.ones(3, 20, dtype=torch.long)
    for row, length in enumerate((20, 13, 6)):
        ids[row, length:], mask[row, length:] = 7, 0
    segments = torch.tensor([0, 1, 2]).repeat_interleave(7)[:20].expand(3, 20)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}


@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": False}, {"hidden_act": "gelu_new"}])
def test_logits_and_attention_of_padded_pairs(changes):
    batch = inputs()
    expected, logits, trace = run_both(
        original("BertForMaskedLM", **changes), batch, batch["input_ids"], batch["token_type_ids"]
    )
    assert_same_logits(logits, expected.logits)
    assert_same_attention(trace, "encoder", expected.attentions)


def test_a_text_without_segments_is_the_first_of_a_pair():
    theirs, ids = original("BertForMaskedLM"), torch.randint(8, 53, (2, 9))
    with torch.no_grad():
        assert_same_logits(headlight_model(theirs)(ids), theirs(ids).logits)


def test_the_published_sizes_are_the_base_model():
    assert config_of(BertConfig()) == TransformerConfig.bert()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"is_decoder": True}, "no decoder"),
        ({"is_decoder": True, "add_cross_attention": True}, "no decoder and no cross attention"),
        ({"hidden_act": "silu"}, "no activation 'silu'"),
        ({"position_embedding_type": "relative_key"}, "no relative positions"),
    ],
)
def test_what_headlights_bert_has_not_is_named(changes, what):
    with pytest.raises(InputError, match=rf"^Headlight's own BERT has {what}, .*implementation \"transformers\"\.$"):
        config_of(BertConfig(**changes))
