r"""Diffusivities and 2x2 matrix functions as device code.

Every closed-form diffusivity here depends on :math:`t = s^2 \lambda^{-2}` alone (``i2`` is :math:`\lambda^{-2}`), so
:math:`\lambda \, \partial_\lambda D(J) = -2 \, D'(J)[J]`: the derivative with respect to the contrast needs no code of
its own. (The regularised total variation is :math:`1/\lambda` times Charbonnier's: its factor joins the step size.)

The matrix function is written with divided differences: with :math:`m` half the trace, :math:`\delta` half the gap of
the eigenvalues and :math:`g_\pm = g(m \pm \delta)`,

.. math:: g(J) = \tfrac{g_+ + g_-}{2} I + h \, (J - m I), \qquad h = \frac{g_+ - g_-}{2 \delta},

and its derivative scales the two diagonal entries of the eigenbasis by :math:`g'_\pm` and the off-diagonal one by
:math:`h` (Daleckii and Krein). Nothing is divided by :math:`\delta` where it is small, so values and derivatives stay
finite and right on flat images.
"""

# fmt: off

import linecache
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import triton
import triton.language as tl

from whorl.engines.formulas import WORDS, Node, statements
from whorl.engines.leaves import LEAVES, SPECTRA
from whorl.steps import Form


class Law(NamedTuple):
    """What kernels are compiled for: a law, a diffusivity, the entries of the tensor that are kept, square pixels.

    Of a law of eigenvalues it is also known below which share of the larger one their gap counts as that share.
    """

    name: str
    kind: str
    parts: int
    square: bool
    together: float = -1.0

    @classmethod
    def of(cls, form: Form) -> "Law":
        """The law of a step."""
        together = SPECTRA[2][form.law].together if form.law in SPECTRA[2] else -1.0
        return cls(form.law, form.diffusivity, form.entries, len({*form.flux.spacing}) == 1, together)


_WORDS = WORDS | {
    "number": "{}",
    "abs": "tl.abs({})",
    "where": "tl.where({}, {}, {})",
    "minimum": "tl.minimum({}, {})",
    "maximum": "tl.maximum({}, {})",
    "sqrt": "tl.sqrt({})",
    "inverse": "inverse({})",
    "rsqrt": "tl.rsqrt({})",
    "exp2": "tl.exp2({})",
    "fall": "fall({})",
    "decay_series": "decay_series({})",
    "g": "diffusivity({}, i2, KIND)",
}
"""How Triton writes each operation."""


def written(name: str, arguments: str, choice: str, formulas: Mapping[str, Sequence[Node]], **functions: Any) -> Any:
    """A function of device code that computes the nodes of one of these formulas, chosen by a constant."""
    constants = ", ".join(f"{each}: tl.constexpr" for each in dict.fromkeys(("KIND", choice)))
    lines = ["@triton.jit", f"def {name}({arguments}, {constants}):"]
    like = arguments.split(",")[0]
    for key, nodes in formulas.items():
        body, found = statements(lambda operation, *words: _WORDS[operation].format(*words), *nodes)
        alone = "" if body else f" + tl.zeros_like({like})"
        exponent = LEAVES[key].exponent if key in LEAVES else None
        factor = "i2" if exponent is None else f"{exponent / math.log(2)!r} * i2"
        lines += [f"    if {choice} == {key!r}:", f"        rate, unit = {factor}, i2"]
        lines += [f"        {line}" for line in body] + [f"        result = {', '.join(found)}{alone}"]
    text = "\n".join([*lines, "    return result", ""])
    where = f"<{name} from the formulas of whorl>"
    linecache.cache[where] = len(text), None, text.splitlines(keepends=True), where
    names = {"triton": triton, "tl": tl, "__name__": __name__, **functions}
    exec(compile(text, where, "exec"), names)
    return names[name]


@triton.jit
def inverse(x):
    """One over a number of at least 1, by a single instruction; a quotient would also handle numbers near 0, slowly."""
    root = tl.rsqrt(x)
    return root * root


@triton.jit
def fall(t):
    """1 - 2^t for t <= 0, exact also where 2^t is nearly 1."""
    q = -0.6931471805599453 * t
    series = q * (1.0 - q * (0.5 - q * (1.0 / 6.0 - q * (1.0 / 24.0))))
    return tl.where(q < 0.05, series, 1.0 - tl.exp2(t))


@triton.jit
def decay_series(z):
    """(1 - exp(-z)) / z for 0 <= z <= 0.3 by its power series."""
    return 1.0 - z * (1/2 - z * (1/6 - z * (1/24 - z * (1/120 - z * (1/720 - z * (1/5040))))))


def _of_all(part: str) -> dict[str, list[Node]]:
    return {name: [getattr(leaf, part)] for name, leaf in LEAVES.items()}


_OWN = {"inverse": inverse, "fall": fall, "decay_series": decay_series}

diffusivity = written("diffusivity", "s2, i2", "KIND", _of_all("value"), **_OWN)
"""``g(s2)``."""

slope_at = written("slope_at", "s2, h, i2", "KIND", _of_all("slope"), **_OWN)
secant = written("secant", "low, width, h, h_far, i2", "KIND", _of_all("secant"), **_OWN)

