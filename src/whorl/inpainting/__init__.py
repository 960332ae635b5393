"""Filling in what is missing: steady states of diffusion that keep the known pixels."""

from whorl.inpainting.fill import Filled, fill
from whorl.inpainting.images import inpaint
from whorl.inpainting.pyramid import Level, pyramid

__all__ = ["Filled", "Level", "fill", "inpaint", "pyramid"]
