"""The type of filters, and what all measurements share: the scene and the ratio."""

from collections.abc import Callable
from math import inf

import torch
from torch import Tensor

from whorl.data.synthetic import Faded, Whorl
from whorl.errors import ShapeError

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


class Compared:
    """Base of results that set a ``difference``, or ``spread``, against the ``change`` that the filter made."""

    change: float
    called = "difference"

    @property
    def relative(self) -> float:
        """The difference over the change."""
        return ratio(getattr(self, self.called), self.change)


def values_at(u: Tensor, points: Tensor) -> Tensor:
    """The values ``(channels, points)`` of the first picture or volume at pixels (x, y) or voxels (x, y, z)."""
    picked: tuple[slice | Tensor, ...] = (slice(None), *points.flip(-1).unbind(-1))
    return u[0][picked]


def worst_spread(u: Tensor, v: Tensor, points: Tensor, where: str) -> tuple[Tensor, float, float]:
    """Of the channel that differs most: the changes at points where u has one value, their spread, the largest one.

    ``where`` begins the error message for a picture that has several values there.
    """
    before, after = values_at(u, points), values_at(v, points)
    if float((before.amax(-1) - before.amin(-1)).max()) > 0:
        raise ValueError(f"{where} differ.")
    changes = after - before
    spread, change = changes.amax(-1) - changes.amin(-1), changes.abs().amax(-1)
    worst = max(range(len(spread)), key=lambda c: ratio(float(spread[c]), float(change[c])))
    return changes[worst], float(spread[worst]), float(change[worst])
