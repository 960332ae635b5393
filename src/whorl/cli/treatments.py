"""What a verb does to a page: the stages of the filter, chosen by options and by the page itself."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from whorl import models
from whorl.files import Page
from whorl.large import Stage, network_stages, stages
from whorl.large.contrast import typical_contrast
from whorl.large.noise import noise_level
from whorl.large.pictures import colours_of

__all__ = ["Denoising", "Diffusion", "Treatment"]


class Treatment(ABC):
    """Gives the stages for a page, and says what it chose."""

    device: torch.device

    @abstractmethod
    def stages(self, page: Page) -> tuple[Sequence[Stage], dict[str, Any]]:
        """The stages, and the numbers that describe them for a report."""


class Diffusion(Treatment):
    """A model of the catalogue; the contrast is measured on the page where none is given."""

    def __init__(
        self,
        name: str,
        time: float,
        scheme: str,
        contrast: float | None,
        options: Mapping[str, Any],
        device: torch.device,
    ) -> None:
        self.name, self.time, self.scheme, self.contrast = name, time, scheme, contrast
        self.options, self.device = dict(options), device
        self._stages(1.0 if contrast is None else contrast)  # whatever is wrong with the options is said at once

    def stages(self, page: Page) -> tuple[Sequence[Stage], dict[str, Any]]:
        contrast = self.contrast
        if contrast is None:
            probe = models.build(self.name, contrast=1.0, **self.options).to(self.device)
            contrast = typical_contrast(probe, colours_of(page), page.layout.height, page.layout.width, self.device)
        steps = self._stages(contrast)
        record = {"model": self.name, "contrast": contrast, "time": self.time, "scheme": self.scheme}
        return steps, record | {"steps": sum(stage.steps for stage in steps)}

    def _stages(self, contrast: float) -> Sequence[Stage]:
        model = models.build(self.name, contrast=contrast, **self.options).to(self.device)
        return stages(model, self.time, scheme=self.scheme)


class Denoising(Treatment):
    """A trained network; the noise is measured on the page where its level is not given."""

    def __init__(self, name: str, noise: float | None, device: torch.device) -> None:
        from whorl.networks import load_card

        card = load_card(Path(name) if name.endswith(".json") else name)
        self.name, self.noise, self.device = name, noise, device
        self.trained_for = float(card.data["noise"])
        self.network = card.build().to(device)
        if noise is not None and not 0 < noise < float("inf"):
            raise ValueError(f"--noise {noise}: expected a positive standard deviation in grey values.")

    def stages(self, page: Page) -> tuple[Sequence[Stage], dict[str, Any]]:
        noise = self.noise
        if noise is None:
            noise = noise_level(colours_of(page), page.layout.height, page.layout.width)
            if noise == 0:
                raise ValueError(
                    "no noise was found in the picture. Give its level with --noise, or use whorl filter to smooth it."
                )
        steps = network_stages(self.network, self.trained_for / noise)
        return steps, {"network": self.name, "noise": noise, "estimated": self.noise is None}
