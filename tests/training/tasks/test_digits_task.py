import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from tests.training.tasks.small import SMALL
from transformer_core.__main__ import main
from transformer_core.trained import TrainedImageClassifier
from transformer_core.training.loop import train
from transformer_core.training.task import NO_LABEL
from transformer_core.training.tasks.digits import DigitsOptions, ImageBatch, named, read_digits, shifted, split_digits


def options_for(out, **changes) -> DigitsOptions:
    return DigitsOptions(**SMALL | {"num_layers": 1, "out": out} | changes)


def test_the_images_are_scikit_learns_from_ground_to_ink():
    digits, fingerprint = read_digits()
    assert digits.images.shape == (1797, 1, 8, 8)
    assert (digits.images.min(), digits.images.max()) == (0, 1)
    np.testing.assert_array_equal(digits.images[7, 0].numpy() * 16, load_digits().images[7])
    assert digits.label_ids.tolist() == load_digits().target.tolist()
    assert fingerprint == read_digits()[1]


def test_a_fifth_of_every_digit_is_held_out_and_no_image_is_on_two_sides():
    digits, _ = read_digits()
    numbered = ImageBatch(torch.arange(1797.0).view(-1, 1, 1, 1).expand(-1, 1, 8, 8), digits.label_ids)
    train_side, held_out = split_digits(numbered, 0.2, seed=1)
    assert len(held_out.label_ids) == 360
    numbers = [side.images[:, 0, 0, 0].int().tolist() for side in (train_side, held_out)]
    assert sorted(numbers[0] + numbers[1]) == list(range(1797))
    for label in range(10):
        share = (held_out.label_ids == label).sum() / (digits.label_ids == label).sum()
        assert share == pytest.approx(0.2, abs=0.005)
    for number, label in zip(numbers[1], held_out.label_ids, strict=True):
        assert digits.label_ids[number] == label
    assert split_digits(numbered, 0.2, seed=1)[1].images.equal(held_out.images)
    assert not split_digits(numbered, 0.2, seed=2)[1].images.equal(held_out.images)


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_every_digit_has_to_be_on_both_sides(share):
    with pytest.raises(ValueError, match=f"held_out_share={share} of 1,797 images leaves one side without some of the"):
        split_digits(read_digits()[0], share, seed=1)


def test_shifts_move_the_whole_image_and_let_ground_in():
    image = np.zeros((1, 8, 8), dtype=np.float32)
    image[0, 3, 4] = 1.0
    moved = shifted(np.repeat(image[None], 500, axis=0), 1, np.random.default_rng(0))
    assert moved.shape == (500, 1, 8, 8)
    assert (moved.sum(axis=(1, 2, 3)) == 1).all()
    places = {(int(r), int(c)) for _, _, r, c in np.argwhere(moved)}
    assert places == {(r, c) for r in (2, 3, 4) for c in (3, 4, 5)}
    corner = np.zeros((100, 1, 8, 8), dtype=np.float32)
    corner[:, 0, 0, 0] = 1.0
    assert set(shifted(corner, 1, np.random.default_rng(0)).sum(axis=(1, 2, 3))) == {0.0, 1.0}, "nothing wraps round"
    assert (shifted(corner, 0, np.random.default_rng(0)) == corner).all()


def test_a_batch_is_made_anew_from_its_seed(tmp_path):
    task = options_for(tmp_path, shift=0, noise=0.1).task()
    task.read()
    plan = task.plan(0, processes=1)
    assert sorted(np.concatenate(plan).tolist()) == list(range(1437))
    batch = task.batch(plan[0], np.random.default_rng(3))
    assert torch.equal(batch.images, task.batch(plan[0], np.random.default_rng(3)).images)
    difference = batch.images - task.train.images[plan[0]]
    assert difference.std().item() == pytest.approx(0.1, abs=0.01)
    assert torch.equal(batch.label_ids, task.train.label_ids[plan[0]])
    assert task.tokens_read(batch) == 64 * 17


def test_the_loss_is_a_sum_over_the_images_that_have_a_label(tmp_path):
    task = options_for(tmp_path).task()
    model = task.new_model().eval()
    torch.nn.init.zeros_(model.head.weight)
    batch = ImageBatch(torch.rand(3, 1, 8, 8), torch.tensor([4, NO_LABEL, 9]))
    assert task.loss(model, batch).item() == pytest.approx(2 * math.log(10), rel=1e-5)


def test_naming_is_counted_by_hand(tmp_path):
    model = options_for(tmp_path).task().new_model().eval()
    torch.nn.init.zeros_(model.head.weight)
    model.head.bias.data[7] = math.log(3)
    result = named(model, ImageBatch(torch.rand(4, 1, 8, 8), torch.tensor([7, 7, 7, 2])))
    assert (result.right, result.images, result.accuracy) == (3, 4, 0.75)
    assert result.loss == pytest.approx((3 * math.log(12 / 3) + math.log(12)) / 4, rel=1e-5)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("digits") / "model"
    changes = {"steps": 150, "learning_rate": 0.01, "validate_every": 150, "log_every": 50, "checkpoint_every": 50}
    changes |= {"d_model": 32, "num_heads": 4, "shift": 0}
    train(options_for(out, **changes), "python -m transformer_core train --preset digits-vit ...")
    return out


def test_a_run_learns_to_name_digits(finished):
    _, held_out = split_digits(read_digits()[0], 0.2, seed=1)
    trained = TrainedImageClassifier.load(finished, "cpu")
    result = named(trained.model, held_out)
    assert result.accuracy > 0.7
    assert trained.class_names == tuple("0123456789")
    card = (finished / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"| held out | 360 | {result.right} | {result.accuracy:.1%} |" in card
    assert "Alpaydin" in card and "16 patches of 2 x 2" in card


def test_evaluate_needs_no_file(capsys, finished, tmp_path):
    options = ["evaluate", "--model", str(finished), "--device", "cpu"]
    assert main(options) == 0
    _, held_out = split_digits(read_digits()[0], 0.2, seed=1)
    right = named(TrainedImageClassifier.load(finished, "cpu").model, held_out).right
    assert f"{right} of 360 images right" in capsys.readouterr().out
    assert main([*options, "--data", "digits.csv"]) == 2
    assert "no model that has a use for --data" in capsys.readouterr().err


@pytest.mark.parametrize("changes", [{"held_out_share": 0.0}, {"batch_images": 0}, {"noise": -1.0}, {"patch_size": 3}])
def test_impossible_options_are_named(tmp_path, changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        options_for(tmp_path, **changes)
