"""A contrast to start from, when nobody gave one: the typical response of the model on the image itself."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl.foundations.ordered import ordered_sum
from whorl.large.windows import Window, samples
from whorl.models import Model

__all__ = ["typical_contrast"]


def typical_contrast(
    model: Model,
    read: Callable[[Window], NDArray[Any]],
    height: int,
    width: int,
    device: str | torch.device = "cpu",
) -> float:
    r"""The median of :math:`|K u|`, as the model's nonlinearity sees it, over windows spread evenly over the image.

    Half of the places then count as edges, and half as noise or shading. The windows depend on the size of the image
    only, so the value is one for the whole image, however it is cut. Flat places are left out; a flat image gives 1.

    >>> from whorl.models import build
    >>> ramp = np.tile(3.0 * np.arange(64.0), (64, 1))[None]
    >>> round(typical_contrast(build("perona-malik"), lambda w: ramp[:, w.top:w.bottom, w.left:w.right], 64, 64), 6)
    3.0
    """
    steering = model.operator if model.structure is None else model.structure
    found = []
    for window in samples(height, width):
        u = torch.from_numpy(np.ascontiguousarray(read(window)))[None]
        with torch.no_grad():
            v = steering(u.to(device))
            s2 = model.activation._accumulate(ordered_sum(v.square().split(1, dim=3)))
        found.append(s2[s2 > 0].sqrt().cpu().numpy())
    responses = np.concatenate(found)
    typical = float(np.median(responses)) if responses.size else 1.0
    return typical if math.isfinite(typical) and typical > 0 else 1.0
