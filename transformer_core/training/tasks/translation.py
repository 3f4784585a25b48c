"""An encoder-decoder Transformer that translates ("Attention Is All You Need", section 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import sacrebleu
from jaxtyping import Float
from torch import Tensor

from transformer_core.model import Transformer, TransformerConfig
from transformer_core.text import Tokenizer
from transformer_core.trained import Translator
from transformer_core.trained.folder import TOKENIZER
from transformer_core.training.batches import Batch, encode_pairs, encode_sides, make_batch, plan_batches
from transformer_core.training.data import Split, fingerprint, split_pairs, with_all_references
from transformer_core.training.evaluation import BEAM_SIZE, LENGTH_PENALTY, bleu, mean_loss
from transformer_core.training.loss import label_smoothed_loss
from transformer_core.training.model_card import PIECES, Card, stack_rows, table
from transformer_core.training.options import option
from transformer_core.training.task import Task
from transformer_core.training.tasks.sentence_pairs import PairsOptions, PairsRecord


@dataclass(frozen=True, kw_only=True)
class TranslationOptions(PairsOptions):
    """Options of a translator's training. The defaults are those of pretrained/tatoeba-en-de."""

    source_language: str = option("what the sources are written in", "English")
    target_language: str = option("what the targets are written in", "German")
    vocab_size: int = option("pieces of the vocabulary that both languages share", 8000)
    num_encoder_layers: int = option("layers of the encoder", 4)
    num_decoder_layers: int = option("layers of the decoder", 3)
    norm: Literal["post", "pre"] = option(
        "layer normalisation after each sub-layer, as in the paper, or before", "post"
    )
    max_length: int = option("longest sentence in tokens, its end token included; longer pairs are left out", 512)
    batch_tokens: int = option("most source tokens, and most target tokens, of a process in one step", 3000)
    label_smoothing: float = option("share of the target's probability that is spread over all tokens", 0.1)
    validation_sentences: int = option("validation sentences translated for the BLEU of training.csv", 500)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "batch_tokens", "validation_sentences")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing={self.label_smoothing} is outside [0, 1)")
        self.transformer_config(self.vocab_size)

    def task(self) -> "Translation":
        return Translation(self)

    def transformer_config(self, vocab_size: int) -> TransformerConfig:
        """The model's sizes, with the vocabulary that the tokenizer really has."""
        return TransformerConfig(
            vocab_size=vocab_size,
            d_model=self.d_model,
            num_heads=self.num_heads,
            num_encoder_layers=self.num_encoder_layers,
            num_decoder_layers=self.num_decoder_layers,
            d_ff=self.d_ff,
            dropout=self.dropout,
            norm=self.norm,
            max_length=self.max_length,
        )


