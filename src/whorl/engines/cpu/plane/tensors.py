r"""From structure to diffusion tensor, cell by cell: :math:`D = h(J)` in the sense of each coupling.

The anisotropic case is :math:`h(J) = \tfrac12 (h_1 + h_2) I + h[\nu_2, \nu_1] (J - t I)` with the eigenvalues
:math:`\nu_{1,2} = t \pm \delta`. Where they meet, the secant is multiplied by zero, so any finite value serves.
Edge-enhancing diffusion has :math:`I + h[0, \mathrm{tr} J]\, J` of a single gradient. Laws of eigenvalues are those of
:mod:`whorl.activations`; edge-continuing diffusion has :math:`(\lambda^2 + \nu_2) / (\lambda^2 + \nu_1)` and 1.
"""

import math
from typing import Any

from whorl.engines.cpu.arithmetic import fma, half, inverse_power, literal, one, power, tiny, zero
from whorl.engines.cpu.compiling import by_literal, compiled
from whorl.engines.cpu.diffusivities import value
from whorl.engines.cpu.laws import spectra
from whorl.engines.leaves import SPECTRA


@compiled()
def parted(xx: float, xy: float, yy: float) -> Any:
    """The mean of both eigenvalues, half the difference of the diagonal, and half that of the eigenvalues.

    Entries are scaled by a power of two before they are squared: images of any magnitude will do.
    """
    centre, split = half(xx) * (xx + yy), half(xx) * (xx - yy)
    scale = inverse_power(centre)
    d, e = split * scale, xy * scale
    return centre, split, power(centre) * math.sqrt(fma(d, d, e * e))


def _uncoupled(law, kind, J, rate, more):  # type: ignore[no-untyped-def]
    return value(kind, J[0], rate), zero(rate), value(kind, J[2], rate)


def _isotropic(law, kind, J, rate, more):  # type: ignore[no-untyped-def]
    g = value(kind, J[0], rate)
    return g, zero(g), g


def _anisotropic(law, kind, J, rate, more):  # type: ignore[no-untyped-def]
    # Scaled by a power of two to the size of the squared contrast, entries can be squared; slopes beyond 1e9 contrasts
    # would overflow in single precision, which does not resolve them.
    xx, xy, yy = J
    centre, split, mixed = half(xx) * more * (xx + yy), half(xx) * more * (xx - yy), more * xy
    radius = math.sqrt(fma(split, split, mixed * mixed))
    large, small = value(kind, centre + radius, rate), value(kind, max(centre - radius, zero(xx)), rate)
    mean, secant = half(xx) * (large + small), half(xx) * (large - small) / max(radius, tiny(xx))
    return fma(secant, split, mean), secant * mixed, fma(-secant, split, mean)


def _rank_one(law, kind, J, rate, more):  # type: ignore[no-untyped-def]
    # The eigenvalues are the trace and 0, and g(0) = 1.
    xx, xy, yy = J
    s2 = xx + yy
    fall = (value(kind, s2, rate) - one(xx)) / max(s2, tiny(xx))
    return fma(fall, xx, one(xx)), fall * xy, fma(fall, yy, one(xx))


def _continuing(law, kind, J, rate, more):  # type: ignore[no-untyped-def]
    # The adjugate of I + rate J over its larger eigenvalue.
    (xx, xy, yy), (centre, _, radius) = J, parted(*J)
    share = one(xx) / fma(rate, centre + radius, one(xx))
    return fma(rate, yy, one(xx)) * share, -(rate * xy) * share, fma(rate, xx, one(xx)) * share


def _spectral(mean_and_rise: Any, share: float) -> Any:
    """A law of eigenvalues. Directions of nearly equal ones get the mean of both; see the law."""
    together = literal(share)

    def spectral(law, kind, J, rate, more):  # type: ignore[no-untyped-def]
        (xx, xy, _), (centre, split, radius) = J, parted(*J)
        large, small, gap = centre + radius, max(centre - radius, zero(xx)), radius + radius
        mean, rise = mean_and_rise(kind, large, small, gap, more, rate)
        secant = rise / max(gap, max(together(xx) * large, tiny(xx)))
        return fma(secant, split, mean), secant * xy, fma(-secant, split, mean)

    return spectral


_SPECTRAL = {name: _spectral(each, SPECTRA[2][name].together) for name, each in spectra(2).items()}
_SPECTRAL["edge-continuing"] = _continuing

respond = by_literal(_uncoupled, _isotropic, _anisotropic, _rank_one, *_SPECTRAL.values())
"""The tensor (a, b, c) of one cell from its structure.

``more`` is a further number of the law: for the anisotropic one the power of two by which entries are scaled, ``rate``
being that of scaled ones; for the coherence-enhancing one the diffusivity across lines.
"""
