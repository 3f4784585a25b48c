"""A small translator, trained on a few sentences in a second or two, saved to a folder."""

import time
from pathlib import Path

import sacrebleu
import torch
import torch.nn.functional as F

from transformer_core.model import Transformer, TransformerConfig
from transformer_core.text.generation import pad_batch
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.trained import Translator

SENTENCES = [
    ("The cat sleeps.", "Die Katze schläft."),
    ("The dog sleeps.", "Der Hund schläft."),
    ("The cat drinks milk.", "Die Katze trinkt Milch."),
    ("The dog drinks water.", "Der Hund trinkt Wasser."),
    ("I see the cat.", "Ich sehe die Katze."),
    ("I see the dog.", "Ich sehe den Hund."),
    ("The cat sees the dog because it is big.", "Die Katze sieht den Hund, weil er groß ist."),
    ("We are tired today.", "Wir sind heute müde."),
]


def save(folder: Path) -> None:
    """Fill a folder like those in pretrained/: a translator of two layers a side that learned SENTENCES by heart."""
    tokenizer = Tokenizer.train([sentence for pair in SENTENCES for sentence in pair], vocab_size=400)
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=32,
        num_heads=4,
        num_encoder_layers=2,
        num_decoder_layers=2,
        d_ff=64,
        dropout=0.0,
        max_length=64,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        translator = Translator(Transformer(config), tokenizer, "English", "German")
    sources = pad_batch([translator.source_ids(english) for english, _ in SENTENCES], config.pad_id)
    targets = pad_batch(
        [[tokenizer.bos_id, *tokenizer.encode(german), tokenizer.eos_id] for _, german in SENTENCES], config.pad_id
    )
    rows = _learn(translator.model, sources, targets, steps=150, learning_rate=3e-3)
    translator.model.eval()
    translations = translator.translate([english for english, _ in SENTENCES])
    bleu = sacrebleu.corpus_bleu(translations, [[german for _, german in SENTENCES]]).score
    rows[-1] = f"{rows[-1].rstrip(',')},{rows[-1].split(',')[2]},{bleu}"
    translator.save(folder)
    header = "step,learning_rate,loss,tokens_per_second,seconds,validation_loss,validation_bleu"
    (folder / "training.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    (folder / "MODEL_CARD.md").write_text("# tiny-en-de\n\nA model of the tests.\n", encoding="utf-8")


def _learn(model, sources, targets, steps: int, learning_rate: float) -> list[str]:
    """Train on one batch; the rows of training.csv, without validation figures."""
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    rows, start = [], time.perf_counter()
    tokens = int((sources != 0).sum() + (targets != 0).sum())
    for step in range(1, steps + 1):
        logits = model(sources, targets[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), targets[:, 1:].flatten(), ignore_index=model.config.pad_id)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            seconds = time.perf_counter() - start
            rows.append(f"{step},{learning_rate},{loss.item()},{tokens * step / seconds},{seconds},,")
    return rows
