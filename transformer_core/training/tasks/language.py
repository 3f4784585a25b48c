"""A decoder-only language model of a text: what GPT-2 is (Radford et al. 2019), in small."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.model import LanguageModel, TransformerConfig
from transformer_core.text import Tokenizer
from transformer_core.trained import TrainedLanguageModel
from transformer_core.trained.folder import TOKENIZER
from transformer_core.training.data import fingerprint_of_lines, read_text
from transformer_core.training.loss import next_token_loss
from transformer_core.training.model_card import PIECES, Card, stack_rows, table
from transformer_core.training.options import TrainingOptions, about, option
from transformer_core.training.record import Record
from transformer_core.training.task import Task
from transformer_core.training.windows import TokenBatch, window_batch, window_starts


@dataclass(frozen=True, kw_only=True)
class LanguageOptions(TrainingOptions):
    """Options of the training of a language model."""

    data: Path = field(metadata=about("a text, UTF-8, plain or gzip"))
    vocab_size: int = option("pieces of the vocabulary", 2000)
    num_layers: int = option("layers", 6)
    max_length: int = option("tokens that the model reads at most, the begin token included", 256)
    batch_tokens: int = option("tokens of a process in one step", 3072)
    validation_share: float = option("share of the text's characters, at its end, that is held out", 0.1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "batch_tokens")
        self.require_at_least(2, "max_length")
        if not 0 < self.validation_share < 1:
            raise ValueError(f"validation_share={self.validation_share} is outside (0, 1)")
        if self.batch_tokens < self.max_length:
            raise ValueError(f"batch_tokens={self.batch_tokens} do not hold one window of max_length={self.max_length}")
        self.transformer_config(self.vocab_size)

    def task(self) -> "Language":
        return Language(self)

    def transformer_config(self, vocab_size: int) -> TransformerConfig:
        """GPT-2's shape, with the vocabulary that the tokenizer really has."""
        return TransformerConfig.gpt2(
            vocab_size=vocab_size,
            d_model=self.d_model,
            num_heads=self.num_heads,
            num_decoder_layers=self.num_layers,
            d_ff=self.d_ff,
            dropout=self.dropout,
            max_length=self.max_length,
        )


@dataclass(frozen=True)
class TextRecord(Record):
    """How a text was split."""

    validation_share: float


def split_text(text: str, validation_share: float) -> tuple[str, str]:
    """A text's beginning, for training, and its end."""
    end = int(len(text) * (1 - validation_share))
    return text[:end], text[end:]


@dataclass(frozen=True)
class TextLoss:
    """How well a text is foretold, every token of it once, in windows that each begin anew."""

    nats: float
    tokens: int
    characters: int

    @property
    def per_token(self) -> float:
        """Mean loss, in nats a token."""
        return self.nats / self.tokens

    @property
    def per_character(self) -> float:
        """In nats a character: does not depend on how the text is cut into tokens, as `per_token` does."""
        return self.nats / self.characters


@torch.inference_mode()
def text_loss(model: LanguageModel, tokenizer: Tokenizer, text: str) -> TextLoss:
    """The loss of a text. A token sees what stands before it in its window of `max_length` tokens."""
    stream, length = np.array(tokenizer.encode(text)), model.config.max_length
    device = model.embedding.tokens.weight.device
    starts, total = list(range(0, len(stream), length)), 0.0
    for first in range(0, len(starts), ROWS):
        batch = window_batch(stream, starts[first : first + ROWS], length, tokenizer.bos_id, tokenizer.pad_id)
        total += float(next_token_loss(model, TokenBatch(batch.token_ids.to(device), batch.label_ids.to(device))))
    return TextLoss(total, len(stream), len(text))


ROWS = 16
"""Windows that are judged at a time."""


