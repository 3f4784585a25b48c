"""The training loop: from a file of sentence pairs to a folder with a translator."""

import itertools
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from transformer_core.model import Transformer
from transformer_core.text import Tokenizer
from transformer_core.trained import Translator
from transformer_core.training.batches import (
    Batch,
    Example,
    encode_pairs,
    make_batch,
    own_share,
    plan_batches,
)
from transformer_core.training.checkpoint import TrainingState, mean_of
from transformer_core.training.data import BadLine, Pair, Split, SplitRecord, fingerprint, read_pairs, split_pairs
from transformer_core.training.evaluation import BEAM_SIZE, LENGTH_PENALTY, bleu, mean_loss
from transformer_core.training.log import TrainingLog
from transformer_core.training.loss import label_smoothed_loss
from transformer_core.training.model_card import write_model_card
from transformer_core.training.options import TrainingOptions
from transformer_core.training.processes import Processes, join_processes
from transformer_core.training.schedule import learning_rate
from transformer_core.training.speed import is_bfloat16_faster, keep_freed_memory, mixed_precision


def train(options: TrainingOptions, command: str) -> bool:
    """Train, or go on training, until `options.steps`; then average, judge and write the translator.

    Args:
        command: the command line that asked for it, for the model card.

    Returns:
        False if the user stopped the run before its end.

    Raises:
        ValueError: impossible options or unusable data (DataError, with the line number); the message says what to do.
    """
    with join_processes(options.device) as processes:
        run = _prepare(options, processes)
        finished = _train_to_the_end(run)
        processes.wait()
        if finished and processes.is_first:
            _finish(run, command)
    return finished


@dataclass
class Progress:
    """Where a run stands between two steps."""

    step: int = 0
    epoch: int = 0
    next_batch: int = 0
    seconds: float = 0.0
    loss_sum: float = 0.0
    """Loss since the last row of training.csv, over ..."""
    label_tokens: float = 0.0
    """... so many target tokens; ..."""
    read_tokens: float = 0.0
    """... source and target tokens read since then, in ..."""
    row_seconds: float = 0.0
    """... so many seconds."""


@dataclass
class _Run:
    options: TrainingOptions
    processes: Processes
    data_sha256: str
    split: Split
    train_examples: list[Example]
    validation_examples: list[Example]
    translator: Translator
    optimizer: torch.optim.Optimizer
    state: TrainingState
    bfloat16: bool
    progress: Progress = field(default_factory=Progress)

    @property
    def model(self) -> Transformer:
        return self.translator.model


@dataclass(frozen=True)
class _Data:
    split: Split
    bad_lines: list[BadLine]
    sha256: str


def _read(options: TrainingOptions) -> _Data:
    pairs, bad_lines = read_pairs(options.data, options.bad_lines == "skip", options.max_words)
    return _Data(split_pairs(pairs, options.held_out, options.seed), bad_lines, fingerprint(pairs))


def _begin(options: TrainingOptions, processes: Processes, state: TrainingState) -> _Data:
    """What one process does for all: say what is wrong with the data, check the folder, train the tokenizer."""
    data = _read(options)
    _report(f"{options.data}, line {line.number}: {line.problem}; skipped" for line in data.bad_lines)
    state.recover()
    if state.exists:
        _check_resumable(options, processes, state.progress(), data.sha256)
    elif (options.out / "model.safetensors").exists():
        raise ValueError(f"{options.out} already holds a model and no training to go on with: use another --out")
    else:
        state.clear()
        options.out.mkdir(parents=True, exist_ok=True)
        sentences = (sentence for pair in data.split.train for sentence in pair)
        Tokenizer.train(sentences, options.vocab_size).save(options.out / "tokenizer.model")
    return data


