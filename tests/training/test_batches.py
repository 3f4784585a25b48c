import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.text import Tokenizer
from transformer_core.training.batches import Example, encode_pairs, make_batch, own_share, plan_batches
from transformer_core.training.data import Pair

LENGTHS = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=80)


def examples_of(lengths) -> list[Example]:
    return [Example([5] * source, [6] * target) for source, target in lengths]


@given(lengths=LENGTHS, batch_tokens=st.integers(10, 200), seed=st.integers(0, 9))
def test_every_example_is_in_one_batch_and_no_batch_is_over_the_budget(lengths, batch_tokens, seed):
    examples = examples_of(lengths)
    plan = plan_batches(examples, batch_tokens, (seed,))
    assert sorted(index for batch in plan for index in batch) == list(range(len(examples)))
    for batch in plan:
        longest = max(max(len(examples[i].source), len(examples[i].target) + 1) for i in batch)
        assert len(batch) == 1 or longest * len(batch) <= batch_tokens


def test_a_plan_depends_on_its_seed_alone():
    examples = examples_of([(n % 13 + 1, n % 7) for n in range(300)])
    assert plan_batches(examples, 60, (1, 0)) == plan_batches(examples, 60, (1, 0))
    assert plan_batches(examples, 60, (1, 0)) != plan_batches(examples, 60, (1, 1))


def test_sentences_of_like_length_share_a_batch():
    examples = examples_of([(n % 20 + 1, n % 20) for n in range(2000)])
    plan = plan_batches(examples, 200, (0,))
    padded = sum(len(batch) * max(len(examples[i].source) for i in batch) for batch in plan)
    assert padded < 1.05 * sum(len(example.source) for example in examples)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["The cat sleeps.", "Die Katze schläft."] * 5, vocab_size=320)


def test_the_decoder_reads_what_it_should_say_one_position_later(tokenizer):
    batch = make_batch([Example([7, 8, 3], [9, 10]), Example([7, 3], [])], tokenizer)
    bos, eos, pad = tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
    assert batch.source_ids.tolist() == [[7, 8, 3], [7, 3, pad]]
    assert batch.target_ids.tolist() == [[bos, 9, 10], [bos, pad, pad]]
    assert batch.label_ids.tolist() == [[9, 10, eos], [eos, pad, pad]]


def test_a_pair_as_tokens(tokenizer):
    pair = Pair("The cat sleeps.", "Die Katze schläft.")
    example = encode_pairs([pair], tokenizer, max_length=100)[pair]
    assert example.source[-1] == tokenizer.eos_id
    assert tokenizer.decode(example.source[:-1]) == "The cat sleeps."
    assert tokenizer.decode(example.target) == "Die Katze schläft."


@pytest.mark.parametrize(("source", "target"), [("x" * 9, "y"), ("x", "y" * 9)])
def test_pairs_that_the_model_is_too_short_for_are_left_out(tokenizer, source, target):
    # Neither letter is in the vocabulary: a blank, then a token for each byte, then the end token.
    pair = Pair(source, target)
    assert list(encode_pairs([pair], tokenizer, max_length=11)) == [pair]
    assert list(encode_pairs([pair], tokenizer, max_length=10)) == []


@given(rows=st.integers(1, 9), world_size=st.integers(1, 4))
def test_the_processes_share_every_row_once(tokenizer, rows, world_size):
    batch = make_batch([Example([5, 3], [10 + i]) for i in range(rows)], tokenizer)
    shares = [own_share(batch, rank, world_size, tokenizer.pad_id) for rank in range(world_size)]
    labels = torch.cat([share.label_ids for share in shares])[:, 0]
    assert sorted(labels[labels != tokenizer.pad_id].tolist()) == list(range(10, 10 + rows))
    assert all(len(share.source_ids) >= 1 for share in shares)
