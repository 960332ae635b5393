r"""Diffusion and shock together (Schaefer and Weickert 2024): edges are carried on over gaps by an explicit flow.

.. math:: \partial_t u = g(|\nabla u_\nu|^2)\, \Delta u - \big(1 - g(|\nabla u_\nu|^2)\big)\,
          S_\varepsilon(\partial_{ww} u_\sigma)\, |\nabla u|

Where the picture is flat, it is smoothed; at edges it is dilated or eroded, by the sign of its second derivative across
them: :math:`w` is the dominant eigenvector of the structure tensor with the scales :math:`\sigma` and :math:`\rho`.
This is no flow of a flux, so it has a step of its own instead of a :class:`~whorl.steps.Form`.

Differences to the four neighbours along the axes and to the four along the diagonals make two discretisations each of
:math:`\Delta u` and of :math:`|\nabla u|`; the diagonals have the weight :math:`\delta = \sqrt2 - 1` in their mean.

Step limit. With :math:`M` the largest of nine pixels, Rouy and Tourin's upwind slope is at most
:math:`((1-\delta)\sqrt2 + \delta)(M - u)`, and the Laplacian at most :math:`(4 - 2\delta)(M - u)`, which is more. As
:math:`0 \le g \le 1` and :math:`|S| \le 1` a step of at most :math:`1/(4 - 2\delta)` ends between the smallest and the
largest of the nine: a discrete maximum-minimum principle, whatever the guidance.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.inpainting.pyramid import Level, finer, pyramid
from whorl.operators import Smoothing
from whorl.operators.boundary import mirror

DIAGONAL = 2**0.5 - 1
"""The weight of the diagonals."""

LIMIT = 1 / (4 - 2 * DIAGONAL)
"""The largest step that keeps the maximum-minimum principle."""

RENEWED = 8
"""Steps that are taken with one guidance, before it is computed anew."""

COARSE, MOST = 80, 1600
"""Steps on coarse levels, and at most on the finest."""


@dataclass(frozen=True)
class DiffusionShock:
    """The flow: contrast and softness of the sign in grey values, the three scales in pixels.

    >>> DiffusionShock(contrast=2.0).step_limit()  # doctest: +ELLIPSIS
    0.315...
    """

    contrast: float = 5.5
    softness: float = 10.0
    nu: float = 0.7
    sigma: float = 1.0
    rho: float = 1.5

    def __post_init__(self) -> None:
        for name in ("contrast", "softness"):
            validation.number(getattr(self, name), name, "diffusion-shock", 0.0, open_low=True)
        for name in ("nu", "sigma", "rho"):
            validation.number(getattr(self, name), name, "diffusion-shock", 0.0)

    def step_limit(self) -> float:
        """The largest step, proven in this module."""
        return LIMIT

    def guidance(self, u: Image) -> tuple[Tensor, Tensor]:
        """The share g of the diffusion, which channels have in common, and the soft sign of the second derivative."""
        p, q = _slopes(Smoothing(self.nu)(u))
        g = (1 + (p * p + q * q).sum(1, keepdim=True) / self.contrast**2).rsqrt()
        smooth: Tensor = Smoothing(self.sigma)(u)
        p, q = _slopes(smooth)
        blur = Smoothing(self.rho)
        xx, xy, yy = (blur(each.sum(1, keepdim=True)) for each in (p * p, p * q, q * q))
        # cos 2 phi and sin 2 phi of the angle of w: no eigenvector is needed, and where there is none, no direction.
        cosine, sine = xx - yy, 2 * xy
        length = torch.hypot(cosine, sine).clamp_min(torch.finfo(u.dtype).tiny)
        across_x, across_y, mixed = _curvatures(smooth)
        ww = 0.5 * (across_x + across_y + cosine / length * (across_x - across_y)) + sine / length * mixed
        return g, 2 / torch.pi * torch.atan(ww / self.softness)

    def change(self, u: Image, guidance: tuple[Tensor, Tensor]) -> Image:
        """The right hand side under a guidance."""
        g, sign = guidance
        axes, diagonals = _neighbours(u)
        laplacian = (1 - DIAGONAL) * _laplacian(u, axes) + 0.5 * DIAGONAL * _laplacian(u, diagonals)
        # Dilation takes from the highest neighbours, erosion gives to the lowest: upwind in both cases.
        up = torch.where(sign < 0, 1.0, -1.0).to(u.dtype)
        slope = (1 - DIAGONAL) * _slope(u, axes, up) + 0.5**0.5 * DIAGONAL * _slope(u, diagonals, up)
        changed: Tensor = g * laplacian - (1 - g) * sign * slope
        return changed

    def step(self, u: Image, tau: float = LIMIT) -> Image:
        """One explicit step; larger ones than the limit are refused."""
        _check(u)
        if not 0 <= tau <= LIMIT * (1 + 1e-12):
            raise ValueError(f"diffusion-shock: tau = {tau:g} is above the limit. Take at most {LIMIT:.4f}.")
        after: Tensor = u + tau * self.change(u, self.guidance(u))
        return after

    def fill(
        self, image: Image, known: Tensor, tolerance: float, report: Callable[[float], None] | None = None
    ) -> tuple[Image, float, int, bool]:
        """From coarse to fine until a unit of time changes less than the tolerance: image, change, steps, success."""
        _check(image)
        levels = pyramid(Level(torch.where(known, image, 0), known))
        start = levels[-1]
        count = start.known.to(image.dtype).sum((2, 3), keepdim=True).clamp_min(1)
        u = torch.where(start.known, start.data, start.data.sum((2, 3), keepdim=True) / count)
        change, steps, calm = 0.0, 0, True
        for k, level in enumerate(reversed(levels)):
            if k:
                u = torch.where(level.known, level.data, finer(u, tuple(level.data.shape[2:])))
            if bool(level.known.all()):
                continue
            finest = k == len(levels) - 1
            steps, calm = 0, False
            while steps < (MOST if finest else COARSE) and not calm:
                guidance, before = self.guidance(u), u
                for _ in range(RENEWED):
                    u = torch.where(level.known, level.data, u + LIMIT * self.change(u, guidance))
                steps += RENEWED
                moved = (u - before)[~level.known.expand_as(u)]
                change = float(moved.square().mean().sqrt()) / (RENEWED * LIMIT)
                calm = change <= tolerance
                if finest and report is not None:
                    report(change)
        return u, change, steps, calm


def _check(u: Image) -> None:
    if u.dim() != 4:
        raise ShapeError("diffusion-shock: fills pictures (n, c, y, x), not volumes. Take model='eed' for those.")


def _neighbours(u: Image) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Pairs of opposite neighbours: left, right, above, below; and both diagonals."""
    wide = mirror(u, 1)
    rows, columns = u.shape[2:]

    def at(y: int, x: int) -> Tensor:
        return wide[:, :, 1 + y : 1 + y + rows, 1 + x : 1 + x + columns]

    return (at(0, -1), at(0, 1), at(-1, 0), at(1, 0)), (at(-1, -1), at(1, 1), at(-1, 1), at(1, -1))


