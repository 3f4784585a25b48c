"""MODEL_CARD.md: what a model is, what it was trained on, how, and how good it is."""

from pathlib import Path

import sacrebleu
import torch
from sacrebleu.metrics.bleu import BLEUScore

from transformer_core.trained import Translator
from transformer_core.training.data import Split, with_all_references
from transformer_core.training.evaluation import BEAM_SIZE, LENGTH_PENALTY
from transformer_core.training.options import TrainingOptions
from transformer_core.training.processes import Processes
from transformer_core.training.speed import describe_hardware


def write_model_card(
    folder: Path,
    translator: Translator,
    options: TrainingOptions,
    split: Split,
    results: dict[str, BLEUScore],
    command: str,
    seconds: float,
    averaged_steps: list[int],
    processes: Processes,
) -> None:
    """Write the card from what the run measured."""
    config = translator.model.config
    parameters = sum(parameter.numel() for parameter in translator.model.parameters())
    size = (folder / "model.safetensors").stat().st_size / 1e6
    hours, minutes = divmod(round(seconds / 60), 60)
    weights = "the weights after the last step"
    if len(averaged_steps) > 1:
        weights = f"mean of {len(averaged_steps)} checkpoints, steps {averaged_steps[0]:,} to {averaged_steps[-1]:,}"
    judged = "\n".join(
        f"| {name} | {len(with_all_references(getattr(split, name))):,} | {len(getattr(split, name)):,} "
        f"| {score.score:.1f} |"
        for name, score in results.items()
    )
    (folder / "MODEL_CARD.md").write_text(
        f"""# {folder.name}

A Transformer (encoder and decoder, "Attention Is All You Need") that translates {translator.source_language} into
{translator.target_language}.

| | |
|---|---|
| layers | {config.num_encoder_layers} encoder + {config.num_decoder_layers} decoder, {config.norm}-norm |
| heads | {config.num_heads} a layer |
| d_model, d_ff | {config.d_model}, {config.d_ff} |
| vocabulary | {config.vocab_size:,} pieces, shared (SentencePiece, byte-pair encoding, byte fallback) |
| parameters | {parameters:,} |
| weights | float16, {size:.1f} MB |

## How good it is

| sentences held out for | sentences | references | BLEU |
|---|---|---|---|
{judged}

sacreBLEU {sacrebleu.__version__}, case-sensitive, 13a tokens, all references of a sentence, beam {BEAM_SIZE}, length
penalty {LENGTH_PENALTY}, measured on the float16 weights in this folder. No held-out sentence, on either
side, occurs in the training data. With the same data file at hand, this measures the test figure again:

    python -m transformer_core evaluate --model {folder} --data {options.data}

## Training

    {command}

- Data: {options.credit or options.data.name}
- {len(split.train):,} training pairs.
- {options.steps:,} steps, {hours} h {minutes:02} min in them, {processes.world_size} x
  {describe_hardware(processes.device)}; torch {torch.__version__}.
- Adam (0.9, 0.98, 1e-9), warm-up {options.warmup:,} steps, label smoothing {options.label_smoothing}, dropout
  {options.dropout}; {weights}.
- training.csv holds the course of loss, learning rate, speed and validation BLEU.
""",
        encoding="utf-8",
    )
