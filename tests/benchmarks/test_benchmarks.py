"""The benchmarks run and report; what they measure is no matter for tests."""

import json
import math

import pytest
import torch
from torch import nn

from benchmarks import recording, training, translation
from benchmarks.__main__ import main
from benchmarks.report import Report, Row, paired_ratio
from benchmarks.sentences import SENTENCES
from benchmarks.torch_transformer import TorchTransformer
from transformer_core.model import Transformer, TransformerConfig
from transformer_core.text import Tokenizer

CONFIG = TransformerConfig(
    vocab_size=50, d_model=16, num_heads=4, num_encoder_layers=2, num_decoder_layers=3, d_ff=24, dropout=0.0
)
SOURCE_IDS = torch.tensor([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0]])
TARGET_IDS = torch.tensor([[2, 11, 12, 13], [2, 14, 15, 0]])


def copy_weights(ours: Transformer, theirs: TorchTransformer) -> None:
    """Give torch.nn.Transformer the weights of ours, and biases of zero where ours has none."""
    theirs.embedding.load_state_dict(ours.embedding.state_dict())
    pairs = [
        *zip(ours.encoder.layers, theirs.transformer.encoder.layers, strict=True),
        *zip(ours.decoder.layers, theirs.transformer.decoder.layers, strict=True),
    ]
    with torch.no_grad():
        for our_layer, their_layer in pairs:
            attentions = [(our_layer.self_attention, their_layer.self_attn)]
            norms = [(our_layer.add_and_norm_1.norm, their_layer.norm1)]
            norms += [(our_layer.add_and_norm_2.norm, their_layer.norm2)]
            if hasattr(our_layer, "cross_attention"):
                attentions += [(our_layer.cross_attention, their_layer.multihead_attn)]
                norms += [(our_layer.add_and_norm_3.norm, their_layer.norm3)]
            for our_attention, their_attention in attentions:
                projections = [our_attention.w_q.weight, our_attention.w_k.weight, our_attention.w_v.weight]
                their_attention.in_proj_weight.copy_(torch.cat(projections))
                their_attention.out_proj.weight.copy_(our_attention.w_o.weight)
                their_attention.in_proj_bias.zero_()
                their_attention.out_proj.bias.zero_()
            for our_norm, their_norm in norms:
                their_norm.load_state_dict(our_norm.state_dict())
            their_layer.linear1.load_state_dict(our_layer.feed_forward.w_1.state_dict())
            their_layer.linear2.load_state_dict(our_layer.feed_forward.w_2.state_dict())


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_same_model_of_torch_computes_what_ours_does(norm):
    config = TransformerConfig(**CONFIG.to_dict() | {"norm": norm})
    ours, theirs = Transformer(config), TorchTransformer(config, as_it_comes=False)
    copy_weights(ours, theirs)
    expected, logits = ours(SOURCE_IDS, TARGET_IDS), theirs(SOURCE_IDS, TARGET_IDS)
    real = TARGET_IDS.ne(config.pad_id)
    torch.testing.assert_close(logits[real], expected[real], atol=1e-5, rtol=1e-5)


def test_the_same_model_of_torch_has_our_dropout_and_no_more():
    def dropouts(model: nn.Module) -> list[float]:
        found = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
        return found + [m.dropout for m in model.modules() if isinstance(m, nn.MultiheadAttention) and m.dropout > 0]

    config = TransformerConfig(**CONFIG.to_dict() | {"dropout": 0.3})
    assert dropouts(TorchTransformer(config, as_it_comes=False)) == dropouts(Transformer(config))
    # An encoder layer brings two more (in attention and feed-forward), a decoder layer three; nothing is hidden.
    assert (
        len(dropouts(TorchTransformer(config, as_it_comes=True))) == len(dropouts(Transformer(config))) + 2 * 2 + 3 * 3
    )


def test_random_examples_have_the_documented_lengths():
    examples = training.random_examples(vocab_size=50, copies=2)
    lengths = [f"{len(example.source)}-{len(example.target)}" for example in examples]
    assert lengths == training.LENGTHS.split() * 2
    assert len(training.LENGTHS.split()) == 100
    assert {token for example in examples for token in example.source + example.target} <= set(range(4, 50))


def test_training_lets_contenders_take_turns(tiny_translator_folder):
    tokenizer = Tokenizer.load(tiny_translator_folder / "tokenizer.model")
    config = TransformerConfig(**CONFIG.to_dict() | {"vocab_size": tokenizer.vocab_size})
    examples = training.random_examples(tokenizer.vocab_size, copies=1)
    contenders = [training.CONTENDERS[0], training.CONTENDERS[-1]]
    report = training.compare(contenders, config, examples, tokenizer, torch.device("cpu"), repeats=2)
    check(report, rows=2, repeats=2)
    assert report.rows[0].ratio is None
    assert report.rows[1].ratio == paired_ratio(report.rows[0].values, report.rows[1].values)


