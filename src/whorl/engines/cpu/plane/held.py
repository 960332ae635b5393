"""Data with their weights and known pixels of a step, as the arrays its kernels take."""

from functools import cache

import numpy as np
from torch import Tensor

from whorl.engines.cpu.plane.fields import Array
from whorl.engines.cpu.workspace import flat, precision
from whorl.steps import Step


def held(step: Step | None, u: Tensor) -> tuple[Array, ...]:
    """The arrays ``data, weights, weighed, known, masked`` of the pipeline; an empty one stands for a missing one."""
    data, weights, weighed, known, masked = _nothing(precision(u))
    term, kept = (None, None) if step is None else (step.fidelity, step.kept)
    if term is not None:
        f, w = term.on(u)
        data, (weights, weighed) = flat(f.to(u.dtype).contiguous()), _planes(w, u)
        weights = weights.astype(data.dtype, copy=False)
    if kept is not None:
        known, masked = _planes(kept.get_buffer("known"), u)
        known = known.view(np.uint8)
    return data, weights, weighed, known, masked


@cache
def _nothing(dtype: str) -> tuple[Array, ...]:
    return (*(np.empty(0, kind) for kind in (dtype, dtype, np.int64, np.uint8, np.int64)),)


def _planes(part: Tensor, u: Tensor) -> tuple[Array, Array]:
    """The flat planes of what broadcasts over images or channels, and which of them every field has."""
    n, c = u.shape[:2]
    images, channels = part.shape[:2]
    image, channel = np.divmod(np.arange(n * c), c)
    plane = (image % images) * channels + channel % channels
    return flat(part.contiguous()), plane.astype(np.int64)
