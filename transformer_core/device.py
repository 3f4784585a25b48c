"""Which processor to run on."""

import torch

DEVICES = ("auto", "cuda", "mps", "cpu")


def choose_device(name: str = "auto") -> torch.device:
    """The device called `name`; "auto" takes CUDA, else Apple's MPS, else the CPU.

    Raises:
        ValueError: a device that this machine or this build of PyTorch does not have.
    """
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(kind for kind in ("cuda", "mps", "cpu") if present[kind]))
    if name not in present:
        raise ValueError(f"unknown device {name!r}: use one of {', '.join(DEVICES)}")
    if not present[name]:
        raise ValueError(f"this machine has no usable {name} device: use auto or cpu")
    return torch.device(name)
