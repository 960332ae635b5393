"""From a folder of photographs to a trained network: structure, pictures and training settings together."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from whorl.data.photographs import photographs, set_aside
from whorl.evaluation.photographs import denoised_psnr
from whorl.networks.photo import NAMED_PHOTO, PhotoNetwork, PhotoSpec
from whorl.networks.photo_cards import PhotoCard
from whorl.training import History, TrainingConfig, train
from whorl.training.distributed import Team
from whorl.training.patches import LevelInput, NoisyPatches
from whorl.training.reporters import Reporter

__all__ = ["PHOTO_TRAINING", "PhotoRecipe"]

EPOCH = 250
"""Steps between two looks at the pictures held back."""

CHECKED = 4  # pictures held back that are looked at, 256 pixels along a side

PHOTO_TRAINING = TrainingConfig(
    batch=16, rate=2e-3, schedule="annealed", warmup=200, clip=0.1, precision="bfloat16", checkpoint_seconds=30
)
"""The settings of the shipped networks: Adam on gradients of one length; the rate rises for 200 steps, then falls."""

TURN = {"photo-27k-strict": 5000.0}
"""Weight of the term on turns (:mod:`whorl.training.turning`) for networks that are trained with it."""


@dataclass(frozen=True)
class PhotoRecipe:
    """Everything but the pictures that determines a trained network for photographs."""

    spec: PhotoSpec
    steps: int = 4000
    size: int = 64
    training: TrainingConfig = field(default_factory=lambda: PHOTO_TRAINING)

    @classmethod
    def named(cls, name: str, noise: float | None, steps: int, **settings: Any) -> "PhotoRecipe":
        """The recipe of a named structure; ``noise`` replaces the levels it is made for."""
        if name not in NAMED_PHOTO:
            raise ValueError(f"There is no network for photographs {name!r}; there are {', '.join(NAMED_PHOTO)}.")
        spec = NAMED_PHOTO[name]
        if noise is not None:
            if not 0 < noise < math.inf:
                raise ValueError(f"--noise {noise}: expected a positive standard deviation in grey values.")
            spec = dataclasses.replace(spec, noise=(noise, noise))
        size = settings.pop("size", 64)
        settings = {"turn": TURN.get(name, 0.0), **settings}
        training = dataclasses.replace(PHOTO_TRAINING, loss="log" if spec.blind else "mse", **settings)
        return cls(spec, steps, size, dataclasses.replace(training, epochs=math.ceil(steps / EPOCH)))

    def train(
        self,
        folder: Path,
        *,
        device: torch.device | str = "cpu",
        checkpoint: Path | None = None,
        team: Team | None = None,
        progress: Reporter | None = None,
    ) -> tuple[PhotoNetwork, History, dict[str, Any]]:
        """Train from random weights, or go on from the checkpoint; also says which pictures were used."""
        learned, held = set_aside(photographs(folder, self.spec.channels, self.size))
        torch.manual_seed(self.training.seed)
        network = PhotoNetwork(self.spec).to(device)
        network.low_precision = self.training.precision == "bfloat16" and torch.device(device).type == "cuda"
        learner = LevelInput(network) if self.spec.blind else network
        patches = NoisyPatches(
            list(learned.values()),
            self.spec.noise,
            size=self.size,
            count=min(EPOCH, self.steps) * self.training.batch,
            seed=self.training.seed,
            device=device,
        )
        few = {name: held[name][:, :256, :256] for name in list(held)[:CHECKED]}
        history = train(
            learner,
            patches,
            self.training,
            checkpoint=checkpoint,
            identity={"network": self.spec.as_dict(), "pictures": len(learned), "size": self.size},
            team=team,
            progress=progress,
            check=self._check(network, few, device) if few else None,
        )
        network.low_precision = False
        return network.eval(), history, {"pictures": len(learned), "held_back": sorted(held), "folder": folder.name}

    def card(self, name: str, network: PhotoNetwork, history: History, data: dict[str, Any]) -> PhotoCard:
        """The file of the trained network."""
        last = history.last
        figures = {"loss": last.loss, "train_psnr": last.psnr, "held_back_psnr": last.held_back}
        training = {**self.training.as_dict(), "steps": self.steps, "size": self.size}
        return PhotoCard(name, self.spec, network.state_dict(), figures, training, data)

    def _check(
        self, network: PhotoNetwork, pictures: dict[str, Any], device: torch.device | str
    ) -> Callable[[], float]:
        level = 25.0 if self.spec.blind else self.spec.noise[0]

        def measured() -> float:
            network.eval()
            found = denoised_psnr(lambda u: network(u, level), pictures, level, device=device)
            return sum(found.values()) / len(found)

        return measured
