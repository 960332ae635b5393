r"""Diffusivities and laws of eigenvalues for compiled languages, read off the classes that define them.

Of a diffusivity :math:`g(s^2) = \lambda^p\, h(s^2/\lambda^2)` in closed form there are value, slope and secant of
:math:`h`; of a law, the eigenvalues of the diffusion tensor by those of the structure tensor.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from whorl.activations.enhancing import SPECTRAL, Spectral
from whorl.diffusivities import CLASSICAL, Diffusivity
from whorl.engines.formulas import Node, exponent, lowered, symbol
from whorl.foundations.traced import Traced


@dataclass(frozen=True)
class Leaf:
    r"""The nodes of one diffusivity.

    ``value`` is made of ``s2`` and ``rate``, which is :math:`\lambda^{-2}` or, where there is an ``exponent`` c in the
    place of the argument x, :math:`e^{cx}`, the number that makes it ``exp2(s2 * rate)``. ``slope`` is made of ``s2``,
    the value ``h`` there and ``unit``, :math:`\lambda^{-2}`; ``secant`` of ``low``, ``width``, the values ``h`` and
    ``h_far`` at either end, and ``unit``.
    """

    exponent: float | None
    value: Node
    slope: Node
    secant: Node
    amplitude: int

    @classmethod
    def of(cls, kind: type[Diffusivity]) -> "Leaf":
        """Read off a class."""
        x, y, h, h_far = (Traced("symbol", name) for name in ("x", "y", "h", "h_far"))
        value: Any = _named(kind, {})(x)
        slope: Any = _named(kind, {"x": h}).slope(x)
        secant: Any = _named(kind, {"x": h, "y": h_far}).secant(x, y, h, h_far)
        multiple, terms = exponent(value, "x")
        by_rate = _by(symbol("s2"), "rate")
        width = _by(symbol("width"), "unit")
        ends = {"x": _by(symbol("low"), "unit"), "y": _by(("add", symbol("low"), symbol("width")), "unit")}
        return cls(
            exponent=multiple,
            value=lowered(value, {"x": by_rate} | dict.fromkeys(terms, ("exp2", by_rate))),
            slope=lowered(slope, {"x": _by(symbol("s2"), "unit")}, "unit"),
            secant=lowered(secant, {**ends, "sub(y, x)": width, "abs(sub(y, x))": width}, "unit"),
            amplitude=kind.amplitude,
        )


def _by(place: Node, factor: str) -> Node:
    return ("mul", place, symbol(factor))


def _named(kind: type[Diffusivity], values: Mapping[str, Traced]) -> Any:
    """The shape of a diffusivity, with the contrast 1 and names for its values at some places."""
    g: Any = (kind.shape or kind)()
    own = g.forward
    g._contrast_squared = lambda like: 1.0
    g.forward = lambda s2: values[repr(s2)] if repr(s2) in values else own(s2)
    return g


LEAVES = {kind.name: Leaf.of(kind) for kind in CLASSICAL}
"""By name; two of the same shape differ in the amplitude alone."""


@dataclass(frozen=True)
class Spectrum:
    r"""The nodes of one law in the plane or in space.

    They are made of the eigenvalues ``mu1``, ``mu2`` (and ``mu3``) of the structure tensor, the largest first, of
    ``gap``, the first less the last, of ``floor`` and ``rate``, and of values ``("g", node)`` of the diffusivity.
    ``eigenvalues`` are those of the diffusion tensor, ``mean`` and ``rise`` the mean of the first and the last, and the
    first less the last. ``together`` is the share of ``mu1`` below which the gap counts as that share, in the plane.
    """

    eigenvalues: tuple[Node, ...]
    mean: Node
    rise: Node
    together: float

    @classmethod
    def of(cls, example: Spectral, dimension: int) -> "Spectrum":
        """Read off a law, of which a copy gets symbols for its numbers."""
        law: Any = copy.copy(example)
        names = [*(f"mu{i + 1}" for i in range(dimension)), "gap"]
        known = {} if law.diffusivity else {name: _by(symbol(name), "rate") for name in names}
        law.diffusivity = law.diffusivity and _Shape()
        if hasattr(law, "across"):
            law.across = Traced("symbol", "floor")
        *mu, gap = (Traced("symbol", name) for name in names)
        for each in (*mu, gap):
            each.dtype = torch.float64  # numbers of the law are not rounded
        last, *rises = law.rises(tuple(mu), gap)
        values = [last]
        for rise in reversed(rises):
            values.insert(0, values[0] + rise)
        rise = sum(rises[1:], rises[0])
        found = [lowered(each, known) for each in (*values, last + 0.5 * rise, rise)]
        return cls(tuple(found[:dimension]), found[-2], found[-1], law.together)


class _Shape:
    """A diffusivity in formulas of laws: a name for its values, one at 0, and secants as quotients."""

    def __call__(self, s2: Traced) -> Any:
        return 1.0 if s2.name == "zeros_like" else Traced("g", s2)

    def divided_difference(self, x: Any, y: Any) -> Any:
        return 0.0 if x is y else (self(y) - self(x)) / (y - x)


SPECTRA = {dimension: {name: Spectrum.of(law, dimension) for name, law in SPECTRAL.items()} for dimension in (2, 3)}
"""The laws by dimension and name."""
