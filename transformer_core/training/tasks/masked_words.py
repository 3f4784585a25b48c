"""An encoder-only Transformer that guesses masked words: what BERT is (Devlin et al. 2019), in small."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_core.model import MaskedLanguageModel, TransformerConfig
from transformer_core.text import Tokenizer
from transformer_core.text.generation import pad_batch
from transformer_core.trained import TrainedMaskedLanguageModel
from transformer_core.trained.folder import TOKENIZER
from transformer_core.training.batches import encode_sides, plan_by_length
from transformer_core.training.data import Pair, Split, fingerprint_of_lines
from transformer_core.training.masking import MASKED, RANDOM, SHARE, choose, disguise
from transformer_core.training.model_card import PIECES, Card, stack_rows, table
from transformer_core.training.options import about, option
from transformer_core.training.task import NO_LABEL, Task
from transformer_core.training.tasks.sentence_pairs import PairsOptions, PairsRecord
from transformer_core.training.windows import TokenBatch


@dataclass(frozen=True, kw_only=True)
class MaskedWordsOptions(PairsOptions):
    """Options of the training of a masked language model."""

    data: Path = field(
        metadata=about("sentences: the first column of lines with tabs, source<TAB>target, UTF-8, .tsv or .tsv.gz")
    )
    vocab_size: int = option("pieces of the vocabulary", 6000)
    num_layers: int = option("layers", 4)
    max_length: int = option("longest sentence in tokens, begin and end token included; longer ones are left out", 128)
    batch_tokens: int = option("most tokens of a process in one step", 4096)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "batch_tokens")
        self.transformer_config(self.vocab_size)

    def task(self) -> "MaskedWords":
        return MaskedWords(self)

    def transformer_config(self, vocab_size: int) -> TransformerConfig:
        """BERT's shape, with the vocabulary that the tokenizer really has, and without a second segment."""
        return TransformerConfig.bert(
            vocab_size=vocab_size,
            d_model=self.d_model,
            num_heads=self.num_heads,
            num_encoder_layers=self.num_layers,
            d_ff=self.d_ff,
            dropout=self.dropout,
            max_length=self.max_length,
            num_segments=0,
        )


def sources(pairs: list[Pair]) -> list[str]:
    """The different source sentences, in their order."""
    return list(dict.fromkeys(pair.source for pair in pairs))


def split_sentences(sentences: list[str], held_out: int, seed: int) -> Split[str]:
    """Divide different sentences at random.

    Args:
        held_out: sentences for validation, and again for test.
        seed: the same seed divides the same sentences in the same way.

    Raises:
        ValueError: too few sentences to hold out so many and train on as many again.
    """
    if len(sentences) < 3 * held_out:
        raise ValueError(
            f"{len(sentences)} sentences are too few to hold out {held_out} for validation and {held_out} for test and "
            "to train on the rest: hold out fewer with --held-out, or bring more data"
        )
    order = np.random.default_rng(seed).permutation(len(sentences))
    first, second, rest = np.split(order, [held_out, 2 * held_out])
    return Split(*([sentences[i] for i in side] for side in (rest, first, second)))


@dataclass(frozen=True)
class Guesses:
    """How well masked tokens were guessed."""

    nats: float
    right: int
    among_five: int
    tokens: int

    @property
    def loss(self) -> float:
        """Mean loss, in nats a masked token."""
        return self.nats / self.tokens

    @property
    def accuracy(self) -> float:
        """Share of masked tokens that were the model's first guess."""
        return self.right / self.tokens

    @property
    def accuracy_of_five(self) -> float:
        """Share of masked tokens that were among the model's first five guesses."""
        return self.among_five / self.tokens


