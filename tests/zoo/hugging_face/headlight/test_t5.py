"""Headlight's encoder-decoder with a T5's weights, against that T5."""

import pytest
import torch
from transformers import T5Config

from tests.zoo.hugging_face.headlight.comparison import assert_same_attention, assert_same_logits, run_both
from tests.zoo.hugging_face.headlight.originals import original
from transformer_core.model import TransformerConfig
from transformer_core.zoo.hugging_face.headlight.opening import headlight_model
from transformer_core.zoo.hugging_face.headlight.t5 import NO_LIMIT, config_of, weights_of
from transformer_core.zoo.interface import InputError


def inputs(source_length: int, target_length: int) -> dict[str, torch.Tensor]:
    """Texts of unequal lengths; every answer begins with T5's start token, which is its padding token."""
    torch.manual_seed(1)
    source, target = torch.randint(2, 53, (2, source_length)), torch.randint(2, 53, (2, target_length))
    mask = torch.ones_like(source)
    source[1, source_length // 2 :], mask[1, source_length // 2 :] = 0, 0
    target[:, 0] = 0
    return {"input_ids": source, "attention_mask": mask, "decoder_input_ids": target}


@pytest.mark.parametrize(
    ("lengths", "changes"),
    [
        # Far beyond the distance of 128, from where on all share a bucket.
        ((300, 280), {}),
        ((9, 14), {"num_layers": 3, "num_decoder_layers": 1, "d_kv": 4}),
        ((9, 14), {"feed_forward_proj": "gelu"}),
    ],
)
def test_logits_and_attention_of_a_padded_batch(lengths, changes):
    batch = inputs(*lengths)
    expected, logits, trace = run_both(
        original("T5ForConditionalGeneration", **changes), batch, batch["input_ids"], batch["decoder_input_ids"]
    )
    assert_same_logits(logits, expected.logits)
    assert_same_attention(trace, "encoder", expected.encoder_attentions)
    assert_same_attention(trace, "decoder", expected.decoder_attentions)
    assert_same_attention(trace, "cross", expected.cross_attentions)


def test_token_by_token_with_a_cache():
    theirs, batch = original("T5ForConditionalGeneration"), inputs(12, 140)
    ours = headlight_model(theirs)
    with torch.no_grad():
        memory, mask = ours.encode(batch["input_ids"]), ours.source_mask(batch["input_ids"])
        cache = ours.new_cache()
        parts = batch["decoder_input_ids"].split([1, 130, *[1] * 9], dim=1)
        hidden = torch.cat([ours.decode(part, memory, mask, cache) for part in parts], dim=1)
        assert_same_logits(ours.logits(hidden), theirs(**batch).logits)


def test_the_published_sizes_are_the_small_model():
    expected = TransformerConfig.t5(max_length=NO_LIMIT, head_size=64)
    assert config_of(T5Config()) == expected
    assert expected.d_head == TransformerConfig.t5().d_head


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"feed_forward_proj": "gated-gelu"}, r"no gated feed-forward layers \(gated-gelu\)"),
        ({"tie_word_embeddings": False}, r"no output matrix of its own \(tie_word_embeddings false\)"),
        ({"relative_attention_max_distance": 64}, "no other numbers of buckets and distances than 32 and 128"),
        ({"relative_attention_num_buckets": 16}, "no other numbers of buckets and distances than 32 and 128"),
        ({"feed_forward_proj": "silu"}, "no activation 'silu'"),
    ],
)
def test_what_headlights_t5_has_not_is_named(changes, what):
    with pytest.raises(InputError, match=rf"^Headlight's own T5 has {what}, .*implementation \"transformers\"\.$"):
        config_of(T5Config(**changes))


def test_an_output_matrix_of_its_own_is_refused():
    theirs = original("T5ForConditionalGeneration")
    tensors = theirs.state_dict() | {"lm_head.weight": theirs.shared.weight + 1}
    with pytest.raises(ValueError, match=r"lm_head\.weight is not the same as shared\.weight"):
        weights_of(tensors, config_of(theirs.config))
