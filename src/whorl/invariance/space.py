r"""Rotations of space without interpolation: turns by rational matrices, and balls compared at voxels of equal radius.

A rotation matrix :math:`M / n` of whole numbers carries every voxel :math:`p` with :math:`M p` divisible by :math:`n`
onto another voxel. About an axis that is the 3-4-5 turn, in each slice; about an oblique axis the smallest is

.. math:: \frac13 \begin{pmatrix} 2 & -1 & 2 \\ 2 & 2 & -1 \\ -1 & 2 & 2 \end{pmatrix},

a turn by 60 degrees about the diagonal of the cube, which is no symmetry of the cube. The solid is drawn twice from its
formula, upright and turned, both volumes are filtered, and at the shared voxels the two results must be equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from whorl.data.solids import Ball, Gyroid, Solid, SolidTurn, render_solid
from whorl.invariance.coincidence import TurnError, coincident_points, turned_changes
from whorl.invariance.filters import Filter, filtered, ratio, worst_spread

__all__ = [
    "SOLID_TURNS",
    "SphereError",
    "coincident_voxels",
    "equal_sphere_error",
    "lattice_sphere",
    "solid_turn_error",
]

SOLID_TURNS = {
    "3-4-5 about z": SolidTurn(((4, -3, 0), (3, 4, 0), (0, 0, 5)), 5),
    "3-4-5 about x": SolidTurn(((5, 0, 0), (0, 4, -3), (0, 3, 4)), 5),
    "1/3 about the diagonal": SolidTurn(((2, -1, 2), (2, 2, -1), (-1, 2, 2)), 3),
    "1/9 about (1, 2, 2)": SolidTurn(((1, -4, 8), (8, 4, 1), (-4, 7, 4)), 9),
}
"""Turns by 36.9 degrees about two axes, by 60 about the diagonal of the cube, and by 90 about an oblique axis."""


def solid_turn_error(
    filter: Filter,
    *,
    solid: Solid | None = None,
    turns: Sequence[SolidTurn] = tuple(SOLID_TURNS.values()),
    size: int = 49,
    margin: int = 3,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> tuple[TurnError, ...]:
    """Filter a solid upright and turned, and compare where voxels meet voxels; one result for each turn.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, z, y, x)``.
    solid : Solid, optional
        By default :class:`~whorl.data.solids.Gyroid`, which fades into grey before the border.
    turns : sequence of SolidTurn
        By rational matrices.
    size : int
        Odd, so that the turning point is a voxel.
    margin : int
        Voxels within this distance of the inscribed ball are left out: a cubic frame does not turn with the solid.
    channels, dtype, device
        Of the volume, and how it is handed to the filter.

    Examples
    --------
    >>> [round(e.relative, 12) for e in solid_turn_error(lambda u: u.sqrt(), size=25)]
    [0.0, 0.0, 0.0, 0.0]
    """
    solid = solid or Gyroid()

    def draw(turn: SolidTurn | None) -> Tensor:
        return render_solid(solid, size, turn=turn, channels=channels)

    found = turned_changes("solid_turn_error", filter, draw, turns, size, margin, dtype, device)
    return tuple(TurnError.of(turn.angle, *changes) for turn, changes in zip(turns, found, strict=True))


coincident_voxels = coincident_points
"""Voxels shared by the upright and the turned lattice within a ball."""


@dataclass(frozen=True)
class SphereError:
    r"""How unequal a filter makes the voxels of one sphere, as :class:`~whorl.invariance.RadiusError` for a circle.

    Attributes
    ----------
    radius : int
        Distance from the centre, in voxels.
    points : int
        Number of voxels at that distance.
    spread, change : float
        Numerator and denominator of ``relative``, in the worst channel.
    """

    radius: int
    points: int
    spread: float
    change: float

    @property
    def relative(self) -> float:
        """Spread over change."""
        return ratio(self.spread, self.change)


def equal_sphere_error(
    filter: Filter,
    *,
    solid: Solid | None = None,
    radius: int = 15,
    size: int = 69,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> SphereError:
    """Filter a ball and compare the voxels at one distance from its centre.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, z, y, x)``.
    solid : Solid, optional
        A function of the radius alone; by default :class:`~whorl.data.solids.Ball`, whose shoulder, where a filter
        changes most, lies at radius 15.
    radius : int
        15 is met by the directions (15, 0, 0), (14, 5, 2), (11, 10, 2) and (10, 10, 5); others are 9, 21 and 27.
    size : int
        Odd, so that the centre is a voxel.
    channels, dtype, device
        Of the volume, and how it is handed to the filter.

    Examples
    --------
    >>> equal_sphere_error(lambda u: 0.5 * u).relative
    0.0
    """
    points, centre = lattice_sphere(radius), size // 2
    if size % 2 == 0 or centre < radius:
        raise ValueError(f"equal_sphere_error(size={size}): must be odd and above {2 * radius}, twice the radius.")
    ball = solid or Ball()
    # All channels show the same ball: one that is drawn from its radius stays what it is with its axes exchanged.
    u, v = filtered(filter, render_solid(ball, size, channels=channels), dtype, device)
    where = f"equal_sphere_error(solid={ball}): not radial, its values at radius {radius}"
    _, spread, change = worst_spread(u, v, centre + points, where)
    return SphereError(radius, len(points), spread, change)


def lattice_sphere(radius: int) -> Tensor:
    """All integer points ``(x, y, z)`` at exactly this distance from the origin.

    Examples
    --------
    >>> len(lattice_sphere(3)), len(lattice_sphere(15))
    (30, 150)
    """
    reach = range(-radius, radius + 1)
    found = [point for point in product(reach, reach, reach) if sum(c * c for c in point) == radius * radius]
    if len(found) <= 6:
        raise ValueError(f"lattice_sphere(radius={radius}): only the axes are met. Try 3, 9 or 15.")
    return torch.tensor(found)
