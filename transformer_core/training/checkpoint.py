"""Training state on disk, in safetensors and JSON: what a run resumes from, and what is averaged at its end."""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from transformer_core.trained.folder import write_tensors

ANEW = "begin anew with another --out"


class TrainingState:
    """The folder `training_state/` of a run.

    resume/ holds model, optimizer and progress of the latest step that was saved; step-N.safetensors
    the weights after step N, for averaging (section 6.1).
    """

    def __init__(self, out: Path) -> None:
        self.folder = Path(out) / "training_state"
        self._resume = self.folder / "resume"

    @property
    def exists(self) -> bool:
        """Is there something to resume from?"""
        return (self._resume / "progress.json").is_file()

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, progress: dict[str, Any]) -> None:
        """Keep all that is needed to go on. An interruption in the middle of it leaves the previous state whole.

        Raises:
            OSError: a file cannot be written.
        """
        new, old = self.folder / "resume.new", self.folder / "resume.old"
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)
        new.mkdir(parents=True)
        write_tensors(_cpu(model.state_dict()), new / "model.safetensors")
        write_tensors(_optimizer_tensors(model, optimizer), new / "optimizer.safetensors")
        (new / "progress.json").write_text(json.dumps(progress, indent=2), encoding="utf-8")
        if self._resume.exists():
            os.replace(self._resume, old)
        os.replace(new, self._resume)
        shutil.rmtree(old, ignore_errors=True)

    def recover(self) -> None:
        """Undo a `save` that was interrupted between its two last steps."""
        old = self.folder / "resume.old"
        if not self._resume.exists() and old.exists():
            os.replace(old, self._resume)

    def load(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """Put model and optimizer back; returns the progress that was saved."""
        weights, tensors = (_load(self._resume / f"{name}.safetensors", ANEW) for name in ("model", "optimizer"))
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise ValueError(f"{self._resume} is of a model of another size: {ANEW}") from error
        state: dict[int, dict[str, Tensor]] = {}
        names = {parameter: name for name, parameter in model.named_parameters()}
        # The optimizer numbers its parameters group after group.
        for index, parameter in enumerate(p for group in optimizer.param_groups for p in group["params"]):
            prefix = f"{names[parameter]}/"
            state[index] = {key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)}
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
        return self.progress()

    def progress(self) -> dict[str, Any]:
        """The progress that was saved last.

        Raises:
            ValueError: its file is damaged.
        """
        path = self._resume / "progress.json"
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}): {ANEW}") from error

    def keep_weights(self, model: nn.Module, step: int, keep: int) -> None:
        """Write the weights after `step`, and delete all but the last `keep` such files.

        Raises:
            OSError: the file cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / "weights.partial"
        write_tensors(_cpu(model.state_dict()), partial)
        os.replace(partial, self._weights_path(step))
        for old in self.kept_steps()[:-keep]:
            self._weights_path(old).unlink()

    def kept_steps(self) -> list[int]:
        """The steps whose weights `keep_weights` has kept, in order."""
        steps = (path.stem.removeprefix("step-") for path in self.folder.glob("step-*.safetensors"))
        return sorted(int(step) for step in steps if step.isdecimal())

    def weights(self, step: int) -> dict[str, Tensor]:
        """The weights after a step in `kept_steps`.

        Raises:
            ValueError: their file is damaged.
        """
        path = self._weights_path(step)
        return _load(path, "delete it, and the same command averages the others")

    def clear(self) -> None:
        """Forget what another run may have left here."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _weights_path(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}.safetensors"


def mean_of(checkpoints: Iterable[dict[str, Tensor]], number: int) -> dict[str, Tensor]:
    """Mean of the weights of so many checkpoints, taken in float64 (section 6.1)."""
    mean: dict[str, Tensor] = {}
    for weights in checkpoints:
        for name, tensor in weights.items():
            mean[name] = mean.get(name, 0) + tensor.cpu().double() / number
    return {name: tensor.float() for name, tensor in mean.items()}


def _load(path: Path, cure: str) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged ({error}): {cure}") from error


def _cpu(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return _cpu(
        {
            f"{name}/{key}": value
            for name, parameter in model.named_parameters()
            for key, value in optimizer.state[parameter].items()
        }
    )
