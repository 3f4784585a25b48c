"""The card of a model: what the task says of it, what the run says, and whose the weights are."""

from pathlib import Path

import pytest
import torch

from transformer_core.model import TransformerConfig
from transformer_core.training.model_card import Card, Outcome, stack_rows, table, write_model_card
from transformer_core.training.options import TrainingOptions
from transformer_core.training.processes import Processes
from transformer_core.training.tasks.digits import DigitsOptions
from transformer_core.training.tasks.language import LanguageOptions

CARD = Card(
    introduction="It writes.",
    sizes={"layers": "6"},
    quality="Good.",
    measured_again="how good it is",
    data=["Data: a book", "100 words."],
    course="goodness",
    limits="It is small.",
    results=["good"],
    settings=("label smoothing 0.1",),
)


def written(options: TrainingOptions, averaged_steps: list[int]) -> str:
    """The card of a model of 20 numbers, which was trained for 61 minutes."""
    options.out.mkdir(exist_ok=True)
    (options.out / "model.safetensors").write_bytes(bytes(1_234_567))
    outcome = Outcome("train it", 61 * 60, averaged_steps, Processes(0, 1, torch.device("cpu")))
    write_model_card(CARD, options, outcome, torch.nn.Linear(4, 4))
    return (options.out / "MODEL_CARD.md").read_text(encoding="utf-8")


def test_a_card_says_what_the_task_and_the_run_say(tmp_path):
    options = LanguageOptions(data=Path("a book.txt"), out=tmp_path / "my-gpt", steps=4000, warmup=100, dropout=0.2)
    card = written(options, [3950, 4000])
    again = f"python -m transformer_core evaluate --model {options.out} --data 'a book.txt'"
    assert card.startswith("# my-gpt\n\nIt writes.\n\n| what | value |\n|---|---|\n| layers | 6 |\n")
    assert "| parameters | 20 |\n| weights | float16, 1.2 MB |\n" in card
    assert f"Good.\n\nWith the same file at hand, this measures how good it is again:\n\n    {again}\n" in card
    assert (
        "## Training\n\n    train it\n\n- Data: a book\n- 100 words.\n- 4,000 steps, 1 h 01 min in them, 1 x " in card
    )
    assert (
        "- Adam (0.9, 0.98, 1e-9), warm-up 100 steps, label smoothing 0.1, dropout 0.2; "
        "mean of 2 checkpoints, steps 3,950 to 4,000.\n" in card
    )
    assert "speed and goodness.\n" in card
    assert card.endswith("## Limits\n\nIt is small.\n")


def test_a_model_that_was_trained_without_a_file_is_measured_without_one(tmp_path):
    card = written(DigitsOptions(out=tmp_path, steps=1), [1])
    assert (
        f"This measures how good it is again:\n\n    python -m transformer_core evaluate --model {tmp_path}\n" in card
    )
    assert "; the weights after the last step.\n" in card


@pytest.mark.parametrize(
    ("options", "licence"),
    [
        ({}, "The licence of these weights is yours to choose."),
        (
            {"credit": "a book, CC0"},
            "The licence of these weights is yours to choose. They learned from this: a book, CC0.",
        ),
        ({"licence": "the MIT License"}, "The weights are under the MIT License."),
        (
            {"licence": "the MIT License", "credit": "a book, CC0"},
            "The weights are under the MIT License. They learned from this: a book, CC0.",
        ),
    ],
)
def test_the_licence_of_the_weights_is_for_whoever_trains_them_to_choose(tmp_path, options, licence):
    card = written(LanguageOptions(data=Path("book.txt"), out=tmp_path, **options), [1])
    assert f"\n\n## Licence and attribution\n\n{licence}\n\n## Limits\n" in card
    assert "Apache" not in card


def test_the_rows_of_a_table():
    assert table(("a", "b"), [("1", "2"), ("3", "4")]) == "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"


@pytest.mark.parametrize(
    ("config", "rows"),
    [
        (
            TransformerConfig(num_decoder_layers=3),
            {"layers": "6 encoder + 3 decoder, post-norm, sinusoidal positions, ReLU", "d_model, d_ff": "512, 2048"},
        ),
        (
            TransformerConfig.gpt2(),
            {"layers": "12, pre-norm, learned positions, GELU", "d_model, d_ff": "768, 3072"},
        ),
        (
            TransformerConfig(num_encoder_layers=0, num_decoder_layers=2, d_ff=0, norm="pre", positions="rotary"),
            {"layers": "2, pre-norm, rotary positions, no feed-forward layers", "d_model": "512"},
        ),
    ],
)
def test_the_rows_of_the_layers(config, rows):
    assert stack_rows(config) == rows | {"heads": f"{config.num_heads} a layer"}
