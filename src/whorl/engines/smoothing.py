"""The compiled Gaussian of large images, offered to the operators, which know nothing of engines."""

from importlib.util import find_spec

import torch
from torch import Tensor

from whorl.engines.selection import transformed
from whorl.operators.smoothing import FASTER, Smoothing

LARGE = 2**16
"""Pixels from which on compiled loops are worth loading."""


def smoothed(G: Smoothing, u: Tensor) -> Tensor | None:
    """The bits of the plain operator from compiled loops: for large images on the processor, without a gradient."""
    if transformed(u) or u.dim() != 4 or u.numel() < LARGE or not G.uniform or u.device.type != "cpu":
        return None
    if (torch.is_grad_enabled() and u.requires_grad) or u.dtype not in (torch.float32, torch.float64):
        return None
    if find_spec("numba") is None:
        return None
    from whorl.engines.cpu.plane.smoothing import smoothed

    return smoothed(u, G.weights)


FASTER.append(smoothed)
