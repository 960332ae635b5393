"""The symmetries of the lattice, which need no interpolation: eight of pixels, 48 of voxels."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from math import floor, log2

import torch
from torch import Tensor

from whorl.invariance.filters import Compared, Filter, filtered

SYMMETRIES: dict[str, Callable[[Tensor], Tensor]] = {
    "unmoved": lambda u: u,
    "turned by 90": lambda u: torch.rot90(u, 1, (-2, -1)),
    "turned by 180": lambda u: torch.rot90(u, 2, (-2, -1)),
    "turned by 270": lambda u: torch.rot90(u, 3, (-2, -1)),
    "left to right": lambda u: u.flip(-1),
    "top to bottom": lambda u: u.flip(-2),
    "over the diagonal": lambda u: u.transpose(-2, -1),
    "over the antidiagonal": lambda u: torch.rot90(u, 2, (-2, -1)).transpose(-2, -1),
}
"""All eight. ``unmoved`` filters the same picture twice: it is zero for a filter that is deterministic."""


def _cube(order: tuple[int, ...], flips: tuple[bool, ...]) -> Callable[[Tensor], Tensor]:
    axes = [axis for axis, flip in zip((2, 3, 4), flips, strict=True) if flip]
    return lambda u: u.permute(0, 1, *order).flip(axes)


CUBE_SYMMETRIES: dict[str, Callable[[Tensor], Tensor]] = {
    "".join(f"{'-' if flip else '+'}{'zyx'[axis - 2]}" for axis, flip in zip(order, flips, strict=True)): _cube(
        order, flips
    )
    for order in permutations((2, 3, 4))
    for flips in product((False, True), repeat=3)
}
"""All 48 of a volume ``(n, c, z, y, x)``: 24 turns and 24 mirror images. ``+z+y+x`` is the volume unmoved."""


@dataclass(frozen=True)
class SymmetryError(Compared):
    r"""Largest :math:`|F(Su) - S F(u)|` over the pixels, for each symmetry :math:`S`.

    Attributes
    ----------
    differences : dict
        The largest difference in grey values for each name in :data:`SYMMETRIES` or :data:`CUBE_SYMMETRIES`.
    change : float
        Largest :math:`|F(u) - u|`.
    spacing : float
        One ulp: the distance between floating-point numbers at the largest value of :math:`|F(u)|`.

    Examples
    --------
    >>> SymmetryError({"quarter turn": 0.25, "mirror": 0.0}, change=3.0, spacing=1e-6).difference
    0.25
    """

    differences: dict[str, float]
    change: float
    spacing: float

    @property
    def difference(self) -> float:
        """The largest difference over all symmetries."""
        return max(self.differences.values())

    @property
    def ulp(self) -> float:
        """The largest difference in units in the last place (of the largest result)."""
        return self.difference / self.spacing


def symmetry_error(
    filter: Filter,
    *,
    picture: Tensor | None = None,
    dimension: int = 2,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> SymmetryError:
    """Compare the filtered turned (mirrored) picture with the turned (mirrored) filtered one, exactly.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, y, x)``, or on ``(n, c, z, y, x)``.
    picture : Tensor, optional
        What to filter; by default white noise in [0, 255] on 37 by 26 pixels: rough, and oblong so that mixing up the
        axes cannot pass. In space on 9 by 11 by 14 voxels.
    dimension : int
        3 for the default volume instead of the default picture.
    channels, dtype, device
        Of the default picture, and how any picture is handed to the filter.

    Notes
    -----
    Passing proves the grid, not the coupling: the uncoupled block passes as well. Nonlinear filters that sharpen edges
    amplify rounding errors in time, so hold the stopping time short when counting ulps.

    Examples
    --------
    >>> symmetry_error(lambda u: 2 * u).ulp
    0.0
    """
    if picture is None:
        rng = torch.Generator().manual_seed(0)
        size = (37, 26) if dimension == 2 else (9, 11, 14)
        picture = 255 * torch.rand(1, channels, *size, generator=rng, dtype=torch.float64)
    u, v = filtered(filter, picture, dtype, device)
    differences = {}
    for name, move in (SYMMETRIES if u.dim() == 4 else CUBE_SYMMETRIES).items():
        _, moved = filtered(filter, move(u), dtype, device)
        differences[name] = float((moved - move(v)).abs().max())
    largest = max(float(v.abs().max()), torch.finfo(dtype).tiny)
    spacing = torch.finfo(dtype).eps * 2.0 ** floor(log2(largest))
    return SymmetryError(differences, float((v - u).abs().max()), spacing)
