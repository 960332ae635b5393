r"""Diffusivities for the compiled kernels: value, slope and secant of :math:`h`, where :math:`g(s^2) = A\, h(s^2)`.

The contrast enters through two numbers: ``rate`` stands inside the function and ``unit`` is :math:`1/\lambda^2`. The
amplitude :math:`A` is 1, or :math:`1/\varepsilon` for total variation; it is left to the caller, since the flux is
linear in it. Which function is meant is a literal number, settled when a kernel is compiled.
"""

import math
from typing import Any

from whorl.engines.cpu.arithmetic import by_literal, decay_series, exp2, fma, half, literal, one, zero

__all__ = ["KINDS", "amplitude", "rate", "secant", "slope", "value"]

EXPONENTIAL, RATIONAL, CHARBONNIER, WEICKERT, HOMOGENEOUS = range(5)
KINDS = {
    "Exponential": EXPONENTIAL,
    "Rational": RATIONAL,
    "Charbonnier": CHARBONNIER,
    "RegularisedTV": CHARBONNIER,
    "Weickert": WEICKERT,
    "Homogeneous": HOMOGENEOUS,
}
"""The diffusivities with a compiled form, by class name."""


def rate(name: str, contrast: float) -> float:
    """The number that stands inside the function for a given contrast."""
    return -1 / (2 * math.log(2) * contrast**2) if name == "Exponential" else contrast**-2


def amplitude(name: str, contrast: float) -> tuple[float, int]:
    """The factor in front of the function, and the power of the contrast in it."""
    return (1 / contrast, -1) if name == "RegularisedTV" else (1.0, 0)


def _exponential(kind: int, s2: float, rate: float) -> Any:
    return exp2(s2 * rate)


def _rational(kind: int, s2: float, rate: float) -> Any:
    return one(s2) / fma(s2, rate, one(s2))


def _charbonnier(kind: int, s2: float, rate: float) -> Any:
    return one(s2) / math.sqrt(fma(s2, rate, one(s2)))


def _weickert(kind: int, s2: float, rate: float) -> Any:
    x = max(s2 * rate, _flat(s2))
    x2 = x * x
    return one(s2) - exp2(_steepness(s2) / (x2 * x2))


def _homogeneous(kind: int, s2: float, rate: float) -> Any:
    return one(s2)


# The exponent of Weickert's function in base 2 is the steepness over x^4; below `_flat` the exponential is zero.
_steepness, _flat = literal(-3.31488 / math.log(2)), literal(0.2)
_four_ln2, _near = literal(4 * math.log(2)), literal(0.3)


def _exponential_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return -half(s2) * unit * h


def _rational_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return -(unit * h) * h


def _charbonnier_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return -half(s2) * unit * h * (h * h)


def _weickert_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    x = max(s2 * rate, _flat(s2))
    x2 = x * x
    exponent = _steepness(s2) / (x2 * x2)
    return _four_ln2(s2) * exponent * (one(s2) - h) * unit / x


def _homogeneous_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return zero(s2)


def _exponential_secant(kind: int, width: float, h: float, h_far: float, unit: float) -> Any:
    z = half(width) * width * unit
    near = h * decay_series(min(z, _near(z)))
    far = (h - h_far) / max(z, _near(z))
    return -half(z) * unit * (near if z < _near(z) else far)


def _rational_secant(kind: int, width: float, h: float, h_far: float, unit: float) -> Any:
    return -(unit * h) * h_far


def _charbonnier_secant(kind: int, width: float, h: float, h_far: float, unit: float) -> Any:
    both = h * h_far
    return -unit * both * both / (h + h_far)


def _no_secant(kind: int, width: float, h: float, h_far: float, unit: float) -> Any:
    raise TypeError("Weickert's diffusivity has no secant in closed form")


def _homogeneous_secant(kind: int, width: float, h: float, h_far: float, unit: float) -> Any:
    return zero(width)


value = by_literal(_exponential, _rational, _charbonnier, _weickert, _homogeneous)
"""``h(s2)``."""

slope = by_literal(_exponential_slope, _rational_slope, _charbonnier_slope, _weickert_slope, _homogeneous_slope)
"""``h'(s2)``, given ``h = h(s2)``."""

secant = by_literal(_exponential_secant, _rational_secant, _charbonnier_secant, _no_secant, _homogeneous_secant)
"""``(h(x + width) - h(x)) / width`` from both values, exact down to ``width = 0``; not for Weickert's function."""
