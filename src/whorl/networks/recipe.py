"""From a name to a trained network: structure, data and training settings together."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from whorl import engines
from whorl.data import RectangleSet
from whorl.networks.base import DiffusionNetwork
from whorl.networks.build import build_network
from whorl.networks.cards import ModelCard, Run
from whorl.networks.spec import NetworkSpec
from whorl.training import History, TensorPairs, TrainingConfig, train
from whorl.training.distributed import Team
from whorl.training.reporters import Reporter

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a trained network of the experiment.

    Equal recipes give equal parameters: bit for bit on a CPU with the same number of threads; on a GPU sums may be
    taken in another order, which changes parameters by about 1e-4 after 250 epochs.
    """

    network: NetworkSpec
    data: RectangleSet = field(default_factory=lambda: RectangleSet(100, "train"))
    angle: int = 30
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def with_seed(self, seed: int) -> "Recipe":
        """The same with other scenes, noise and order of images."""
        return dataclasses.replace(
            self,
            data=dataclasses.replace(self.data, seed=seed),
            training=dataclasses.replace(self.training, seed=seed),
        )

    def identity(self) -> dict[str, Any]:
        """Plain values that tell this recipe's runs from those of others."""
        return {"network": self.network.as_dict(), "data": dataclasses.asdict(self.data), "angle": self.angle}

    def pairs(self, device: torch.device | str = "cpu") -> TensorPairs:
        """The training pictures."""
        clean, noisy = self.data.pairs(self.angle)
        return TensorPairs(noisy.to(device), clean.to(device))

    def train(
        self,
        *,
        device: torch.device | str = "cpu",
        checkpoint: Path | None = None,
        pairs: TensorPairs | None = None,
        team: Team | None = None,
        capture: bool | None = None,
        progress: Reporter | None = None,
    ) -> tuple[DiffusionNetwork, History]:
        """Train from the starting values, or go on from the checkpoint.

        ``capture`` records a step of Adam as a CUDA graph; by itself where the compiled engine takes the steps on a
        CUDA device, with one process.
        """
        network = build_network(self.network).to(device)
        pairs = self.pairs(device) if pairs is None else pairs
        if capture is None:
            engine = engines.select(network.description, pairs.noisy[:1], learning=True).name
            alone = team is None or team.size == 1
            capture = engine == "triton" and self.training.optimiser == "adam" and alone
        history = train(
            network,
            pairs,
            self.training,
            checkpoint=checkpoint,
            identity=self.identity(),
            team=team,
            capture=capture,
            progress=progress,
        )
        return network, history

    def card(self, name: str, runs: dict[int, tuple[DiffusionNetwork, History]], about: str = "") -> ModelCard:
        """The model card of runs with several seeds; the chosen one has the median loss."""
        order = sorted(runs, key=lambda seed: runs[seed][1].last.loss)
        return ModelCard(
            name=name,
            network=self.network,
            runs=tuple(
                Run(seed, network.values(), {"loss": history.last.loss, "psnr": history.last.psnr})
                for seed, (network, history) in sorted(runs.items())
            ),
            chosen=order[(len(order) - 1) // 2],
            training=self.training.as_dict(),
            data={**dataclasses.asdict(self.data), "angle": self.angle},
            about=about,
        )
