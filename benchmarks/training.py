"""Training speed: our Transformer beside the same one built from torch.nn.Transformer.

Every contender lives in a process of its own, because the settings of PyTorch and of the C library's allocator hold for
a whole process. One works at a time: they take turns batch by batch, each over the same batches.
"""

import contextlib
import multiprocessing
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

import torch
from tqdm import tqdm

from benchmarks.report import Report, Row, machine, paired_ratio
from benchmarks.torch_transformer import TorchTransformer
from transformer_core.device import choose_device
from transformer_core.model import Transformer, TransformerConfig
from transformer_core.text import Tokenizer
from transformer_core.trained import Translator
from transformer_core.training.batches import Batch, Example, encode_pairs, make_batch, plan_batches
from transformer_core.training.data import read_pairs
from transformer_core.training.loss import label_smoothed_loss
from transformer_core.training.speed import is_bfloat16_faster, keep_freed_memory, mixed_precision
from transformer_core.training.tasks.translation import TranslationOptions

LENGTHS = """
6-3 6-4 6-5 6-5 6-8 7-4 7-5 7-5 7-5 7-5 7-6 7-6 7-7 7-7 7-7 7-8 7-8 7-8 8-5 8-5 8-5 8-6 8-6 8-6 8-6 8-6 8-7 8-7 8-7 8-7
8-9 8-9 8-9 8-10 9-5 9-5 9-6 9-6 9-7 9-7 9-7 9-8 9-8 9-8 9-9 9-10 9-10 9-12 10-5 10-6 10-7 10-7 10-8 10-8 10-8 10-9 10-9
10-9 10-9 10-9 10-10 10-11 10-12 10-14 11-6 11-6 11-8 11-9 11-9 11-9 11-10 11-11 11-13 11-15 11-15 12-10 12-11 12-11
12-11 13-10 13-12 13-12 13-13 13-13 13-16 13-19 14-12 14-13 14-14 15-15 15-15 15-17 15-17 16-12 16-15 16-18 16-20 17-14
20-24 21-18
"""
"""Source and target tokens of 100 pairs drawn at random from the bundled translator's training data."""

WARM_UP_BATCHES = 2
"""Before anything is measured, so that memory and kernels are in place."""


@dataclass(frozen=True)
class Contender:
    """A way of training."""

    name: str
    model: Literal["headlight", "torch, same model", "torch, as it comes"]
    precision: Literal["float32", "autocast", "as in train"]
    keeps_memory: bool = False
    """With the allocator setting of `keep_freed_memory`, which only a CPU's processes know."""


CONTENDERS = [
    Contender("Headlight, as `train` runs it", "headlight", "as in train", True),
    Contender("nn.Transformer, same model, all settings of `train`", "torch, same model", "as in train", True),
    Contender("nn.Transformer, same model, bfloat16, kept memory", "torch, same model", "autocast", True),
    Contender("nn.Transformer, same model, float32, kept memory", "torch, same model", "float32", True),
    Contender("nn.Transformer, same model, bfloat16", "torch, same model", "autocast"),
    Contender("nn.Transformer, same model, float32", "torch, same model", "float32"),
    Contender("nn.Transformer as it comes, bfloat16", "torch, as it comes", "autocast"),
    Contender("nn.Transformer as it comes, float32", "torch, as it comes", "float32"),
]

NOTES = [
    "same model: the same computation, without the dropout and the last norms that nn.Transformer adds to the paper's.",
    "as it comes: with them, as `nn.Transformer(...)` is usually written.",
    "bfloat16: `torch.autocast`. kept memory: glibc keeps freed memory, as in `train`; PyTorch's defaults otherwise.",
    "All: shared embeddings, label smoothing, fused Adam, the same batches; they take turns batch by batch.",
]


def benchmark(model: Path, data: Path | None, device: str, repeats: int) -> Report:
    """Measure all contenders at the size of a bundled translator.

    Args:
        model: folder of the translator whose sizes and tokenizer are used.
        data: sentence pairs; None takes random tokens in sentences of LENGTHS.
        repeats: batches measured for each contender.
    """
    translator = Translator.load(model, "cpu")
    config, tokenizer = translator.model.config, translator.tokenizer
    if data is None:
        examples = random_examples(config.vocab_size)
    else:
        pairs, _ = read_pairs(data, skip_bad_lines=True)
        examples = list(encode_pairs(pairs, tokenizer, config.max_length).values())
    return compare(CONTENDERS, config, examples, tokenizer, choose_device(device), repeats)


def random_examples(vocab_size: int, copies: int = 200) -> list[Example]:
    """Sentences of the lengths in LENGTHS, `copies` times. Their tokens are random: speed does not depend on them."""
    draw = random.Random(0)
    lengths = [tuple(map(int, pair.split("-"))) for pair in LENGTHS.split()]

    def tokens(count: int) -> list[int]:
        return [draw.randrange(4, vocab_size) for _ in range(count)]  # 0 to 3 are special

    return [Example(tokens(source), tokens(target)) for source, target in lengths * copies]


