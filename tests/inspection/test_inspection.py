"""AttentionStack: layers, heads and tokens of one text."""

import pytest
import torch

from transformer_core.inspection import AttentionStack, record
from transformer_core.model import Transformer, TransformerConfig


@pytest.fixture(scope="module")
def trace():
    config = TransformerConfig(
        vocab_size=20, d_model=16, num_heads=2, num_encoder_layers=3, num_decoder_layers=1, d_ff=16, max_length=8
    )
    torch.manual_seed(0)
    model = Transformer(config).eval()
    with torch.no_grad(), record(model) as trace:
        model(torch.tensor([[5, 6, 5, 3]]), torch.tensor([[2, 7, 8]]))
    return trace


def stack_of(trace, **changes) -> AttentionStack:
    values = {
        "name": "cross",
        "calls": trace.of_kind("cross"),
        "query_tokens": ("<s>", "a", "b"),
        "key_tokens": ("x", "y", "x", "</s>"),
        "query_label": "German",
        "key_label": "English",
    }
    return AttentionStack(**values | changes)


def test_layers_heads_and_weights(trace):
    tokens = ("x", "y", "x", "</s>")
    stack = stack_of(trace, name="encoder", calls=trace.of_kind("encoder"), query_tokens=tokens)
    assert len(stack) == 3
    assert [call.name for call in stack] == [f"encoder.layers.{layer}.self_attention" for layer in range(3)]
    assert stack.num_heads(2) == 2
    assert stack.weights(1).shape == (2, 4, 4)
    assert torch.equal(stack.weights(1, head=1), trace[1].weights(head=1)[0])


def test_rows_and_columns_have_their_own_tokens(trace):
    stack = stack_of(trace)
    assert stack.weights(0, 0).shape == (len(stack.query_tokens), len(stack.key_tokens))


@pytest.mark.parametrize("layer", [-1, 1])
def test_a_layer_that_does_not_exist(trace, layer):
    with pytest.raises(IndexError, match=f"layer {layer} does not exist.*has 1 layers"):
        stack_of(trace).weights(layer)


def test_swapped_axes_are_refused(trace):
    with pytest.raises(ValueError, match=r"decoder\.layers\.0\.cross_attention.*\(1, 3, 4\).*\(1, 4, 3\)"):
        stack_of(trace, query_tokens=("x", "y", "x", "</s>"), key_tokens=("<s>", "a", "b"))


def test_special_tokens_and_words_have_defaults_and_are_kept(trace):
    plain = stack_of(trace)
    assert (plain.query_special, plain.key_special, plain.query_words, plain.key_words) == ((), (), None, None)
    stack = stack_of(trace, query_special=(0,), key_special=(3,), query_words=(0, 1, 1), key_words=(0, 0, 1, 2))
    assert (stack.query_special, stack.key_special) == ((0,), (3,))
    assert (stack.query_words, stack.key_words) == ((0, 1, 1), (0, 0, 1, 2))


@pytest.mark.parametrize("special", [(3,), (-1,), (1, 0), (1, 1)])
def test_special_tokens_that_are_none_are_refused(trace, special):
    with pytest.raises(ValueError, match="query_special of the stack 'cross', which has 3 query tokens"):
        stack_of(trace, query_special=special)
    with pytest.raises(ValueError, match="key_special of the stack 'cross', which has 4 key tokens"):
        stack_of(trace, key_special=(*special, 4))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((0, 1, 2), "has 3 numbers: it needs one for each token"),
        ((), "has 0 numbers"),
        ((1, 1, 2, 3), "begin with 0"),
        ((0, 2, 3, 4), "the same number or the next"),
        ((0, 1, 0, 1), "the same number or the next"),
    ],
)
def test_words_that_do_not_fit_are_refused(trace, words, problem):
    with pytest.raises(ValueError, match=f"key_words of the stack 'cross', which has 4 key tokens, .*{problem}"):
        stack_of(trace, key_words=words)


def test_what_a_terminal_shows_is_short(trace):
    """Not the tensors, of which there are many."""
    assert repr(stack_of(trace)) == "<AttentionStack 'cross': 1 layers, 3 queries, 4 keys>"
    assert (
        repr(trace[0]) == "<ScoredAttention of 'encoder.layers.0.self_attention', encoder: 2 heads, 4 queries, 4 keys>"
    )
    assert len(repr(trace)) < 1000