spectrum = written(
    "spectrum", "mu1, mu2, gap, floor, i2", "LAW", {name: [each.mean, each.rise] for name, each in SPECTRA[2].items()},
    diffusivity=diffusivity, **_OWN,
)
"""The mean of both eigenvalues of a law, and the first less the last."""


@triton.jit
def slope(s2, i2, KIND: tl.constexpr):
    """g'(s2)."""
    return slope_at(s2, diffusivity(s2, i2, KIND), i2, KIND)


@triton.jit
def divided_difference(m, delta, upper, lower, i2, KIND: tl.constexpr):
    """(g(m + delta) - g(m - delta)) / (2 delta), from the two values."""
    return secant(tl.maximum(m - delta, 0.0), 2.0 * delta, lower, upper, i2, KIND)


@triton.jit
def parted(j11, j12, j22):
    """Half the trace, half the difference of the diagonal, and half the gap of the eigenvalues.

    Entries are scaled by the power of two below the trace before they are squared: images of any magnitude will do.
    """
    m = 0.5 * (j11 + j22)
    d = 0.5 * (j11 - j22)
    size, scale = powers(m)
    x = d * scale
    y = j12 * scale
    return m, d, size * tl.sqrt(x * x + y * y)


@triton.jit
def powers(x):
    """The power of two just below x > 0, and one over it."""
    bits = x.to(tl.int32, bitcast=True) & 0x7F800000
    return bits.to(tl.float32, bitcast=True), (0x7F000000 - bits).to(tl.float32, bitcast=True)


@triton.jit
def tensor(j11, j12, j22, i2, floor, LAW: tl.constexpr):
    """Diffusion tensor (a, b, c) of the structure tensor J in one cell; without a diffusivity J stays as it is.

    An edge-enhancing law is that of a single gradient; `floor` is the further number of a law of eigenvalues.
    """
    KIND: tl.constexpr = LAW.kind
    NAME: tl.constexpr = LAW.name  # older Tritons hand on no text out of a tuple
    if KIND == "":
        a, b, c = j11, j12, j22
    elif NAME == "uncoupled":
        a = diffusivity(j11, i2, KIND)
        b = tl.zeros_like(a)
        c = diffusivity(j22, i2, KIND)
    elif NAME == "isotropic":
        a = diffusivity(j11 + j22, i2, KIND)
        b = tl.zeros_like(a)
        c = a
    elif NAME == "edge-enhancing":
        m = 0.5 * (j11 + j22)
        h = divided_difference(m, m, diffusivity(2.0 * m, i2, KIND), 1.0, i2, KIND)
        a = 1.0 + h * j11
        b = h * j12
        c = 1.0 + h * j22
    else:
        m, d, delta = parted(j11, j12, j22)
        if LAW.together >= 0.0:
            mean, rise = spectrum(m + delta, tl.maximum(m - delta, 0.0), 2.0 * delta, floor, i2, KIND, NAME)
            h = rise / tl.maximum(2.0 * delta, tl.maximum(LAW.together * (m + delta), 1e-37))
        else:
            upper = diffusivity(m + delta, i2, KIND)
            lower = diffusivity(tl.maximum(m - delta, 0.0), i2, KIND)
            h = divided_difference(m, delta, upper, lower, i2, KIND)
            mean = 0.5 * (upper + lower)
        a = mean + h * d
        b = h * j12
        c = mean - h * d
    return a, b, c


@triton.jit
def tensor_adjoint(j11, j12, j22, e11, e12, e22, i2, LAW: tl.constexpr):
    """D'(J)[E] for symmetric E, all by their entries (11, 12, 22); the derivative is its own adjoint."""
    KIND: tl.constexpr = LAW.kind
    if LAW.name == "uncoupled":
        t11 = slope(j11, i2, KIND) * e11
        t12 = tl.zeros_like(t11)
        t22 = slope(j22, i2, KIND) * e22
    elif LAW.name == "isotropic":
        t11 = slope(j11 + j22, i2, KIND) * (e11 + e22)
        t12 = tl.zeros_like(t11)
        t22 = t11
    else:
        m, d, delta = parted(j11, j12, j22)
        far = delta > 1e-37
        n1 = tl.where(far, d / tl.maximum(delta, 1e-37), 1.0)
        n2 = tl.where(far, j12 / tl.maximum(delta, 1e-37), 0.0)
        small = tl.maximum(m - delta, 0.0)
        upper = diffusivity(m + delta, i2, KIND)
        lower = diffusivity(small, i2, KIND)
        h = divided_difference(m, delta, upper, lower, i2, KIND)
        em = 0.5 * (e11 + e22)
        ed = 0.5 * (e11 - e22)
        along = ed * n1 + e12 * n2
        across = h * (e12 * n1 - ed * n2)
        first = 0.5 * slope(m + delta, i2, KIND) * (em + along)
        second = 0.5 * slope(small, i2, KIND) * (em - along)
        mean = first + second
        along = first - second
        td = along * n1 - across * n2
        t11 = mean + td
        t12 = along * n2 + across * n1
        t22 = mean - td
    return t11, t12, t22
