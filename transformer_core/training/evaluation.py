"""How good a translator is: its loss, and BLEU against all references of a sentence."""

from collections.abc import Sequence

import sacrebleu
import torch
from sacrebleu.metrics.bleu import BLEUScore

from transformer_core.model import Transformer
from transformer_core.text import Tokenizer
from transformer_core.trained import Translator
from transformer_core.training.batches import Example, make_batch, plan_batches
from transformer_core.training.data import Pair, with_all_references
from transformer_core.training.loss import label_smoothed_loss

BEAM_SIZE, LENGTH_PENALTY = 4, 0.6
"""What a translator is judged with, as in section 6.1."""


@torch.inference_mode()
def mean_loss(
    model: Transformer, examples: Sequence[Example], tokenizer: Tokenizer, smoothing: float, batch_tokens: int
) -> float:
    """Mean label-smoothed loss in nats a target token, without dropout."""
    device = model.embedding.tokens.weight.device
    was_training = model.training
    model.eval()
    total, tokens = 0.0, 0
    for indices in plan_batches(examples, batch_tokens, seed=(0,)):
        batch = make_batch([examples[i] for i in indices], tokenizer)
        labels = batch.label_ids.to(device)
        logits = model(batch.source_ids.to(device), batch.target_ids.to(device))
        total += float(label_smoothed_loss(logits, labels, smoothing, tokenizer.pad_id))
        tokens += int((labels != tokenizer.pad_id).sum())
    model.train(was_training)
    return total / tokens


def bleu(
    translator: Translator,
    pairs: Sequence[Pair],
    beam_size: int = BEAM_SIZE,
    length_penalty: float = LENGTH_PENALTY,
    sentences: int | None = None,
) -> BLEUScore:
    """Corpus BLEU (sacreBLEU, 13a tokens, cased) of the different source sentences against all their references.

    Args:
        sentences: translate only the first so many; None translates all.
    """
    references = with_all_references(list(pairs))
    sources = list(references)[:sentences]
    was_training = translator.model.training
    translator.model.eval()
    translations = translator.translate(sources, beam_size, length_penalty)
    translator.model.train(was_training)
    most = max(len(references[source]) for source in sources)
    # sacreBLEU wants the k-th reference of every sentence together, and None where a sentence has fewer.
    streams = [
        [references[source][k] if k < len(references[source]) else None for source in sources] for k in range(most)
    ]
    return sacrebleu.corpus_bleu(translations, streams)
