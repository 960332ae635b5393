"""Volumes drawn from formulas: functions of space that can be turned exactly and sampled on any voxel lattice."""

from collections.abc import Callable
from dataclasses import dataclass
from math import acos, degrees, pi, sqrt

import torch
from torch import Tensor

from whorl.data.synthetic import rise
from whorl.errors import ShapeError

Solid = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Grey values at points ``(x, y, z)``, for tensors that broadcast."""

WholeNumbers = tuple[int, int, int]


@dataclass(frozen=True)
class SolidTurn:
    r"""A rotation of space by a rational matrix :math:`R` = ``rows / norm``, acting on :math:`(x, y, z)`.

    Whole numbers make it free of rounding: a sublattice of the voxels is carried exactly onto voxels.

    Examples
    --------
    >>> round(SolidTurn(((2, -1, 2), (2, 2, -1), (-1, 2, 2)), 3).angle, 2)
    60.0
    """

    rows: tuple[WholeNumbers, WholeNumbers, WholeNumbers] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    norm: int = 1

    def __post_init__(self) -> None:
        M = torch.tensor(self.rows)
        if M.shape != (3, 3) or not torch.equal(M @ M.T, self.norm**2 * torch.eye(3, dtype=M.dtype)):
            raise ValueError(f"{self}: rows / norm is no rotation. Its rows must be orthogonal and of length norm.")
        if round(float(torch.linalg.det(M.double()))) != self.norm**3:
            raise ValueError(f"{self}: rows / norm is a mirror image, not a rotation. Change the sign of one row.")

    @property
    def angle(self) -> float:
        """The angle about the axis of rotation, in degrees."""
        trace = sum(self.rows[i][i] for i in range(3)) / self.norm
        return degrees(acos(max(-1.0, min(1.0, (trace - 1) / 2))))

    def upright(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Where in the upright solid the point ``(x, y, z)`` of the turned volume comes from."""
        first, second, third = (
            (self.rows[0][i] * x + self.rows[1][i] * y + self.rows[2][i] * z) / self.norm for i in range(3)
        )
        return first, second, third


def render_solid(
    solid: Solid, size: int | tuple[int, int, int], *, turn: SolidTurn | None = None, channels: int = 1
) -> Tensor:
    """Sample a solid on the voxel lattice: a float64 tensor ``(1, channels, z, y, x)`` about its middle.

    Channel ``k`` shows the solid with its axes exchanged ``k`` times, odd ones as a negative.

    Examples
    --------
    >>> render_solid(Gyroid(), 9, channels=2).shape
    torch.Size([1, 2, 9, 9, 9])
    """
    slices, rows, columns = (size, size, size) if isinstance(size, int) else size
    if min(slices, rows, columns, channels) < 1:
        raise ShapeError(f"render_solid(size={size}, channels={channels}): every number must be at least 1.")
    z, y, x = (torch.arange(count, dtype=torch.float64) - (count - 1) / 2 for count in (slices, rows, columns))
    x, y, z = (turn or SolidTurn()).upright(x[None, None, :], y[None, :, None], z[:, None, None])
    layers = []
    for k in range(channels):
        layer = solid(x, y, z).expand(slices, rows, columns)
        layers.append(255 - layer if k % 2 else layer)
        x, y, z = y, z, x
    return torch.stack(layers)[None]


@dataclass(frozen=True)
class Ball:
    r"""A soft ball :math:`h\,\Phi((R - r)/w)` with the normal distribution function :math:`\Phi`.

    Its steepest slope is :math:`h / (w \sqrt{2\pi})`, 12 by default, and its shoulder is most curved at :math:`R - w`,
    15 by default. Depends on :math:`x^2 + y^2 + z^2` alone, so voxels of equal radius hold equal bits.
    """

    radius: float = 19.0
    width: float = 4.0
    height: float = 12 * 4.0 * sqrt(2 * pi)

    def __call__(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        # Largest first: then the same three squares are added in the same order wherever they stand.
        squares = torch.stack(torch.broadcast_tensors(x * x, y * y, z * z)).sort(0).values
        return self.height * rise(self.radius - (squares[2] + squares[1] + squares[0]).sqrt(), self.width)


@dataclass(frozen=True)
class Gyroid:
    r"""Winding sheets :math:`\sin X \cos Y + \sin Y \cos Z + \sin Z \cos X` in axes that lie oblique to the voxels.

    They bend in every direction and fade into grey beyond ``radius``. The steepest slope is 12 by default.
    """

    period: float = 20.0
    radius: float = 19.0
    width: float = 3.0
    slope: float = 12.0

    def __call__(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        k = 2 * pi / self.period
        # An orthogonal frame that no turn of the voxel lattice carries into the axes.
        X = k * (6 * x + 3 * y + 2 * z) / 7 + 0.4
        Y = k * (-2 * x + 6 * y - 3 * z) / 7 + 1.1
        Z = k * (-3 * x + 2 * y + 6 * z) / 7 - 0.3
        sheets = X.sin() * Y.cos() + Y.sin() * Z.cos() + Z.sin() * X.cos()
        steepest = sqrt(3) * k
        inside = rise(self.radius - (x * x + y * y + z * z).sqrt(), self.width)
        return 127.5 + self.slope / steepest * inside * sheets
