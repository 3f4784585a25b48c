"""Small models of this project's own kinds with random weights, for folders like those in pretrained/."""

from typing import Any

import torch

from transformer_core.model import (
    LanguageModel,
    MaskedLanguageModel,
    TransformerConfig,
    VisionConfig,
    VisionTransformer,
)
from transformer_core.text import SymbolTokenizer, Tokenizer
from transformer_core.trained import TrainedImageClassifier, TrainedLanguageModel, TrainedMaskedLanguageModel

VERSES = ["First Citizen:\n", "Speak, speak.\n", "\n", "  The cat sleeps, the dog is tired.\n"] * 5

SIZES: dict[str, Any] = {"d_model": 32, "num_heads": 4, "d_ff": 48, "dropout": 0.0}


def language_model(**sizes: Any) -> TrainedLanguageModel:
    """Of words, in the shape of GPT-2."""
    tokenizer = Tokenizer.train(VERSES, vocab_size=320, keep_lines=True)
    config = TransformerConfig.gpt2(
        vocab_size=tokenizer.vocab_size, **SIZES | {"num_decoder_layers": 2, "max_length": 48} | sizes
    )
    return TrainedLanguageModel(_spread(LanguageModel, config), tokenizer)


def symbol_model(alphabet: str = "abcABC789") -> TrainedLanguageModel:
    """Of symbols, with attention alone."""
    tokenizer = SymbolTokenizer(alphabet)
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        num_encoder_layers=0,
        num_decoder_layers=2,
        norm="pre",
        positions="rotary",
        max_length=32,
        share_output=False,
        **SIZES | {"d_ff": 0},
    )
    return TrainedLanguageModel(_spread(LanguageModel, config), tokenizer)


def masked_language_model() -> TrainedMaskedLanguageModel:
    """In the shape of BERT."""
    tokenizer = Tokenizer.train(VERSES, vocab_size=320, mask=True)
    config = TransformerConfig.bert(
        vocab_size=tokenizer.vocab_size, **SIZES | {"num_encoder_layers": 2, "max_length": 32, "num_segments": 0}
    )
    return TrainedMaskedLanguageModel(_spread(MaskedLanguageModel, config), tokenizer)


def image_classifier() -> TrainedImageClassifier:
    """Of digits of 8 x 8 pixels, in patches of 2 x 2."""
    encoder = TransformerConfig.vit(**SIZES | {"num_encoder_layers": 2, "max_length": 17})
    config = VisionConfig(image_size=8, patch_size=2, num_channels=1, num_classes=10, encoder=encoder)
    return TrainedImageClassifier(_spread(VisionTransformer, config), tuple("0123456789"))


def _spread(kind: type[torch.nn.Module], config: Any) -> Any:
    """A model whose weights are so large that its answers differ from uniform ones."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = kind(config).eval()
        for parameter in model.parameters():
            parameter.data += 0.2 * torch.randn_like(parameter)
    return model
