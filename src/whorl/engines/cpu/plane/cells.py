r"""Cells of 2x2 pixels: their details, what a law measures of them, and the flux under a tensor.

Here p, q and r are the *undivided* Haar details, twice those of the theory, and lengths are counted in pixels along x:
structure and flux are :math:`X = 1 / (4 h_x^2)` times what these functions say. X joins the weights of the fields and
the step size. What is left of the geometry is one row of five numbers

    k = (Y, Z, d, dY, e)     Y = (h_x / h_y)²,  Z = h_x / h_y,  d = 1 - 2 alpha,  dY = d Y,  e = 2 gamma d Z

so that J = (p² + d r², Z p q, Y q² + dY r²), and a tensor D = (a, b, c) gives the flux P = a p + Z b q,
Q = Z b p + Y c q, R = (d a + dY c - e |b|) r. The four pixels of the cell receive ±P ± Q ± R. Laws are literals:
uncoupled activations have b = 0, isotropic ones a = c as well, and keep only the trace of J.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, fma, put, zero
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.laws import ANISOTROPIC, ISOTROPIC, UNCOUPLED


@compiled()
def geometry(k: Any) -> Any:
    """The numbers k of the array that holds them."""
    return at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)


@compiled()
def haar(x: Any, place: Any, j: int) -> Any:
    """The details of cell j between the rows of pixels that start at the two places; exactly zero on constants.

    Rows carry one mirrored pixel at either end, so that cell j has the pixels j and j + 1 of both.
    """
    t, b = place
    u00, u10, u01, u11 = at(x, t + j), at(x, t + j + 1), at(x, b + j), at(x, b + j + 1)
    upper, lower = u10 - u00, u11 - u01
    return upper + lower, (u01 - u00) + (u11 - u10), lower - upper


@compiled()
def meet(flux: Any, j: int, kept: Any, c: int) -> Any:
    """Join the fluxes of cell j with those of the cell above, and keep those that the cell below needs.

    They are kept in two arrays, ``across`` and ``down``, from c on. Every cell has a result (E, F). The sum of the
    fluxes of its four cells at the pixel between the cells j and j + 1 is ``E_j - F_{j+1}``.
    """
    (P, Q, R), (across, down) = flux, kept
    X, Y = at(across, c + j) + (P - R), at(down, c + j) - Q
    put(across, c + j, P + R)
    put(down, c + j, Q)
    return X + Y, X - Y


@compiled()
def spread(flux: Any, j: int, kept: Any, c: int) -> None:
    """The same; E and F are written to arrays."""
    across, down, E, F = kept
    left, right = meet(flux, j, (across, down), c)
    put(E, j, left)
    put(F, j, right)


@compiled(inside=True)
def measure(law: int, cell: Any, k: Any) -> Any:
    """The structure (J11, J12, J22) of one field in one cell; isotropic: (J11 + J22, 0, 0)."""
    (p, q, r), (Y, Z, d, dY, _) = cell, k
    if law == ISOTROPIC:
        return fma(p, p, fma(Y * q, q, (d + dY) * r * r)), zero(p), zero(p)
    r2 = r * r
    return fma(p, p, d * r2), Z * p * q if law >= ANISOTROPIC else zero(p), fma(Y * q, q, dY * r2)


@compiled(inside=True)
def joint(law: int, pp: float, pq: float, qq: float, rr: float, k: Any) -> Any:
    """The structure of several fields from the sums of their p², pq, q², r²: fewer operations than field by field."""
    Y, Z, d, dY, _ = k
    if law == ISOTROPIC:
        return fma(Y, qq, fma(d + dY, rr, pp)), zero(pp), zero(pp)
    return fma(d, rr, pp), Z * pq if law >= ANISOTROPIC else zero(pp), fma(Y, qq, dY * rr)


@compiled(inside=True)
def bilinear(law: int, cell: Any, other: Any, k: Any) -> Any:
    """The symmetric product of the details of two fields, in the entries of ``measure``.

    The mixed entry counts for both sides, as derivatives with respect to b and J12 do.
    """
    (p, q, r), (p_, q_, r_), (Y, Z, d, dY, _) = cell, other, k
    if law == ISOTROPIC:
        return fma(p, p_, fma(Y * q, q_, (d + dY) * r * r_)), zero(p), zero(p)
    rr, mixed = r * r_, Z * fma(p, q_, q * p_) if law >= ANISOTROPIC else zero(p)
    return fma(p, p_, d * rr), mixed, fma(Y * q, q_, dY * rr)


@compiled(inside=True)
def flow(law: int, tensor: Any, cell: Any, k: Any) -> Any:
    """The flux (P, Q, R) of the details (p, q, r) under the tensor (a, b, c)."""
    (a, b, c), (p, q, r), (Y, Z, d, dY, e) = tensor, cell, k
    if law == UNCOUPLED:
        return a * p, c * (Y * q), fma(d, a, dY * c) * r
    if law == ISOTROPIC:
        return a * p, (a * Y) * q, (a * (d + dY)) * r
    mixed = Z * b
    return fma(a, p, mixed * q), fma(Y * c, q, mixed * p), fma(-e, abs(b), fma(d, a, dY * c)) * r


@compiled(inside=True)
def entries(law: int, j: int, J: Any) -> Any:
    """The tensor of cell j, from the entries that the law has, an array for each."""
    A, B, C = J
    if law == ISOTROPIC:
        return at(A, j), zero(at(A, j)), at(A, j)
    return at(A, j), at(B, j) if law >= ANISOTROPIC else zero(at(A, j)), at(C, j)


@compiled(inside=True)
def store(law: int, j: int, J: Any, tensor: Any) -> None:
    """Set the entries of cell j that the law has."""
    put(J[0], j, tensor[0])
    if law >= ANISOTROPIC:
        put(J[1], j, tensor[1])
    if law != ISOTROPIC:
        put(J[2], j, tensor[2])


@compiled(inside=True)
def collect(law: int, first: bool, j: int, J: Any, w: float, tensor: Any) -> None:
    """Add w times the entries to those of cell j; the first field overwrites."""
    (a, b, c), (A, B, C) = tensor, J
    if first:
        store(law, j, J, (w * a, w * b, w * c))
    else:
        store(law, j, J, (fma(w, a, at(A, j)), fma(w, b, at(B, j)), fma(w, c, at(C, j))))


@compiled(inside=True)
def combined(factor: float, cell: Any, more: float, other: Any) -> Any:
    """So many times one triple and so many times another."""
    (p, q, r), (p_, q_, r_) = cell, other
    return fma(factor, p, more * p_), fma(factor, q, more * q_), fma(factor, r, more * r_)