def _prepare(options: TrainingOptions, processes: Processes) -> _Run:
    state = TrainingState(options.out)
    data = processes.first(lambda: _begin(options, processes, state)) or _read(options)
    tokenizer = Tokenizer.load(options.out / "tokenizer.model")
    examples = _encode(data.split, tokenizer, options.max_length, processes)
    split = Split(**{name: list(side) for name, side in examples.items()})

    torch.manual_seed(options.seed)
    model = Transformer(options.transformer_config(tokenizer.vocab_size)).to(processes.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    run = _Run(
        options=options,
        processes=processes,
        data_sha256=data.sha256,
        split=split,
        train_examples=list(examples["train"].values()),
        validation_examples=list(examples["validation"].values()),
        translator=Translator(model, tokenizer, options.source_language, options.target_language),
        optimizer=optimizer,
        state=state,
        bfloat16=options.precision == "bfloat16"
        or (options.precision == "auto" and processes.decide(is_bfloat16_faster(processes.device))),
    )
    if state.exists:
        saved = state.load(model, optimizer)
        run.progress = Progress(**saved["progress"])
        run.bfloat16 = saved["bfloat16"]
    if processes.is_first:
        parameters = sum(parameter.numel() for parameter in model.parameters())
        print(
            f"{len(split.train):,} training, {len(split.validation):,} validation and {len(split.test):,} test pairs; "
            f"{tokenizer.vocab_size:,} pieces, {parameters:,} parameters; "
            f"{processes.world_size} x {processes.device.type}, {'bfloat16' if run.bfloat16 else 'float32'} products"
            + (f"; going on after step {run.progress.step:,}" if run.progress.step else ""),
            file=sys.stderr,
        )
    return run


def _report(lines: Iterable[str], most: int = 10) -> None:
    lines = list(lines)
    for line in lines[:most]:
        print(line, file=sys.stderr)
    if len(lines) > most:
        print(f"... and {len(lines) - most:,} more", file=sys.stderr)


def _check_resumable(options: TrainingOptions, processes: Processes, saved: Any, data_sha256: str) -> None:
    try:
        before, step, processes_before = saved["options"], Progress(**saved["progress"]).step, saved["processes"]
        changed = [
            f"{name} was {before.get(name)}, is {value}"
            for name, value in options.fixed().items()
            if before.get(name) != value
        ]
        if processes_before != processes.world_size:
            changed.append(f"the processes were {processes_before}, are {processes.world_size}")
        if saved["data_sha256"] != data_sha256:
            changed.append(f"{options.data} does not hold the same pairs")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{options.out} does not say how its training was begun: use another --out") from error
    if changed:
        raise ValueError(
            f"{options.out} was begun in another way ({'; '.join(changed)}): go back, or use another --out"
        )
    if step > options.steps:
        raise ValueError(f"{options.out} is at step {step}: ask for more --steps than that, or use another --out")


def _encode(
    split: Split, tokenizer: Tokenizer, max_length: int, processes: Processes
) -> dict[str, dict[Pair, Example]]:
    """Every side of the split as token ids, without the pairs that the model is too short for."""
    sides = {name: encode_pairs(pairs, tokenizer, max_length) for name, pairs in vars(split).items()}
    for name, examples in sides.items():
        left_out = len(vars(split)[name]) - len(examples)
        if not examples:
            raise ValueError(f"no {name} pair has at most {max_length} tokens a side: use a larger --max-length")
        if left_out and processes.is_first:
            print(f"{left_out:,} {name} pairs of more than {max_length} tokens left out", file=sys.stderr)
    return sides


def _train_to_the_end(run: _Run) -> bool:
    """Train until the last step; False if the user stopped it before."""
    options, processes, progress = run.options, run.processes, run.progress
    if processes.device.type == "cpu":
        keep_freed_memory()
    parallel: torch.nn.Module = run.model
    if processes.world_size > 1:
        parallel = DistributedDataParallel(run.model)
    log = TrainingLog(options.out / "training.csv", progress.step) if processes.is_first else None
    bar = tqdm(total=options.steps, initial=progress.step, unit="step", disable=not processes.is_first, smoothing=0.05)

    run.model.train()
    with bar, _stop_on_signal() as stop_asked:
        batches = _batches(run)
        while progress.step < options.steps:
            batch = next(batches)
            start = time.perf_counter()
            loss_sum, label_tokens, read_tokens = _step(run, parallel, batch)
            duration = time.perf_counter() - start
            progress.loss_sum += loss_sum
            progress.label_tokens += label_tokens
            progress.read_tokens += read_tokens
            progress.row_seconds += duration
            progress.seconds += duration
            bar.update()

            step = progress.step
            if step % options.log_every == 0 or step == options.steps:
                _log_row(run, log, bar)
            (stops,) = processes.sum(stop_asked.is_set())
            if processes.is_first:
                if step % options.checkpoint_every == 0:
                    run.state.keep_weights(run.model, step, options.average)
                if step % options.checkpoint_every == 0 or step == options.steps or stops:
                    _save(run)
            if stops:
                if processes.is_first:
                    message = f"Stopped after step {step:,}; nothing is lost. The same command goes on from here."
                    bar.write(message, file=sys.stderr)
                return False
    return True


def _batches(run: _Run) -> Iterator[Batch]:
    """This process's batches from where the run stands, epoch after epoch; keeps `progress` up to date."""
    options, processes, progress, tokenizer = run.options, run.processes, run.progress, run.translator.tokenizer
    while True:
        budget = options.batch_tokens * processes.world_size
        plan = plan_batches(run.train_examples, budget, seed=(options.seed, progress.epoch))
        while progress.next_batch < len(plan):
            batch = make_batch([run.train_examples[i] for i in plan[progress.next_batch]], tokenizer)
            progress.next_batch += 1
            yield own_share(batch, processes.rank, processes.world_size, tokenizer.pad_id)
        progress.epoch += 1
        progress.next_batch = 0


def _step(run: _Run, parallel: torch.nn.Module, batch: Batch) -> tuple[float, float, float]:
    """One update; returns loss sum, label tokens and tokens read, over all processes."""
    options, processes, progress = run.options, run.processes, run.progress
    progress.step += 1
    pad_id = run.translator.tokenizer.pad_id
    # Dropout depends on seed, step and process alone, so a resumed run draws what the uninterrupted one would have.
    torch.manual_seed(int(np.random.SeedSequence([options.seed, progress.step, processes.rank]).generate_state(1)[0]))
    source_ids, target_ids, label_ids = (
        ids.to(processes.device) for ids in (batch.source_ids, batch.target_ids, batch.label_ids)
    )
    own_labels = int((label_ids != pad_id).sum())
    own_read = int((source_ids != pad_id).sum()) + own_labels
    label_tokens, read_tokens = processes.sum(own_labels, own_read)

    with mixed_precision(processes.device, run.bfloat16):
        logits = parallel(source_ids, target_ids)
    loss = label_smoothed_loss(logits, label_ids, options.label_smoothing, pad_id)
    # DistributedDataParallel takes the mean of the processes' gradients; what is wanted is the mean over all tokens.
    (loss * processes.world_size / label_tokens).backward()
    rate = learning_rate(progress.step, options.d_model, options.warmup, options.lr_scale)
    for group in run.optimizer.param_groups:
        group["lr"] = rate
    run.optimizer.step()
    run.optimizer.zero_grad()
    (loss_sum,) = processes.sum(loss.item())
    if not math.isfinite(loss_sum):
        raise ValueError(
            f"the loss is {loss_sum} at step {progress.step}: training diverged. Begin anew, in another --out, with a "
            "smaller --lr-scale or a longer --warmup"
        )
    return loss_sum, label_tokens, read_tokens


def _log_row(run: _Run, log: TrainingLog | None, bar: tqdm) -> None:
    options, progress = run.options, run.progress
    loss, speed = progress.loss_sum / progress.label_tokens, progress.read_tokens / progress.row_seconds
    if log is not None:
        row: dict[str, Any] = {
            "step": progress.step,
            "learning_rate": f"{learning_rate(progress.step, options.d_model, options.warmup, options.lr_scale):.6g}",
            "loss": f"{loss:.5f}",
            "tokens_per_second": f"{speed:.0f}",
            "seconds": f"{progress.seconds:.1f}",
        }
        if progress.step % options.validate_every == 0 or progress.step == options.steps:
            validation_loss = mean_loss(
                run.model,
                run.validation_examples,
                run.translator.tokenizer,
                options.label_smoothing,
                options.batch_tokens,
            )
            score = bleu(run.translator, run.split.validation, beam_size=1, sentences=options.validation_sentences)
            row |= {"validation_loss": f"{validation_loss:.5f}", "validation_bleu": f"{score.score:.2f}"}
            bar.write(
                f"step {progress.step:,}: validation loss {validation_loss:.3f}, BLEU {score.score:.1f} (greedy)",
                file=sys.stderr,
            )
        log.append(**row)
        bar.set_postfix_str(f"loss {loss:.3f}, {speed:,.0f} tokens/s")
    progress.loss_sum = progress.label_tokens = progress.read_tokens = progress.row_seconds = 0.0


def _save(run: _Run) -> None:
    run.state.save(
        run.model,
        run.optimizer,
        {
            "progress": vars(run.progress),
            "bfloat16": run.bfloat16,
            "processes": run.processes.world_size,
            "data_sha256": run.data_sha256,
            "options": run.options.fixed(),
        },
    )


@contextmanager
def _stop_on_signal() -> Iterator[threading.Event]:
    """Ctrl-C, or a polite kill, asks the loop to stop after the step it is in; a second one stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def ask(number: int, frame: Any) -> None:
        asked.set()
        restore()
        # Not print(), which the signal may have interrupted.
        os.write(2, b"\nStopping as soon as this step is done; once more to stop at once.\n")

    for number in previous:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        restore()


def _finish(run: _Run, command: str) -> None:
    """Average the last checkpoints, write the translator, and judge what was written."""
    options = run.options
    # The weights at hand are the last checkpoint, whether or not a file of them was due.
    last = run.progress.step
    earlier = [step for step in run.state.kept_steps() if step < last]
    steps = earlier[max(0, len(earlier) - (options.average - 1)) :]
    checkpoints = itertools.chain((run.state.weights(step) for step in steps), [run.model.state_dict()])
    run.model.load_state_dict(mean_of(checkpoints, len(steps) + 1))
    run.model.eval()
    run.translator.save(options.out)
    SplitRecord(options.held_out, options.seed, options.max_words, run.data_sha256).save(options.out)
    written = Translator.load(options.out, run.processes.device.type)
    results = {
        "validation": bleu(written, run.split.validation, BEAM_SIZE, LENGTH_PENALTY),
        "test": bleu(written, run.split.test, BEAM_SIZE, LENGTH_PENALTY),
    }
    write_model_card(
        options.out, written, options, run.split, results, command, run.progress.seconds, [*steps, last], run.processes
    )
    for name, score in results.items():
        print(f"{name}: {score}")
