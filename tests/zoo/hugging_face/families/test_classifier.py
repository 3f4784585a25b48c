"""Text classifiers: classes, several at a time, and single numbers."""

import pytest
import torch
import transformers

from tests.zoo.hugging_face.families.checkpoints_in_memory import (
    UNIGRAM,
    WORDPIECE,
    assert_weights,
    bart_config,
    bert_config,
    inspected,
    oracle,
    random_model,
)
from transformer_core.zoo import InspectionOptions

TEXT, SECOND = "The cat drinks milk.", "The dog is big."
NAMES = {0: "negative", 1: "neutral", 2: "positive"}


def bert(names=NAMES, **options):
    config = bert_config(id2label=names, **options)
    return random_model(transformers.BertForSequenceClassification, config)


def test_the_classes_are_those_of_the_pipeline():
    network = bert()
    pipeline = transformers.TextClassificationPipeline(model=network, tokenizer=WORDPIECE, top_k=None)
    (expected,) = pipeline([TEXT])
    inspection = inspected(network, WORDPIECE, "classifier").inspect(TEXT)
    (prediction,) = inspection.predictions
    assert (prediction.place, prediction.row) == ("class", None)
    assert [name for name, _ in prediction.candidates] == [each["label"] for each in expected]
    assert [share for _, share in prediction.candidates] == pytest.approx(
        [each["score"] for each in expected], rel=1e-4
    )
    assert inspection.answer == expected[0]["label"]
    assert_weights(inspection.stacks["self"], oracle(network, input_ids=WORDPIECE(TEXT)["input_ids"]).attentions)


def test_a_pair_is_classified_as_one_input():
    network = bert()
    inspection = inspected(network, WORDPIECE, "classifier").inspect(TEXT, InspectionOptions(second_text=SECOND))
    encoded = WORDPIECE(TEXT, SECOND)
    outputs = oracle(network, input_ids=encoded["input_ids"], token_type_ids=encoded["token_type_ids"])
    shares = outputs.logits[0].softmax(dim=-1)
    assert dict(inspection.predictions[0].candidates) == pytest.approx(
        {NAMES[index]: float(share) for index, share in enumerate(shares)}, rel=1e-4
    )
    assert list(inspection.stacks) == ["self", "A to A", "A to B", "B to A", "B to B"]


def test_several_classes_at_a_time():
    network = bert(problem_type="multi_label_classification")
    with torch.no_grad():
        network.classifier.bias.copy_(torch.tensor([3.0, -3.0, 3.0]))
        network.classifier.weight.mul_(0.05)
    inspection = inspected(network, WORDPIECE, "classifier").inspect(TEXT)
    assert inspection.answer == "negative, positive"
    (prediction,) = inspection.predictions
    assert prediction.place == "each class by itself"
    shares = oracle(network, input_ids=WORDPIECE(TEXT)["input_ids"]).logits[0].sigmoid()
    assert dict(prediction.candidates) == pytest.approx(
        {NAMES[index]: float(share) for index, share in enumerate(shares)}, rel=1e-4
    )
    assert sum(share for _, share in prediction.candidates) > 1.5, "they do not share one whole"
    with torch.no_grad():
        network.classifier.bias.fill_(-3.0)
    assert inspected(network, WORDPIECE, "classifier").inspect(TEXT).answer == "none of the classes"


@pytest.mark.parametrize(("names", "options"), [({0: "score"}, {}), (NAMES, {"problem_type": "regression"})])
def test_numbers_that_are_no_probabilities(names, options):
    network = bert(names, **options)
    inspection = inspected(network, WORDPIECE, "classifier").inspect(TEXT)
    values = oracle(network, input_ids=WORDPIECE(TEXT)["input_ids"]).logits[0].tolist()
    assert inspection.answer == ", ".join(
        f"{name}: {value:.4g}" for name, value in zip(names.values(), values, strict=True)
    )
    assert inspection.predictions == ()


def test_only_the_likeliest_of_many_classes_are_kept():
    network = bert({index: f"topic {index}" for index in range(30)})
    (prediction,) = inspected(network, WORDPIECE, "classifier").inspect(TEXT).predictions
    assert len(prediction.candidates) == 10
    assert list(prediction.candidates) == sorted(prediction.candidates, key=lambda candidate: -candidate[1])


def test_a_classifier_with_a_decoder():
    network = random_model(transformers.BartForSequenceClassification, bart_config(id2label=NAMES))
    model = inspected(network, UNIGRAM, "classifier")
    assert [stack.name for stack in model.stacks] == ["encoder", "decoder", "cross"]
    inspection = model.inspect(TEXT)
    ids = UNIGRAM(TEXT)["input_ids"]
    outputs = oracle(network, input_ids=ids)
    assert_weights(inspection.stacks["decoder"], outputs.decoder_attentions)
    assert_weights(inspection.stacks["cross"], outputs.cross_attentions)
    assert inspection.answer == NAMES[int(outputs.logits[0].argmax())]
    # BART's decoder reads the text after its start token.
    tokens = inspection.stacks["encoder"].key_tokens
    assert inspection.stacks["cross"].query_tokens == ("</s>", *tokens[:-1])
