"""Volumes drawn from formulas: what the networks for volumes learn from. No scan is among them.

Ellipsoids, boxes, shells and tubes of all sizes fall upon each other as dead leaves do. Their insides are flat, shaded,
or filled with winding sheets, rough texture or waves; all of it is then smoothed a little and brought to grey values.
"""

from collections.abc import Iterable, Iterator
from math import pi

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.data.noise import Split, stream
from whorl.errors import ShapeError

LEAVES = 90
_OWN, _EACH, _FIELDS = 20, 19, 4  # numbers of a volume and of a leaf, each used once; fields of white noise
_BOX, _SHELL, _TUBE = 1, 2, 3  # kinds of leaves; the other two of five are ellipsoids


def drawn_volumes(
    numbers: Iterable[int], size: int = 32, split: Split = "train", seed: int = 0, device: str | torch.device = "cpu"
) -> Tensor:
    """Volumes with these numbers: ``(n, 1, size, size, size)``, float32, grey values from 0 to 255.

    Each has its own stream of random numbers, which does not depend on the others nor on the device.

    >>> u = drawn_volumes([5], size=8)
    >>> u.shape, bool((drawn_volumes([4, 5], size=8)[1] - u[0]).abs().max() < 1e-2)
    (torch.Size([1, 1, 8, 8, 8]), True)
    """
    chosen = list(numbers)
    if not chosen or size < 8:
        raise ShapeError(f"drawn_volumes({chosen}, size={size}): give a number or more, and at least 8 voxels a side.")
    each = [_random(stream("scene", split, seed, number), size) for number in chosen]
    own, leaves, turns, white = (torch.from_numpy(np.stack(part)).to(device) for part in zip(*each, strict=True))
    U = _one_by_one(own)
    steps = torch.arange(size, device=device) - (size - 1) / 2
    places = torch.stack(torch.meshgrid(steps, steps, steps, indexing="ij"))
    fills = _fills(U, white, places, torch.nn.functional.normalize(turns[:, -1, :3], dim=1))
    texture = next(U) ** 2
    u = 255 * next(U) + (next(U) < 0.5) * 60 * next(U) * fills[:, 0]
    for i in range(LEAVES):
        u = _covered(u, leaves[:, i], _matrix(turns[:, i]), 1 - i / LEAVES, fills, texture, places)
    u = u * (1 + (next(U) < 0.5) * 0.15 * next(U) * standardised(blurred(white[:, 3], size / 6)))
    u = u + (next(U) < 0.35) * 8 * next(U) ** 2 * fills[:, 1]
    u = blurred(u, 0.95 * next(U))
    return in_grey_values(u, next(U) < 0.4, 0.3 + 0.7 * next(U), next(U))


def in_grey_values(u: Tensor, narrow: Tensor, share: Tensor, dark: Tensor) -> Tensor:
    """Volumes ``(n, 1, z, y, x)`` with values from 0 to 255; ``narrow`` ones use a share of that range."""
    low, high = u.amin((1, 2, 3), keepdim=True), u.amax((1, 2, 3), keepdim=True)
    u = (u - low) / (high - low).clamp(min=1) * 255
    gain = torch.where(narrow, share, torch.ones_like(share))
    return (u * gain + 255 * (1 - gain) * dark).clamp(0, 255)[:, None]


