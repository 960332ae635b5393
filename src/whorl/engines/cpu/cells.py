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

from whorl.engines.cpu.arithmetic import at, by_literal, compiled, fma, put, zero

__all__ = [
    "ANISOTROPIC",
    "COHERENCE",
    "EDGES",
    "ISOTROPIC",
    "SHARED",
    "UNCOUPLED",
    "bilinear",
    "collect",
    "entries",
    "flow",
    "haar",
    "joint",
    "measure",
    "meet",
    "spread",
    "store",
]

UNCOUPLED, ISOTROPIC, ANISOTROPIC, EDGES, COHERENCE, SHARED = range(6)
"""The laws; the last three see and multiply as the anisotropic one does, and differ in the tensor."""


def by_law(uncoupled: Any, isotropic: Any, anisotropic: Any) -> Any:
    """A function whose first argument is the literal of a law, where all laws with a full tensor are alike."""
    return by_literal(uncoupled, isotropic, *[anisotropic] * 4)


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
    """Meet the fluxes of the cell above, kept in ``across`` and ``down`` at i, and keep those of this one.

    Of the result (E, F) of every cell, the pixel between cells j and j + 1 owes ``E_j - F_{j+1}`` to its four cells.
    """
    X, Y = at(across, i) + (P - R), at(down, i) - Q
    put(across, i, P + R)
    put(down, i, Q)
    return X + Y, X - Y


@compiled()
def spread(P: float, Q: float, R: float, j: int, across: Any, down: Any, c: int, E: Any, F: Any) -> None:
    """The same, with E and F kept."""
    left, right = meet(P, Q, R, across, down, c + j)
    put(E, j, left)
    put(F, j, right)


# What a coupling sees of one field.


def _measure_uncoupled(coupling, p, q, r, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    r2 = r * r
    return fma(p, p, d * r2), zero(p), fma(Y * q, q, dY * r2)


def _measure_isotropic(coupling, p, q, r, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    return fma(p, p, fma(Y * q, q, (d + dY) * r * r)), zero(p), zero(p)


def _measure_anisotropic(coupling, p, q, r, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    r2 = r * r
    return fma(p, p, d * r2), Z * p * q, fma(Y * q, q, dY * r2)


measure = by_law(_measure_uncoupled, _measure_isotropic, _measure_anisotropic)
"""The structure (J11, J12, J22) of one cell; isotropic: (J11 + J22, 0, 0)."""


# What it sees of several fields, from the sums of their products: fewer operations than field by field.


def _joint_uncoupled(coupling, pp, pq, qq, rr, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    return fma(d, rr, pp), zero(pp), fma(Y, qq, dY * rr)


def _joint_isotropic(coupling, pp, pq, qq, rr, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    return fma(Y, qq, fma(d + dY, rr, pp)), zero(pp), zero(pp)


def _joint_anisotropic(coupling, pp, pq, qq, rr, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    return fma(d, rr, pp), Z * pq, fma(Y, qq, dY * rr)


joint = by_law(_joint_uncoupled, _joint_isotropic, _joint_anisotropic)
"""The structure of one cell from the sums of p², pq, q² and r² over its fields."""


# What it sees of two fields; the mixed entry counts for both sides, as derivatives with respect to b and J12 do.


def _bilinear_uncoupled(coupling, p, q, r, p_, q_, r_, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    rr = r * r_
    return fma(p, p_, d * rr), zero(p), fma(Y * q, q_, dY * rr)


def _bilinear_isotropic(coupling, p, q, r, p_, q_, r_, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    return fma(p, p_, fma(Y * q, q_, (d + dY) * r * r_)), zero(p), zero(p)


def _bilinear_anisotropic(coupling, p, q, r, p_, q_, r_, Y, Z, d, dY):  # type: ignore[no-untyped-def]
    rr = r * r_
    return fma(p, p_, d * rr), Z * fma(p, q_, q * p_), fma(Y * q, q_, dY * rr)


bilinear = by_law(_bilinear_uncoupled, _bilinear_isotropic, _bilinear_anisotropic)
"""The symmetric product of the details of two fields, in the entries of ``measure``."""


# The flux under a tensor.


def _flow_uncoupled(coupling, a, b, c, p, q, r, Y, Z, d, dY, e):  # type: ignore[no-untyped-def]
    return a * p, c * (Y * q), fma(d, a, dY * c) * r


def _flow_isotropic(coupling, a, b, c, p, q, r, Y, Z, d, dY, e):  # type: ignore[no-untyped-def]
    return a * p, (a * Y) * q, (a * (d + dY)) * r


def _flow_anisotropic(coupling, a, b, c, p, q, r, Y, Z, d, dY, e):  # type: ignore[no-untyped-def]
    mixed = Z * b
    return fma(a, p, mixed * q), fma(Y * c, q, mixed * p), fma(-e, abs(b), fma(d, a, dY * c)) * r


flow = by_law(_flow_uncoupled, _flow_isotropic, _flow_anisotropic)
"""The flux (P, Q, R) of the details (p, q, r) under the tensor (a, b, c)."""


# Reading, writing and adding up the entries a coupling has.


def _entries_uncoupled(coupling, j, A, B, C):  # type: ignore[no-untyped-def]
    return at(A, j), zero(at(A, j)), at(C, j)


def _entries_isotropic(coupling, j, A, B, C):  # type: ignore[no-untyped-def]
    return at(A, j), zero(at(A, j)), at(A, j)


def _entries_anisotropic(coupling, j, A, B, C):  # type: ignore[no-untyped-def]
    return at(A, j), at(B, j), at(C, j)


entries = by_law(_entries_uncoupled, _entries_isotropic, _entries_anisotropic)
"""The tensor of cell j."""


def _store_uncoupled(coupling, j, A, B, C, a, b, c):  # type: ignore[no-untyped-def]
    put(A, j, a)
    put(C, j, c)


def _store_isotropic(coupling, j, A, B, C, a, b, c):  # type: ignore[no-untyped-def]
    put(A, j, a)


def _store_anisotropic(coupling, j, A, B, C, a, b, c):  # type: ignore[no-untyped-def]
    put(A, j, a)
    put(B, j, b)
    put(C, j, c)


store = by_law(_store_uncoupled, _store_isotropic, _store_anisotropic)
"""Set the entries of cell j."""


@compiled()
def collect(coupling: int, first: bool, j: int, A: Any, B: Any, C: Any, w: float, a: float, b: float, c: float) -> None:
    """Add w times the entries to those of cell j; the first field overwrites."""
    if first:
        store(coupling, j, A, B, C, w * a, w * b, w * c)
    else:
        store(coupling, j, A, B, C, fma(w, a, at(A, j)), fma(w, b, at(B, j)), fma(w, c, at(C, j)))
