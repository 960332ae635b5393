r"""Whole pictures under Pythagorean turns, compared at the pixels that both lattices share.

With :math:`a^2 + b^2 = c^2` the turn by :math:`\arctan(b/a)` has rational coefficients and carries every c-th point of
the pixel lattice onto another pixel: the *coincidence lattice* known from crystals. The picture is rendered twice from
its formula, upright and turned, both are filtered, and at the shared pixels the two results must be equal. No value is
interpolated, before or after. The 3-4-5 turn shares every fifth pixel, the 20-21-29 turn (43.6 degrees) every 29th.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from whorl.data.solids import Gyroid, Solid, SolidTurn, render_solid
from whorl.data.synthetic import Scene, Turn, render
from whorl.errors import ShapeError
from whorl.invariance.filters import FINGERPRINT, Compared, Filter, filtered, root_mean_square, values_at

AnyTurn = TypeVar("AnyTurn", Turn, SolidTurn)
"""A turn of the plane or of space."""

PYTHAGOREAN = (Turn(24, 7, 25), Turn(12, 5, 13), Turn(15, 8, 17), Turn(4, 3, 5), Turn(21, 20, 29))
"""Turns by 16.3, 22.6, 28.1, 36.9 and 43.6 degrees."""

PHOTO_TURNS = (Turn(4, 3, 5), Turn(12, 5, 13))
"""Turns by 36.9 and 22.6 degrees, which carry every fifth and every 13th pixel onto a pixel."""

SOLID_TURNS = {
    "3-4-5 about z": SolidTurn(((4, -3, 0), (3, 4, 0), (0, 0, 5)), 5),
    "3-4-5 about x": SolidTurn(((5, 0, 0), (0, 4, -3), (0, 3, 4)), 5),
    "1/3 about the diagonal": SolidTurn(((2, -1, 2), (2, 2, -1), (-1, 2, 2)), 3),
    "1/9 about (1, 2, 2)": SolidTurn(((1, -4, 8), (8, 4, 1), (-4, 7, 4)), 9),
}
r"""Turns by 36.9 degrees about two axes, by 60 about the diagonal of the cube, and by 90 about an oblique axis.

A rotation matrix :math:`M / n` of whole numbers carries every voxel :math:`p` with :math:`M p` divisible by :math:`n`
onto another voxel. About an axis that is the 3-4-5 turn, in each slice; about an oblique axis the smallest is

.. math:: \frac13 \begin{pmatrix} 2 & -1 & 2 \\ 2 & 2 & -1 \\ -1 & 2 & 2 \end{pmatrix},