def blurred(u: Tensor, *widths: Tensor | float) -> Tensor:
    """A volume after a Gaussian of these widths along z, y and x, or one for all; the border is periodic."""
    factor: Tensor | float = 1.0
    for axis, width in zip((-3, -2, -1), widths * (3 // len(widths)), strict=True):
        frequency = (torch.fft.rfftfreq if axis == -1 else torch.fft.fftfreq)(u.shape[axis], device=u.device)
        wave = (2 * pi * frequency).view(*[-1 if k == axis else 1 for k in (-3, -2, -1)])
        factor = factor * torch.exp(-0.5 * (width * wave) ** 2)
    result: Tensor = torch.fft.irfftn(torch.fft.rfftn(u, dim=(-3, -2, -1)) * factor, s=u.shape[-3:], dim=(-3, -2, -1))
    return result


def _random(rng: np.random.Generator, size: int) -> tuple[NDArray[np.float32], ...]:
    """All random numbers of one volume."""
    return (
        rng.random(_OWN, np.float32),
        rng.random((LEAVES, _EACH), np.float32),
        rng.standard_normal((LEAVES + 1, 4), np.float32),
        rng.standard_normal((_FIELDS, size, size, size), np.float32),
    )


def _one_by_one(numbers: Tensor) -> Iterator[Tensor]:
    """Numbers ``(n, k)`` as k tensors beside volumes ``(n, z, y, x)``."""
    return iter(numbers.T[..., None, None, None])


def standardised(u: Tensor) -> Tensor:
    """The same with mean 0 and standard deviation 1."""
    u = u - u.mean((1, 2, 3), keepdim=True)
    return u / u.std((1, 2, 3), keepdim=True).clamp(min=1e-12)


def _fills(U: Iterator[Tensor], white: Tensor, places: Tensor, direction: Tensor) -> Tensor:
    """What leaves may be filled with: winding sheets, rough texture, waves."""
    smooth = standardised(blurred(white[:, 0], 1.5 * 4 ** next(U)))
    sheets = torch.tanh((2 + 10 * next(U)) * torch.sin((0.6 + 2.4 * next(U)) * pi * smooth))
    fine, coarse = blurred(white[:, 1], 0.5 * 3 ** next(U)), blurred(white[:, 2], 1.5 * 2 ** next(U))
    along = torch.einsum("nk,kzyx->nzyx", direction, places)
    waves = torch.sin(2 * pi / (3 * 5 ** next(U)) * along + 6 * next(U) + next(U) * smooth)
    return torch.stack([sheets, standardised(fine + 0.7 * standardised(coarse)), waves], 1)


def _covered(
    u: Tensor, numbers: Tensor, turn: Tensor, large: float, fills: Tensor, texture: Tensor, places: Tensor
) -> Tensor:
    """Volumes with one leaf more, which hides what lies below; early leaves are ``large``."""
    size, U = places.shape[-1], _one_by_one(numbers)
    radius = 1.2 * (0.45 * size / 1.2) ** (next(U) ** (2.2 - 1.4 * large))
    axes = radius[:, None] * (0.25 + 0.75 * torch.stack([next(U) for _ in range(3)], 1))
    kind = (5 * next(U)).long()
    thin = axes[:, 1].clamp(max=4)
    tube = torch.stack([torch.full_like(thin, 4.0 * size), thin, thin], 1)
    axes = torch.where((kind == _TUBE)[:, None], tube, axes).clamp(min=0.7)
    centre = (torch.stack([next(U) for _ in range(3)], 1) - 0.5) * size
    q = torch.einsum("nij,njzyx->nizyx", turn, places - centre) / axes
    away = torch.where(kind == _BOX, q.abs().amax(1), q.square().sum(1).sqrt())
    inside = (1 - away) * axes.amin(1)  # voxels, roughly
    inside = torch.where(kind == _SHELL, 1 + 2.5 * next(U) - inside.abs(), inside)
    grey, which = 255 * next(U), (3 * next(U)).long()
    amount = (next(U) < 0.5) * texture * 50 * next(U) ** 2
    amount = torch.where((which == 0) & (next(U) < 0.4), 20 + 60 * next(U), amount)
    slope = (torch.stack([next(U) for _ in range(3)], 1) - 0.5) * (next(U) < 0.4)[:, None] * 255 / size
    fill = fills[torch.arange(len(u), device=u.device), which.flatten()]
    return u + (inside + 0.5).clamp(0, 1) * (grey + amount * fill + (slope * places).sum(1) - u)


def _matrix(quaternion: Tensor) -> Tensor:
    """Turns of space ``(n, 3, 3)``, evenly drawn where the four numbers are normal."""
    w, x, y, z = torch.nn.functional.normalize(quaternion, dim=1).unbind(1)
    rows = (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 2 * (x * y + z * w),
            1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 2 * (x * z - y * w), 2 * (y * z + x * w),
            1 - 2 * (x * x + y * y))  # fmt: skip
    return torch.stack(rows, 1).view(-1, 3, 3)
