"""Bundled language models: what they expect, write and attend to; sequences of symbols that repeat."""

import pytest
import torch

from tests import tiny_trained
from transformer_core.text.sampling import Sampler
from transformer_core.zoo import InputError, InspectionOptions
from transformer_core.zoo.bundled import InspectableLanguageModel

TEXT = "Speak,\n the cat."


@pytest.fixture(scope="module")
def model():
    return InspectableLanguageModel("tiny-gpt", tiny_trained.language_model(), "0" * 12)


@pytest.fixture(scope="module")
def symbols():
    return InspectableLanguageModel("tiny-induction", tiny_trained.symbol_model(), "0" * 12)


@torch.no_grad()
def expected_candidates(model, ids):
    """The ten likeliest next tokens after `ids`, from a softmax of the logits."""
    probabilities = model.trained.model(torch.tensor([ids]))[0, -1].softmax(-1)
    best = probabilities.argsort(descending=True)[:10].tolist()
    pieces = [piece.replace("\n", "⏎") for piece in model.trained.tokenizer.pieces(best)]
    return pieces, probabilities[best].tolist()


def assert_prediction(model, prediction, place, row, ids):
    assert (prediction.place, prediction.row) == (place, row)
    pieces, probabilities = expected_candidates(model, ids)
    assert [label for label, _ in prediction.candidates] == pieces
    assert [probability for _, probability in prediction.candidates] == pytest.approx(probabilities, rel=1e-4)


def test_a_text_without_a_continuation(model):
    inspection = model.inspect(TEXT)
    ids = model.trained.ids(TEXT)
    assert (inspection.text, inspection.answer, inspection.notes) == (TEXT, "", ())
    (stack,) = inspection.stacks.values()
    assert (stack.name, stack.query_label, stack.key_label) == ("self", "text", "text")
    assert stack.query_tokens == stack.key_tokens == ("<s>", *model.tokens(TEXT))
    assert "".join(model.tokens(TEXT)).replace("▁", " ").replace("⏎", "\n") == TEXT
    assert (stack.query_special, stack.key_special) == ((0,), (0,))
    assert stack.query_words == stack.key_words
    assert stack.query_words[0] != stack.query_words[1]
    (prediction,) = inspection.predictions
    assert_prediction(model, prediction, "next token", len(ids) - 1, ids)
    for layer in range(2):
        weights = stack.weights(layer)
        torch.testing.assert_close(weights.sum(-1), torch.ones(4, len(ids)))
        assert (weights.triu(1) == 0).all()
    assert inspection.certificate < 2e-6


@torch.no_grad()
def test_attention_is_that_of_the_formula(model):
    """The first layer's weights, from the model's matrices by hand in double precision."""
    stack = model.inspect(TEXT).stacks["self"]
    network = tiny_trained.language_model().model.double()
    layer = network.decoder.layers[0]
    x = layer.add_and_norm_1.norm(network.embedding(torch.tensor([model.trained.ids(TEXT)])))[0]
    queries, keys = layer.self_attention.w_q(x), layer.self_attention.w_k(x)
    for head in range(4):
        rows = slice(head * 8, head * 8 + 8)
        scores = queries[:, rows] @ keys[:, rows].T / 8**0.5
        scores += torch.full_like(scores, -torch.inf).triu(1)
        torch.testing.assert_close(stack.weights(0, head).double(), scores.softmax(-1), atol=1e-6, rtol=1e-4)


@torch.no_grad()
def test_a_continuation_is_the_likeliest_and_read_in_the_same_pass(model):
    inspection = model.inspect(TEXT, InspectionOptions(new_tokens=4))
    ids, tokenizer = model.trained.ids(TEXT), model.trained.tokenizer
    written = []
    for number in range(5):
        logits = model.trained.model(torch.tensor([[*ids, *written]]))[0, -1]
        name = "next token" if number == 0 else f"next token {number + 1}"
        assert_prediction(model, inspection.predictions[number], name, len(ids) - 1 + number, [*ids, *written])
        logits[[tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id]] = -torch.inf
        written.append(int(logits.argmax()))
    assert len(inspection.predictions) == 5
    chosen = {"new_tokens": 4, "temperature": 0.0, "top_k": 0, "top_p": 1.0, "seed": 0}
    assert inspection.options == chosen, "a model without a beam has none to choose"
    assert inspection.answer == tokenizer.decode(written[:4])
    assert len(inspection.stacks["self"].key_tokens) == len(ids) + 4
    assert inspection.notes == ()


def test_what_is_drawn_depends_on_the_options(model):
    def answer(**options):
        return model.inspect(TEXT, InspectionOptions(new_tokens=12, **options)).answer

    drawn = {seed: answer(temperature=1.3, seed=seed) for seed in range(3)}
    assert drawn[1] == answer(temperature=1.3, seed=1)
    assert len(set(drawn.values())) == 3
    assert answer(temperature=5.0, top_k=1, seed=2) == answer() == answer(temperature=1.0, top_p=1e-6)
    ids = model.trained.ids(TEXT)
    written = model.trained.go_on(ids, 12, Sampler(0.8, 5, 0.9, 7))
    assert answer(temperature=0.8, top_k=5, top_p=0.9, seed=7) == model.trained.tokenizer.decode(written)


