"""A decoder of attention alone that learns to repeat: how induction heads form (Olsson et al. 2022)."""

import csv
import string
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.inspection import record
from transformer_core.inspection.metrics import prefix_matching_scores, previous_token_scores
from transformer_core.model import LanguageModel, TransformerConfig
from transformer_core.text import SymbolTokenizer
from transformer_core.trained import TrainedLanguageModel
from transformer_core.trained.folder import snapshot_steps
from transformer_core.training.data import fingerprint_of_lines
from transformer_core.training.loss import next_token_loss
from transformer_core.training.model_card import Card, stack_rows, table
from transformer_core.training.options import TrainingOptions, option
from transformer_core.training.task import NO_LABEL, Task
from transformer_core.training.windows import TokenBatch

EPOCH = 1000
"""Batches after which the count of epochs goes up. No sequence ever comes again."""


@dataclass(frozen=True, kw_only=True)
class InductionOptions(TrainingOptions):
    """Options of the training on repeated random sequences."""

    symbols: str = option("the alphabet: every character is a token", string.ascii_letters + string.digits)
    num_layers: int = option("layers", 2)
    positions: Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "none"] = option(
        "how the order of the tokens is told", "rotary"
    )
    max_length: int = option("tokens that the model reads at most", 128)
    length: int = option("tokens of a training sequence, the begin token included", 101)
    shortest: int = option("symbols that are repeated, at least", 10)
    longest: int = option("symbols that are repeated, at most", 50)
    repeated: Literal["different", "any"] = option("may what is repeated hold a symbol twice", "different")
    batch_sequences: int = option("sequences of a process in one step", 64)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "shortest", "batch_sequences")
        if not self.shortest <= self.longest < self.length - 1 <= self.max_length - 1:
            raise ValueError(
                f"shortest={self.shortest}, longest={self.longest}, length={self.length} and "
                f"max_length={self.max_length} must rise, with room for the begin token and a repetition"
            )
        judged = judged_symbols(self.symbols) * JUDGED_TIMES + 1
        if judged > self.max_length:
            raise ValueError(f"max_length={self.max_length} must be at least {judged}, so that heads can be scored")
        if self.repeated == "different" and self.longest > len(self.symbols):
            raise ValueError(f"longest={self.longest} is more than there are different symbols: {len(self.symbols)}")
        self.transformer_config()

    def task(self) -> "Induction":
        return Induction(self)

    def transformer_config(self) -> TransformerConfig:
        """Attention alone, with as many feed-forward layers as `d_ff` asks for: none if it is 0."""
        return TransformerConfig(
            vocab_size=SymbolTokenizer(self.symbols).vocab_size,
            d_model=self.d_model,
            num_heads=self.num_heads,
            num_encoder_layers=0,
            num_decoder_layers=self.num_layers,
            d_ff=self.d_ff,
            dropout=self.dropout,
            norm="pre",
            positions=self.positions,
            max_length=self.max_length,
            share_output=False,
            scale_embeddings=self.positions == "sinusoidal",
        )


def repeated_sequences(
    blocks: Int[np.ndarray, "row symbol"], lengths: Int[np.ndarray, " row"], length: int, bos_id: int
) -> TokenBatch:
    """A begin token, then the first `lengths` symbols of each block over and over.

    Labels begin with what follows the first symbol that comes again: that it would come again, nobody could know.
    """
    places = np.arange(length)
    sequences = np.take_along_axis(blocks, places % lengths[:, None], axis=1)
    labels = np.where(places > lengths[:, None], sequences, NO_LABEL)
    token_ids = np.concatenate([np.full((len(blocks), 1), bos_id), sequences[:, :-1]], axis=1)
    return TokenBatch(torch.from_numpy(token_ids), torch.from_numpy(labels))


def random_blocks(
    rows: int, length: int, tokenizer: SymbolTokenizer, different: bool, random: np.random.Generator
) -> Int[np.ndarray, "row symbol"]:
    """Random symbols of the alphabet, as token ids; all of a row different if that is asked for."""
    first = tokenizer.vocab_size - len(tokenizer.alphabet)
    if not different:
        return random.integers(first, tokenizer.vocab_size, (rows, length))
    return random.random((rows, len(tokenizer.alphabet))).argsort(axis=1)[:, :length] + first


