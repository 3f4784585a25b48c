"""The training loop: from a task to a folder with a trained model."""

import dataclasses
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
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from transformer_core import trained
from transformer_core.trained.folder import clear_snapshots, save_snapshot
from transformer_core.training.batches import own_share
from transformer_core.training.checkpoint import TrainingState, mean_of
from transformer_core.training.log import TrainingLog
from transformer_core.training.model_card import Outcome, write_model_card
from transformer_core.training.optimizer import new_optimizer
from transformer_core.training.options import TrainingOptions
from transformer_core.training.processes import Processes, join_processes
from transformer_core.training.speed import is_bfloat16_faster, keep_freed_memory, mixed_precision
from transformer_core.training.task import Task


def train(options: TrainingOptions, command: str) -> bool:
    """Train, or go on training, until `options.steps`; then average, judge and write the model.

    Args:
        command: the command line that asked for it, for the model card.

    Returns:
        False if the user stopped the run before its end.

    Raises:
        ValueError: impossible options or unusable data (DataError, with the line number); the message says what to do.
    """
    with join_processes(options.device) as processes:
        run = _prepare(options.task(), processes)
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
    """... so many labels; ..."""
    read_tokens: float = 0.0
    """... tokens read since then, in ..."""
    row_seconds: float = 0.0
    """... so many seconds."""


@dataclass
class _Run:
    task: Task
    processes: Processes
    model: nn.Module
    optimizer: torch.optim.Optimizer
    state: TrainingState
    bfloat16: bool
    progress: Progress = field(default_factory=Progress)

    @property
    def options(self) -> TrainingOptions:
        return self.task.options


class _Loss(nn.Module):
    """The loss as a module, so that DistributedDataParallel sees the whole way from a batch to it."""

    def __init__(self, task: Task, model: nn.Module) -> None:
        super().__init__()
        self.task = task
        self.model = model

    def forward(self, batch: Any) -> Tensor:
        return self.task.loss(self.model, batch)


def _begin(task: Task, processes: Processes, state: TrainingState) -> bool:
    """What one process does for all: say what is wrong with the data, check the folder, begin the task."""
    options = task.options
    _report(task.read())
    state.recover()
    if state.exists:
        _check_resumable(task, processes, state.progress())
    elif (options.out / "model.safetensors").exists():
        raise ValueError(f"{options.out} already holds a model and no training to go on with: use another --out")
    else:
        # Another run, which ended before there was anything to go on from, may have left some.
        state.clear()
        clear_snapshots(options.out)
        options.out.mkdir(parents=True, exist_ok=True)
        task.begin()
    return True


