"""Several processes training one network (``torchrun``), each on its share of every batch.

The sums over a batch are added up over all processes, so the parameters after training with two processes are those of
one, up to the rounding of a sum in another order.
"""

import importlib
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class Team:
    """The ``rank`` of this process among ``size`` processes."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def share(self, items: Tensor) -> Tensor:
        """The part of this process in ``items`` along the first axis; the parts of all make up the whole, in order."""
        return items.tensor_split(self.size)[self.rank]

    def add(self, values: Tensor) -> Tensor:
        """Sum over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def copy_from_leader(self, values: Tensor) -> Tensor:
        """The leader's values, in place."""
        if self.size > 1:
            dist.broadcast(values, 0)
        return values

    def leave(self) -> None:
        """Close the connection, if there is one."""
        if self.size > 1:
            dist.destroy_process_group()


def join_team(device: torch.device) -> tuple[Team, torch.device]:
    """Join the processes started by ``torchrun`` (gloo on CPUs, nccl on GPUs); alone, a team of one.

    Returns the team and this process's own device: ``cuda`` becomes ``cuda:<local rank>``.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return Team(), device
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    if not dist.is_initialized():
        # Functions of this module have the group of that moment as their default and would keep it beyond its end:
        # its threads would then still run when Python ends, which aborts the process now and then.
        importlib.import_module("torch.distributed.nn.functional")
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Team(dist.get_rank(), dist.get_world_size()), device
