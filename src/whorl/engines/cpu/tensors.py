r"""From structure to diffusion tensor, cell by cell: :math:`D = h(J)` in the sense of each coupling.

The anisotropic case is :math:`h(J) = \tfrac12 (h_1 + h_2) I + h[\nu_2, \nu_1] (J - t I)` with the eigenvalues
:math:`\nu_{1,2} = t \pm \delta`. Where they meet, the secant is multiplied by zero, so any finite value serves.
"""

import math

from whorl.engines.cpu.arithmetic import at, by_literal, fma, half, literal, put, zero
from whorl.engines.cpu.diffusivities import value

__all__ = ["tensor", "tiny"]

tiny = literal(1e-37)
"""Keeps divisions finite; far above the smallest normal number of both precisions."""


def _uncoupled(coupling, kind, n, Ja, Jb, Jc, rate):  # type: ignore[no-untyped-def]
    for j in range(n):
        put(Ja, j, value(kind, at(Ja, j), rate))
        put(Jc, j, value(kind, at(Jc, j), rate))


def _isotropic(coupling, kind, n, Ja, Jb, Jc, rate):  # type: ignore[no-untyped-def]
    for j in range(n):
        put(Ja, j, value(kind, at(Ja, j), rate))


def _anisotropic(coupling, kind, n, Ja, Jb, Jc, rate):  # type: ignore[no-untyped-def]
    for j in range(n):
        xx, xy, yy = at(Ja, j), at(Jb, j), at(Jc, j)
        centre, split = half(xx) * (xx + yy), half(xx) * (xx - yy)
        radius = math.sqrt(fma(split, split, xy * xy))
        large, small = value(kind, centre + radius, rate), value(kind, max(centre - radius, zero(xx)), rate)
        mean, secant = half(xx) * (large + small), half(xx) * (large - small) / max(radius, tiny(xx))
        put(Ja, j, fma(secant, split, mean))
        put(Jb, j, secant * xy)
        put(Jc, j, fma(-secant, split, mean))


tensor = by_literal(_uncoupled, _isotropic, _anisotropic)
"""Replace the structure of n cells by the diffusion tensor (isotropic: by a scalar, in Ja)."""
