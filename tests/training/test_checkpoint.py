import pytest
import torch
from torch import nn

from transformer_core.training.checkpoint import TrainingState, mean_of


def train_a_little(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for step in range(steps):
        torch.manual_seed(step)
        model(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def new_model() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    return model, torch.optim.Adam(model.parameters(), lr=0.1, betas=(0.9, 0.98), eps=1e-9, fused=True)


def test_adam_goes_on_as_if_it_had_never_stopped(tmp_path):
    model, optimizer = new_model()
    train_a_little(model, optimizer, 3)
    state = TrainingState(tmp_path)
    assert not state.exists
    state.save(model, optimizer, {"step": 3})
    assert state.exists
    train_a_little(model, optimizer, 2)

    other_model, other_optimizer = new_model()
    assert TrainingState(tmp_path).load(other_model, other_optimizer) == {"step": 3}
    train_a_little(other_model, other_optimizer, 2)
    assert torch.equal(other_model.weight, model.weight)
    assert torch.equal(other_model.bias, model.bias)


def test_a_save_that_was_cut_off_leaves_the_one_before(tmp_path):
    model, optimizer = new_model()
    train_a_little(model, optimizer, 1)
    state = TrainingState(tmp_path)
    state.save(model, optimizer, {"step": 1})
    # Killed between moving the old state away and the new one into its place.
    (tmp_path / "training_state" / "resume").rename(tmp_path / "training_state" / "resume.old")
    again = TrainingState(tmp_path)
    again.recover()
    assert again.progress() == {"step": 1}
    again.save(model, optimizer, {"step": 2})
    again.recover()
    assert again.progress() == {"step": 2}


def test_the_average_is_the_mean_of_the_last_checkpoints(tmp_path):
    state, model = TrainingState(tmp_path), nn.Linear(1, 1)
    for step, value in ((10, 100.0), (20, 1.0), (30, 2.0), (40, 6.0)):
        nn.init.constant_(model.weight, value)
        nn.init.constant_(model.bias, -value)
        state.keep_weights(model, step, keep=3)
    assert state.kept_steps() == [20, 30, 40], "only three were to be kept"
    weights = mean_of((state.weights(step) for step in (20, 30, 40)), 3)
    assert weights["weight"].item() == 3.0
    assert weights["bias"].item() == -3.0
    assert weights["weight"].dtype == torch.float32
    assert mean_of([state.weights(20), state.weights(30)], 2)["weight"].item() == 1.5
    state.clear()
    assert state.kept_steps() == []


@pytest.mark.parametrize("name", ["resume/model.safetensors", "resume/optimizer.safetensors", "resume/progress.json"])
def test_a_damaged_state_is_named(tmp_path, name):
    model, optimizer = new_model()
    train_a_little(model, optimizer, 1)
    state = TrainingState(tmp_path)
    state.save(model, optimizer, {"step": 1})
    (tmp_path / "training_state" / name).write_bytes(b"{")
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        state.load(model, optimizer)


def test_damaged_weights_are_named_and_other_files_ignored(tmp_path):
    state, model = TrainingState(tmp_path), nn.Linear(1, 1)
    state.keep_weights(model, 10, keep=3)
    (tmp_path / "training_state" / "step-old.safetensors").write_bytes(b"")
    assert state.kept_steps() == [10]
    (tmp_path / "training_state" / "step-00000010.safetensors").write_bytes(b"{")
    with pytest.raises(ValueError, match=r"step-00000010\.safetensors is damaged"):
        state.weights(10)


def test_a_checkpoint_that_cannot_be_written_is_named(tmp_path):
    state = TrainingState(tmp_path)
    (state.folder / "weights.partial").mkdir(parents=True)
    with pytest.raises(OSError, match=r"weights\.partial cannot be written: .*directory"):
        state.keep_weights(nn.Linear(1, 1), 10, keep=3)
    assert state.kept_steps() == []


def test_no_pickle_is_written(tmp_path):
    model, optimizer = new_model()
    train_a_little(model, optimizer, 1)
    TrainingState(tmp_path).save(model, optimizer, {})
    TrainingState(tmp_path).keep_weights(model, 1, keep=1)
    files = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {".safetensors", ".json"}
