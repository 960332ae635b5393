"""A contrast to start from, when nobody gave one: the typical response of the model on the image itself."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl.models import Model

__all__ = ["typical_contrast"]


def typical_contrast(
    model: Model,
    blocks: Iterable[NDArray[Any]],
    device: str | torch.device = "cpu",
) -> float:
    r"""The median of :math:`|K u|`, as the model's nonlinearity sees it, over blocks ``(c, y, x)`` of samples.

    Half of the places then count as edges, and half as noise or shading. Flat places are left out; flat blocks give 1.

    >>> from whorl.models import build
    >>> ramp = np.tile(3.0 * np.arange(64.0), (64, 1))[None]
    >>> round(typical_contrast(build("perona-malik"), [ramp]), 6)
    3.0
    """
    steering = model.operator if model.structure is None else model.structure
    found = []
    for block in blocks:
        u = torch.from_numpy(np.ascontiguousarray(block))[None]
        with torch.no_grad():
            v = steering(u.to(device))
            s2 = model.activation.structure(v).trace()
        found.append(s2[s2 > 0].sqrt().cpu().numpy())
    responses = np.concatenate(found or [np.empty(0)])
    typical = float(np.median(responses)) if responses.size else 1.0
    return typical if math.isfinite(typical) and typical > 0 else 1.0
