r"""Cells of 2x2 pixels: their details, what a coupling measures of them, and the flux under a tensor.

Here p, q and r are the *undivided* Haar details, twice those of the theory, and lengths are counted in pixels along x:
structure and flux are :math:`X = 1 / (4 h_x^2)` times what these functions say. X joins the weights of the fields and
the step size. What is left of the geometry is one row of five numbers

    k = (Y, Z, d, dY, e)     Y = (h_x / h_y)²,  Z = h_x / h_y,  d = 1 - 2 alpha,  dY = d Y,  e = 2 gamma d Z

so that J = (p² + d r², Z p q, Y q² + dY r²), and a tensor D = (a, b, c) gives the flux P = a p + Z b q,
Q = Z b p + Y c q, R = (d a + dY c - e |b|) r. The four pixels of the cell receive ±P ± Q ± R. Laws are literals:
uncoupled activations have b = 0, isotropic ones a = c as well, and keep only the trace of J.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, compiled, fma, put, zero
from whorl.engines.cpu.laws import ANISOTROPIC, ISOTROPIC, UNCOUPLED


@compiled()
def haar(x: Any, t: int, b: int, j: int) -> Any:
    """The details of cell j between the rows of pixels that start at t and b; exactly zero on constants.

    Rows carry one mirrored pixel at either end, so that cell j has the pixels j and j + 1 of both.
    """
    u00, u10, u01, u11 = at(x, t + j), at(x, t + j + 1), at(x, b + j), at(x, b + j + 1)
    upper, lower = u10 - u00, u11 - u01
    return upper + lower, (u01 - u00) + (u11 - u10), lower - upper


@compiled()
def meet(P: float, Q: float, R: float, across: Any, down: Any, i: int) -> Any:
    """Join the fluxes of this cell with those of the cell above, and keep those that the cell below needs.

    They are kept in ``across`` and ``down`` at i. Every cell has a result (E, F). The sum of the fluxes of its four
    cells at the pixel between the cells j and j + 1 is ``E_j - F_{j+1}``.
    """
    X, Y = at(across, i) + (P - R), at(down, i) - Q
    put(across, i, P + R)
    put(down, i, Q)
    return X + Y, X - Y


@compiled()
def spread(P: float, Q: float, R: float, j: int, across: Any, down: Any, c: int, E: Any, F: Any) -> None:
    """The same; E and F are written to arrays."""
    left, right = meet(P, Q, R, across, down, c + j)
    put(E, j, left)
    put(F, j, right)


@compiled(inside=True)
def measure(coupling: int, p: float, q: float, r: float, Y: float, Z: float, d: float, dY: float) -> Any:
    """The structure (J11, J12, J22) of one field in one cell; isotropic: (J11 + J22, 0, 0)."""
    if coupling == ISOTROPIC:
        return fma(p, p, fma(Y * q, q, (d + dY) * r * r)), zero(p), zero(p)
    r2 = r * r
    return fma(p, p, d * r2), Z * p * q if coupling >= ANISOTROPIC else zero(p), fma(Y * q, q, dY * r2)


@compiled(inside=True)
def joint(coupling: int, pp: float, pq: float, qq: float, rr: float, Y: float, Z: float, d: float, dY: float) -> Any:
    """The structure of several fields from the sums of their p², pq, q², r²: fewer operations than field by field."""
    if coupling == ISOTROPIC:
        return fma(Y, qq, fma(d + dY, rr, pp)), zero(pp), zero(pp)
    return fma(d, rr, pp), Z * pq if coupling >= ANISOTROPIC else zero(pp), fma(Y, qq, dY * rr)


@compiled(inside=True)
def bilinear(
    coupling: int, p: float, q: float, r: float, p_: float, q_: float, r_: float,
    Y: float, Z: float, d: float, dY: float,
) -> Any:  # fmt: skip
    """The symmetric product of the details of two fields, in the entries of ``measure``.

    The mixed entry counts for both sides, as derivatives with respect to b and J12 do.
    """
    if coupling == ISOTROPIC:
        return fma(p, p_, fma(Y * q, q_, (d + dY) * r * r_)), zero(p), zero(p)
    rr, mixed = r * r_, Z * fma(p, q_, q * p_) if coupling >= ANISOTROPIC else zero(p)
    return fma(p, p_, d * rr), mixed, fma(Y * q, q_, dY * rr)


@compiled(inside=True)
def flow(
    coupling: int, a: float, b: float, c: float, p: float, q: float, r: float,
    Y: float, Z: float, d: float, dY: float, e: float,
) -> Any:  # fmt: skip
    """The flux (P, Q, R) of the details (p, q, r) under the tensor (a, b, c)."""
    if coupling == UNCOUPLED:
        return a * p, c * (Y * q), fma(d, a, dY * c) * r
    if coupling == ISOTROPIC:
        return a * p, (a * Y) * q, (a * (d + dY)) * r
    mixed = Z * b
    return fma(a, p, mixed * q), fma(Y * c, q, mixed * p), fma(-e, abs(b), fma(d, a, dY * c)) * r


@compiled(inside=True)
def entries(coupling: int, j: int, A: Any, B: Any, C: Any) -> Any:
    """The tensor of cell j, from the entries that the coupling has."""
    if coupling == ISOTROPIC:
        return at(A, j), zero(at(A, j)), at(A, j)
    return at(A, j), at(B, j) if coupling >= ANISOTROPIC else zero(at(A, j)), at(C, j)


@compiled(inside=True)
def store(coupling: int, j: int, A: Any, B: Any, C: Any, a: float, b: float, c: float) -> None:
    """Set the entries of cell j that the coupling has."""
    put(A, j, a)
    if coupling >= ANISOTROPIC:
        put(B, j, b)
    if coupling != ISOTROPIC:
        put(C, j, c)


@compiled(inside=True)
def collect(coupling: int, first: bool, j: int, A: Any, B: Any, C: Any, w: float, a: float, b: float, c: float) -> None:
    """Add w times the entries to those of cell j; the first field overwrites."""
    if first:
        store(coupling, j, A, B, C, w * a, w * b, w * c)
    else:
        store(coupling, j, A, B, C, fma(w, a, at(A, j)), fma(w, b, at(B, j)), fma(w, c, at(C, j)))