def test_translation_finds_the_same_translations_with_and_without_cache(tiny_translator_folder):
    report = translation.benchmark(tiny_translator_folder, "cpu", repeats=1, sentences=["The cat sleeps.", "Hi!"])
    check(report, rows=4, repeats=1)
    assert report.conditions["translations equal with and without the cache"] == "4 of 4"


def test_recording_is_compared_with_a_plain_pass_and_with_the_maps(monkeypatch):
    from transformers import BertConfig

    record, traces = recording._recorded, []
    monkeypatch.setattr(recording, "_recorded", lambda model, ids: traces.append(record(model, ids)) or traces[-1])
    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
    report = recording.compare(config, lengths=[8, 300], device=torch.device("cpu"), repeats=2)
    check(report, rows=6, repeats=2)
    # The model of the plain pass is on the kernel, and asking another one for its maps has not changed that.
    assert {call.route for trace in traces for call in trace} == {"fused"}
    plain, recorded, maps = report.rows[3:]
    assert plain.ratio is None
    assert maps.ratio == paired_ratio(maps.values, plain.values)
    # Two layers of four heads: a float for every pair of tokens, or queries, keys and values and little more.
    assert maps.more["kept MB"] == 2 * 4 * 300 * 300 * 4 / 1e6
    inputs = 2 * 3 * 300 * 32 * 4 / 1e6
    assert inputs <= recorded.more["kept MB"] < 1.1 * inputs
    # While the second layer runs, what the first one left is there.
    assert plain.more["peak MB"] + inputs / 2 <= recorded.more["peak MB"] < maps.more["peak MB"]
    assert maps.more["kept MB"] <= maps.more["peak MB"]
    assert recorded.more.keys() == {"peak MB", "kept MB", "head ms", "tile ms"}


def test_peak_memory_counts_what_exists_at_the_same_time():
    def one_after_the_other():
        first = torch.ones(1_000_000)
        del first
        second = torch.ones(500_000)
        return second + 1

    assert recording._peak_memory(one_after_the_other, torch.device("cpu")) == pytest.approx(4e6, rel=1e-3)


def test_the_hundred_sentences_are_a_hundred():
    assert len(set(SENTENCES)) == 100


def check(report: Report, rows: int, repeats: int) -> None:
    """The report is complete, as text and as JSON."""
    assert [len(row.values) for row in report.rows] == [repeats] * rows
    assert all(math.isfinite(value) and value > 0 for row in report.rows for value in row.values)
    text = report.as_text()
    assert all(row.name in text for row in report.rows)
    assert [row["name"] for row in json.loads(report.as_json())["rows"]] == [row.name for row in report.rows]


def test_reports_show_medians_ranges_and_ratios():
    rows = [Row("first", [3.0, 1.0, 2.0]), Row("second", [6.0, 1.5, 5.0], ratio=2.0)]
    report = Report("Title", "s", rows, {"hardware": "abacus"}, ratio="how many times as long")
    lines = report.as_text().splitlines()
    assert lines[3].split() == ["first", "2.00", "1.00", "-", "3.00"]
    assert lines[4].split() == ["second", "5.00", "1.50", "-", "6.00", "2.00"]
    assert "hardware: abacus" in lines
    assert [row["median"] for row in json.loads(report.as_json())["rows"]] == [2.0, 5.0]


def test_reports_have_further_columns():
    rows = [Row("first", [1.0], more={"MB": 1234.4}), Row("second", [1.0], more={"MB": 0.5, "ms": 12.345})]
    lines = Report("Title", "s", rows, {}).as_text().splitlines()
    assert lines[2].split() == ["median", "s", "range", "MB", "ms"]
    assert lines[3].split() == ["first", "1.00", "1.00", "-", "1.00", "1,234"]
    assert lines[4].split() == ["second", "1.00", "1.00", "-", "1.00", "0.500", "12.3"]


def test_ratios_are_taken_pair_by_pair():
    # A machine that slows down meanwhile slows both: the ratio stays.
    assert paired_ratio([2.0, 20.0, 200.0], [1.0, 10.0, 100.0]) == 2.0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["training", "--repeats", "0"], "--repeats 0 must be at least 1"),
        (["recording", "--lengths", "64", "1"], "at least 2 tokens, not 1"),
        (["translation", "--model", "nowhere"], "nowhere holds no trained model"),
    ],
)
def test_what_cannot_be_measured_is_said(arguments, problem, capsys):
    assert main(arguments) == 2
    assert problem in capsys.readouterr().err
