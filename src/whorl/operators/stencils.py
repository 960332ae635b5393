r"""Stencils that are steerable on the square grid up to a stated frequency, found by an eigenvalue problem.

A filter of angular order :math:`m` has the transfer function :math:`H(\rho, \varphi) = R(\rho)\, e^{i m \varphi}`: a
radial profile times a phase that turns with the direction. Sampled functions have it only roughly. Here all stencils of
one size that carry quarter turns and mirror images over exactly are searched for those that come closest: with the mean
:math:`R(\rho)` of :math:`H e^{-i m \varphi}` over all directions, the part that turns has the energy :math:`S = \int
|R|^2` and the rest, which does not, the energy :math:`E = \int |H e^{-i m \varphi} - R|^2`, both over the disc
:math:`\rho \le \rho_{\max}`. The eigenvectors of :math:`E v = \lambda\,(S + E)\, v` are the stencils, most steerable
first.

Every combination of the first P stencils then has a relative error :math:`\sqrt{E/(S + E)} \le \sqrt{\lambda_P}`:
whatever weights are learned, the error has a bound that is known beforehand.

In space the same is done with solid harmonics in the place of the phase (:mod:`whorl.operators.solid_harmonics`), over
a ball of frequencies and all 48 symmetries of the cube.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from whorl.operators import solid_harmonics

FREQUENCY = 0.35
"""Cycles per pixel up to which stencils are fitted unless said otherwise."""

_LARGEST_ERROR = 0.1
_RADII, _DIRECTIONS = 64, 64


def component_count(order: int, dimension: int = 2) -> int:
    """How many numbers a field of this order has in the plane or in space.

    >>> [component_count(2), component_count(2, dimension=3)]
    [2, 5]
    """
    return 2 * order + 1 if dimension == 3 else min(order, 1) + 1


@dataclass(frozen=True)
class SteerableStencils:
    r"""Stencils of one angular order.

    Attributes
    ----------
    order : int
        The angular order :math:`m`.
    taps : Tensor
        ``(p, k, size, size)``, float64, for correlation. One component for order 0, two (cosine, sine) for the others;
        in space ``(p, k, size, size, size)``, one, three and five. The squares of the taps of a stencil, all components
        together, sum up to 1.
    errors : tuple of float
        The relative error :math:`\sqrt{\lambda}` of each; the last bounds that of every combination.
    frequency : float
        The largest frequency of the fit, in cycles per pixel.

    Examples
    --------
    >>> from whorl.operators import steerable_stencils
    >>> steerable_stencils(1, 5).taps.shape
    torch.Size([2, 2, 5, 5])
    """

    order: int
    taps: Tensor
    errors: tuple[float, ...]
    frequency: float

    def transfer(self, *theta: Tensor) -> Tensor:
        """The complex factors for waves of these frequencies (radians per pixel): ``(p, k, *frequencies)``."""
        radius, sides = self.taps.shape[-1] // 2, self.taps.dim() - 2
        steps = torch.arange(-radius, radius + 1, dtype=torch.float64)
        places = torch.cartesian_prod(*[steps] * sides)
        phase = sum(part[..., None] * along for part, along in zip(theta, places.unbind(1), strict=True))
        waves = torch.exp(1j * torch.as_tensor(phase))
        return torch.einsum("pks,...s->pk...", self.taps.flatten(2).to(torch.complex128), waves)


@lru_cache(maxsize=64)
def steerable_stencils(
    order: int, size: int = 5, count: int | None = None, frequency: float = FREQUENCY, dimension: int = 2
) -> SteerableStencils:
    """The most steerable stencils of an angular order on ``size`` x ``size`` pixels.

    Parameters
    ----------
    order : int
        Angular order, at least 0: 0 is isotropic, 1 a gradient, 2 the traceless part of a Hessian.
    size : int
        Odd number of pixels along a side.
    count : int, optional
        How many; by default as many as have an error below 0.1, at least one.
    frequency : float
        The fit covers all frequencies up to this one, in cycles per pixel.
    dimension : int
        2 for the plane, 3 for stencils on cubes of voxels, of the orders 0, 1 and 2.

    Examples
    --------
    >>> [len(steerable_stencils(m).errors) for m in range(4)]
    [3, 2, 2, 1]
    >>> [len(steerable_stencils(m, size=3, dimension=3).errors) for m in range(3)]
    [2, 1, 1]
    >>> steerable_stencils(1, size=3).errors[0] < 0.011
    True
    """
    if order < 0 or size < 1 or size % 2 == 0 or not 0 < frequency <= 0.5:
        raise ValueError(
            f"steerable_stencils(order={order}, size={size}, frequency={frequency}): the order must be at least 0, "
            "the size odd and the frequency in (0, 0.5]."
        )
    space = dimension == 3
    if dimension not in (2, 3) or (space and order >= solid_harmonics.ORDERS):
        raise ValueError(
            f"steerable_stencils(order={order}, dimension={dimension}): there are stencils of any order in 2 "
            "dimensions and of the orders 0, 1, 2 in 3."
        )
    kernels = solid_harmonics.symmetric_cubes(order, size // 2) if space else _symmetric_kernels(order, size // 2)
    if len(kernels) < (count or 1):
        raise ValueError(
            f"steerable_stencils(order={order}, size={size}, count={count}): there are {len(kernels)} stencils. "
            "Take a larger size."
        )
    turning, rest = (solid_harmonics.energies if space else _energies)(kernels, order, frequency)
    errors, vectors = _generalised_eigenvectors(rest, turning + rest)
    errors = errors.clamp(min=0).sqrt()
    number = max(1, int((errors < _LARGEST_ERROR).sum())) if count is None else count
    found = torch.einsum("ip,i...->p...", vectors[:, :number].to(kernels.dtype), kernels)
    parts = found if space else found.real[:, None] if order == 0 else torch.stack([found.real, found.imag], dim=1)
    return SteerableStencils(order, _normalised(parts), tuple(errors[:number].tolist()), frequency)


def _normalised(taps: Tensor) -> Tensor:
    """Length 1; of the two signs of an eigenvector the one whose first large tap is positive."""
    flat = taps.flatten(1)
    large = (flat.abs() > 0.999 * flat.abs().amax(1, keepdim=True)).to(torch.uint8).argmax(1, keepdim=True)
    scale = flat.gather(1, large).sign() / flat.norm(dim=1, keepdim=True)
    normalised: Tensor = (taps * scale.view(-1, *[1] * (taps.dim() - 1))).contiguous()
    return normalised


def _symmetric_kernels(order: int, radius: int) -> Tensor:
    r"""A basis of all complex kernels that turn like :math:`e^{i m \varphi}` under the symmetries of the square.

    A quarter turn multiplies them by :math:`i^m`, a mirror image over the x-axis conjugates them. Each is an impulse
    and its seven images, summed up with these factors.
    """
    size = 2 * radius + 1
    candidates = []
    for x in range(radius + 1):
        for y in range(x + 1):
            for value in (1.0 + 0.0j, 1.0j):
                kernel = torch.zeros(size, size, dtype=torch.complex128)
                for mirrored in (False, True):
                    column, row, factor = x, (-y if mirrored else y), (value.conjugate() if mirrored else value)
                    for _ in range(4):
                        kernel[row + radius, column + radius] += factor
                        column, row, factor = -row, column, factor * (1, 1j, -1, -1j)[order % 4]
                candidates.append(kernel)
    flat = torch.view_as_real(torch.stack(candidates)).flatten(1)
    _, lengths, rows = torch.linalg.svd(flat, full_matrices=False)
    basis = rows[lengths > 1e-9 * lengths[0]]
    return torch.view_as_complex(basis.view(-1, size, size, 2).contiguous())


def _energies(kernels: Tensor, order: int, frequency: float) -> tuple[Tensor, Tensor]:
    """Gram matrices of the part that turns with the direction and of the rest, over the disc of frequencies."""
    radius = kernels.shape[-1] // 2
    rho = (torch.arange(_RADII, dtype=torch.float64) + 0.5) / _RADII * (2 * math.pi * frequency)
    phi = torch.arange(_DIRECTIONS, dtype=torch.float64) * (2 * math.pi / _DIRECTIONS)
    theta_y, theta_x = rho[:, None] * phi.sin(), rho[:, None] * phi.cos()
    steps = torch.arange(-radius, radius + 1, dtype=torch.float64)
    waves = torch.exp(1j * (theta_y[..., None, None] * steps[:, None] + theta_x[..., None, None] * steps))
    upright = torch.einsum("iyx,rpyx->irp", kernels, waves) * torch.exp(-1j * order * phi)
    turning = upright.mean(-1, keepdim=True)
    # Rings weigh as much as their circumference.
    weights = (rho / rho.sum()).to(kernels.dtype)
    rest = upright - turning
    return (
        torch.einsum("ir,jr,r->ij", turning[..., 0], turning[..., 0].conj(), weights).real,
        torch.einsum("irp,jrp,r->ij", rest, rest.conj(), weights).real / _DIRECTIONS,
    )


def _generalised_eigenvectors(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Solutions of ``a v = x b v`` for symmetric ``a`` and positive definite ``b``, smallest ``x`` first."""
    inverse = torch.linalg.inv(torch.linalg.cholesky(b))
    values, vectors = torch.linalg.eigh(inverse @ a @ inverse.mT)
    return values, inverse.mT @ vectors
