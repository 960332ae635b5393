"""Filling in what is missing: steady states of diffusion that keep the known pixels."""

from whorl.inpainting.fill import Filled, fill
from whorl.inpainting.images import inpaint
from whorl.inpainting.pyramid import Level, pyramid
from whorl.inpainting.shock import DiffusionShock

__all__ = ["DiffusionShock", "Filled", "Level", "fill", "inpaint", "pyramid"]
