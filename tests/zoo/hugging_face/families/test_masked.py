"""Masked language models: guesses for masked words."""

import pytest
import transformers

from tests.zoo.hugging_face.families.checkpoints_in_memory import (
    WORDPIECE,
    assert_candidates,
    assert_weights,
    bert_config,
    inspected,
    oracle,
    random_model,
)
from transformer_core.zoo import InputError, InspectionOptions

TEXT = "The cat drinks milk."
IDS = WORDPIECE(TEXT)["input_ids"]
MASK = WORDPIECE.mask_token_id


@pytest.fixture(scope="module")
def bert():
    return random_model(transformers.BertForMaskedLM, bert_config())


@pytest.fixture(scope="module")
def model(bert):
    return inspected(bert, WORDPIECE, "masked")


def masked_ids(*places: int) -> list[int]:
    return [MASK if place in places else token for place, token in enumerate(IDS)]


def test_abilities(model, bert):
    assert model.abilities == {"mask", "second text", "special tokens"}
    unmasked = transformers.BertTokenizer(vocab=WORDPIECE.get_vocab(), mask_token=None)
    assert inspected(bert, unmasked, "masked").abilities == {"second text", "special tokens"}


def test_a_mask_is_guessed(model, bert):
    """Place 2 of the text is place 3 of what the model reads, [CLS] being the first."""
    assert model.tokens(TEXT)[2] == "drinks"
    inspection = model.inspect(TEXT, InspectionOptions(masked=(2,)))
    outputs = oracle(bert, input_ids=masked_ids(3))
    assert inspection.stacks["self"].query_tokens == ("[CLS]", "the", "cat", "[MASK]", "milk", ".", "[SEP]")
    assert inspection.stacks["self"].query_special == (0, 6), "a mask stands for a word of the text"
    assert_weights(inspection.stacks["self"], outputs.attentions)
    (prediction,) = inspection.predictions
    assert (prediction.place, prediction.row) == ("mask 1", 3)
    assert_candidates(WORDPIECE, prediction, outputs.logits[0, 3])
    guess = int(outputs.logits[0, 3].argmax())
    assert inspection.answer == WORDPIECE.decode([*IDS[1:3], guess, *IDS[4:-1]])


def test_the_guesses_are_those_of_the_pipeline(bert):
    pipeline = transformers.FillMaskPipeline(model=bert, tokenizer=WORDPIECE, top_k=10)
    expected = pipeline("the cat [MASK] milk.")
    options = InspectionOptions(read_special_tokens=True)
    (prediction,) = inspected(bert, WORDPIECE, "masked").inspect("the cat [MASK] milk.", options).predictions
    assert [name for name, _ in prediction.candidates] == [guess["token_str"] for guess in expected]
    assert [share for _, share in prediction.candidates] == pytest.approx(
        [guess["score"] for guess in expected], rel=1e-4
    )


def test_a_mask_within_a_word_and_a_typed_one(model):
    assert model.tokens("the catdog") == ("the", "cat", "##d", "##o", "##g")
    within = model.inspect("the catdog", InspectionOptions(masked=(2,))).stacks["self"]
    assert within.query_tokens[3] == "[MASK]"
    assert (within.query_special, within.query_words) == ((0, 6), (0, 1, 2, 2, 2, 2, 3))
    typed = model.inspect("the [MASK].", InspectionOptions(read_special_tokens=True)).stacks["self"]
    assert typed.query_tokens == ("[CLS]", "the", "[MASK]", ".", "[SEP]")
    assert (typed.query_special, typed.query_words) == ((0, 4), (0, 1, 2, 3, 4))


def test_several_masks_are_numbered_from_left_to_right(model, bert):
    inspection = model.inspect(TEXT, InspectionOptions(masked=(3, 0, 3)))
    assert [(prediction.place, prediction.row) for prediction in inspection.predictions] == [
        ("mask 1", 1),
        ("mask 2", 4),
    ]
    outputs = oracle(bert, input_ids=masked_ids(1, 4))
    for prediction in inspection.predictions:
        assert_candidates(WORDPIECE, prediction, outputs.logits[0, prediction.row])


def test_without_a_mask_nothing_is_guessed(model):
    inspection = model.inspect(TEXT)
    assert (inspection.predictions, inspection.answer, inspection.notes) == ((), "", ())
    assert model.inspect("The [MASK] sleeps.").predictions == (), "typed, it is text"


def test_masks_in_either_text_of_a_pair(model, bert):
    second = "The dog [MASK]."
    inspection = model.inspect(TEXT, InspectionOptions(masked=(1,), second_text=second, read_special_tokens=True))
    encoded = WORDPIECE(TEXT, second)
    ids = encoded["input_ids"]
    ids[2] = MASK
    outputs = oracle(bert, input_ids=ids, token_type_ids=encoded["token_type_ids"])
    assert_weights(inspection.stacks["self"], outputs.attentions)
    rows = [place for place, token in enumerate(ids) if token == MASK]
    assert [prediction.row for prediction in inspection.predictions] == rows
    assert len(rows) == 2
    guesses = outputs.logits[0].argmax(dim=-1).tolist()
    filled = [guesses[place] if place in rows else token for place, token in enumerate(ids)]
    end = ids.index(WORDPIECE.sep_token_id)
    assert inspection.answer == f"{WORDPIECE.decode(filled[1:end])}\n{WORDPIECE.decode(filled[end + 1 : -1])}"


@pytest.mark.parametrize("place", [5, -1, 10**9])
def test_a_place_that_the_text_does_not_have(model, place):
    with pytest.raises(InputError, match=r"There is no token .* to mask: the text has 5\."):
        model.inspect(TEXT, InspectionOptions(masked=(place,)))


def test_places_are_counted_as_the_text_is_read(model):
    text = "The [MASK] drinks milk."
    assert model.tokens(text, read_special_tokens=True) == ("the", "[MASK]", "drinks", "milk", ".")
    assert len(model.tokens(text)) > 5
    inspection = model.inspect(text, InspectionOptions(masked=(3,), read_special_tokens=True))
    assert inspection.stacks["self"].query_tokens == ("[CLS]", "the", "[MASK]", "drinks", "[MASK]", ".", "[SEP]")


@pytest.mark.parametrize(
    ("text", "options", "hinted"),
    [
        ("The [MASK] drinks milk.", {}, True),
        ("The cat drinks milk.", {"second_text": "The [MASK] sleeps."}, True),
        ("The [MASK] drinks milk.", {"read_special_tokens": True}, False),
        ("The cat drinks milk.", {}, False),
    ],
)
def test_a_typed_mask_that_masks_nothing_is_pointed_out(model, text, options, hinted):
    notes = model.inspect(text, InspectionOptions(**options)).notes
    assert any("masks nothing" in note for note in notes) == hinted
