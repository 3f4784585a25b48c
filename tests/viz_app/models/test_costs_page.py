"""Costs in words: what a model cannot read has none."""

import pytest

from transformer_core.model.published import BY_NAME
from viz_app.models.costs import TOO_LONG, costs_of, fits, work_of


@pytest.mark.parametrize(
    ("name", "context", "expected"),
    [
        ("GPT-2 small", 1024, True),
        ("GPT-2 small", 1025, False),
        ("T5 small", 1_000_000, True),
        ("Transformer base", 1_000_000, True),
        ("ViT-B/16", 1_000_000, True),
    ],
)
def test_only_learned_positions_end(name, context, expected):
    assert fits(BY_NAME[name].config, context) == expected


def test_a_cache_is_of_the_context_if_there_is_any():
    gpt2, bert = BY_NAME["GPT-2 small"], BY_NAME["BERT-base"]
    # A key and a value of 768 numbers of 2 bytes in each of 12 layers.
    assert costs_of(gpt2.config, gpt2.parts, 1)["KV cache, bfloat16"] == "36.86 kB"
    assert costs_of(gpt2.config, gpt2.parts, 1025)["KV cache, bfloat16"] == TOO_LONG
    assert costs_of(bert.config, bert.parts, 512)["KV cache, bfloat16"] == "none"
    # 124,439,808 parameters of 4 bytes.
    assert costs_of(gpt2.config, gpt2.parts, 1)["weights, float32"] == "497.8 MB"


def test_operations_are_told_by_what_they_are_for():
    t5, vit = BY_NAME["T5 small"], BY_NAME["ViT-B/16"]
    assert list(work_of(t5.config, t5.top, 10)) == ["a source token", "a target token"]
    assert list(work_of(vit.config, vit.top, 10)) == ["an image"]