def _laplacian(u: Image, around: tuple[Tensor, ...]) -> Tensor:
    a, b, c, d = around
    return ((a - u) + (b - u)) + ((c - u) + (d - u))


def _slope(u: Image, around: tuple[Tensor, ...], up: Tensor) -> Tensor:
    """The upwind slope in units of the distance: towards the highest pixel of every pair, or from the lowest."""
    a, b, c, d = (up * (each - u) for each in around)
    return torch.hypot(torch.maximum(a, b).clamp_min(0), torch.maximum(c, d).clamp_min(0))


def _slopes(u: Image) -> tuple[Tensor, Tensor]:
    """Central derivatives along x and y; the diagonals count as much as makes the leading error isotropic."""
    (left, right, above, below), (nw, se, ne, sw) = _neighbours(u)
    falling, rising = se - nw, ne - sw
    return (right - left) / 3 + (falling + rising) / 12, (below - above) / 3 + (falling - rising) / 12


def _curvatures(u: Image) -> tuple[Tensor, Tensor, Tensor]:
    """Second derivatives along x, along y and mixed."""
    (left, right, above, below), (nw, se, ne, sw) = _neighbours(u)
    return (left + right) - 2 * u, (above + below) - 2 * u, ((nw + se) - (ne + sw)) / 4
