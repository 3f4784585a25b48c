"""Decoding against hand-made probabilities, and cached decoding against reading the whole prefix again."""

import itertools
import math

import pytest
import torch

from transformer_core.model import Transformer, TransformerConfig
from transformer_core.text.generation import beam_search, greedy_search, in_batches, length_penalty, pad_batch

PAD, BOS, EOS, A, B, C = range(6)


class TableModel(Transformer):
    """A model whose next-token probabilities stand in a table: {prefix: {token: probability}}."""

    after_anything_else = EOS

    def __init__(self, table):
        torch.nn.Module.__init__(self)
        self.config = TransformerConfig(vocab_size=6, pad_id=PAD, max_length=100)
        self.table = table

    def encode(self, source_ids):
        return source_ids

    def source_mask(self, source_ids):
        return None

    def decode(self, target_ids, memory, memory_mask, cache):
        rows = []
        for prefix in target_ids.tolist():
            row = torch.full((6,), 1e-9)
            for token, probability in self.table.get(tuple(prefix[1:]), {self.after_anything_else: 1.0}).items():
                row[token] = probability
            rows.append(row)
        return torch.stack(rows).unsqueeze(1)

    def logits(self, hidden):
        return hidden.log()


class WideTableModel(TableModel):
    """With a vocabulary large enough for a wide beam; the further tokens are all but impossible, and lead nowhere."""

    after_anything_else = A

    def __init__(self, table):
        super().__init__(table)
        self.config = TransformerConfig(vocab_size=100, pad_id=PAD, max_length=100)

    def logits(self, hidden):
        return torch.nn.functional.pad(hidden, (0, 94), value=1e-9).log()


SOURCE = torch.tensor([[A, EOS]])
# The likeliest first token leads into a dead end: greedy scores 0.6 * 0.4, the best target 0.4 * 0.9.
GARDEN_PATH = {(): {A: 0.6, B: 0.4}, (A,): {EOS: 0.4, A: 0.3, C: 0.3}, (B,): {EOS: 0.9, C: 0.1}}


def test_greedy_takes_the_likeliest_token_each_time():
    assert greedy_search(TableModel(GARDEN_PATH), SOURCE, BOS, EOS, use_cache=False) == [[A]]


def test_a_beam_finds_what_greedy_misses():
    assert beam_search(TableModel(GARDEN_PATH), SOURCE, BOS, EOS, beam_size=2, alpha=0.0, use_cache=False) == [[B]]


def test_a_beam_of_one_is_greedy():
    assert beam_search(TableModel(GARDEN_PATH), SOURCE, BOS, EOS, beam_size=1, use_cache=False) == [[A]]


def test_the_length_penalty_favours_longer_targets():
    # "A" has probability 0.55, "B C" 0.45: ln = -0.598 and -0.799, divided by ((5 + 2) / 6)^a and ((5 + 3) / 6)^a.
    table = {(): {A: 0.55, B: 0.45}, (A,): {EOS: 1.0}, (B,): {C: 1.0}, (B, C): {EOS: 1.0}}
    turning_point = math.log(math.log(0.45) / math.log(0.55)) / math.log(8 / 7)
    for alpha, best in ((turning_point - 0.1, [A]), (turning_point + 0.1, [B, C])):
        assert beam_search(TableModel(table), SOURCE, BOS, EOS, beam_size=2, alpha=alpha, use_cache=False) == [best]


def test_length_penalty_is_wu_et_als():
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)
    assert length_penalty(50, 0.0) == 1


def test_a_target_that_never_ends_stops_fifty_tokens_after_its_source():
    endless = TableModel({(A,) * n: {A: 1.0} for n in range(200)})
    assert greedy_search(endless, SOURCE, BOS, EOS, use_cache=False) == [[A] * 52]
    assert beam_search(endless, SOURCE, BOS, EOS, beam_size=2, use_cache=False) == [[A] * 52]