JUDGED_SEQUENCES, JUDGED_SYMBOLS, JUDGED_TIMES = 10, 25, 4
"""What heads are scored on: so many sequences of so many different symbols, so many times over (Olsson et al. 2022)."""


@dataclass(frozen=True)
class HeadScore:
    """What a head does, layers and heads counted from 0."""

    layer: int
    head: int
    previous_token: float
    prefix_matching: float


@torch.inference_mode()
def head_scores(model: LanguageModel, tokenizer: SymbolTokenizer) -> list[HeadScore]:
    """The scores of all heads, on random sequences that are always the same."""
    token_ids = _judged(tokenizer).token_ids.to(model.embedding.tokens.weight.device)
    with record(model) as trace:
        model(token_ids)
    scores = []
    for layer, call in enumerate(trace):
        weights = torch.stack([call.weights(head=head) for head in range(model.config.num_heads)], dim=1)
        previous = previous_token_scores(weights).tolist()
        matching = prefix_matching_scores(weights, token_ids).tolist()
        scores += [HeadScore(layer, head, *both) for head, both in enumerate(zip(previous, matching, strict=True))]
    return scores


def judged_symbols(alphabet: str) -> int:
    """How many symbols are repeated where heads are scored: JUDGED_SYMBOLS, or all of a smaller alphabet."""
    return min(JUDGED_SYMBOLS, len(alphabet))


def _judged(tokenizer: SymbolTokenizer) -> TokenBatch:
    symbols = judged_symbols(tokenizer.alphabet)
    blocks = random_blocks(JUDGED_SEQUENCES, symbols, tokenizer, different=True, random=np.random.default_rng(0))
    lengths = np.full(JUDGED_SEQUENCES, symbols)
    return repeated_sequences(blocks, lengths, symbols * JUDGED_TIMES + 1, tokenizer.bos_id)


@dataclass(frozen=True)
class Repeated:
    """How well symbols that come again are foretold."""

    loss: float
    """Mean, in nats a symbol."""
    accuracy: float


@torch.inference_mode()
def repeating(model: LanguageModel, tokenizer: SymbolTokenizer) -> Repeated:
    """Foretell the repetitions of the sequences on which heads are scored."""
    device = model.embedding.tokens.weight.device
    batch = _judged(tokenizer)
    known = batch.label_ids != NO_LABEL
    logits, labels = model(batch.token_ids.to(device)).float()[known.to(device)], batch.label_ids[known].to(device)
    return Repeated(float(F.cross_entropy(logits, labels)), float((logits.argmax(-1) == labels).float().mean()))


def highest(scores: Iterable[HeadScore], name: str) -> float:
    """The highest score of this name that a head has."""
    return max(getattr(score, name) for score in scores)


