from pathlib import Path

import pytest

from transformer_core.training.tasks.translation import TranslationOptions


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("batch_tokens", 0),
        ("warmup", 0),
        ("held_out", 0),
        ("average", 0),
        ("label_smoothing", 1.0),
        ("label_smoothing", -0.1),
        ("lr_scale", 0.0),
        ("weight_decay", -0.1),
        ("weight_decay", float("inf")),
        ("seed", -1),
        ("seed", 2**70),
        ("dropout", 1.0),
        ("num_heads", 7),
        ("d_model", -256),
    ],
)
def test_an_impossible_option_is_named(name, value):
    with pytest.raises(ValueError, match=name) as error:
        TranslationOptions(data=Path("data.tsv"), out=Path("out"), **{name: value})
    assert str(value) in str(error.value)


def test_validation_figures_need_a_row_to_stand_in():
    with pytest.raises(ValueError, match="multiple of log_every"):
        TranslationOptions(data=Path("data.tsv"), out=Path("out"), log_every=100, validate_every=250)


def test_snapshots_after_the_last_step_are_refused():
    with pytest.raises(
        ValueError, match=r"snapshots from 150 on come after the last of steps=100: name steps up to there"
    ):
        TranslationOptions(data=Path("data.tsv"), out=Path("out"), steps=100, snapshots=(0, 100, 150, 200))
    TranslationOptions(data=Path("data.tsv"), out=Path("out"), steps=100, snapshots=(0, 100))


def test_what_is_only_said_on_the_card_may_change_when_a_run_goes_on():
    fields = {"data": Path("data.tsv"), "out": Path("out")}
    begun = TranslationOptions(**fields)
    assert TranslationOptions(**fields, credit="a book", licence="the MIT License").fixed() == begun.fixed()
    assert TranslationOptions(**fields, dropout=0.2).fixed() != begun.fixed()
