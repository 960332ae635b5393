r"""Diffusivities for the compiled kernels: value, slope and secant of :math:`h`, where :math:`g(s^2) = A\, h(s^2)`.

The contrast enters through two numbers: ``rate`` stands inside the function and ``unit`` is :math:`1/\lambda^2`. The
amplitude :math:`A` is 1, or :math:`1/\varepsilon` for total variation; it is left to the caller, since the flux is
linear in it. Which function is meant is a literal number, settled when a kernel is compiled.
"""

import math
from collections.abc import Callable
from typing import Any

from whorl.diffusivities.base import NODES, WEIGHTS
from whorl.engines.cpu.arithmetic import by_literal, compiled, decay_series, exp2, fma, half, literal, one, tiny, zero

__all__ = ["FUNCTIONS", "KINDS", "amplitude", "rate", "secant", "slope", "value"]


def rate(name: str, contrast: float) -> float:
    """The number that stands inside the function for a given contrast."""
    return -1 / (2 * math.log(2) * contrast**2) if name == "exponential" else contrast**-2


def amplitude(name: str, contrast: float) -> tuple[float, int]:
    """The factor in front of the function, and the power of the contrast in it."""
    return (1 / contrast, -1) if name == "tv" else (1.0, 0)


def _exponential(kind: int, s2: float, rate: float) -> Any:
    return exp2(s2 * rate)


def _rational(kind: int, s2: float, rate: float) -> Any:
    return one(s2) / fma(s2, rate, one(s2))


def _charbonnier(kind: int, s2: float, rate: float) -> Any:
    return one(s2) / math.sqrt(fma(s2, rate, one(s2)))


def _weickert(kind: int, s2: float, rate: float) -> Any:
    x = _not_flat(s2 * rate)
    x2 = x * x
    return one(s2) - exp2(_steepness(s2) / (x2 * x2))


def _tukey(kind: int, s2: float, rate: float) -> Any:
    rest = _tukey_rest(s2, rate)
    return rest * rest


@compiled()
def _tukey_rest(s2: float, rate: float) -> Any:
    rest = fma(s2 * rate, _minus_fifth(s2), one(s2))
    return zero(s2) if rest < zero(s2) else rest


_minus_fifth = literal(-0.2)


def _homogeneous(kind: int, s2: float, rate: float) -> Any:
    return one(s2)


# The exponent of Weickert's function in base 2 is the steepness over x^4; below `_flat` the exponential is zero.
_steepness, _flat = literal(-3.31488 / math.log(2)), literal(0.2)
_four_ln2, _near = literal(4 * math.log(2)), literal(0.3)


@compiled()
def _not_flat(x: float) -> Any:
    # Unlike max, this lets NaN pass.
    return _flat(x) if x < _flat(x) else x


def _exponential_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return -half(s2) * unit * h


def _rational_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return -(unit * h) * h


def _charbonnier_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return -half(s2) * unit * h * (h * h)


def _weickert_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    x = _not_flat(s2 * rate)
    x2 = x * x
    exponent = _steepness(s2) / (x2 * x2)
    return _four_ln2(s2) * exponent * (one(s2) - h) * unit / x


def _tukey_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return (_minus_fifth(s2) + _minus_fifth(s2)) * unit * _tukey_rest(s2, rate)


def _homogeneous_slope(kind: int, s2: float, h: float, rate: float, unit: float) -> Any:
    return zero(s2)


def _exponential_secant(kind: int, low: float, width: float, h: float, h_far: float, rate: float, unit: float) -> Any:
    z = half(width) * width * unit
    near = h * decay_series(min(z, _near(z)))
    far = (h - h_far) / max(z, _near(z))
    return -half(z) * unit * (near if z < _near(z) else far)


def _rational_secant(kind: int, low: float, width: float, h: float, h_far: float, rate: float, unit: float) -> Any:
    return -(unit * h) * h_far


def _charbonnier_secant(kind: int, low: float, width: float, h: float, h_far: float, rate: float, unit: float) -> Any:
    both = h * h_far
    return -unit * both * both / (h + h_far)


def _weickert_secant(kind: int, low: float, width: float, h: float, h_far: float, rate: float, unit: float) -> Any:
    # Close arguments: the mean of the slope over the interval, by Gauss' five points.
    step = width if width * unit < _close(width) else zero(width)
    near = zero(width)
    near = fma(_w1(low), _weickert_slope_at(fma(_x1(low), step, low), rate, unit), near)
    near = fma(_w2(low), _weickert_slope_at(fma(_x2(low), step, low), rate, unit), near)
    near = fma(_w3(low), _weickert_slope_at(fma(half(low), step, low), rate, unit), near)
    near = fma(_w2(low), _weickert_slope_at(fma(_x4(low), step, low), rate, unit), near)
    near = fma(_w1(low), _weickert_slope_at(fma(_x5(low), step, low), rate, unit), near)
    far = (h_far - h) / max(width, tiny(width))
    return near if width * unit < _close(width) else far


@compiled()
def _weickert_slope_at(s2: float, rate: float, unit: float) -> Any:
    x = _not_flat(s2 * rate)
    x2 = x * x
    exponent = _steepness(s2) / (x2 * x2)
    return _four_ln2(s2) * exponent * exp2(exponent) * unit / x


_close = literal(0.05)
_x1, _x2, _x4, _x5 = (literal(node) for node in (NODES[0], NODES[1], NODES[3], NODES[4]))
_w1, _w2, _w3 = (literal(weight) for weight in WEIGHTS[:3])


def _tukey_secant(kind: int, low: float, width: float, h: float, h_far: float, rate: float, unit: float) -> Any:
    near, far = _tukey_rest(low, rate), _tukey_rest(low + width, rate)
    # Beyond the threshold the far rest is zero, and the arguments are apart unless both are.
    return (near + far) * (_minus_fifth(low) * unit if far > zero(low) else -near / max(width, tiny(low)))


def _homogeneous_secant(kind: int, low: float, width: float, h: float, h_far: float, rate: float, unit: float) -> Any:
    return zero(width)


_CHARBONNIER = (_charbonnier, _charbonnier_slope, _charbonnier_secant)

FUNCTIONS: dict[str, tuple[Callable[..., Any], ...]] = {
    "exponential": (_exponential, _exponential_slope, _exponential_secant),
    "rational": (_rational, _rational_slope, _rational_secant),
    "charbonnier": _CHARBONNIER,
    "tv": _CHARBONNIER,
    "weickert": (_weickert, _weickert_slope, _weickert_secant),
    "tukey": (_tukey, _tukey_slope, _tukey_secant),
    "homogeneous": (_homogeneous, _homogeneous_slope, _homogeneous_secant),
}
"""The diffusivities in closed form, by name: value, slope and secant."""

_DISTINCT = list(dict.fromkeys(FUNCTIONS.values()))

KINDS = {name: _DISTINCT.index(functions) for name, functions in FUNCTIONS.items()}
"""The literal number of each."""

value, slope, secant = (by_literal(*each) for each in zip(*_DISTINCT, strict=True))
"""``h(s2)``; ``h'(s2)``, given ``h = h(s2)``; and ``(h(low + width) - h(low)) / width`` from both values, exact down to
``width = 0``.
"""
