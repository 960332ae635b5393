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

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl


@triton.jit
def tukey_rest(s2, i2):
    """The root of Tukey's biweight."""
    rest = 1.0 - 0.2 * i2 * s2
    return tl.where(rest < 0.0, 0.0, rest)


@triton.jit
def diffusivity(s2, i2, KIND: tl.constexpr):
    """g(s2)."""
    if KIND == "homogeneous":
        g = tl.zeros_like(s2) + 1.0
    elif KIND == "exponential":
        g = tl.exp2((-0.7213475204444817 * i2) * s2)  # log2(e) / 2; a single instruction, as is the root below
    elif KIND == "rational":
        root = tl.rsqrt(1.0 + i2 * s2)  # of numbers from 1 on: a quotient would care for those near 0, too
        g = root * root
    elif KIND == "charbonnier" or KIND == "tv":
        g = tl.rsqrt(1.0 + i2 * s2)
    elif KIND == "tukey":
        rest = tukey_rest(s2, i2)
        g = rest * rest
    else:
        t = tl.where(i2 * s2 < 0.2, 0.2, i2 * s2)  # below, exp(-2000) has long been zero; NaN stays NaN
        q = 3.31488 / (t * t * t * t)
        series = q * (1.0 - q * (0.5 - q * (1.0 / 6.0 - q * (1.0 / 24.0))))
        g = tl.where(q < 0.05, series, 1.0 - tl.exp(-q))
    return g


@triton.jit
def slope(s2, i2, KIND: tl.constexpr):
    """g'(s2)."""
    if KIND == "homogeneous":
        d = tl.zeros_like(s2)
    elif KIND == "exponential":
        d = -0.5 * i2 * tl.exp(-0.5 * i2 * s2)
    elif KIND == "rational":
        g = 1.0 / (1.0 + i2 * s2)
        d = -i2 * g * g
    elif KIND == "charbonnier" or KIND == "tv":
        g = tl.rsqrt(1.0 + i2 * s2)
        d = -0.5 * i2 * g * g * g
    elif KIND == "tukey":
        d = -0.4 * i2 * tukey_rest(s2, i2)
    else:
        t = tl.where(i2 * s2 < 0.2, 0.2, i2 * s2)
        q = 3.31488 / (t * t * t * t)
        d = -4.0 * i2 * q / t * tl.exp(-q)
    return d


@triton.jit
def divided_difference(m, delta, upper, lower, i2, KIND: tl.constexpr):
    """(g(m + delta) - g(m - delta)) / (2 delta), from the two values where that is exact."""
    if KIND == "homogeneous":
        h = tl.zeros_like(m)
    elif KIND == "exponential":
        x = 0.5 * i2 * delta
        x2 = x * x
        near = -0.5 * i2 * 0.5 * (upper + lower) * (1.0 - x2 * (1.0 / 3.0 - x2 * (2.0 / 15.0 - x2 * (17.0 / 315.0))))
        h = tl.where(x < 0.2, near, (upper - lower) / (2.0 * tl.maximum(delta, 1e-37)))
    elif KIND == "rational":
        h = -i2 * upper * lower
    elif KIND == "charbonnier" or KIND == "tv":
        h = -i2 * (upper * lower) * (upper * lower) / (upper + lower)
    elif KIND == "tukey":
        near = tukey_rest(tl.maximum(m - delta, 0.0), i2)
        far = tukey_rest(m + delta, i2)
        h = -(near + far) * tl.where(far > 0.0, 0.2 * i2, near / (2.0 * tl.maximum(delta, 1e-37)))
    else:
        # The mean of g' over the interval by three Gauss points where the quotient would cancel.
        step = 0.7745966692414834 * delta
        outer = slope(m + step, i2, KIND) + slope(m - step, i2, KIND)
        near = (5.0 * outer + 8.0 * slope(m, i2, KIND)) * (1.0 / 18.0)
        h = tl.where(delta < 0.05 * m, near, (upper - lower) / (2.0 * tl.maximum(delta, 1e-37)))
    return h


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
def tensor(j11, j12, j22, i2, floor, KIND: tl.constexpr, COUPLING: tl.constexpr):
    """Diffusion tensor (a, b, c) of the structure tensor J in one cell; KIND "" leaves J as it is.

    The laws are 0 uncoupled, 1 isotropic, 2 anisotropic, 3 edge-enhancing of a single gradient, 4 coherence-enhancing
    with `floor` across lines.
    """
    if KIND == "":
        a, b, c = j11, j12, j22
    elif COUPLING == 0:
        a = diffusivity(j11, i2, KIND)
        b = tl.zeros_like(a)
        c = diffusivity(j22, i2, KIND)
    elif COUPLING == 1:
        a = diffusivity(j11 + j22, i2, KIND)
        b = tl.zeros_like(a)
        c = a
    elif COUPLING == 3:
        m = 0.5 * (j11 + j22)
        h = divided_difference(m, m, diffusivity(2.0 * m, i2, KIND), 1.0, i2, KIND)
        a = 1.0 + h * j11
        b = h * j12
        c = 1.0 + h * j22
    else:
        m, d, delta = parted(j11, j12, j22)
        if COUPLING == 4:
            # Below a thirtieth of the squared contrast the exponential is zero in single precision.
            gap = tl.where(2.0 * delta * i2 < 1.0 / 30.0, 1.0 / 30.0, 2.0 * delta * i2)
            line = (1.0 - floor) * tl.exp(-1.0 / (gap * gap))
            mean = floor + 0.5 * line
            h = -line / tl.maximum(2.0 * delta, 1e-37)
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
def tensor_adjoint(j11, j12, j22, e11, e12, e22, i2, KIND: tl.constexpr, COUPLING: tl.constexpr):
    """D'(J)[E] for symmetric E, all by their entries (11, 12, 22); the derivative is its own adjoint."""
    if COUPLING == 0:
        t11 = slope(j11, i2, KIND) * e11
        t12 = tl.zeros_like(t11)
        t22 = slope(j22, i2, KIND) * e22
    elif COUPLING == 1:
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
