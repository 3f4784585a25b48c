"""Encoders: one text or a pair, whole and in parts."""

import pytest
import torch
import transformers

from tests.zoo.hugging_face.families.checkpoints_in_memory import (
    BYTE_LEVEL,
    SIZES,
    UNIGRAM,
    WORDPIECE,
    assert_weights,
    bart_config,
    bert_config,
    inspected,
    oracle,
    random_model,
    t5_config,
)
from transformer_core.zoo import InputError, InspectionOptions

A, B = "The cat sleeps.", "The dog is tired."
PAIR = InspectionOptions(second_text=B)


@pytest.fixture(scope="module")
def bert():
    return random_model(transformers.BertModel, bert_config())


@pytest.fixture(scope="module")
def model(bert):
    return inspected(bert, WORDPIECE, "encoder")


def test_what_the_model_says_of_itself(model, bert):
    assert [(stack.name, stack.heads) for stack in model.stacks] == [("self", (4, 4))]
    assert (model.name, model.family, model.architecture, model.weights_hash) == (
        "tiny",
        "encoder",
        "BertModel",
        "0123456789ab",
    )
    assert (str(model.device), model.dtype, model.num_parameters) == ("cpu", torch.float32, bert.num_parameters())
    assert model.abilities == {"second text", "special tokens"}
    assert model.max_tokens == 62
    assert model.tokens(A) == ("the", "cat", "sleeps", ".")


def test_one_text(model, bert):
    inspection = model.inspect(A)
    ids = WORDPIECE(A)["input_ids"]
    assert_weights(inspection.stacks["self"], oracle(bert, input_ids=ids).attentions)
    assert list(inspection.stacks) == ["self"]
    assert inspection.stacks["self"].query_tokens == ("[CLS]", "the", "cat", "sleeps", ".", "[SEP]")
    assert (inspection.text, inspection.answer, inspection.predictions, inspection.second_text) == (A, "", (), "")
    assert inspection.notes == ()
    assert inspection.seconds > 0
    provenance = inspection.provenance
    assert (provenance.model, provenance.weights_hash) == ("tiny", "0123456789ab")
    assert (provenance.device, provenance.dtype, provenance.torch_version) == ("cpu", "float32", torch.__version__)


def test_a_pair_has_token_types_and_parts(model, bert):
    inspection = model.inspect(A, PAIR)
    assert inspection.second_text == B
    encoded = WORDPIECE(A, B)
    assert 1 in encoded["token_type_ids"]
    expected = oracle(bert, **{name: encoded[name] for name in ("input_ids", "token_type_ids")}).attentions
    whole = inspection.stacks["self"]
    assert_weights(whole, expected)
    tokens = ("[CLS]", "the", "cat", "sleeps", ".", "[SEP]", "the", "dog", "is", "tired", ".", "[SEP]")
    assert whole.query_tokens == whole.key_tokens == tokens
    assert whole.query_special == whole.key_special == (0, 5, 11)
    assert whole.query_words == whole.key_words == tuple(range(12))
    assert list(inspection.stacks) == ["self", "A to A", "A to B", "B to A", "B to B"]
    halves = {"A": slice(0, 6), "B": slice(6, 12)}
    for name, rows in halves.items():
        for other, columns in halves.items():
            part = inspection.stacks[f"{name} to {other}"]
            assert part.is_part
            assert (part.query_tokens, part.key_tokens) == (tokens[rows], tokens[columns])
            assert (part.query_label, part.key_label) == (f"sentence {name}", f"sentence {other}")
            assert_weights(part, tuple(layer[:, :, rows, columns] for layer in expected))


def test_the_parts_know_their_special_tokens_and_words(model):
    stacks = model.inspect("The catdog", InspectionOptions(second_text="it's tired")).stacks
    tokens = ("[CLS]", "the", "cat", "##d", "##o", "##g", "[SEP]", "it", "'", "s", "tired", "[SEP]")
    words = (0, 1, 2, 2, 2, 2, 3, 4, 4, 4, 5, 6)
    assert (stacks["self"].query_tokens, stacks["self"].key_words) == (tokens, words)
    part = stacks["B to A"]
    assert (part.query_tokens, part.key_tokens) == (tokens[7:], tokens[:7])
    assert (part.query_special, part.key_special) == ((4,), (0, 6))
    assert (part.query_words, part.key_words) == ((0, 0, 0, 1, 2), words[:7])


def test_the_parts_share_all_of_a_row(model):
    stacks = model.inspect(A, PAIR).stacks
    for name in "AB":
        total = stacks[f"{name} to A"].weights(1).sum(-1) + stacks[f"{name} to B"].weights(1).sum(-1)
        torch.testing.assert_close(total, torch.ones_like(total))


