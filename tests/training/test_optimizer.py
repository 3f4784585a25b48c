import pytest
import torch
from torch import nn

from transformer_core.training.checkpoint import TrainingState
from transformer_core.training.optimizer import new_optimizer


def model_and_optimizer(weight_decay: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3), nn.Linear(3, 2))
    optimizer = new_optimizer(model, weight_decay)
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    return model, optimizer


def test_only_matrices_decay():
    model, optimizer = model_and_optimizer(weight_decay=0.5)
    before = [parameter.clone() for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    # Without a gradient AdamW does nothing but x <- (1 - lr * decay) x.
    for parameter, old in zip(model.parameters(), before, strict=True):
        torch.testing.assert_close(parameter.data, old * (0.95 if parameter.dim() == 2 else 1))


def test_without_decay_it_is_the_papers_adam():
    _, optimizer = model_and_optimizer(weight_decay=0.0)
    assert type(optimizer) is torch.optim.Adam
    (group,) = optimizer.param_groups
    assert (group["betas"], group["eps"], group["weight_decay"]) == ((0.9, 0.98), 1e-9, 0)


@pytest.mark.parametrize("weight_decay", [0.0, 0.5])
def test_a_saved_state_goes_back_to_the_parameters_it_belongs_to(tmp_path, weight_decay):
    def learn(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
        for step in range(steps):
            torch.manual_seed(step)
            model(torch.randn(4, 3)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    model, optimizer = model_and_optimizer(weight_decay)
    learn(model, optimizer, 3)
    TrainingState(tmp_path).save(model, optimizer, {})
    learn(model, optimizer, 2)
    other, other_optimizer = model_and_optimizer(weight_decay)
    TrainingState(tmp_path).load(other, other_optimizer)
    for group in other_optimizer.param_groups:
        group["lr"] = 0.1
    learn(other, other_optimizer, 2)
    for parameter, same in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(parameter, same)
