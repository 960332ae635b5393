"""What ``whorl deblur`` does to the pages of a file."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl import files
from whorl.automatic.noise import noise_level
from whorl.cli.treatments import Treatment
from whorl.errors import FileError
from whorl.files import Page
from whorl.foundations import validation
from whorl.large import Stage
from whorl.large.pictures import sample_blocks
from whorl.networks.cards import energy_networks, shared
from whorl.networks.energy import EnergyNetwork
from whorl.reconstruction import Blur, Measurement, minimiser


class ByKernel(Treatment):
    """The minimiser of data term and energy for a kernel that a picture shows, scaled to the sum 1."""

    doing = "deblurring"

    def __init__(self, kernel: Path, energy: str, noise: float | None, weight: str, device: torch.device) -> None:
        self.energy, self.noise, self.weight, self.device = energy, noise, weight, device
        if not isinstance(shared(energy), EnergyNetwork):
            raise ValueError(f"--energy {energy}: is no energy. Give one of {', '.join(energy_networks())}.")
        if noise is not None:
            validation.number(noise, "noise", "deblur", 0.0, open_low=True)
        shown = torch.from_numpy(files.read(kernel).colours.astype("float64")).mean(-1)
        if not float(shown.min()) >= 0 or not 0 < float(shown.sum()) < float("inf"):
            raise FileError(f"{kernel}: a kernel has numbers of 0 and more, and not 0 alone.")
        self.blur = Blur(shown / shown.sum())

    def _measured(self, pages: Sequence[Page]) -> float:
        found = [torch.from_numpy(block)[None] for block in sample_blocks(pages)]
        noise = noise_level([validation.finite(part, "deblur") for part in found]) if self.noise is None else self.noise
        if noise == 0:
            raise FileError(f"{pages[0].path}: no noise was found. Give its standard deviation with --noise.")
        return noise

    def _stages(self, page: Page, measured: float) -> tuple[Sequence[Stage], dict[str, Any]]:
        sides = (page.layout.height, page.layout.width)
        if any(side < size for side, size in zip(sides, self.blur.kernel.shape, strict=True)):
            height, width = self.blur.kernel.shape
            raise FileError(f"{page.path}: is smaller than the kernel of {width} x {height} pixels.")
        record: dict[str, Any] = {"network": self.energy, "noise": measured, "noise_measured": self.noise is None}
        peak = 255.0 if page.layout.dtype == "uint8" else None
        return (Stage(partial(self._sharpened, noise=measured, peak=peak), 0, whole=True),), record

    @torch.no_grad()
    def _sharpened(self, u: Tensor, noise: float, peak: float | None) -> Tensor:
        """The sharp picture, without what lies beyond the border of the data."""
        u = validation.finite(u, "deblur")
        wide = minimiser(Measurement.of(self.blur, u), u, self.energy, noise, self.weight, peak).u
        y, x = self.blur.radii
        return wide[:, :, y : wide.shape[2] - y, x : wide.shape[3] - x]
