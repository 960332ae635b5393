"""What a verb does to a page: the stages of the filter, chosen by options and by the page itself."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from whorl import models
from whorl.files import Page
from whorl.files.windowed import colours_of
from whorl.large import Stage, stages
from whorl.large.contrast import typical_contrast

__all__ = ["Diffusion", "Recipe"]


class Recipe(ABC):
    """Gives the stages for a page, and says what it chose."""

    device: torch.device

    @abstractmethod
    def stages(self, page: Page) -> tuple[Sequence[Stage], dict[str, Any]]:
        """The stages, and the numbers that describe them for a report."""


class Diffusion(Recipe):
    """A model of the catalogue; the contrast is measured on the page where none is given."""

    def __init__(
        self, name: str, time: float, contrast: float | None, options: Mapping[str, Any], device: torch.device
    ) -> None:
        self.name, self.time, self.contrast, self.options, self.device = name, time, contrast, dict(options), device
        self._stages(1.0 if contrast is None else contrast)  # whatever is wrong with the options is said at once

    def stages(self, page: Page) -> tuple[Sequence[Stage], dict[str, Any]]:
        contrast = self.contrast
        if contrast is None:
            probe = models.build(self.name, contrast=1.0, **self.options).to(self.device)
            contrast = typical_contrast(probe, colours_of(page), page.layout.height, page.layout.width, self.device)
        steps = self._stages(contrast)
        return steps, {"model": self.name, "contrast": contrast, "time": self.time, "steps": len(steps)}

    def _stages(self, contrast: float) -> Sequence[Stage]:
        model = models.build(self.name, contrast=contrast, **self.options).to(self.device)
        return stages(model, self.time)
