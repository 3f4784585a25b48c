"""Headlight's language model with a GPT-2's weights, against that GPT-2."""

import pytest
import torch
from transformers import GPT2Config

from tests.zoo.hugging_face.headlight.comparison import assert_same_attention, assert_same_logits, run_both
from tests.zoo.hugging_face.headlight.originals import original
from transformer_core.inspection import record
from transformer_core.model import TransformerConfig
from transformer_core.zoo.hugging_face.headlight.gpt2 import config_of
from transformer_core.zoo.hugging_face.headlight.opening import headlight_model
from transformer_core.zoo.interface import InputError


def some_ids(*shape: int) -> torch.Tensor:
    return torch.randint(1, 53, shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_word_embeddings": False},
        {"scale_attn_weights": False, "n_inner": None},
        {"activation_function": "relu", "n_head": 6},
    ],
)
def test_logits_and_attention_of_a_padded_batch(changes):
    ids, mask = some_ids(3, 20), torch.ones(3, 20, dtype=torch.long)
    for row, length in enumerate((20, 13, 6)):
        ids[row, length:], mask[row, length:] = 0, 0
    expected, logits, trace = run_both(
        original("GPT2LMHeadModel", **changes), {"input_ids": ids, "attention_mask": mask}, ids
    )
    # What padding itself attends to means nothing.
    assert_same_logits(logits[mask.bool()], expected.logits[mask.bool()])
    assert_same_attention(trace, "decoder", expected.attentions, rows=mask.bool())


def test_token_by_token_with_a_cache():
    theirs, ids = original("GPT2LMHeadModel"), some_ids(2, 20)
    ours = headlight_model(theirs)
    cache, logits = ours.new_cache(), []
    with torch.no_grad():
        expected = theirs(ids, output_attentions=True)
        for new in ids.split([7, 4, *[1] * 9], dim=1):
            with record(ours) as trace:
                logits.append(ours.logits(ours.hidden(new, cache)))
            end = cache[0].length
            rows = [weights[:, :, end - new.size(1) : end, :end] for weights in expected.attentions]
            assert_same_attention(trace, "decoder", rows)
    assert end == 20
    assert_same_logits(torch.cat(logits, dim=1), expected.logits)


def test_the_published_sizes_are_the_small_model():
    assert config_of(GPT2Config()) == TransformerConfig.gpt2()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"add_cross_attention": True}, "no cross attention"),
        ({"scale_attn_by_inverse_layer_idx": True}, r"no scores divided by .*\(scale_attn_by_inverse_layer_idx\)"),
        ({"activation_function": "tanh"}, "no activation 'tanh'"),
    ],
)
def test_what_headlights_gpt2_has_not_is_named(changes, what):
    with pytest.raises(InputError, match=rf"^Headlight's own GPT-2 has {what}, .*implementation \"transformers\"\.$"):
        config_of(GPT2Config(**changes))
