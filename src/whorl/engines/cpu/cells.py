r"""Rows of 2x2 cells: structure, flux, and what the flux adds to the pixels.

A row of cells lies between two rows of pixels, given as offsets ``t`` (top) and ``b`` (bottom) into flat arrays whose
rows carry one mirrored pixel at either end; cell ``j`` has the pixels ``j`` and ``j + 1`` of both. Here p, q and r are
the *undivided* Haar details, twice those of the theory; all factors 1/2 and 1/h stand in the coefficients

    flux:       kxx = 1/(4 hx²), kyy, kxy = 1/(4 hx hy), and (1-2 alpha) kxx, (1-2 alpha) kyy, 2 gamma (1-2 alpha) kxy
    structure:  the same with the structure's alpha and spacing, without the last

so that a tensor D = (a, b, c) gives P = kxx a p + kxy b q, Q = kxy b p + kyy c q, R = mu r, and the four pixels of the
cell receive ±P ± Q ± R. Which coupling is meant is a literal, as with the diffusivities.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, by_literal, compiled, fma, put

__all__ = ["ANISOTROPIC", "ISOTROPIC", "UNCOUPLED", "flux", "haar", "spread", "step_row", "structure"]

UNCOUPLED, ISOTROPIC, ANISOTROPIC = range(3)


@compiled()
def haar(x: Any, t: int, b: int, j: int) -> Any:
    """The undivided details p, q, r of one cell; exactly zero where the image is constant."""
    u00, u10, u01, u11 = at(x, t + j), at(x, t + j + 1), at(x, b + j), at(x, b + j + 1)
    upper, lower = u10 - u00, u11 - u01
    return upper + lower, (u01 - u00) + (u11 - u10), lower - upper


@compiled()
def spread(P: float, Q: float, R: float, j: int, across: Any, down: Any, c: int, E: Any, F: Any) -> None:
    """Meet the fluxes of the cell above, kept in ``across`` and ``down``, and keep those of this one.

    Pixel j between the two cell rows then owes ``E[j] - F[j + 1]`` to the four cells around it.
    """
    X, Y = at(across, c + j) + (P - R), at(down, c + j) - Q
    put(across, c + j, P + R)
    put(down, c + j, Q)
    put(E, j, X + Y)
    put(F, j, X - Y)


@compiled()
def step_row(x: Any, t: int, y: Any, o: int, n: int, E: Any, F: Any, tau: float) -> None:
    """``y = x - tau K^T flux`` for n pixels."""
    for j in range(n):
        put(y, o + j, fma(tau, at(F, j + 1) - at(E, j), at(x, t + j)))


@compiled()
def divergence_row(y: Any, o: int, n: int, E: Any, F: Any) -> None:
    """``y = K^T flux`` for n pixels."""
    for j in range(n):
        put(y, o + j, at(E, j) - at(F, j + 1))


def _structure_uncoupled(coupling, first, x, t, b, n, w, k, Ja, Jb, Jc):  # type: ignore[no-untyped-def]
    xx, yy, detail_x, detail_y = w * at(k, 0), w * at(k, 1), w * at(k, 3), w * at(k, 4)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        r2 = r * r
        one, two = fma(xx * p, p, detail_x * r2), fma(yy * q, q, detail_y * r2)
        put(Ja, j, one if first else at(Ja, j) + one)
        put(Jc, j, two if first else at(Jc, j) + two)


def _structure_isotropic(coupling, first, x, t, b, n, w, k, Ja, Jb, Jc):  # type: ignore[no-untyped-def]
    xx, yy, detail = w * at(k, 0), w * at(k, 1), w * (at(k, 3) + at(k, 4))
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        s2 = fma(xx * p, p, fma(yy * q, q, detail * r * r))
        put(Ja, j, s2 if first else at(Ja, j) + s2)


def _structure_anisotropic(coupling, first, x, t, b, n, w, k, Ja, Jb, Jc):  # type: ignore[no-untyped-def]
    xx, yy, xy, detail_x, detail_y = w * at(k, 0), w * at(k, 1), w * at(k, 2), w * at(k, 3), w * at(k, 4)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        r2 = r * r
        one, both, two = fma(xx * p, p, detail_x * r2), xy * p * q, fma(yy * q, q, detail_y * r2)
        put(Ja, j, one if first else at(Ja, j) + one)
        put(Jb, j, both if first else at(Jb, j) + both)
        put(Jc, j, two if first else at(Jc, j) + two)


def _flux_uncoupled(coupling, x, t, b, n, a, b_, c_, k, across, down, c, E, F):  # type: ignore[no-untyped-def]
    kxx, kyy, mx, my = at(k, 0), at(k, 1), at(k, 3), at(k, 4)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        gx, gy = at(a, j), at(c_, j)
        spread(kxx * gx * p, kyy * gy * q, fma(mx, gx, my * gy) * r, j, across, down, c, E, F)


def _flux_isotropic(coupling, x, t, b, n, a, b_, c_, k, across, down, c, E, F):  # type: ignore[no-untyped-def]
    kxx, kyy, mu = at(k, 0), at(k, 1), at(k, 3) + at(k, 4)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        g = at(a, j)
        spread(kxx * g * p, kyy * g * q, mu * g * r, j, across, down, c, E, F)


def _flux_anisotropic(coupling, x, t, b, n, a, b_, c_, k, across, down, c, E, F):  # type: ignore[no-untyped-def]
    kxx, kyy, kxy, mx, my, mxy = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4), at(k, 5)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        da, db, dc = at(a, j), at(b_, j), at(c_, j)
        mu = fma(mx, da, my * dc) - mxy * abs(db)
        mixed = kxy * db
        spread(fma(kxx * da, p, mixed * q), fma(kyy * dc, q, mixed * p), mu * r, j, across, down, c, E, F)


structure = by_literal(_structure_uncoupled, _structure_isotropic, _structure_anisotropic)
"""Add w times the structure of one field to J (isotropic: to its trace, in Ja); the first field overwrites."""

flux = by_literal(_flux_uncoupled, _flux_isotropic, _flux_anisotropic)
"""The flux of one field under the tensor (a, b, c), spread to the pixels."""