def _prepare(task: Task, processes: Processes) -> _Run:
    options = task.options
    state = TrainingState(options.out)
    if not processes.first(lambda: _begin(task, processes, state)):
        task.read()
    left_out = task.prepare()
    if processes.is_first:
        _report(left_out)

    torch.manual_seed(options.seed)
    model = task.new_model().to(processes.device)
    run = _Run(
        task=task,
        processes=processes,
        model=model,
        optimizer=new_optimizer(model, options.weight_decay),
        state=state,
        bfloat16=options.precision == "bfloat16"
        or (options.precision == "auto" and processes.decide(is_bfloat16_faster(processes.device))),
    )
    if state.exists:
        saved = state.load(model, run.optimizer)
        run.progress = Progress(**saved["progress"])
        run.bfloat16 = saved["bfloat16"]
    if processes.is_first:
        parameters = sum(parameter.numel() for parameter in model.parameters())
        print(
            f"{task.description()}, {parameters:,} parameters; "
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


def _check_resumable(task: Task, processes: Processes, saved: Any) -> None:
    options = task.options
    try:
        before, step, processes_before = saved["options"], Progress(**saved["progress"]).step, saved["processes"]
        changed = [
            f"{name} was {before.get(name)}, is {value}"
            for name, value in options.fixed().items()
            if before.get(name) != value
        ]
        if processes_before != processes.world_size:
            changed.append(f"the processes were {processes_before}, are {processes.world_size}")
        if saved["data_sha256"] != task.fingerprint:
            changed.append(f"{task.data_name} does not hold the same data")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{options.out} does not say how its training was begun: use another --out") from error
    if changed:
        raise ValueError(
            f"{options.out} was begun in another way ({'; '.join(changed)}): go back, or use another --out"
        )
    if step > options.steps:
        raise ValueError(f"{options.out} is at step {step:,}: ask for at least as many --steps, or use another --out")


def _train_to_the_end(run: _Run) -> bool:
    """Train until the last step; False if the user stopped it before."""
    options, processes, progress = run.options, run.processes, run.progress
    if processes.device.type == "cpu":
        keep_freed_memory()
    loss: nn.Module = _Loss(run.task, run.model)
    if processes.world_size > 1:
        loss = DistributedDataParallel(loss)
    log = None
    if processes.is_first:
        log = TrainingLog(options.out / "training.csv", progress.step, run.task.columns)
        _keep_snapshot(run)
    bar = tqdm(total=options.steps, initial=progress.step, unit="step", disable=not processes.is_first, smoothing=0.05)

    run.model.train()
    with bar, _stop_on_signal() as stop_asked:
        batches = _batches(run)
        while progress.step < options.steps:
            batch = next(batches)
            start = time.perf_counter()
            loss_sum, label_tokens, read_tokens = _step(run, loss, batch)
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
                _keep_snapshot(run)
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


def _keep_snapshot(run: _Run) -> None:
    if run.progress.step in run.options.snapshots:
        save_snapshot(run.options.out, run.model, run.progress.step)


def _batches(run: _Run) -> Iterator[Any]:
    """This process's batches from where the run stands, epoch after epoch; keeps `progress` up to date."""
    task, processes, progress = run.task, run.processes, run.progress
    while True:
        plan = task.plan(progress.epoch, processes.world_size)
        while progress.next_batch < len(plan):
            random = np.random.default_rng((run.options.seed, progress.epoch, progress.next_batch))
            batch = task.batch(plan[progress.next_batch], random)
            progress.next_batch += 1
            yield own_share(batch, processes.rank, processes.world_size, task.no_label)
        progress.epoch += 1
        progress.next_batch = 0


def _step(run: _Run, loss: nn.Module, batch: Any) -> tuple[float, float, float]:
    """One update; returns loss sum, labels and tokens read, over all processes."""
    task, processes, progress = run.task, run.processes, run.progress
    progress.step += 1
    # Dropout depends on seed, step and process alone, so a resumed run draws what the uninterrupted one would have.
    seeds = np.random.SeedSequence([run.options.seed, progress.step, processes.rank])
    torch.manual_seed(int(seeds.generate_state(1)[0]))
    batch = dataclasses.replace(batch, **{name: t.to(processes.device) for name, t in vars(batch).items()})
    label_tokens, read_tokens = processes.sum(int((batch.label_ids != task.no_label).sum()), task.tokens_read(batch))
    with mixed_precision(processes.device, run.bfloat16):
        own_loss = loss(batch)
    # DistributedDataParallel takes the mean of the processes' gradients; what is wanted is the mean over all labels.
    (own_loss * processes.world_size / label_tokens).backward()
    rate = run.options.rate(progress.step)
    for group in run.optimizer.param_groups:
        group["lr"] = rate
    run.optimizer.step()
    run.optimizer.zero_grad()
    (loss_sum,) = processes.sum(own_loss.item())
    if not math.isfinite(loss_sum):
        smaller = "--lr-scale" if run.options.schedule == "inverse_sqrt" else "--learning-rate"
        raise ValueError(
            f"the loss is {loss_sum} at step {progress.step}: training diverged. Begin anew, in another --out, with a "
            f"smaller {smaller} or a longer --warmup"
        )
    return loss_sum, label_tokens, read_tokens


def _log_row(run: _Run, log: TrainingLog | None, bar: tqdm) -> None:
    options, progress = run.options, run.progress
    loss, speed = progress.loss_sum / progress.label_tokens, progress.read_tokens / progress.row_seconds
    if log is not None:
        row: dict[str, Any] = {
            "step": progress.step,
            "learning_rate": f"{options.rate(progress.step):.6g}",
            "loss": f"{loss:.5f}",
            "tokens_per_second": f"{speed:.0f}",
            "seconds": f"{progress.seconds:.1f}",
        }
        if progress.step % options.validate_every == 0 or progress.step == options.steps:
            run.model.eval()
            with torch.inference_mode():
                figures = run.task.validate(run.model)
            run.model.train()
            row |= figures
            shown = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
            bar.write(f"step {progress.step:,}: {shown}", file=sys.stderr)
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
            "data_sha256": run.task.fingerprint,
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
    """Average the last checkpoints, write the model, and judge what was written."""
    # The weights at hand are the last checkpoint, whether or not a file of them was due.
    last = run.progress.step
    earlier = [step for step in run.state.kept_steps() if step < last]
    steps = earlier[max(0, len(earlier) - (run.options.average - 1)) :]
    checkpoints = itertools.chain((run.state.weights(step) for step in steps), [run.model.state_dict()])
    run.model.load_state_dict(mean_of(checkpoints, len(steps) + 1))
    run.model.eval()
    run.task.save(run.model)
    saved = trained.load(run.options.out, run.processes.device.type)
    card = run.task.card(saved)
    outcome = Outcome(command, run.progress.seconds, [*steps, last], run.processes)
    write_model_card(card, run.options, outcome, saved.model)
    for line in card.results:
        print(line)
