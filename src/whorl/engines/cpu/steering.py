"""The diffusion tensors of an image, cell by cell, for steps that keep them: cycles under a frozen tensor."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, compiled, source_stamp
from whorl.engines.cpu.rows import copy_row, structure, tensor
from whorl.engines.cpu.strips import smooth_fields

__all__ = ["steering"]


@cache
def steering(coupling: int, kind: int) -> Callable[..., int]:
    """The kernel for one law and one diffusivity.

    It writes rows ``r0 <= y < r1`` of cells of one image of the flat batch ``u`` to the planes ``A, B, C``: one tensor
    for each of the groups of fields ``seen``; see the strips. A law that has no use for B or C gets empty ones.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, image: int, channels: int, H: int, W: int, r0: int, r1: int,
        channel: Any, scale: Any, seen: Any, weight: Any, taps: Any, start: Any, radius: Any, k_seen: Any,
        rate: float, more: float, fields: Any, A: Any, B: Any, C: Any,
    ) -> int:  # fmt: skip
        top, bottom = max(0, r0 - 1), min(H, r1)
        smooth_fields(u, image * channels, H, W, top, bottom, channel, scale, taps, start, radius, fields)
        pitch, height, cells, groups = W + 2, bottom - top, W + 1, seen.shape[0]
        Ja, Jb, Jc = np.empty(cells, u.dtype), np.empty(cells, u.dtype), np.empty(cells, u.dtype)
        for g in range(groups):
            for y in range(r0, r1):
                above, below = (max(y - 1, 0) - top) * pitch, (min(y, H - 1) - top) * pitch
                for m in range(seen.shape[1]):
                    f = seen[g, m]
                    t, b = f * height * pitch + above, f * height * pitch + below
                    structure(coupling, m == 0, fields, t, b, cells, at(weight, f), k_seen, Ja, Jb, Jc)
                tensor(coupling, kind, cells, Ja, Jb, Jc, rate, more)
                here = ((image * groups + g) * (H + 1) + y) * cells
                copy_row(Ja, 0, A, here, cells)
                if B.shape[0] > 0:
                    copy_row(Jb, 0, B, here, cells)
                if C.shape[0] > 0:
                    copy_row(Jc, 0, C, here, cells)
        return stamp

    return kernel