@torch.inference_mode()
def guesses(model: MaskedLanguageModel, tokenizer: Tokenizer, examples: Sequence[list[int]]) -> Guesses:
    """Mask tokens of every sentence, always the same, and have them guessed.

    Chosen as in training, but all of them are shown as masks: that is how such a model is used.

    Args:
        examples: token ids, with begin and end token.
    """
    device = model.embedding.tokens.weight.device
    random = np.random.default_rng(0)
    nats, right, among_five, tokens = 0.0, 0, 0, 0
    for first in range(0, len(examples), ROWS):
        ids, ordinary = padded(examples[first : first + ROWS], tokenizer)
        chosen = choose(ordinary, random)
        shown = torch.from_numpy(np.where(chosen, tokenizer.mask_id, ids)).to(device)
        labels = torch.from_numpy(ids[chosen]).to(device)
        logits = model.logits(model.hidden(shown)[torch.from_numpy(chosen).to(device)]).float()
        nats += float(F.cross_entropy(logits, labels, reduction="sum"))
        best = logits.topk(min(5, logits.size(-1))).indices == labels.unsqueeze(1)
        right, among_five, tokens = right + int(best[:, 0].sum()), among_five + int(best.sum()), tokens + len(labels)
    return Guesses(nats, right, among_five, tokens)


ROWS = 64
"""Sentences that are judged at a time."""


def padded(
    examples: Sequence[list[int]], tokenizer: Tokenizer
) -> tuple[Int[np.ndarray, "row token"], Bool[np.ndarray, "row token"]]:
    """Token ids as one array, and which of them are neither begin nor end token nor padding."""
    ids = pad_batch(examples, tokenizer.pad_id).numpy()
    return ids, ~np.isin(ids, (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id))


class MaskedWords(Task[MaskedWordsOptions]):
    """Guessing masked words of sentences."""

    columns = ("validation_accuracy", "validation_accuracy_of_five")

    def read(self) -> list[str]:
        options = self.options
        self.data_name = str(options.data)
        pairs, left_out = options.read_pairs()
        sentences = sources(pairs)
        self.fingerprint = fingerprint_of_lines(sentences)
        self.split = split_sentences(sentences, options.held_out, options.seed)
        return left_out

    def begin(self) -> None:
        Tokenizer.train(self.split.train, self.options.vocab_size, mask=True).save(self.options.out / TOKENIZER)

    def prepare(self) -> list[str]:
        self.tokenizer = Tokenizer.load(self.options.out / TOKENIZER)
        tokenizer, longest = self.tokenizer, self.options.max_length
        special = {tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.mask_id}
        self.ordinary_ids = np.array([i for i in range(tokenizer.vocab_size) if i not in special])
        self.examples, left_out = encode_sides(
            self.split, lambda sentences: encode_sentences(sentences, tokenizer, longest), longest, "sentence"
        )
        self.lengths: Int[np.ndarray, "example 1"] = np.array([[len(ids)] for ids in self.examples["train"]])
        return left_out

    def new_model(self) -> MaskedLanguageModel:
        return MaskedLanguageModel(self.options.transformer_config(self.tokenizer.vocab_size))

    def description(self) -> str:
        train, validation, test = (len(self.examples[name]) for name in ("train", "validation", "test"))
        return (
            f"{train:,} training, {validation:,} validation and {test:,} test sentences; "
            f"{self.tokenizer.vocab_size:,} pieces"
        )

    def plan(self, epoch: int, processes: int) -> list[list[int]]:
        return plan_by_length(self.lengths, self.options.batch_tokens * processes, (self.options.seed, epoch))

    def batch(self, item: Sequence[int], random: np.random.Generator) -> TokenBatch:
        ids, ordinary = padded([self.examples["train"][i] for i in item], self.tokenizer)
        chosen = choose(ordinary, random)
        shown = disguise(ids, chosen, self.tokenizer.mask_id, self.ordinary_ids, random)
        return TokenBatch(torch.from_numpy(shown), torch.from_numpy(np.where(chosen, ids, NO_LABEL)))

    def loss(self, model: MaskedLanguageModel, batch: TokenBatch) -> Float[Tensor, ""]:
        # Only what is to be guessed goes through the vocabulary: a sixth of the tokens.
        chosen = batch.label_ids != NO_LABEL
        logits = model.logits(model.hidden(batch.token_ids)[chosen]).float()
        return F.cross_entropy(logits, batch.label_ids[chosen], reduction="sum")

    def tokens_read(self, batch: TokenBatch) -> int:
        return int((batch.token_ids != self.tokenizer.pad_id).sum())

    def validate(self, model: MaskedLanguageModel) -> dict[str, str]:
        result = guesses(model, self.tokenizer, self.examples["validation"])
        return {
            "validation_loss": f"{result.loss:.5f}",
            "validation_accuracy": f"{result.accuracy:.4f}",
            "validation_accuracy_of_five": f"{result.accuracy_of_five:.4f}",
        }

    def save(self, model: MaskedLanguageModel) -> None:
        TrainedMaskedLanguageModel(model, self.tokenizer).save(self.options.out)
        PairsRecord.of(self.options, self.fingerprint).save(self.options.out)

    def card(self, trained: TrainedMaskedLanguageModel) -> Card:
        options, config = self.options, trained.model.config
        results = {name: guesses(trained.model, self.tokenizer, self.examples[name]) for name in ("validation", "test")}
        judged = table(
            ("sentences held out for", "number", "masked tokens", "guessed first", "among first five", "loss"),
            [
                (
                    name,
                    f"{len(self.examples[name]):,}",
                    f"{result.tokens:,}",
                    f"{result.accuracy:.1%}",
                    f"{result.accuracy_of_five:.1%}",
                    f"{result.loss:.3f}",
                )
                for name, result in results.items()
            ],
        )
        return Card(
            introduction="An encoder-only Transformer in the shape of BERT, which guesses masked words.",
            sizes=stack_rows(config)
            | {
                "vocabulary": f"{config.vocab_size:,} pieces ({PIECES})",
                "longest text": f"{config.max_length} tokens, begin and end token included",
            },
            quality=f"""{judged}

Measured on the float16 weights in this folder. Every token is masked with a probability of {SHARE:.0%}, and at least
one of every sentence, always the same ones; tokens are whole words or parts of words. The loss is in nats a masked
token. No held-out sentence occurs in the training data.""",
            measured_again="the test figures",
            data=[
                f"Data: {options.credit or options.data.name}",
                f"{len(self.examples['train']):,} training sentences, each different from all others.",
                f"In every epoch anew, each token is chosen with a probability of {SHARE:.0%}, and at least one a "
                f"sentence: {MASKED:.0%} of them are shown as <mask>, {RANDOM:.0%} as any token, the others as they "
                "are (Devlin et al. 2019, section 3.1). There is no next-sentence task.",
            ],
            course="validation loss and accuracy",
            limits=LIMITS,
            results=[_line(name, result) for name, result in results.items()],
        )


