r"""The sampled Gaussian on rows of an image: :math:`w_0 u_0 + \sum_k w_k (u_{-k} + u_{+k})`, along y, then along x.

Taps are added in the order k = 1, 2, ..., at every pixel alike: constants stay constant and a strip of an image gives
the bits of the whole. A literal says how a product is added: ``ONCE`` rounded, by a fused multiply-add, or ``TWICE``,
after the product and after the sum, as PyTorch does. Mirrored rows are found by their index, mirrored columns are
written beside the row. Four taps are taken per pass over a row, so that the sum is loaded and stored once for the four.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, fma, put
from whorl.engines.cpu.compiling import by_literal, compiled

ONCE, TWICE = range(2)


def _rounded_once(rounding, a, b, c):  # type: ignore[no-untyped-def]
    return fma(a, b, c)


def _rounded_twice(rounding, a, b, c):  # type: ignore[no-untyped-def]
    return c + a * b


plus_product = by_literal(_rounded_once, _rounded_twice)
"""``a * b + c``."""


@compiled()
def mirrored(i: int, size: int) -> int:
    """The index of the pixel that the half-sample mirror shows at position i, for any i."""
    while not 0 <= i < size:
        i = -1 - i if i < 0 else 2 * size - 1 - i
    return i


@compiled()
def smooth_columns(
    rounding: int, u: Any, base: int, low: int, pitch: int, i: int, H: int, W: int,
    taps: Any, first: int, R: int, row: Any, o: int, margin: int,
) -> None:  # fmt: skip
    """Row i of the image smoothed along y into ``row[o:o+W]``; image row y starts at ``base + (y - low) * pitch``.

    A margin of columns on either side is filled by mirroring, ready for the pass along x.
    """
    weight, source = at(taps, first), base + (i - low) * pitch
    for j in range(W):
        put(row, o + j, weight * at(u, source + j))
    k = 1
    while k + 3 <= R:
        a0, b0 = base + (mirrored(i - k, H) - low) * pitch, base + (mirrored(i + k, H) - low) * pitch
        a1, b1 = base + (mirrored(i - k - 1, H) - low) * pitch, base + (mirrored(i + k + 1, H) - low) * pitch
        a2, b2 = base + (mirrored(i - k - 2, H) - low) * pitch, base + (mirrored(i + k + 2, H) - low) * pitch
        a3, b3 = base + (mirrored(i - k - 3, H) - low) * pitch, base + (mirrored(i + k + 3, H) - low) * pitch
        _four_taps(rounding, u, a0, b0, a1, b1, a2, b2, a3, b3, taps, first + k, row, o, W)
        k += 4
    while k <= R:
        a0, b0 = base + (mirrored(i - k, H) - low) * pitch, base + (mirrored(i + k, H) - low) * pitch
        _one_tap(rounding, u, a0, b0, taps, first + k, row, o, W)
        k += 1
    mirror_columns(row, o, W, margin)


@compiled()
def mirror_columns(row: Any, o: int, W: int, margin: int) -> None:
    """Fill a margin of columns before and after ``row[o:o+W]``."""
    for k in range(1, margin + 1):
        put(row, o - k, at(row, o + mirrored(-k, W)))
        put(row, o + W - 1 + k, at(row, o + mirrored(W - 1 + k, W)))


@compiled()
def smooth_across(
    rounding: int, u: Any, where: Any, shift: int, taps: Any, first: int, R: int, result: Any, target: int, n: int
) -> None:
    """The weighted sum of ``2R + 1`` rows into ``result[target:target+n]``; row k is at ``where[R + k] + shift``."""
    weight, source = at(taps, first), at(where, R) + shift
    for j in range(n):
        put(result, target + j, weight * at(u, source + j))
    k = 1
    while k + 3 <= R:
        a0, b0 = at(where, R - k) + shift, at(where, R + k) + shift
        a1, b1 = at(where, R - k - 1) + shift, at(where, R + k + 1) + shift
        a2, b2 = at(where, R - k - 2) + shift, at(where, R + k + 2) + shift
        a3, b3 = at(where, R - k - 3) + shift, at(where, R + k + 3) + shift
        _four_taps(rounding, u, a0, b0, a1, b1, a2, b2, a3, b3, taps, first + k, result, target, n)
        k += 4
    while k <= R:
        _one_tap(rounding, u, at(where, R - k) + shift, at(where, R + k) + shift, taps, first + k, result, target, n)
        k += 1


@compiled()
def smooth_rows(
    rounding: int, row: Any, o: int, taps: Any, first: int, R: int, result: Any, target: int, W: int
) -> None:
    """The row smoothed along x into ``result[target:target+W]``."""
    weight = at(taps, first)
    for j in range(W):
        put(result, target + j, weight * at(row, o + j))
    k = 1
    while k + 3 <= R:
        a, b = o - k, o + k
        _four_taps(rounding, row, a, b, a - 1, b + 1, a - 2, b + 2, a - 3, b + 3, taps, first + k, result, target, W)
        k += 4
    while k <= R:
        _one_tap(rounding, row, o - k, o + k, taps, first + k, result, target, W)
        k += 1


@compiled()
def _four_taps(
    rounding: int, u: Any, a0: int, b0: int, a1: int, b1: int, a2: int, b2: int, a3: int, b3: int,
    taps: Any, k: int, row: Any, o: int, W: int,
) -> None:  # fmt: skip
    w0, w1, w2, w3 = at(taps, k), at(taps, k + 1), at(taps, k + 2), at(taps, k + 3)
    for j in range(W):
        total = plus_product(rounding, w0, at(u, a0 + j) + at(u, b0 + j), at(row, o + j))
        total = plus_product(rounding, w1, at(u, a1 + j) + at(u, b1 + j), total)
        total = plus_product(rounding, w2, at(u, a2 + j) + at(u, b2 + j), total)
        put(row, o + j, plus_product(rounding, w3, at(u, a3 + j) + at(u, b3 + j), total))


@compiled()
def _one_tap(rounding: int, u: Any, a: int, b: int, taps: Any, k: int, row: Any, o: int, W: int) -> None:
    weight = at(taps, k)
    for j in range(W):
        put(row, o + j, plus_product(rounding, weight, at(u, a + j) + at(u, b + j), at(row, o + j)))