def compare(
    contenders: list[Contender],
    config: TransformerConfig,
    examples: list[Example],
    tokenizer: Tokenizer,
    device: torch.device,
    repeats: int,
) -> Report:
    """Tokens a second of each contender, and how many times as fast the first one is."""
    if device.type != "cpu":
        contenders = [contenders[0], *(c for c in contenders[1:] if not c.keeps_memory)]
    batch_tokens = TranslationOptions.batch_tokens
    plan = plan_batches(examples, batch_tokens, seed=(0,))
    # A small file has few batches: they come round again.
    chosen = [plan[i % len(plan)] for i in range(WARM_UP_BATCHES + repeats)]
    batches = [make_batch([examples[i] for i in indices], tokenizer) for indices in chosen]
    bfloat16 = is_bfloat16_faster(device)

    speeds: list[list[float]] = [[] for _ in contenders]
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(_worker(c, config, batches, device, bfloat16)) for c in contenders]
        parameters = [int(_receive(worker)) for worker in workers]
        for index in tqdm(range(len(batches)), unit="round"):
            for own, worker in zip(speeds, workers, strict=True):
                worker.send(index)
                speed = _receive(worker)
                if index >= WARM_UP_BATCHES:
                    own.append(speed)
    sizes = ", ".join(
        f"{name} {value}" for name, value in config.to_dict().items() if name not in ("max_length", "pad_id")
    )
    return Report(
        title="Training: source and target tokens a second, padding not counted",
        unit="tokens/s",
        rows=[
            Row(contender.name, own, paired_ratio(speeds[0], own) if own is not speeds[0] else None)
            for contender, own in zip(contenders, speeds, strict=True)
        ],
        ratio="how many times as fast as this row the first row is (median over the batches)",
        conditions=machine(device)
        | {
            "model": f"{sizes}; {parameters[0]:,} parameters (nn.Transformer: up to {max(parameters):,})",
            "batches": f"{repeats}, of at most {batch_tokens:,} tokens a side",
            "products in `train`": "bfloat16" if bfloat16 else "float32",
        },
        notes=NOTES,
    )


@contextlib.contextmanager
def _worker(
    contender: Contender, config: TransformerConfig, batches: list[Batch], device: torch.device, bfloat16: bool
) -> Iterator[Connection]:
    """A process that trains; send it a batch's index, and it answers with its tokens a second."""
    here, there = multiprocessing.Pipe()
    # As lists, because tensors would be shared through the file system.
    ids = [{name: tensor.tolist() for name, tensor in vars(batch).items()} for batch in batches]
    arguments = (contender, config, ids, device, bfloat16, there)
    process = multiprocessing.get_context("spawn").Process(target=_work, args=arguments, daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.join(timeout=10)
        process.terminate()


def _receive(worker: Connection) -> float:
    try:
        return worker.recv()
    except EOFError as error:
        raise OSError("a contender's process ended early; the reason may stand above, or memory ran out") from error


def _work(
    contender: Contender,
    config: TransformerConfig,
    ids: list[dict[str, list[list[int]]]],
    device: torch.device,
    bfloat16: bool,
    parent: Connection,
) -> None:
    if contender.keeps_memory and device.type == "cpu":
        keep_freed_memory()
    torch.manual_seed(0)
    batches = [Batch(**{name: torch.tensor(rows, device=device) for name, rows in batch.items()}) for batch in ids]
    model = build_model(contender, config).to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    parent.send(sum(parameter.numel() for parameter in model.parameters()))
    # The parent closes its end when all is measured.
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            parent.send(_step(contender, model, optimizer, batches[parent.recv()], bfloat16))


def build_model(contender: Contender, config: TransformerConfig) -> torch.nn.Module:
    """The contender's model, freshly initialised."""
    if contender.model == "headlight":
        return Transformer(config)
    return TorchTransformer(config, as_it_comes=contender.model == "torch, as it comes")


def _step(
    contender: Contender, model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: Batch, bfloat16: bool
) -> float:
    """One update, as in transformer_core.training.loop; returns tokens a second."""
    pad_id, device = model.config.pad_id, batch.source_ids.device
    start = time.perf_counter()
    labels = int((batch.label_ids != pad_id).sum())
    read = int((batch.source_ids != pad_id).sum()) + labels
    with _precision(contender, device, bfloat16):
        logits = model(batch.source_ids, batch.target_ids)
    loss = label_smoothed_loss(logits, batch.label_ids, TranslationOptions.label_smoothing, pad_id)
    (loss / labels).backward()
    optimizer.step()
    optimizer.zero_grad()
    loss.item()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return read / (time.perf_counter() - start)


def _precision(contender: Contender, device: torch.device, bfloat16: bool) -> contextlib.AbstractContextManager:
    if contender.precision == "as in train":
        return mixed_precision(device, bfloat16)
    return torch.autocast(device.type, torch.bfloat16, enabled=contender.precision == "autocast")
