"""Training in several processes: `torchrun --nproc-per-node N -m transformer_core train ...`."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist

from transformer_core.device import choose_device

Result = TypeVar("Result")


@dataclass(frozen=True)
class Processes:
    """This process's place among those that train together, and the device it works on."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        """The first process writes the files and shows the progress."""
        return self.rank == 0

    def sum(self, *values: float) -> list[float]:
        """Every value added up over all processes."""
        if self.world_size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return total.tolist()

    def decide(self, value: bool) -> bool:
        """What the first process says, in all processes."""
        return self.sum(value if self.is_first else 0)[0] > 0

    def first(self, action: Callable[[], Result]) -> Result | None:
        """Let the first process do something while the others wait; they get None.

        If it fails, all processes end; only the first one says why.
        """
        result, problem = None, None
        if self.is_first:
            try:
                result = action()
            except (ValueError, OSError) as error:
                problem = error
        if self.decide(problem is not None):
            raise problem or SystemExit(2)
        return result

    def wait(self) -> None:
        """Go on when all processes are here."""
        if self.world_size > 1:
            dist.barrier()


@contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """Join the processes that torchrun started, or stand alone where it started none.

    Raises:
        ValueError: a device that this machine does not have, or has too few of.
    """
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    chosen = choose_device(device)
    if world_size == 1:
        yield Processes(0, 1, chosen)
        return
    if "LOCAL_RANK" not in os.environ:
        raise ValueError("several processes are started with torchrun")
    local_rank = int(os.environ["LOCAL_RANK"])
    if chosen.type == "cuda":
        if local_rank >= torch.cuda.device_count():
            raise ValueError(
                f"process {local_rank + 1} of this machine has no GPU of its own, there are "
                f"{torch.cuda.device_count()}: start fewer processes, or use --device cpu"
            )
        chosen = torch.device("cuda", local_rank)
        torch.cuda.set_device(chosen)
    elif chosen.type != "cpu":
        raise ValueError(f"several processes cannot share {chosen.type}: use --device cpu")
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Processes(dist.get_rank(), dist.get_world_size(), chosen)
    finally:
        dist.destroy_process_group()
