r"""The equal-radius test: a radial hill must stay radial, checked at lattice points of exactly equal radius.

.. math:: 65^2 = 65^2 + 0^2 = 63^2 + 16^2 = 60^2 + 25^2 = 56^2 + 33^2 = 52^2 + 39^2

so 36 pixels lie at distance 65 from the central one, at nine different angles in each quarter. A radial picture has one
value there before filtering, to the last bit, and must have one value afterwards. Nothing is interpolated. In space a
ball is compared at voxels of equal radius.
"""

from dataclasses import dataclass
from itertools import product
from math import atan2, degrees, isqrt

import torch
from torch import Tensor

from whorl.data.solids import Ball, Solid, render_solid
from whorl.data.synthetic import Bump, Scene, render
from whorl.invariance.filters import Compared, Filter, filtered, worst_spread


@dataclass(frozen=True)
class RadiusError(Compared):
    r"""How unequal a filter makes the points of one circle.

    With :math:`v = F(u)` at the points :math:`p` of equal radius,

    .. math:: \text{relative} = \frac{\max_p v(p) - \min_p v(p)}{\max_p |v(p) - u(p)|}

    in the worst channel: full spread over the largest change *on that very circle*, the strictest of the usual ratios.

    Attributes
    ----------
    radius : int
        Distance from the centre, in pixels.
    angles : tuple
        Angle of each point in degrees, counter-clockwise from the right, ascending from 0.
    changes : tuple
        :math:`v(p) - u(p)` at each point, in the worst channel.
    spread, change : float
        Numerator and denominator of ``relative``.

    Examples
    --------
    >>> RadiusError(5, (0.0, 36.9), (1.0, 1.1), spread=0.1, change=1.1).radius
    5
    """

    radius: int
    angles: tuple[float, ...]
    changes: tuple[float, ...]
    spread: float
    change: float
    called = "spread"


def equal_radius_error(
    filter: Filter,
    *,
    scene: Scene | None = None,
    radius: int = 65,
    size: int = 225,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> RadiusError:
    """Filter a radial picture and compare the pixels at one distance from its centre.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, y, x)``.
    scene : Scene, optional
        A function of the radius alone; by default :class:`~whorl.data.synthetic.Bump`, whose shoulder, where a filter
        changes most, lies at radius 65 at the foot of a flank with slope 12.
    radius : int
        A lattice circle with points at more than one angle: 5, 25, 65, 85, 325, ...
    size : int
        Odd, so that the centre is a pixel; the flank must have room before the border.
    channels, dtype, device
        Of the picture, and how it is handed to the filter.

    Notes
    -----
    Sees errors of the fourth and higher even orders in the angle (quarter turns and mirrors are met by construction),
    but on radial pictures only: crossing edges are tested by :func:`~whorl.invariance.turn_error`.

    Examples
    --------
    >>> equal_radius_error(lambda u: 0.5 * u).relative
    0.0
    """
    points = lattice_circle(radius)
    centre = size // 2
    if size % 2 == 0 or centre < radius:
        raise ValueError(f"equal_radius_error(size={size}): must be odd and above {2 * radius}, twice the radius.")
    u, v = filtered(filter, render(scene or Bump(), size, channels=channels), dtype, device)
    # Angles run counter-clockwise, rows downwards.
    pixels = torch.tensor([(centre + x, centre - y) for x, y in points])
    where = f"equal_radius_error(scene={scene}): not radial, its values at radius {radius}"
    changes, spread, change = worst_spread(u, v, pixels, where)
    angles = tuple(degrees(atan2(y, x)) % 360 for x, y in points)
    return RadiusError(radius, angles, tuple(changes.tolist()), spread, change)


def lattice_circle(radius: int) -> list[tuple[int, int]]:
    """All integer points ``(x, y)`` with ``x² + y² = radius²``, ordered by angle.

    Examples
    --------
    >>> lattice_circle(5)[:4]
    [(5, 0), (4, 3), (3, 4), (0, 5)]
    >>> len(lattice_circle(65))
    36
    """
    points = set()
    for x in range(radius + 1):
        y = isqrt(radius * radius - x * x)
        if x * x + y * y == radius * radius:
            points |= {(sx * x, sy * y) for sx in (1, -1) for sy in (1, -1)}
    if len(points) <= 4:
        raise ValueError(f"lattice_circle(radius={radius}): only the axes are met. Try 5, 25 or 65.")
    return sorted(points, key=lambda point: atan2(point[1], point[0]) % (2 * torch.pi))


@dataclass(frozen=True)
class SphereError(Compared):
    r"""How unequal a filter makes the voxels of one sphere, as :class:`~whorl.invariance.RadiusError` for a circle.

    Attributes
    ----------
    radius : int
        Distance from the centre, in voxels.
    points : int
        Number of voxels at that distance.
    spread, change : float
        Numerator and denominator of ``relative``, in the worst channel.

    Examples
    --------
    >>> SphereError(radius=3, points=30, spread=0.1, change=2.0).relative
    0.05
    """

    radius: int
    points: int
    spread: float
    change: float
    called = "spread"


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
    # All channels show the same ball: a ball does not change when its axes are exchanged.
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
