"""Pictures to test and train on: all drawn here, nothing downloaded."""

from whorl.data.leaves import drawn_volumes
from whorl.data.noise import gaussian_noise
from whorl.data.rectangles import ANGLES, RectangleScene, RectangleSet, random_scene
from whorl.data.tissue import drawn_tissue

__all__ = [
    "ANGLES", "RectangleScene", "RectangleSet", "drawn_tissue", "drawn_volumes", "gaussian_noise", "random_scene"
]  # fmt: skip
