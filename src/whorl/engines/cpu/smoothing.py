"""Gaussian smoothing of whole images with the bits of the plain operator.

The plain operator multiplies, adds, and rounds after either; so do these loops, without fused multiply-adds and in the
same order of taps. Whether an image is smoothed here or there cannot be told from the result.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.engines.cpu.arithmetic import at, compiled, put, source_stamp
from whorl.engines.cpu.gaussian import mirrored
from whorl.engines.cpu.threads import bands, run
from whorl.engines.cpu.workspace import fresh, room
from whorl.engines.selection import transformed

__all__ = ["smooth", "smoothed"]


def smoothed(u: Tensor, weights: Sequence[float]) -> Tensor | None:
    """The smoothed image ``(n, c, y, x)``, or None where PyTorch records or transforms what happens to it."""
    if u.dtype not in (torch.float32, torch.float64) or transformed(u) or not u.numel():
        return None
    return smooth(u.detach().contiguous(), weights)


def smooth(u: Tensor, weights: Sequence[float]) -> Tensor:
    """A contiguous image smoothed with ``w_0 .. w_R`` along y, then along x."""
    n, C, H, W = u.shape
    out = fresh(u)
    source, result = u.numpy().reshape(-1), out.numpy().reshape(-1)
    taps = np.array(weights, source.dtype)
    pad = -(-(len(taps) - 1) // LINE) * LINE
    kernel = rows()

    def work(plane: int, r0: int, r1: int) -> None:
        (row,) = room((W + 2 * pad,), source.dtype)
        kernel(source, result, plane * H * W, H, W, r0, r1, taps, row, pad)

    run(work, [(plane, r0, r1) for plane in range(n * C) for r0, r1 in bands(H, n * C, 8)])
    return out


LINE = 16
"""The row starts at a multiple of this many pixels."""


@cache
def rows() -> Callable[..., int]:
    """The kernel: rows ``r0 <= y < r1`` of the plane at ``base``; ``row`` has room for ``pad`` pixels on each side."""
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, out: Any, base: int, H: int, W: int, r0: int, r1: int, taps: Any, row: Any, pad: int
    ) -> int:  # fmt: skip
        R = taps.shape[0] - 1
        for y in range(r0, r1):
            _scale(u, base + y * W, at(taps, 0), row, pad, W)
            k = 1
            while k + 3 <= R:
                _four(
                    u,
                    base + mirrored(y - k, H) * W, base + mirrored(y + k, H) * W,
                    base + mirrored(y - k - 1, H) * W, base + mirrored(y + k + 1, H) * W,
                    base + mirrored(y - k - 2, H) * W, base + mirrored(y + k + 2, H) * W,
                    base + mirrored(y - k - 3, H) * W, base + mirrored(y + k + 3, H) * W,
                    taps, k, row, pad, W,
                )  # fmt: skip
                k += 4
            while k <= R:
                _one(u, base + mirrored(y - k, H) * W, base + mirrored(y + k, H) * W, at(taps, k), row, pad, W)
                k += 1
            for k in range(1, R + 1):
                put(row, pad - k, at(row, pad + mirrored(-k, W)))
                put(row, pad + W - 1 + k, at(row, pad + mirrored(W - 1 + k, W)))
            target = base + y * W
            _scale(row, pad, at(taps, 0), out, target, W)
            k = 1
            while k + 3 <= R:
                a, b = pad - k, pad + k
                _four(row, a, b, a - 1, b + 1, a - 2, b + 2, a - 3, b + 3, taps, k, out, target, W)
                k += 4
            while k <= R:
                _one(row, pad - k, pad + k, at(taps, k), out, target, W)
                k += 1
        return stamp

    return kernel


@compiled()
def _scale(u: Any, a: int, weight: float, row: Any, o: int, W: int) -> None:
    for j in range(W):
        put(row, o + j, weight * at(u, a + j))


@compiled()
def _four(
    u: Any, a0: int, b0: int, a1: int, b1: int, a2: int, b2: int, a3: int, b3: int,
    taps: Any, k: int, row: Any, o: int, W: int,
) -> None:  # fmt: skip
    w0, w1, w2, w3 = at(taps, k), at(taps, k + 1), at(taps, k + 2), at(taps, k + 3)
    for j in range(W):
        total = at(row, o + j) + w0 * (at(u, a0 + j) + at(u, b0 + j))
        total = total + w1 * (at(u, a1 + j) + at(u, b1 + j))
        total = total + w2 * (at(u, a2 + j) + at(u, b2 + j))
        put(row, o + j, total + w3 * (at(u, a3 + j) + at(u, b3 + j)))


@compiled()
def _one(u: Any, a: int, b: int, weight: float, row: Any, o: int, W: int) -> None:
    for j in range(W):
        put(row, o + j, at(row, o + j) + weight * (at(u, a + j) + at(u, b + j)))
