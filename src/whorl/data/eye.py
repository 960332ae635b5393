"""A drawn photograph of a retina: a disc in a dark frame, a bright spot, a dark one, and trees of vessels."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FUNDUS, VESSEL = np.array([205.0, 105.0, 55.0]), np.array([45.0, 60.0, 30.0])
"""The colour of the ground, and what a vessel subtracts from it."""


def drawn_eye(size: int = 584, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.bool_]]:
    """Picture ``(y, x, 3)``, vessels ``(y, x)`` and field of view ``(y, x)``.

    >>> picture, vessels, inside = drawn_eye(96)
    >>> picture.shape, bool(vessels[~inside].any())
    ((96, 96, 3), False)
    """
    draw = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] / size - 0.5
    inside = y**2 + x**2 < 0.46**2
    depth: NDArray[Any] = np.zeros((size, size))
    for start in np.linspace(0, 2 * math.pi, 8, endpoint=False):
        _grow(depth, draw, 0.02 * size, 0.26 * size, start + draw.normal(0, 0.25), draw.uniform(2.0, 3.6) * size / 584)
    shade = 1 - 1.2 * (y**2 + x**2) - 0.25 * np.exp(-(y**2 + (x + 0.1) ** 2) / 0.01)
    ground = (
        FUNDUS * shade[..., None] + np.array([45.0, 110.0, 90.0]) * np.exp(-(y**2 + (x - 0.26) ** 2) / 0.004)[..., None]
    )
    picture = (ground - VESSEL * np.minimum(depth, 1)[..., None]) * inside[..., None]
    noisy = picture + draw.normal(0, 4, picture.shape) * (1 + 2 * inside[..., None]) / 3
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8), (depth > 0.5) & inside, inside


def _grow(depth: NDArray[Any], draw: np.random.Generator, y: float, x: float, angle: float, radius: float) -> None:
    """Let a vessel run from a point relative to the middle, bend, thin out and branch."""
    size = len(depth)
    bend = draw.normal(0, 0.004)
    while radius > 0.6 * size / 584 and y**2 + x**2 < (0.48 * size) ** 2:
        bend = 0.97 * bend + draw.normal(0, 0.003)
        angle, radius = angle + bend * 584 / size, radius * (1 - 0.6 / size)
        y, x = y + math.sin(angle), x + math.cos(angle)
        top, left = int(y + size / 2 - radius - 1), int(x + size / 2 - radius - 1)
        patch = depth[max(top, 0) : top + int(2 * radius) + 4, max(left, 0) : left + int(2 * radius) + 4]
        rows, columns = np.ogrid[: patch.shape[0], : patch.shape[1]]
        away = np.hypot(rows + max(top, 0) - y - size / 2, columns + max(left, 0) - x - size / 2)
        np.maximum(patch, np.clip(radius + 0.5 - away, 0, 1), out=patch)
        if draw.random() < 3.5 / size:
            turn = draw.choice([-1, 1]) * draw.uniform(0.4, 1.0)
            _grow(depth, draw, y, x, angle + turn, radius * draw.uniform(0.5, 0.75))
