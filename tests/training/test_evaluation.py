import pytest
import sacrebleu
import torch

from transformer_core.trained import Translator
from transformer_core.training.batches import encode_pairs
from transformer_core.training.data import Pair
from transformer_core.training.evaluation import bleu, mean_loss
from transformer_core.training.loss import label_smoothed_loss

PAIRS = [
    Pair("The cat sleeps.", "Eine ganz andere Antwort steht hier."),
    Pair("The cat sleeps.", "Die Katze schläft."),
    Pair("I see the dog.", "Ich sehe den Hund dort."),
]


@pytest.fixture(scope="module")
def translator(tiny_translator_folder) -> Translator:
    return Translator.load(tiny_translator_folder, "cpu")


def test_bleu_counts_every_reference_of_a_sentence(translator):
    # The model says "Die Katze schläft." and "Ich sehe den Hund.".
    expected = sacrebleu.corpus_bleu(
        ["Die Katze schläft.", "Ich sehe den Hund."],
        [["Eine ganz andere Antwort steht hier.", "Ich sehe den Hund dort."], ["Die Katze schläft.", None]],
    )
    assert bleu(translator, PAIRS, beam_size=4).score == pytest.approx(expected.score)
    assert bleu(translator, PAIRS[1:2], beam_size=1).precisions[0] == 100


def test_bleu_of_the_first_sentences_only(translator):
    assert bleu(translator, PAIRS, beam_size=1, sentences=1).sys_len == 4


def test_judging_leaves_the_training_mode_as_it_was(translator):
    translator.model.train()
    examples = list(encode_pairs(PAIRS, translator.tokenizer, 64).values())
    bleu(translator, PAIRS, beam_size=1)
    mean_loss(translator.model, examples, translator.tokenizer, 0.1, 50)
    assert translator.model.training
    translator.model.eval()


def test_the_mean_loss_is_over_tokens_not_batches(translator):
    tokenizer = translator.tokenizer
    examples = list(encode_pairs(PAIRS, tokenizer, 64).values())
    total, tokens = 0.0, 0
    for example in examples:
        target = torch.tensor([[tokenizer.bos_id, *example.target]])
        labels = torch.tensor([[*example.target, tokenizer.eos_id]])
        with torch.no_grad():
            logits = translator.model(torch.tensor([example.source]), target)
        total += label_smoothed_loss(logits, labels, 0.1, pad_id=0).item()
        tokens += labels.numel()
    assert mean_loss(translator.model, examples, tokenizer, 0.1, batch_tokens=20) == pytest.approx(total / tokens)
