r"""Fields in space: solid harmonics of the orders 0, 1, 2 on cubes of voxels.

A field of order :math:`m` has :math:`2m + 1` components :math:`Y_k`, which a turn of space mixes by an orthogonal
matrix: one number, the three parts of a vector, the five of a symmetric matrix without trace. They are scaled so that
:math:`\sum_k Y_k^2 = 1` in every direction. A filter that turns exactly has the transfer function
:math:`R(\rho)\, Y_k`.
"""

import math
from functools import lru_cache
from itertools import permutations, product

import numpy as np
import torch
from torch import Tensor

ORDERS = 3
"""Orders 0, 1, 2."""

_RADII, _HEIGHTS, _AROUND = 32, 24, 48


def harmonics(order: int, n: Tensor) -> Tensor:
    """All components of an order in directions ``(..., 3)`` of length 1, as (z, y, x): ``(..., 2 order + 1)``.

    >>> harmonics(2, torch.tensor([0.6, 0.0, 0.8])).square().sum().round(decimals=6)
    tensor(1.)
    """
    if order < 2:
        return n if order else torch.ones_like(n[..., :1])
    z, y, x = n.unbind(-1)
    three = math.sqrt(3)
    mixed = [three * x * y, three * y * z, three * x * z]
    return torch.stack([*mixed, (2 * z * z - x * x - y * y) / 2, three / 2 * (x * x - y * y)], -1)


@lru_cache(maxsize=4)
def cube_symmetries(order: int) -> tuple[tuple[Tensor, Tensor], ...]:
    """The 48 symmetries of the cube as matrices on (z, y, x), each with the matrix that mixes the components.

    >>> len(cube_symmetries(2)), cube_symmetries(2)[7][1].shape
    (48, torch.Size([5, 5]))
    """
    # Any directions that show all components tell the matrix; these are far from any symmetry.
    points = torch.randn(32, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    points = points / points.norm(dim=1, keepdim=True)
    found = []
    for places, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        turn = torch.zeros(3, 3, dtype=torch.float64)
        turn[range(3), places] = torch.tensor(signs, dtype=torch.float64)
        mixed = torch.linalg.lstsq(harmonics(order, points), harmonics(order, points @ turn.mT)).solution.mT
        found.append((turn, mixed))
    return tuple(found)


def symmetric_cubes(order: int, radius: int) -> Tensor:
    """A basis ``(b, k, z, y, x)`` of all filters that the 48 symmetries carry over as they carry the harmonics.

    >>> [len(symmetric_cubes(order, 1)) for order in range(3)]
    [4, 3, 4]
    """
    size, parts = 2 * radius + 1, 2 * order + 1
    candidates = []
    for corner in product(range(radius + 1), repeat=3):
        if list(corner) != sorted(corner):
            continue
        for component in range(parts):
            kernel = torch.zeros(parts, size, size, size, dtype=torch.float64)
            for turn, mixed in cube_symmetries(order):
                z, y, x = ((turn @ torch.tensor(corner, dtype=torch.float64)).round().long() + radius).tolist()
                kernel[:, z, y, x] += mixed[:, component]
            candidates.append(kernel.flatten())
    _, lengths, rows = torch.linalg.svd(torch.stack(candidates), full_matrices=False)
    basis: Tensor = rows[lengths > 1e-9 * lengths[0]].view(-1, parts, size, size, size)
    return basis


def energies(kernels: Tensor, order: int, frequency: float) -> tuple[Tensor, Tensor]:
    """Gram matrices of the part that turns with the direction and of the rest, over the ball of frequencies."""
    rho = (torch.arange(_RADII, dtype=torch.float64) + 0.5) / _RADII * (2 * math.pi * frequency)
    heights, weights = (torch.from_numpy(values) for values in np.polynomial.legendre.leggauss(_HEIGHTS))
    around = torch.arange(_AROUND, dtype=torch.float64) * (2 * math.pi / _AROUND)
    flat = (1 - heights.square()).sqrt()[:, None]
    z, y, x = torch.broadcast_tensors(heights[:, None], flat * around.sin(), flat * around.cos())
    directions, share = torch.stack([z, y, x], -1).flatten(0, 1), weights.repeat_interleave(_AROUND) / (2 * _AROUND)
    steps = torch.arange(kernels.shape[-1], dtype=torch.float64) - kernels.shape[-1] // 2
    phase = torch.einsum("r,dj,jx->rdx", rho, directions, torch.cartesian_prod(steps, steps, steps).mT)
    # Filters of odd order are odd functions: their transfer is purely imaginary, that of the others real.
    waves = phase.sin() if order % 2 else phase.cos()
    transfer = torch.einsum("bkx,rdx->brdk", kernels.flatten(2), waves)
    turns = harmonics(order, directions)
    turning = torch.einsum("brdk,dk,d->br", transfer, turns, share)
    rest = transfer - turning[:, :, None, None] * turns
    shells = rho.square() / rho.square().sum()  # which weigh as much as their surface
    return (
        torch.einsum("ar,br,r->ab", turning, turning, shells),
        torch.einsum("ardk,brdk,d,r->ab", rest, rest, share, shells),
    )