class Language(Task[LanguageOptions]):
    """Foretelling a text, token by token."""

    columns = ("validation_loss_per_character",)

    def read(self) -> list[str]:
        self.data_name = str(self.options.data)
        text = read_text(self.options.data)
        self.fingerprint = fingerprint_of_lines([text])
        self.train_text, self.validation_text = split_text(text, self.options.validation_share)
        return []

    def begin(self) -> None:
        lines = self.train_text.splitlines(keepends=True)
        Tokenizer.train(lines, self.options.vocab_size, keep_lines=True).save(self.options.out / TOKENIZER)

    def prepare(self) -> list[str]:
        self.tokenizer = Tokenizer.load(self.options.out / TOKENIZER)
        self.stream: Int[np.ndarray, " token"] = np.array(self.tokenizer.encode(self.train_text))
        # The offset of an epoch's windows may be up to a window.
        if len(self.stream) < 2 * self.options.max_length or not self.validation_text:
            raise ValueError(
                f"{self.data_name} has {len(self.stream):,} tokens for training, too few for windows of "
                f"{self.options.max_length}: bring more text, or use a smaller --max-length"
            )
        return []

    def new_model(self) -> LanguageModel:
        return LanguageModel(self.options.transformer_config(self.tokenizer.vocab_size))

    def description(self) -> str:
        return (
            f"{len(self.train_text):,} training and {len(self.validation_text):,} validation characters; "
            f"{self.tokenizer.vocab_size:,} pieces, {len(self.train_text) / len(self.stream):.2f} characters a token"
        )

    def plan(self, epoch: int, processes: int) -> list[list[int]]:
        options = self.options
        random = np.random.default_rng((options.seed, epoch))
        # Windows begin elsewhere in every epoch, so that no token is always the first of one.
        offset = int(random.integers(options.max_length))
        starts = random.permutation(window_starts(len(self.stream), options.max_length, offset)).tolist()
        rows = options.batch_tokens // options.max_length * processes
        return [starts[first : first + rows] for first in range(0, len(starts), rows)]

    def batch(self, item: Sequence[int], random: np.random.Generator) -> TokenBatch:
        tokenizer = self.tokenizer
        return window_batch(self.stream, list(item), self.options.max_length, tokenizer.bos_id, tokenizer.pad_id)

    def loss(self, model: LanguageModel, batch: TokenBatch) -> Float[Tensor, ""]:
        return next_token_loss(model, batch)

    def tokens_read(self, batch: TokenBatch) -> int:
        return int((batch.token_ids != self.tokenizer.pad_id).sum())

    def validate(self, model: LanguageModel) -> dict[str, str]:
        loss = text_loss(model, self.tokenizer, self.validation_text)
        return {
            "validation_loss": f"{loss.per_token:.5f}",
            "validation_loss_per_character": f"{loss.per_character:.5f}",
        }

    def save(self, model: LanguageModel) -> None:
        options = self.options
        TrainedLanguageModel(model, self.tokenizer).save(options.out)
        TextRecord(options.seed, self.fingerprint, options.validation_share).save(options.out)

    def card(self, trained: TrainedLanguageModel) -> Card:
        options, config = self.options, trained.model.config
        texts = {"validation": self.validation_text, "training": self.train_text}
        results = {name: text_loss(trained.model, self.tokenizer, text) for name, text in texts.items()}
        judged = table(
            ("text", "characters", "tokens", "loss in nats a token", "in nats a character"),
            [
                (
                    name,
                    f"{loss.characters:,}",
                    f"{loss.tokens:,}",
                    f"{loss.per_token:.3f}",
                    f"{loss.per_character:.3f}",
                )
                for name, loss in results.items()
            ],
        )
        return Card(
            introduction="A decoder-only Transformer in the shape of GPT-2, which goes on with a text.",
            sizes=stack_rows(config)
            | {
                "vocabulary": f"{config.vocab_size:,} pieces ({PIECES}); blanks and line ends are kept",
                "longest text": f"{config.max_length} tokens, the begin token included",
            },
            quality=f"""{judged}

Measured on the float16 weights in this folder, on every token once, in windows of {config.max_length} tokens that each
begin anew. Validation is the last {options.validation_share:.0%} of the text's characters, which the training never
read. The loss a character is the sum of all tokens' losses, divided by the characters. It does not depend on the
vocabulary, so it may stand beside that of models which read characters; on Tiny Shakespeare, split in the same way,
[nanoGPT](https://github.com/karpathy/nanoGPT) publishes 1.47 for its model of 10.6 million parameters that reads 256
characters.""",
            measured_again="the validation loss",
            data=[
                f"Data: {options.credit or options.data.name}",
                f"{len(self.train_text):,} characters for training, {len(self.stream):,} tokens, in windows that begin "
                "at another place in every epoch.",
            ],
            course="validation loss, a token and a character",
            limits=LIMITS,
            results=[_line(name, loss) for name, loss in results.items()],
        )


LIMITS = """It knows one text's language and no world: what it writes sounds like that text and means little. Words that
the text lacks are cut into small pieces."""


def _line(name: str, loss: TextLoss) -> str:
    return f"{name}: loss {loss.per_token:.4f} nats a token, {loss.per_character:.4f} nats a character"


def evaluate(trained: TrainedLanguageModel, folder: Path, data: Path) -> str:
    """The loss of a language model on the end of the text, which its training held out.

    Raises:
        DataError: split.json is missing, or the file is not what the model was trained on.
    """
    record = TextRecord.load(folder)
    text = read_text(data)
    record.check(fingerprint_of_lines([text]), str(data))
    return _line(
        "validation", text_loss(trained.model, trained.tokenizer, split_text(text, record.validation_share)[1])
    )