def test_a_finished_target_beats_one_that_never_ends():
    # "B" ends; "A A A ..." is likelier at every length, and the length penalty favours it more and more.
    table = {(A,) * n: {A: 1.0} for n in range(1, 200)} | {(): {A: 0.9, B: 0.1}}
    assert beam_search(TableModel(table), SOURCE, BOS, EOS, beam_size=2, alpha=2.0, use_cache=False) == [[B]]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_as_wide_as_the_tree_finds_what_trying_everything_finds(seed, alpha):
    # Three words, and an end that is certain after three of them: 1 + 3 + 9 + 27 targets.
    generator = torch.Generator().manual_seed(seed)
    table = {}
    targets = [t for length in range(4) for t in itertools.product((A, B, C), repeat=length)]
    for target in targets:
        draw = torch.rand(4, generator=generator).tolist() if len(target) < 3 else [1.0, 0.0, 0.0, 0.0]
        table[target] = {token: p / sum(draw) for token, p in zip((EOS, A, B, C), draw, strict=True)}

    def score(target):
        steps = [table[target[:i]][token] for i, token in enumerate([*target, EOS])]
        return math.log(math.prod(steps)) / ((5 + len(target) + 1) / 6) ** alpha

    found = beam_search(WideTableModel(table), SOURCE, BOS, EOS, beam_size=40, alpha=alpha, use_cache=False)
    assert found == [list(max(targets, key=score))]


def test_padding_and_begin_are_never_generated():
    table = {(): {PAD: 0.5, BOS: 0.4, A: 0.1}}
    assert greedy_search(TableModel(table), SOURCE, BOS, EOS, use_cache=False) == [[A]]
    assert beam_search(TableModel(table), SOURCE, BOS, EOS, beam_size=2, use_cache=False) == [[A]]


def test_the_empty_target_is_possible():
    assert greedy_search(TableModel({(): {EOS: 1.0}}), SOURCE, BOS, EOS, use_cache=False) == [[]]
    assert beam_search(TableModel({(): {EOS: 1.0}}), SOURCE, BOS, EOS, beam_size=2, use_cache=False) == [[]]


def random_model(seed: int, norm: str = "post") -> Transformer:
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size=20, d_model=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=2, d_ff=32, norm=norm,
        max_length=64,
    )  # fmt: skip
    model = Transformer(config).eval()
    with torch.no_grad():
        # Larger weights make an untrained model say different things to different sources.
        for parameter in model.parameters():
            parameter.mul_(2)
    return model


def random_sources(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 9, (5,), generator=generator).tolist()
    return pad_batch([[*torch.randint(4, 20, (n,), generator=generator).tolist(), EOS] for n in lengths], PAD)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_cached_and_uncached_decoding_give_identical_tokens(seed, norm):
    model, sources = random_model(seed, norm), random_sources(seed)
    greedy = greedy_search(model, sources, BOS, EOS)
    assert greedy == greedy_search(model, sources, BOS, EOS, use_cache=False)
    beam = beam_search(model, sources, BOS, EOS, beam_size=4)
    assert beam == beam_search(model, sources, BOS, EOS, beam_size=4, use_cache=False)
    assert beam_search(model, sources, BOS, EOS, beam_size=1) == greedy


@pytest.mark.parametrize("seed", range(4))
def test_greedy_decoding_against_a_plain_loop_over_the_model(seed):
    model, sources = random_model(seed), random_sources(seed)
    found = greedy_search(model, sources, BOS, EOS)
    for source, target in zip(sources, found, strict=True):
        source = source[source != PAD].unsqueeze(0)
        prefix = [BOS]
        for _ in range(len(target) + 1):
            logits = model(source, torch.tensor([prefix]))[0, -1]
            logits[[PAD, BOS]] = -torch.inf
            prefix.append(int(logits.argmax()))
        assert prefix[1 : len(target) + 1] == target
        assert prefix[-1] == EOS or len(target) == sources.size(1) + 50 or len(target) == 64


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_gives_what_each_sentence_gives_alone(seed):
    model, sources = random_model(seed), random_sources(seed)
    together = beam_search(model, sources, BOS, EOS, beam_size=3)
    for source, target in zip(sources, together, strict=True):
        alone = beam_search(model, source[source != PAD].unsqueeze(0), BOS, EOS, beam_size=3)[0]
        # Alone, the limit of a target without an end comes earlier.
        assert alone == target or (len(alone) < len(target) and len(alone) == (source != PAD).sum() + 50)


@pytest.mark.parametrize("beam_size", [0, -1, 11])
def test_an_impossible_beam_is_refused(beam_size):
    with pytest.raises(ValueError, match="beam_size"):
        beam_search(random_model(0), random_sources(0), BOS, EOS, beam_size=beam_size)


def test_batches_come_back_in_the_order_they_went_in():
    sources = [[4] * n for n in (5, 1, 3, 2, 4, 1)]
    seen = []

    def generate(batch):
        seen.append([len(source) for source in batch])
        return [[len(source)] for source in batch]

    assert in_batches(sources, generate, batch_size=4) == [[5], [1], [3], [2], [4], [1]]
    assert seen == [[1, 1, 2, 3], [4, 5]]
    assert in_batches([], generate) == []