def test_two_separators_between_the_texts_are_shared_out():
    """RoBERTa writes <s> A </s></s> B </s>: each text has its own."""
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4}
    vocabulary |= {token: number for number, token in enumerate(sorted(BYTE_LEVEL.get_vocab()), start=5)}
    tokenizer = transformers.RobertaTokenizer(vocab=vocabulary, merges=BYTE_LEVEL._merges)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), pad_token_id=1, **SIZES | {"max_position_embeddings": 66}
    )
    model = inspected(random_model(transformers.RobertaModel, config), tokenizer, "encoder")
    assert model.max_tokens == 62, "positions count from the padding token's number on"
    stacks = model.inspect("The cat", InspectionOptions(second_text="The dog")).stacks
    assert stacks["A to B"].query_tokens == ("<s>", "The", "▁cat", "</s>")
    assert stacks["A to B"].key_tokens == ("</s>", "The", "▁dog", "</s>")
    text = " cat" * 62
    assert len(model.inspect(text).stacks["self"].query_tokens) == 64
    with pytest.raises(InputError, match="63 tokens long; this model reads at most 62"):
        model.inspect(text + " cat")


def test_a_tokenizer_that_joins_no_texts():
    network = random_model(
        transformers.GPT2Model, transformers.GPT2Config(vocab_size=len(BYTE_LEVEL), n_embd=32, n_layer=1, n_head=4)
    )
    model = inspected(network, BYTE_LEVEL, "encoder")
    assert model.abilities == {"special tokens"}
    inspection = model.inspect(A, PAIR)
    assert list(inspection.stacks) == ["self"], "the second text is ignored, as of all abilities that a model lacks"
    assert inspection.second_text == ""


def test_an_encoder_decoder_reads_the_text_twice():
    network = random_model(transformers.BartModel, bart_config())
    model = inspected(network, UNIGRAM, "encoder")
    inspection = model.inspect(A, PAIR)
    ids = UNIGRAM(A, B)["input_ids"]
    outputs = oracle(network, input_ids=ids)
    assert_weights(inspection.stacks["encoder"], outputs.encoder_attentions)
    assert_weights(inspection.stacks["decoder"], outputs.decoder_attentions)
    assert_weights(inspection.stacks["cross"], outputs.cross_attentions)
    tokens = inspection.stacks["encoder"].query_tokens
    assert inspection.stacks["decoder"].query_tokens == (UNIGRAM.convert_ids_to_tokens(1), *tokens[:-1])
    assert inspection.stacks["A to B"].calls == inspection.stacks["encoder"].calls


def test_the_encoder_of_t5_alone():
    network = random_model(transformers.T5EncoderModel, t5_config())
    model = inspected(network, UNIGRAM, "encoder")
    inspection = model.inspect(A)
    assert_weights(inspection.stacks["self"], oracle(network, input_ids=UNIGRAM(A)["input_ids"]).attentions)
    assert model.max_tokens is None
    assert len(model.inspect("cat " * 300).stacks["self"].query_tokens) > 300


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", InspectionOptions(), "There is no text yet"),
        (" \n", InspectionOptions(), "There is no text yet"),
        ("\u200b", InspectionOptions(), "The text holds only invisible characters"),
        ("ab\ud83dc", InspectionOptions(), r"Character 3 of the text is only half .* U\+D83D"),
        (A, InspectionOptions(second_text="\u200b"), "The second text holds only invisible characters"),
        (A, InspectionOptions(second_text="a\ud83d"), "Character 2 of the second text is only half"),
        (
            "cat " * 70,
            InspectionOptions(),
            r"This text is 70 tokens long; this model reads at most 62\. Shorten it by 8 ",
        ),
        (
            "cat " * 40,
            InspectionOptions(second_text="dog " * 25),
            r"The two texts together are 65 tokens long; this model reads at most 61\. Shorten it by 4 tokens",
        ),
    ],
)
def test_texts_that_cannot_be_read(model, text, options, message):
    with pytest.raises(InputError, match=message):
        model.inspect(text, options)


def test_a_blank_second_text_is_none(model):
    assert list(model.inspect(A, InspectionOptions(second_text="  ")).stacks) == ["self"]


def test_unknown_tokens_are_counted(model):
    notes = model.inspect("The ☃ cat ☃").notes
    assert notes == ("2 of the 6 tokens are unknown to this model ([UNK]).",)


def test_typed_special_tokens(model):
    assert model.inspect("cat [SEP]").stacks["self"].query_tokens[-2] != "[SEP]"
    options = InspectionOptions(read_special_tokens=True)
    assert model.inspect("cat [SEP]", options).stacks["self"].query_tokens == ("[CLS]", "cat", "[SEP]", "[SEP]")
