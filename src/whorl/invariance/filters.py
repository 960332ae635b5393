"""What a filter is here, and what all measurements share: the scene and the ratio."""

from collections.abc import Callable
from math import inf

import torch
from torch import Tensor

from whorl.data.synthetic import Faded, Whorl
from whorl.errors import ShapeError

__all__ = ["FINGERPRINT", "Filter", "filtered", "ratio", "root_mean_square"]

Filter = Callable[[Tensor], Tensor]

FINGERPRINT = Faded(Whorl(period=24.0), radius=52.0, strength=0.288)
"""A whorl with ridges 24 pixels apart and a steepest slope of 12 grey values per pixel, flat grey beyond radius 64."""


def filtered(filter: Filter, picture: Tensor, dtype: torch.dtype, device: str | torch.device) -> tuple[Tensor, Tensor]:
    """The picture as the filter sees it (rounded to ``dtype``) and its result, both in float64 on the CPU.

    Pictures go through one at a time, so a filter that looks across its batch cannot make them agree.
    """
    picture = picture.to(dtype=dtype, device=device)
    with torch.no_grad():
        result = filter(picture.clone())  # a filter working in place shall not change the picture it is compared with
    if not isinstance(result, Tensor) or result.shape != picture.shape:
        got = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise ShapeError(f"filter: expected a tensor of the shape it was given, {tuple(picture.shape)}, got {got}.")
    if not torch.isfinite(result).all():
        raise ValueError("filter: returned NaN or infinite values for a picture in [0, 255]. Lower its time step.")
    return picture.double().cpu(), result.double().cpu()


def ratio(difference: float, change: float) -> float:
    """``difference/change``; 0 where both vanish, since a filter that does nothing commutes with everything."""
    if change == 0:
        return 0.0 if difference == 0 else inf
    return difference / change


def root_mean_square(values: Tensor) -> float:
    """Root of the mean square over all entries."""
    return float(values.square().mean().sqrt())
