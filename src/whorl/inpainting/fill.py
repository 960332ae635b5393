r"""The steady state of a flow that keeps known pixels: :math:`F(u) = 0` where unknown, :math:`u = f` where known.

From coarse to fine: every level starts from the next coarser one and takes cycles of the fast semi-iterative scheme,
in which known pixels are put back after every step. A cycle damps all errors it can see; how much the next one still
changes tells how far away the steady state is. Work grows linearly with the pixels.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.inpainting.pyramid import Level, finer, pyramid
from whorl.models import Model
from whorl.schemes import fsi_cycle

__all__ = ["Filled", "Report", "fill"]

LENGTH = 20
"""Steps of the first cycle on a level. It doubles whenever a cycle leaves more than half of the change before it."""

LONGEST = 160
"""Steps of a cycle at most."""

COARSE = 10.0
"""On coarse levels so much more may be missing than on the last."""

MOST_STEPS = 8000
"""After so many steps on a level the flow is taken not to come to rest."""

Report = Callable[[float], None]
"""Called after every cycle on the finest level with the distance to the steady state, in grey values."""


class Filled(NamedTuple):
    """The result, how far it is from the steady state (root mean square, in grey values), and the steps it took."""

    image: Image
    distance: float
    steps: int
    converged: bool


def fill(
    model: Model,
    image: Image,
    known: Tensor,
    *,
    tolerance: float = 0.1,
    engine: str = "auto",
    report: Report | None = None,
) -> Filled:
    """Fill in the pixels that are not known, by the steady state of the model's flow.

    Parameters
    ----------
    model : Model
        Without data term: known pixels are kept exactly.
    image : Image
        ``(n, c, y, x)``; values where ``known`` is False have no effect, NaN included.
    known : Tensor of bool
        ``(n or 1, 1, y, x)``.
    tolerance : float
        Stop when the result is this close to the steady state, in grey values (root mean square over the unknown
        pixels, estimated from how the changes of the cycles shrink).
    engine : str
        One of ``whorl.engines.ENGINES``.
    report : callable, optional
        Called after every cycle on the finest level.

    Guarantees
    ----------
    Known pixels keep their values to the last bit. Where the model has a max-min limit, no value leaves the range of
    the known ones.

    >>> from whorl.models import build
    >>> ramp = torch.arange(16.0).expand(1, 1, 16, 16)
    >>> known = (ramp == 0) | (ramp == 15)
    >>> filled = fill(build("perona-malik", diffusivity="homogeneous"), ramp * known, known, tolerance=1e-3)
    >>> float((filled.image - ramp).abs().max()) < 0.01
    True
    """
    tolerance = validation.number(tolerance, "tolerance", "fill", 0.0, open_low=True)
    data = validation.finite(torch.where(known, image, torch.zeros_like(image)), "fill")
    levels = pyramid(Level(data, known))
    mean = _mean_known(levels[-1])
    u = torch.where(levels[-1].known, levels[-1].data, mean)
    steps = 0
    for level in reversed(levels[1:]):
        u = torch.where(level.known, level.data, finer(u, tuple(level.data.shape[2:])))
        u, _, taken, _ = _relax(model, u, level, COARSE * tolerance, engine, None)
        steps += taken // 2 ** (data.dim() - 2)
    u = torch.where(known, data, finer(u, tuple(data.shape[2:])) if len(levels) > 1 else u)
    u, distance, taken, converged = _relax(model, u, levels[0], tolerance, engine, report)
    return Filled(u, distance, steps + taken, converged)


def _relax(
    model: Model, u: Tensor, level: Level, tolerance: float, engine: str, report: Report | None
) -> tuple[Tensor, float, int, bool]:
    """Cycles until the steady state is near: the image, its distance, the steps taken, and whether it is near."""
    unknown = int((~level.known).sum()) * (u.numel() // level.known.numel())
    if unknown == 0:
        return u, 0.0, 0, True
    tau, low, high = model.step_limit(), *_bounds(model, level)

    def step(v: Tensor) -> Tensor:
        return torch.where(level.known, level.data, model.step(v, tau, engine=engine))

    length, steps, before, distance = LENGTH, 0, float("inf"), float("inf")
    while steps < MOST_STEPS:
        after = fsi_cycle(step, u, length).clamp(low, high)
        change = float((after - u).detach().double().square().sum() / unknown) ** 0.5
        u, steps = after, steps + length
        # Changes that shrink by the factor q from cycle to cycle sum up to change q / (1 - q) from here on.
        shrinking = min(change / before, 0.98) if before else 0.0
        distance = change * shrinking / (1 - shrinking) if before < float("inf") else change
        if report is not None:
            report(distance)
        if distance <= tolerance:
            return u, distance, steps, True
        if change > 0.5 * before and length < LONGEST:
            length, change = 2 * length, float("inf")
        before = change
    return u, distance, steps, False


def _bounds(model: Model, level: Level) -> tuple[float | None, float | None]:
    """The range of the known values, where the steady state cannot leave it."""
    if model.max_min_limit() is None:
        return -float("inf"), float("inf")
    values = level.data.detach().masked_select(level.known)
    return float(values.min()), float(values.max())


def _mean_known(level: Level) -> Tensor:
    """The mean of the known pixels of every image and channel."""
    axes = tuple(range(2, level.data.dim()))
    count = level.known.to(level.data.dtype).sum(axes, keepdim=True).clamp_min(1)
    return torch.where(level.known, level.data, 0).sum(axes, keepdim=True) / count