LIMITS = """It knows sentences like those it learned from. Other texts, names and rare words are beyond it, and its
guesses say what is usual in such sentences, not what is true."""


def encode_sentences(sentences: Sequence[str], tokenizer: Tokenizer, max_length: int) -> list[list[int]]:
    """Token ids with begin and end token, of the sentences that have at most `max_length` and one of their own."""
    encoded = ([tokenizer.bos_id, *tokenizer.encode(sentence), tokenizer.eos_id] for sentence in sentences)
    return [ids for ids in encoded if 2 < len(ids) <= max_length]


def _line(name: str, result: Guesses) -> str:
    return (
        f"{name}: of {result.tokens:,} masked tokens {result.accuracy:.2%} guessed first, "
        f"{result.accuracy_of_five:.2%} among the first five; loss {result.loss:.4f} nats a token"
    )


def evaluate(trained: TrainedMaskedLanguageModel, folder: Path, data: Path) -> str:
    """How well a model guesses masked tokens of the test sentences, which its training held out.

    Raises:
        DataError: split.json is missing, or the file is not what the model was trained on.
    """
    record = PairsRecord.load(folder)
    sentences = sources(record.read_pairs(data))
    record.check(fingerprint_of_lines(sentences), str(data))
    test = split_sentences(sentences, record.held_out, record.seed).test
    examples = encode_sentences(test, trained.tokenizer, trained.model.config.max_length)
    return _line("test", guesses(trained.model, trained.tokenizer, examples))