a turn by 60 degrees about the diagonal of the cube, which is no symmetry of the cube.
"""


@dataclass(frozen=True)
class TurnError(Compared):
    r"""Upright against turned, over the shared pixels :math:`p` (and channels), for one turn :math:`R`.

    .. math:: \text{relative} = \frac{\|d_R(Rp) - d(p)\|}{\|d(p)\|}, \qquad d = F(u) - u, \quad d_R = F(u_R) - u_R

    The change d is compared rather than the result; since :math:`u_R(Rp) = u(p)` that is the same but for rounding.

    Attributes
    ----------
    angle : float
        In degrees.
    points : int
        Number of shared pixels.
    difference, change : float
        Root mean squares of numerator and denominator, in grey values.
    largest : float
        The largest single difference, in grey values.

    Examples
    --------
    >>> TurnError(angle=36.9, points=900, difference=0.02, change=4.0, largest=0.1).relative
    0.005
    """

    angle: float
    points: int
    difference: float
    change: float
    largest: float

    @classmethod
    def of(cls, angle: float, upright: Tensor, turned: Tensor) -> "TurnError":
        """The error that follows from the changes of the upright and the turned picture at the points they share."""
        difference = turned - upright
        largest = float(difference.abs().max())
        return cls(angle, upright.shape[-1], root_mean_square(difference), root_mean_square(upright), largest)


def turn_error(
    filter: Filter,
    *,
    scene: Scene | None = None,
    turns: Sequence[Turn] = PYTHAGOREAN,
    size: int = 161,
    margin: int = 16,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> tuple[TurnError, ...]:
    """Filter a scene upright and turned, and compare where pixels meet pixels; one result for each turn.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, y, x)``.
    scene : Scene, optional
        By default :data:`~whorl.invariance.FINGERPRINT`, which fades into grey before the border.
    turns : sequence of Turn
        With integer coefficients.
    size : int
        Odd, so that the turning point is a pixel.
    margin : int
        Pixels within this distance of the inscribed circle are left out: a square frame does not turn with the scene,
        and a filter carries the difference inwards. Choose it a few times the filter's range, or fade the scene.
    channels, dtype, device
        Of the picture, and how it is handed to the filter.

    Examples
    --------
    >>> [round(e.relative, 12) for e in turn_error(lambda u: u.sqrt(), turns=(Turn(4, 3, 5),))]
    [0.0]
    """
    scene = scene or FINGERPRINT

    def draw(turn: Turn | None) -> Tensor:
        return render(scene, size, turn=turn or 0.0, channels=channels)

    found = turned_changes("turn_error", filter, draw, turns, size, margin, dtype, device)
    return tuple(TurnError.of(turn.angle, *changes) for turn, changes in zip(turns, found, strict=True))


def turned_changes(
    caller: str,
    filter: Filter,
    draw: Callable[[AnyTurn | None], Tensor],
    turns: Sequence[AnyTurn],
    size: int,
    margin: int,
    dtype: torch.dtype,
    device: str | torch.device,
) -> list[tuple[Tensor, Tensor]]:
    """What the filter changes, upright and turned, at the points that each turn carries onto points of the lattice.

    ``draw`` makes the picture or volume of that ``size`` for a turn (None: upright); points are counted from its
    middle, and those within the ``margin`` of the inscribed circle are left out.
    """
    centre, found = size // 2, []
    if size % 2 == 0 or centre - margin < 1:
        raise ValueError(f"{caller}(size={size}, margin={margin}): size must be odd and above twice the margin.")
    u, v = filtered(filter, draw(None), dtype, device)
    for turn in turns:
        points, turned_points = (centre + points for points in coincident_points(turn, centre - margin))
        u_turned, v_turned = filtered(filter, draw(turn), dtype, device)
        found.append((values_at(v - u, points), values_at(v_turned - u_turned, turned_points)))
    return found


def coincident_points(turn: Turn | SolidTurn, radius: int) -> tuple[Tensor, Tensor]:
    """Points shared by the upright and the turned lattice within a disc or ball: integers ``(points, 2)`` or 3.

    Rows are (x, y) or (x, y, z), those near the middle first. Row ``i`` of the second is where the turn puts row ``i``
    of the first.

    Examples
    --------
    >>> upright, turned = coincident_points(Turn(4, 3, 5), 3)
    >>> upright.tolist(), turned.tolist()
    ([[0, 0], [-2, 1], [-1, -2], [1, 2], [2, -1]], [[0, 0], [-1, 2], [-2, -1], [2, 1], [1, -2]])
    >>> upright, turned = coincident_points(SolidTurn(((2, -1, 2), (2, 2, -1), (-1, 2, 2)), 3), 2)
    >>> upright.tolist()[1:3], turned.tolist()[1:3]
    ([[-1, 0, 1], [-1, 1, 0]], [[0, -1, 1], [-1, 0, 1]])
    """
    M, norm = torch.tensor(turn.rows), round(turn.norm)
    if norm != turn.norm or not torch.equal(M, M.round()):
        raise ValueError(f"coincident_points({turn}): needs integer coefficients, e.g. Turn(4, 3, 5).")
    points = torch.cartesian_prod(*[torch.arange(-radius, radius + 1)] * len(M))
    points = points[(points**2).sum(-1) <= radius**2]
    carried = points @ M.long().T
    shared = (carried % norm == 0).all(-1)
    upright, turned = points[shared], carried[shared] // norm
    order = torch.argsort((upright**2).sum(-1), stable=True)
    return upright[order], turned[order]


coincident_voxels = coincident_points
"""Voxels shared by the upright and the turned lattice within a ball."""


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


def band_limited(picture: Tensor, size: int, turn: Turn | None = None, frequency: float = 0.35) -> Tensor:
    """A square picture ``(c, y, x)`` without its waves above ``frequency``, on a (turned) lattice about its middle.

    >>> u = torch.rand(1, 64, 64, dtype=torch.float64)
    >>> band_limited(u, 33).shape
    torch.Size([1, 33, 33])
    """
    rows, columns = picture.shape[1:]
    if rows != columns:
        raise ShapeError(f"band_limited: expected a square picture, got {rows} x {columns}. Cut it.")
    waves = torch.fft.fft2(picture.double()) / (rows * columns)
    k = torch.fft.fftfreq(rows, dtype=torch.float64)
    ky, kx = (part.flatten() for part in torch.meshgrid(k, k, indexing="ij"))
    kept = ky.square() + kx.square() <= frequency**2
    ky, kx, waves = ky[kept], kx[kept], waves.flatten(1)[:, kept]
    cosine, sine = (1.0, 0.0) if turn is None else (turn.cosine / turn.norm, turn.sine / turn.norm)
    # A turned lattice is an upright one for waves turned backwards, and then rows and columns factorise.
    turned_y, turned_x = cosine * ky - sine * kx, cosine * kx + sine * ky
    steps = torch.arange(size, dtype=torch.float64) - size // 2
    middle = waves * torch.exp(2j * torch.pi * (ky + kx) * (rows // 2))
    across = torch.exp(2j * torch.pi * turned_x[:, None] * steps)
    down = torch.exp(2j * torch.pi * turned_y[:, None] * steps)
    return torch.stack([((part[:, None] * down).mT @ across).real for part in middle])


def noisy_turn_error(
    filter: Filter,
    pictures: Sequence[Tensor],
    *,
    turns: Sequence[Turn] = PHOTO_TURNS,
    frequency: float = 0.35,
    size: int = 129,
    margin: int = 20,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
) -> tuple[TurnError, ...]:
    """Denoise pictures upright and turned and compare what was removed: one result for each turn, over all pictures.

    A photograph with noise is made a sum of waves by its discrete Fourier transform, of which those above a stated
    frequency are left out. This sum has a value at every point, so it can be sampled on the pixel lattice and on a
    turned one, free of interpolation; what was removed must agree at the pixels that the lattices share.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, y, x)``.
    pictures : sequence of Tensor
        Noisy, square, ``(c, y, x)``, at least 1.42 times ``size`` along a side. Waves above ``frequency`` are left out.
    turns : sequence of Turn
        With integer coefficients.
    frequency : float
        In cycles per pixel.
    size, margin : int
        Of the frame that is filtered (odd), and how far from its inscribed circle pixels are left out.
    dtype, device
        How pictures are handed to the filter.
    """
    if size % 2 == 0 or any(min(picture.shape[1:]) < 1.42 * size for picture in pictures):
        raise ShapeError(f"noisy_turn_error(size={size}): needs an odd size and pictures of {1.42 * size:.0f} pixels.")
    found = []
    for picture in pictures:

        def draw(turn: Turn | None, picture: Tensor = picture) -> Tensor:
            return band_limited(picture, size, turn, frequency)[None]

        found.append(turned_changes("noisy_turn_error", filter, draw, turns, size, margin, dtype, device))
    errors = []
    for turn, parts in zip(turns, zip(*found, strict=True), strict=True):
        upright, turned = (torch.cat([part[i].flatten() for part in parts]) for i in (0, 1))
        errors.append(TurnError.of(turn.angle, upright, turned))
    return tuple(errors)
