r"""White rectangles of one common direction on black: the scenes of the paper's experiment.

A scene is geometry, so it can be drawn at any angle without interpolation. There are two ways of turning it:

- ``"scene"``: everything turns about the centre of the picture. Rectangles are drawn from a disc that reaches beyond
  the picture, so every angle is filled alike, with the density of 20 rectangles per 256 x 256 pixels;
- ``"rectangles"``: 20 centres inside the picture stay where they are and each rectangle turns about its own centre.
  This changes how much edge the picture holds from angle to angle.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from whorl.data.coverage import exact_coverage, sampled_coverage
from whorl.data.noise import Split, gaussian_noise, stream

Turning = Literal["scene", "rectangles"]
Edges = Literal["analytic", "4x4", "hard"]

ANGLES = tuple(range(5, 90, 5))
_SAMPLES = {"4x4": 4, "hard": 1}
# Fixes the disc's radius to 260.4 for 256 x 256: half a picture's and half a rectangle's diagonal need 259.3.
_IN_DISC = 65


@dataclass(frozen=True)
class RectangleScene:
    """Rectangles ``size = (length, breadth)`` at ``centres`` (n, 2): pixels from the picture's centre, x right, y up.

    >>> RectangleScene(np.zeros((1, 2))).render(30).shape
    (256, 256)
    """

    centres: NDArray[np.float64]
    turning: Turning = "scene"
    size: tuple[float, float] = (140.0, 70.0)
    shape: tuple[int, int] = (256, 256)

    def __post_init__(self) -> None:
        if self.turning not in get_args(Turning):
            raise ValueError(f"RectangleScene(turning={self.turning!r}): choose one of {get_args(Turning)}.")

    def render(self, angle: float, edges: Edges = "analytic") -> NDArray[np.float32]:
        """Draw the scene turned counter-clockwise by ``angle`` degrees: ``(y, x)``, 0 black, 255 white."""
        if edges not in get_args(Edges):
            raise ValueError(f"RectangleScene.render(edges={edges!r}): choose one of {get_args(Edges)}.")
        boxes = self._boxes(angle)
        if edges == "analytic":
            coverage = exact_coverage(boxes, angle, self.shape)
        else:
            coverage = sampled_coverage(boxes, angle, self.shape, _SAMPLES[edges])
        return (255.0 * coverage).astype(np.float32)

    def _boxes(self, angle: float) -> NDArray[np.float64]:
        x, y = self.centres[:, 0], -self.centres[:, 1]  # y down from here on, as in the picture
        if self.turning == "rectangles":  # fixed centres lie elsewhere in the turned frame
            c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
            x, y = c * x - s * y, s * x + c * y
        a, b = self.size[0] / 2, self.size[1] / 2
        return np.stack([x - a, x + a, y - b, y + b], -1)


def random_scene(
    index: int, split: Split = "test", seed: int = 0, turning: Turning = "scene", size: int = 256
) -> RectangleScene:
    """Scene number ``index`` of a split: the same numbers on every machine, whatever else is drawn.

    Rectangles keep their share of a ``size`` x ``size`` picture, so small pictures are small versions of large ones.

    >>> scene = random_scene(0, size=32)
    >>> scene.render(30.0).shape
    (32, 32)
    """
    scale = size / 256
    draw = stream("scene", split, seed, index)
    if turning == "scene":
        radius = 256 * np.sqrt(_IN_DISC / (20 * np.pi)) * np.sqrt(draw.random(_IN_DISC))
        turn = 2 * np.pi * draw.random(_IN_DISC)
        centres = np.stack([radius * np.cos(turn), radius * np.sin(turn)], -1)
    else:
        centres = 256 * (draw.random((20, 2)) - 0.5)
    return RectangleScene(scale * centres, turning, (140 * scale, 70 * scale), (size, size))


@dataclass(frozen=True)
class RectangleSet:
    """Clean and noisy pictures of the experiment, fixed by a seed.

    Image ``i`` does not depend on how many are drawn, and its scene and noise are the same for every angle. All numbers
    come from a counter-based generator on the CPU, so a GPU receives the same bits.

    >>> clean, noisy = RectangleSet(count=2, split="train").pairs(30)
    >>> clean.shape
    torch.Size([2, 1, 256, 256])
    """

    count: int
    split: Split = "test"
    seed: int = 0
    turning: Turning = "scene"
    edges: Edges = "analytic"
    noise: float = 60.0
    size: int = 256

    def clean(self, angle: float) -> torch.Tensor:
        """Pictures without noise ``(n, 1, y, x)``, float32 in [0, 255]."""
        scenes = [random_scene(i, self.split, self.seed, self.turning, self.size) for i in range(self.count)]
        return torch.from_numpy(np.stack([scene.render(angle, self.edges) for scene in scenes]))[:, None]

    def noisy(self, clean: torch.Tensor) -> torch.Tensor:
        """Add this set's noise, not clipped: image ``i`` always gets noise ``i``."""
        return clean + self.noise_only()

    def noise_only(self) -> torch.Tensor:
        """The noise of all images, ``(n, 1, y, x)``: the same for every angle."""
        return gaussian_noise(self.count, (1, self.size, self.size), self.noise, self.split, self.seed)

    def pairs(self, angle: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Clean and noisy pictures at one angle, each ``(n, 1, y, x)``."""
        clean = self.clean(angle)
        return clean, self.noisy(clean)
