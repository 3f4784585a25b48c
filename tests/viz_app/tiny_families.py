"""One small model of each bundled family with random weights, under the names of those that come with Headlight."""

from pathlib import Path

import torch

from transformer_core.model import (
    LanguageModel,
    MaskedLanguageModel,
    TransformerConfig,
    VisionConfig,
    VisionTransformer,
)
from transformer_core.text.symbols import SymbolTokenizer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.trained import TrainedImageClassifier, TrainedLanguageModel, TrainedMaskedLanguageModel
from transformer_core.trained.folder import save_snapshot

PLAY = [
    "ROMEO:\nBut, soft! what light through yonder window breaks?\n\n",
    "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\n\n",
]

ENGLISH = [
    "The children are playing in the garden.",
    "I drink coffee in the morning and tea in the evening.",
    "Mary said that she was very tired.",
]

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

STEPS = (1, 200, 3000)
"""Of the snapshots of "induction", the last of which is the model itself."""

SIZES = {"d_model": 32, "num_heads": 4, "d_ff": 48, "dropout": 0.0}


def save_all(folder: Path) -> None:
    """Save them side by side, as in pretrained/."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        save_plays(folder / "shakespeare-gpt")
        save_masked(folder / "tatoeba-bert")
        save_digits(folder / "digits-vit")
        save_induction(folder / "induction")


def save_plays(folder: Path) -> None:
    tokenizer = Tokenizer.train(PLAY * 20, vocab_size=320, keep_lines=True)
    config = TransformerConfig.gpt2(vocab_size=tokenizer.vocab_size, num_decoder_layers=2, max_length=96, **SIZES)
    TrainedLanguageModel(LanguageModel(config).eval(), tokenizer).save(folder)


def save_masked(folder: Path) -> None:
    tokenizer = Tokenizer.train(ENGLISH * 20, vocab_size=320, mask=True)
    sizes = SIZES | {"num_segments": 0, "max_length": 64}
    config = TransformerConfig.bert(vocab_size=tokenizer.vocab_size, num_encoder_layers=2, **sizes)
    TrainedMaskedLanguageModel(MaskedLanguageModel(config).eval(), tokenizer).save(folder)


def save_digits(folder: Path) -> None:
    encoder = TransformerConfig.vit(num_encoder_layers=2, max_length=17, **SIZES)
    config = VisionConfig(image_size=8, patch_size=2, num_channels=1, num_classes=10, encoder=encoder)
    TrainedImageClassifier(VisionTransformer(config).eval(), tuple("0123456789")).save(folder)


def save_induction(folder: Path) -> None:
    tokenizer = SymbolTokenizer(ALPHABET)
    sizes = SIZES | {"d_ff": 0, "positions": "rotary", "max_length": 101, "share_output": False}
    config = TransformerConfig.gpt2(vocab_size=tokenizer.vocab_size, num_decoder_layers=2, **sizes)
    rows = []
    for step in STEPS:
        model = LanguageModel(config).eval()
        TrainedLanguageModel(model, tokenizer).save(folder)
        save_snapshot(folder, model, step)
        # Layer 1, head 2 looks one back and layer 2, head 4 matches, the more the longer it was trained.
        for layer in range(2):
            for head in range(4):
                share = step / STEPS[-1]
                scores = share * ((layer, head) == (0, 1)), share * ((layer, head) == (1, 3))
                rows.append(f"{step},{layer},{head},{scores[0]:.4f},{scores[1]:.4f}")
    header = "step,layer,head,previous_token,prefix_matching"
    (folder / "heads.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
