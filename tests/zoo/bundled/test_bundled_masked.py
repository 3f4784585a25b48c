"""Bundled masked language models: guesses for what is masked."""

import pytest
import torch

from tests import tiny_trained
from transformer_core.zoo import InputError, InspectionOptions
from transformer_core.zoo.bundled import InspectableMaskedLanguageModel

TEXT = "The cat sleeps, the dog is tired."


@pytest.fixture(scope="module")
def model():
    return InspectableMaskedLanguageModel("tiny-bert", tiny_trained.masked_language_model(), "0" * 12)


def test_a_text_without_a_mask_has_no_answer(model):
    inspection = model.inspect(TEXT)
    assert (inspection.answer, inspection.predictions, inspection.notes) == ("", (), ())
    (stack,) = inspection.stacks.values()
    assert (stack.name, stack.query_label) == ("self", "text")
    assert stack.query_tokens == stack.key_tokens == ("<s>", *model.tokens(TEXT), "</s>")
    assert stack.query_special == stack.key_special == (0, len(stack.query_tokens) - 1)
    weights = torch.stack([stack.weights(layer) for layer in range(2)])
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert (weights.triu(1).sum((-1, -2)) > 0.1).all(), "it reads in both directions"
    assert inspection.certificate < 2e-6


@torch.no_grad()
def test_masked_tokens_are_guessed_from_left_to_right(model):
    inspection = model.inspect(TEXT, InspectionOptions(masked=(4, 1, 4)))
    tokenizer = model.trained.tokenizer
    ids = model.trained.ids(TEXT)
    ids[2] = ids[5] = tokenizer.mask_id
    probabilities = model.trained.model(torch.tensor([ids]))[0].softmax(-1)
    assert [(prediction.place, prediction.row) for prediction in inspection.predictions] == [
        ("mask 1", 2),
        ("mask 2", 5),
    ]
    filled = list(ids)
    for prediction in inspection.predictions:
        best = probabilities[prediction.row].argsort(descending=True)[:10].tolist()
        assert [label for label, _ in prediction.candidates] == tokenizer.pieces(best)
        values = [probability for _, probability in prediction.candidates]
        assert values == pytest.approx(probabilities[prediction.row][best].tolist(), rel=1e-4)
        filled[prediction.row] = best[0]
    assert inspection.answer == tokenizer.decode(filled)
    stack = inspection.stacks["self"]
    assert stack.query_tokens[2] == stack.query_tokens[5] == "<mask>"
    assert stack.query_special == (0, len(ids) - 1), "a mask stands for a word of the text"


@pytest.mark.parametrize("number", [-1, 99])
def test_a_mask_on_nothing(model, number):
    length = len(model.tokens(TEXT))
    with pytest.raises(InputError, match=rf"There is no token {number + 1} to mask: the text has {length}\."):
        model.inspect(TEXT, InspectionOptions(masked=(number,)))


def test_a_typed_mask_is_text(model):
    inspection = model.inspect("The <mask> sleeps.")
    assert "<mask>" not in inspection.stacks["self"].query_tokens
    assert inspection.notes[0].startswith("The <mask> in the text is read as these letters, and masks nothing.")


def test_text_over_the_limit(model):
    assert model.max_tokens == 30
    word = " cat" if len(model.tokens("a cat cat")) == len(model.tokens("a cat")) + 1 else "."
    text = "a" + word * (30 - len(model.tokens("a")))
    assert len(model.tokens(text)) == 30
    assert len(model.inspect(text, InspectionOptions(masked=(29,))).stacks["self"].key_tokens) == 32
    with pytest.raises(InputError, match=r"31 tokens long; this model reads at most 30\. Shorten it by 1 token,"):
        model.inspect(text + word)


@pytest.mark.parametrize(
    ("text", "message"), [("", "no text yet"), ("\u200b", "only invisible"), ("\udc00", "half of")]
)
def test_texts_that_cannot_be_read(model, text, message):
    with pytest.raises(InputError, match=message):
        model.inspect(text)
