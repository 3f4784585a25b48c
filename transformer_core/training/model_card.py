"""MODEL_CARD.md: what a model is, what it was trained on, how, and how good it is."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from transformer_core.model import TransformerConfig
from transformer_core.training.optimizer import BETAS, EPSILON
from transformer_core.training.options import TrainingOptions
from transformer_core.training.processes import Processes
from transformer_core.training.speed import describe_hardware

ADAM = f"({BETAS[0]}, {BETAS[1]}, {EPSILON})".replace("e-0", "e-")
"""Its constants, as the paper writes them."""

PIECES = "SentencePiece, byte-pair encoding, byte fallback"

ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU"}


@dataclass(frozen=True)
class Card:
    """What a task says of the model that it trained. Texts are Markdown."""

    introduction: str
    """The model in a sentence or two."""
    sizes: dict[str, str]
    """The table of sizes, to which parameters and weights are added."""
    quality: str
    """How good the model is, and how that was measured."""
    measured_again: str
    """What `evaluate` prints of it, say "the test figures"."""
    data: list[str]
    """What the model was trained on, a line each."""
    course: str
    """The figures in training.csv, beside loss, learning rate and speed."""
    limits: str
    results: list[str]
    """The figures for the terminal, a line each."""
    settings: tuple[str, ...] = ()
    """Of the loss, beside those of the optimizer that every run has."""


@dataclass(frozen=True)
class Outcome:
    """How a run went, for its card."""

    command: str
    seconds: float
    averaged_steps: list[int]
    """Whose weights the model is the mean of."""
    processes: Processes


def write_model_card(card: Card, options: TrainingOptions, outcome: Outcome, model: nn.Module) -> None:
    """Write the card into the model's folder, beside its weights."""
    data_file = getattr(options, "data", None)  # which not every task reads
    again = "With the same file at hand, this measures" if data_file else "This measures"
    evaluate = ["python", "-m", "transformer_core", "evaluate", "--model", str(options.out)]
    evaluate += ["--data", str(data_file)] if data_file else []
    sections = [
        f"# {options.out.name}",
        card.introduction,
        table(("what", "value"), (card.sizes | _size(options, model)).items()),
        "## How good it is",
        card.quality,
        f"{again} {card.measured_again} again:",
        f"    {shlex.join(evaluate)}",
        "## Training",
        f"    {outcome.command}",
        "\n".join(f"- {fact}" for fact in [*card.data, *_course(card, options, outcome)]),
        "## Licence and attribution",
        _licence(options),
        "## Limits",
        card.limits,
    ]
    (options.out / "MODEL_CARD.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    first, *others = (f"| {' | '.join(cells)} |" for cells in (header, *rows))
    return "\n".join([first, "|---" * len(header) + "|", *others])


def stack_rows(config: TransformerConfig) -> dict[str, str]:
    """The rows of the table of sizes that tell of the layers."""
    encoder, decoder = config.num_encoder_layers, config.num_decoder_layers
    layers = f"{encoder} encoder + {decoder} decoder" if encoder and decoder else f"{encoder or decoder}"
    feed_forward = ACTIVATIONS[config.activation] if config.d_ff else "no feed-forward layers"
    widths = {"d_model, d_ff": f"{config.d_model}, {config.d_ff}"} if config.d_ff else {"d_model": f"{config.d_model}"}
    return {
        "layers": f"{layers}, {config.norm}-norm, {config.positions} positions, {feed_forward}",
        "heads": f"{config.num_heads} a layer",
    } | widths


def _size(options: TrainingOptions, model: nn.Module) -> dict[str, str]:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    size = (options.out / "model.safetensors").stat().st_size / 1e6
    return {"parameters": f"{parameters:,}", "weights": f"float16, {size:.1f} MB"}


def _course(card: Card, options: TrainingOptions, outcome: Outcome) -> list[str]:
    """The time, the hardware, the optimizer, and which weights the model has."""
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
    settings = ", ".join([optimizer, rate, *card.settings, f"dropout {options.dropout:g}"])
    return [
        f"{options.steps:,} steps, {time} in them, {processes.world_size} x {describe_hardware(processes.device)}; "
        f"torch {torch.__version__}.",
        f"{settings}; {weights}.",
        f"training.csv holds the course of loss, learning rate, speed and {card.course}.",
    ]


def _licence(options: TrainingOptions) -> str:
    """Under what the weights stand, which is for whoever trained them to say, and whose work they learned from."""
    licence = "The licence of these weights is yours to choose."
    if options.licence:
        licence = f"The weights are under {options.licence}."
    return licence + (f" They learned from this: {options.credit}." if options.credit else "")
