"""Adam (section 5.3), with decoupled weight decay where it is asked for."""

import torch
from torch import nn

BETAS, EPSILON = (0.9, 0.98), 1e-9
"""Of section 5.3."""


def new_optimizer(model: nn.Module, weight_decay: float) -> torch.optim.Optimizer:
    """Adam; with a weight decay AdamW (Loshchilov & Hutter 2019), which decays matrices only, as GPT's does.

    Its learning rate is 0 until the loop sets one.
    """
    if not weight_decay:
        return torch.optim.Adam(model.parameters(), lr=0.0, betas=BETAS, eps=EPSILON, fused=True)
    parameters = list(model.parameters())
    groups = [
        {"params": [parameter for parameter in parameters if parameter.dim() >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in parameters if parameter.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=BETAS, eps=EPSILON, fused=True)
