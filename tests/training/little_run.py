"""Small training runs in a process of its own: ``little_run.py OUT EPOCHS OPTIMISER ...``, in a folder of OUT each.

With WAITING set, a run that has come to its last epoch leaves a file ``waiting`` and waits there to be killed.
"""

import json
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from whorl.data import RectangleSet
from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.spec import NetworkSpec
from whorl.training import TensorPairs, TrainingConfig, train
from whorl.training.distributed import join_team
from whorl.training.history import Reporter


class Waiting(Reporter):
    """Lets no run end by itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def epoch(self, done: int, total: int, *rest: object) -> None:
        if done == total:
            (self.folder / "waiting").touch()
            signal.pause()


def main(out: Path, epochs: int, *optimisers: str) -> None:
    torch.set_num_threads(1)
    team, device = join_team(torch.device("cpu"))
    clean, noisy = RectangleSet(6, "train", size=16).pairs(30)
    # double precision, so that a sum in another order shows in the last digits only
    pairs = TensorPairs(noisy.double(), clean.double())
    for optimiser in optimisers:
        network = MultiscaleNetwork(NetworkSpec("isotropic", steps=2, scales=3), tau=0.1, contrast=100.0).to(device)
        config = TrainingConfig(
            optimiser=optimiser, epochs=epochs, batch=4, rate=0.02, tolerance=0, checkpoint_seconds=0
        )
        folder = out / optimiser
        folder.mkdir(parents=True, exist_ok=True)
        progress = Waiting(folder) if "WAITING" in os.environ else None
        train(network, pairs, config, checkpoint=folder / "checkpoint.safetensors", team=team, progress=progress)
        if team.leads:
            (folder / "values.json").write_text(json.dumps(network.values()))
    group = dist.group.WORLD
    team.leave()
    # Nobody else holds the group: its threads have ended, and cannot meet a Python that is about to end.
    assert group is None or sys.getrefcount(group) == 2


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