class Induction(Task[InductionOptions]):
    """Foretelling what comes again in repeated random sequences."""

    columns = ("validation_accuracy", "previous_token", "prefix_matching")
    data_name = "the alphabet"

    def read(self) -> list[str]:
        self.tokenizer = SymbolTokenizer(self.options.symbols)
        self.fingerprint = fingerprint_of_lines([self.options.symbols])
        return []

    def new_model(self) -> LanguageModel:
        return LanguageModel(self.options.transformer_config())

    def description(self) -> str:
        return f"random sequences of {len(self.options.symbols)} symbols"

    def plan(self, epoch: int, processes: int) -> list[int]:
        return [self.options.batch_sequences * processes] * EPOCH

    def batch(self, item: int, random: np.random.Generator) -> TokenBatch:
        options = self.options
        blocks = random_blocks(item, options.longest, self.tokenizer, options.repeated == "different", random)
        lengths = random.integers(options.shortest, options.longest + 1, item)
        return repeated_sequences(blocks, lengths, options.length, self.tokenizer.bos_id)

    def loss(self, model: LanguageModel, batch: TokenBatch) -> Float[Tensor, ""]:
        return next_token_loss(model, batch)

    def tokens_read(self, batch: TokenBatch) -> int:
        return batch.token_ids.numel()

    def validate(self, model: LanguageModel) -> dict[str, str]:
        result, scores = repeating(model, self.tokenizer), head_scores(model, self.tokenizer)
        return {
            "validation_loss": f"{result.loss:.5f}",
            "validation_accuracy": f"{result.accuracy:.4f}",
            **{name: f"{highest(scores, name):.4f}" for name in ("previous_token", "prefix_matching")},
        }

    def save(self, model: LanguageModel) -> None:
        TrainedLanguageModel(model, self.tokenizer).save(self.options.out)

    def card(self, trained: TrainedLanguageModel) -> Card:
        options, model, folder = self.options, trained.model, self.options.out
        steps, device = snapshot_steps(folder), model.embedding.tokens.weight.device.type
        write_head_scores(folder, device)
        scores, result = head_scores(model, self.tokenizer), repeating(model, self.tokenizer)
        judged = table(
            ("layer", "head", "previous token", "prefix matching"),
            [
                (f"{s.layer + 1}", f"{s.head + 1}", f"{s.previous_token:.2f}", f"{s.prefix_matching:.2f}")
                for s in scores
            ],
        )
        return Card(
            introduction=f"A decoder{'' if options.d_ff else ' of attention alone'} that learns to go on with what it "
            "has read before. Two heads can do this together:\none looks at the token before, and one in a later layer "
            "at what followed the same token earlier (an induction head,\nOlsson et al. 2022). The scores below say "
            "which heads are such.",
            sizes=stack_rows(model.config)
            | {
                "vocabulary": f"{len(options.symbols)} symbols, padding and the begin token",
                "longest text": f"{options.max_length} tokens, the begin token included",
                "snapshots": f"{len(steps)}, steps {steps[0]:,} to {steps[-1]:,}" if steps else "none",
            },
            quality=f"""{judged}

Previous token: mean weight of the token before. Prefix matching: mean weight of the tokens that followed the query's
token where it stood before. Layers and heads are counted from 1. Measured on the float16 weights in this folder, on
{JUDGED_SEQUENCES} random sequences of {judged_symbols(options.symbols)} different symbols, {JUDGED_TIMES} times over,
after a begin token. Where a symbol comes again, the model's first guess is right in {result.accuracy:.1%} (loss
{result.loss:.3f} nats). heads.csv has the scores of every snapshot; layers and heads are counted from 0 in it.""",
            measured_again="the scores",
            data=[
                f"Data: {options.credit or 'none; the sequences are drawn at random as the training goes on'}",
                f"{options.batch_sequences} sequences a step, each of {options.shortest} to {options.longest} "
                f"random {'different ' if options.repeated == 'different' else ''}symbols that are repeated up to "
                f"{options.length} tokens; only what comes again counts.",
            ],
            course="the loss, the accuracy and the highest scores of a head on the sequences above",
            limits="It knows no language: letters and digits are symbols without a meaning, and it can only repeat.",
            results=_lines(scores, result),
        )


def write_head_scores(folder: Path, device: str) -> None:
    """heads.csv: the scores of every head in every snapshot, layers and heads counted from 0."""
    with open(folder / "heads.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("step", "layer", "head", "previous_token", "prefix_matching"))
        for step in snapshot_steps(folder):
            trained = TrainedLanguageModel.load(folder, device, step)
            for score in head_scores(trained.model, trained.tokenizer):
                numbers = f"{score.previous_token:.4f}", f"{score.prefix_matching:.4f}"
                writer.writerow((step, score.layer, score.head, *numbers))


def _lines(scores: list[HeadScore], result: Repeated) -> list[str]:
    lines = [
        f"layer {score.layer + 1}, head {score.head + 1}: previous token {score.previous_token:.4f}, "
        f"prefix matching {score.prefix_matching:.4f}"
        for score in scores
    ]
    return [*lines, f"what comes again: {result.accuracy:.2%} right, loss {result.loss:.4f} nats"]


def evaluate(trained: TrainedLanguageModel) -> str:
    """The scores of all heads, and how well the model foretells what comes again."""
    model, tokenizer = trained.model, trained.tokenizer
    return "\n".join(_lines(head_scores(model, tokenizer), repeating(model, tokenizer)))