class Translation(Task[TranslationOptions]):
    """Translating sentence pairs from source to target."""

    columns = ("validation_bleu",)

    def read(self) -> list[str]:
        options = self.options
        self.data_name = str(options.data)
        pairs, left_out = options.read_pairs()
        self.fingerprint = fingerprint(pairs)
        self.split = split_pairs(pairs, options.held_out, options.seed)
        return left_out

    def begin(self) -> None:
        sentences = (sentence for pair in self.split.train for sentence in pair)
        Tokenizer.train(sentences, self.options.vocab_size).save(self.options.out / TOKENIZER)

    def prepare(self) -> list[str]:
        self.tokenizer = Tokenizer.load(self.options.out / TOKENIZER)
        self.no_label = self.tokenizer.pad_id
        longest = self.options.max_length
        sides, left_out = encode_sides(
            self.split, lambda pairs: encode_pairs(pairs, self.tokenizer, longest), longest, "pair"
        )
        self.split = Split(**{name: list(side) for name, side in sides.items()})
        self.train_examples = list(sides["train"].values())
        self.validation_examples = list(sides["validation"].values())
        return left_out

    def new_model(self) -> Transformer:
        return Transformer(self.options.transformer_config(self.tokenizer.vocab_size))

    def description(self) -> str:
        split = self.split
        return (
            f"{len(split.train):,} training, {len(split.validation):,} validation and {len(split.test):,} test pairs; "
            f"{self.tokenizer.vocab_size:,} pieces"
        )

    def plan(self, epoch: int, processes: int) -> list[list[int]]:
        return plan_batches(self.train_examples, self.options.batch_tokens * processes, (self.options.seed, epoch))

    def batch(self, item: Sequence[int], random: np.random.Generator) -> Batch:
        return make_batch([self.train_examples[i] for i in item], self.tokenizer)

    def loss(self, model: Transformer, batch: Batch) -> Float[Tensor, ""]:
        logits = model(batch.source_ids, batch.target_ids)
        return label_smoothed_loss(logits, batch.label_ids, self.options.label_smoothing, self.tokenizer.pad_id)

    def tokens_read(self, batch: Batch) -> int:
        pad_id = self.tokenizer.pad_id
        return int((batch.source_ids != pad_id).sum()) + int((batch.label_ids != pad_id).sum())

    def validate(self, model: Transformer) -> dict[str, str]:
        options = self.options
        loss = mean_loss(model, self.validation_examples, self.tokenizer, options.label_smoothing, options.batch_tokens)
        translator = self._translator(model)
        score = bleu(translator, self.split.validation, beam_size=1, sentences=options.validation_sentences)
        return {"validation_loss": f"{loss:.5f}", "validation_bleu": f"{score.score:.2f}"}

    def save(self, model: Transformer) -> None:
        self._translator(model).save(self.options.out)
        PairsRecord.of(self.options, self.fingerprint).save(self.options.out)

    def card(self, trained: Translator) -> Card:
        options, config = self.options, trained.model.config
        sides = {"validation": self.split.validation, "test": self.split.test}
        results = {name: bleu(trained, pairs, BEAM_SIZE, LENGTH_PENALTY) for name, pairs in sides.items()}
        judged = table(
            ("sentences held out for", "sentences", "references", "BLEU"),
            [
                (name, f"{len(with_all_references(pairs)):,}", f"{len(pairs):,}", f"{results[name].score:.1f}")
                for name, pairs in sides.items()
            ],
        )
        return Card(
            introduction='A Transformer (encoder and decoder, "Attention Is All You Need") that translates '
            f"{trained.source_language} into\n{trained.target_language}.",
            sizes=stack_rows(config) | {"vocabulary": f"{config.vocab_size:,} pieces, shared ({PIECES})"},
            quality=f"""{judged}

sacreBLEU {sacrebleu.__version__}, case-sensitive, 13a tokens, all references of a sentence, beam {BEAM_SIZE}, length
penalty {LENGTH_PENALTY}, measured on the float16 weights in this folder. No held-out sentence, on either
side, occurs in the training data.""",
            measured_again="the test figure",
            data=[f"Data: {options.credit or options.data.name}", f"{len(self.split.train):,} training pairs."],
            settings=(f"label smoothing {options.label_smoothing:g}",),
            course="validation BLEU",
            limits=LIMITS,
            results=[f"{name}: {score}" for name, score in results.items()],
        )

    def _translator(self, model: Transformer) -> Translator:
        return Translator(model, self.tokenizer, self.options.source_language, self.options.target_language)


LIMITS = """It knows sentences like those it learned from. What is unlike them, in words, length or subject, is beyond
it, and it turns one sentence into one sentence."""


def evaluate(translator: Translator, folder: Path, data: Path, beam_size: int, length_penalty: float) -> str:
    """BLEU of a translator on the test sentences that its training held out.

    Raises:
        DataError: split.json is missing, or the file is not what the model was trained on.
    """
    record = PairsRecord.load(folder)
    pairs = record.read_pairs(data)
    record.check(fingerprint(pairs), str(data))
    split = split_pairs(pairs, record.held_out, record.seed)
    test = list(encode_pairs(split.test, translator.tokenizer, translator.max_source_tokens))
    return str(bleu(translator, test, beam_size, length_penalty))
