"""MODEL_CARD.md: what a model is, what it was trained on, how, and how good it is."""

from pathlib import Path

import torch
from torch import nn

from transformer_core.training.optimizer import BETAS, EPSILON
from transformer_core.training.options import TrainingOptions
from transformer_core.training.speed import describe_hardware
from transformer_core.training.task import Outcome

ADAM = f"({BETAS[0]}, {BETAS[1]}, {EPSILON})".replace("e-0", "e-")
"""Its constants, as the paper writes them."""

PIECES = "SentencePiece, byte-pair encoding, byte fallback"


def write_model_card(
    folder: Path,
    introduction: str,
    shape: dict[str, str],
    quality: str,
    training: str,
    licence: str = "",
    limits: str = "",
) -> None:
    """Write the card from what the run measured.

    Args:
        introduction: the model in a sentence.
        shape: the rows of the table of sizes.
        quality: how good the model is, and how that was measured.
        training: what `training_section` says.
    """
    rows = "\n".join(f"| {name} | {value} |" for name, value in shape.items())
    sections = [
        f"# {folder.name}\n\n{introduction}\n\n| what | value |\n|---|---|\n{rows}",
        f"## How good it is\n\n{quality}",
        f"## Training\n\n{training}",
    ]
    sections += [
        f"## {title}\n\n{text}" for title, text in (("Licence and attribution", licence), ("Limits", limits)) if text
    ]
    (folder / "MODEL_CARD.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def size_rows(folder: Path, model: nn.Module) -> dict[str, str]:
    """The last rows of the table of sizes: parameters, and the file of weights."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    size = (folder / "model.safetensors").stat().st_size / 1e6
    return {"parameters": f"{parameters:,}", "weights": f"float16, {size:.1f} MB"}


def licence_of_weights(options: TrainingOptions) -> str:
    """Under what the weights stand, and whose work they learned from."""
    credit = f" It is: {options.credit}." if options.credit else ""
    return (
        "The weights are under the Apache License 2.0, like the code. What they learned from is not part of this "
        f"repository.{credit}"
    )


def training_section(options: TrainingOptions, outcome: Outcome, data: list[str], settings: str, course: str) -> str:
    """The command, the data, the time, the hardware and the optimizer.

    Args:
        data: what the model was trained on, a line each.
        settings: of the optimizer and the loss, beside those of every run.
        course: the figures in training.csv, beside loss, learning rate and speed.
    """
    steps = outcome.averaged_steps
    weights = "the weights after the last step"
    if len(steps) > 1:
        weights = f"mean of {len(steps)} checkpoints, steps {steps[0]:,} to {steps[-1]:,}"
    hours, minutes = divmod(round(outcome.seconds / 60), 60)
    time = f"{hours} h {minutes:02} min" if hours else f"{minutes} min"
    processes = outcome.processes
    optimizer = f"Adam {ADAM}"
    if options.weight_decay:
        optimizer = f"AdamW {ADAM}, weight decay {options.weight_decay:g} of matrices"
    rate = f"warm-up {options.warmup:,} steps"
    if options.schedule != "inverse_sqrt":
        way = "along a cosine to a tenth" if options.schedule == "cosine" else "constant"
        rate += f" to a learning rate of {options.learning_rate:g}, then {way}"
    facts = [
        *data,
        f"{options.steps:,} steps, {time} in them, {processes.world_size} x "
        f"{describe_hardware(processes.device)}; torch {torch.__version__}.",
        f"{optimizer}, {rate}, {settings}dropout {options.dropout:g}; {weights}.",
        f"training.csv holds the course of loss, learning rate, speed and {course}.",
    ]
    return f"    {outcome.command}\n\n" + "\n".join(f"- {fact}" for fact in facts)