def test_what_does_not_fit_is_told(model):
    ids = model.trained.ids(TEXT)
    inspection = model.inspect(TEXT, InspectionOptions(new_tokens=200))
    room = 48 - len(ids)
    assert len(inspection.stacks["self"].key_tokens) == 48
    assert inspection.notes == (
        f"Only {room} of the 200 tokens asked for could be written: this model has 48 positions, and the text takes "
        "the others.",
    )


def test_text_over_the_limit(model):
    assert model.max_tokens == 47
    text = "\n" * 46 + "a"
    assert len(model.inspect(text, InspectionOptions(new_tokens=3)).stacks["self"].key_tokens) == 48
    with pytest.raises(InputError, match=r"48 tokens long; this model reads at most 47\. Shorten it by 1 token,"):
        model.inspect("\n" + text)


@pytest.mark.parametrize(
    ("text", "message"), [("", "There is no text yet"), (" \n", "There is no text yet"), ("a\ud800", "half of a char")]
)
def test_texts_that_cannot_be_read(model, symbols, text, message):
    for each in (model, symbols):
        with pytest.raises(InputError, match=message):
            each.inspect(text)


@pytest.mark.parametrize("text", ["🙂", "\0", "<script>alert(1)</script>", "<s></s>", "\u200b", "مرحبا", "a\tb\r\n"])
def test_odd_texts_are_read_as_they_are(model, text):
    inspection = model.inspect(text, InspectionOptions(new_tokens=2))
    tokens = inspection.stacks["self"].query_tokens
    assert tokens[0] == "<s>"
    assert not {"<s>", "</s>", "<pad>", ""} & set(tokens[1:])
    assert model.trained.tokenizer.decode(model.trained.ids(text)) == text


def test_bytes_are_told(model):
    assert model.inspect("🙂").notes == (
        "4 of the 5 tokens are single bytes, written like <0xF0>: they spell characters that this model's vocabulary "
        "lacks.",
    )


def test_symbols_are_tokens_and_no_words(symbols):
    inspection = symbols.inspect("a B 7 a c", InspectionOptions(new_tokens=3))
    stack = inspection.stacks["self"]
    assert stack.query_tokens[:6] == ("<s>", "a", "B", "7", "a", "c")
    assert symbols.tokens("aB 7") == ("a", "B", "7")
    assert stack.query_special == (0,)
    assert stack.query_words is None
    assert inspection.answer == " ".join(stack.query_tokens[6:])
    assert not {"<s>", "<pad>"} & set(stack.query_tokens[1:])


def test_unknown_symbols_are_named(symbols):
    with pytest.raises(InputError) as caught:
        symbols.inspect("a Z b ? Z")
    assert str(caught.value) == "This model knows only the symbols abcABC789, and not: Z ?. Leave these out."


@torch.no_grad()
def test_the_induced_token_is_what_followed_the_last_one_before(symbols):
    next_token, induced = symbols.inspect("a B 7 c a").predictions
    ids = symbols.trained.ids("a B 7 c a")
    probabilities = symbols.trained.model(torch.tensor([ids]))[0, -1].softmax(-1)
    assert next_token.place == "next token"
    ((label, probability),) = induced.candidates
    assert (induced.place, induced.row, label) == ("induced token", 5, "B")
    assert probability == pytest.approx(probabilities[symbols.trained.tokenizer.encode("B")[0]].item(), rel=1e-5)


def test_several_tokens_may_have_followed(symbols):
    *_, induced = symbols.inspect("a B a 7 a B a", InspectionOptions(new_tokens=2)).predictions
    assert {label for label, _ in induced.candidates} == {"B", "7"}
    assert induced.candidates[0][1] >= induced.candidates[1][1]
    assert induced.row == 7
    # The symbol itself follows where it stands twice in a row.
    *_, induced = symbols.inspect("b a a").predictions
    assert [label for label, _ in induced.candidates] == ["a"]


def test_without_a_repetition_there_is_no_induced_token(symbols, model):
    assert [prediction.place for prediction in symbols.inspect("a B 7 c").predictions] == ["next token"]
    assert [prediction.place for prediction in model.inspect("a a a").predictions] == ["next token"]


def test_special_tokens_are_never_written(monkeypatch):
    for trained in (tiny_trained.language_model(), tiny_trained.symbol_model()):
        special, logits = list(trained.tokenizer.special_ids), trained.model.logits

        def likeliest_special(hidden, special=special, logits=logits):
            likely = logits(hidden)
            likely[..., special] += 1000
            return likely

        monkeypatch.setattr(trained.model, "logits", likeliest_special)
        for temperature in (0.0, 2.0):
            written = trained.go_on(trained.ids("a"), 10, Sampler(temperature))
            assert len(written) == 10
            assert not set(special) & set(written)
