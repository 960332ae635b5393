r"""The diffusivities in closed form for compiled languages: value, slope and secant of :math:`h` in
:math:`g(s^2) = \lambda^p\, h(s^2/\lambda^2)`, read off the classes of :mod:`whorl.diffusivities`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whorl.diffusivities import CLASSICAL, Diffusivity
from whorl.engines.formulas import Node, exponent, lowered, symbol
from whorl.foundations.traced import Traced

__all__ = ["LEAVES", "Leaf"]


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
