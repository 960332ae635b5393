r"""The steady state of a flow that keeps known pixels: :math:`F(u) = 0` where unknown, :math:`u = f` where known.

From coarse to fine: every level starts from the next coarser one and takes cycles of the fast semi-iterative scheme,
in which known pixels are put back after every step. A cycle damps all errors within its reach; how much the next cycle
still changes tells how far away the steady state is. Work grows linearly with the pixels.

Within a cycle the diffusion tensor stays that of its start. Then the cycle is one of a linear problem, which it brings
near its solution, and cycles converge; if the tensor followed every step, the extrapolation of the scheme would keep
edges moving for ever.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from whorl import engines
from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.inpainting.bands import cycle, pieces
from whorl.inpainting.patches import around
from whorl.inpainting.pyramid import Level, finer, pyramid
from whorl.models import Model
from whorl.operators import Hessian, Laplacian
from whorl.schemes import fsi_steps
from whorl.steps import Numbers

SHORTEST, LONGEST, LONGEST_FOURTH = 10, 160, 2560
"""Steps of a cycle at least, and at most in a linear flow of second and of fourth order."""

LONGEST_FROZEN = 40
"""Steps of a cycle at most under a frozen tensor: then it is time for a new one.

Steps beyond those that reach across the gaps would be wasted: how fast edges find their place depends on how often the
tensor is renewed.
"""

MOMENTUM = 0.75
"""Each cycle under frozen tensors starts ahead by this share of the last change: edges drift in one direction."""

SLOWEST = 0.9
"""While tensors still change, a cycle is assumed to change at least this share of what the cycle before it changed."""

CALM = 3
"""Cycles in a row that must be near the steady state while tensors still change: a single calm one may be where an edge
turns round, or begins to give way."""

COARSE_CYCLES = 8
"""The most cycles on a coarse level: finer levels do the rest."""

MOST_STEPS = 8000
"""Steps on a level (four times as many in a flow of fourth order) after which the flow is taken not to come to rest."""

Report = Callable[[float], None]
"""Called after every cycle on the finest level with the distance to the steady state, in grey values."""


class Filled(NamedTuple):
    """The result, how far it is from the steady state (root mean square, in grey values), and the steps it took.

    >>> import torch
    >>> Filled(torch.zeros(1, 1, 4, 4), distance=0.05, steps=96, converged=True).converged
    True
    """

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

    Examples
    --------
    >>> from whorl.models import build
    >>> ramp = torch.arange(16.0).expand(1, 1, 16, 16)
    >>> known = (ramp == 0) | (ramp == 15)
    >>> filled = fill(build("perona-malik", diffusivity="homogeneous"), ramp * known, known, tolerance=1e-3)
    >>> float((filled.image - ramp).abs().max()) < 0.01
    True
    """
    tolerance = validation.number(tolerance, "tolerance", "fill", 0.0, open_low=True)
    data = validation.finite(torch.where(known, image, 0), "fill")
    with engines.select(model.description, data, engine).undisturbed():
        return _coarse_to_fine(model, Level(data, known), tolerance, engine, report)


def _coarse_to_fine(model: Model, finest: Level, tolerance: float, engine: str, report: Report | None) -> Filled:
    """Every level from the next coarser one; the coarsest from the mean of its known pixels."""
    data = finest.data
    levels, steps = pyramid(finest), 0
    coarser = len(levels) - 1
    u = torch.where(levels[-1].known, levels[-1].data, _mean_known(levels[-1]))
    # A nonlinear flow may have several steady states: let the start on the finest level not depend on the tolerance.
    coarse = tolerance if _linear(model) else 0.0
    for below in range(coarser):
        u, _, taken, _ = _relax(model, u, levels[-1], below, coarse, engine, None, COARSE_CYCLES)
        steps += taken * u.numel() // data.numel()
        levels.pop()  # and its memory, which finer levels need
        u = torch.where(levels[-1].known, levels[-1].data, finer(u, tuple(levels[-1].data.shape[2:])))
    u, distance, taken, converged = _relax(model, u, levels[0], coarser, tolerance, engine, report)
    return Filled(u, distance, steps + taken, converged)


def _relax(
    model: Model,
    u: Tensor,
    level: Level,
    coarser_levels: int,
    tolerance: float,
    engine: str,
    report: Report | None,
    most_cycles: int | None = None,
) -> tuple[Tensor, float, int, bool]:
    """Cycles until the steady state is near: the image, its distance, the steps taken, and whether it is near."""
    unknown = int((~level.known).sum()) * (u.numel() // level.known.numel())
    if unknown == 0:
        return u, 0.0, 0, True
    tau, (low, high) = model.step_limit(u.dim() - 2), _bounds(model, level)
    frozen, order = not _linear(model), 2 if isinstance(model.operator, Laplacian | Hessian) else 1
    longest, slowest = (LONGEST_FROZEN, SLOWEST) if frozen else (LONGEST if order == 1 else LONGEST_FOURTH, 0.0)
    # If all is known k levels down, gaps are about 2^k pixels wide; a cycle of n steps reaches about n pixels far.
    # In a flow of fourth order it reaches about the root of n.
    across = 2 ** (coarser_levels * order)
    length = min(max(SHORTEST, across), longest)
    # Cycles that do not reach across change little after the first one, whatever is left to do: look twice.
    needed = CALM if frozen else 1 if across <= longest else 2
    steps, cycles, calm, before, distance, momentum = 0, 0, 0, float("inf"), float("inf"), 0.0
    patches, whole, laid = None, u, 0  # for cycles of so many steps the holes are cut out
    while steps < MOST_STEPS * order**2 and cycles != most_cycles:
        if laid != length:
            whole, laid = u if patches is None else patches.put(u, whole), length
            patches = around(level.known, length, model.operator.reach, model.reach)
            own, here, u = (None, level, whole) if patches is None else (patches.own, *patches.take(level, whole))
            parts = pieces(model, here, length) if frozen else []
            held = model.description if frozen else model.inpaint(here.data, ~here.known).description
            move = u.new_zeros(()).expand_as(u)
            whole = whole if patches else whole[:0].clone()  # nothing else may refer to the image
        taus, mixes = fsi_steps((length,), tau)
        if frozen:
            after, along = cycle(parts, u, move, momentum, taus, mixes, engine, own)
            momentum = MOMENTUM if along >= 0 else 0.0  # in the wrong direction it is dropped
        else:
            after = engines.advance(held, u, [Numbers(size) for size in taus], engine, mixes=mixes)
        if patches is not None:
            after = patches.agreed(after)
        if low is not None:
            after = after.clamp(low, high)
        # Nothing else refers to the image of the last cycle: without derivatives its memory takes the change.
        move = after - u if after.requires_grad else u.sub_(after).neg_()
        lengths = torch.linalg.vector_norm(move.detach() if own is None else move.detach()[:, :, own], dim=-1)
        change = float(lengths.double().square().sum() / unknown) ** 0.5
        u, steps, cycles = after, steps + length, cycles + 1
        # Changes that shrink by the factor q from cycle to cycle sum up to change q / (1 - q) from here on.
        q = min(max(change / before if before else 0.0, slowest), 0.98)
        distance = change * q / (1 - q) if before < float("inf") else change / (1 - slowest)
        if report is not None:
            report(distance)
        calm = calm + 1 if distance <= tolerance else 0
        if calm == needed:
            break
        if not frozen and change > 0.5 * before and length < longest:
            length, change = 2 * length, float("inf")
        before = change
    return u if patches is None else patches.put(u, whole), distance, steps, calm == needed


def _linear(model: Model) -> bool:
    g = model.activation.law.diffusivity
    return g is not None and g.name == "homogeneous"


def _bounds(model: Model, level: Level) -> tuple[float | None, float | None]:
    """The range of the known values, where the steady state cannot leave it."""
    if model.max_min_limit(level.data.dim() - 2) is None:
        return None, None
    values = level.data.detach().masked_select(level.known)
    return float(values.min()), float(values.max())


def _mean_known(level: Level) -> Tensor:
    """The mean of the known pixels of every image and channel."""
    axes = tuple(range(2, level.data.dim()))
    count = level.known.to(level.data.dtype).sum(axes, keepdim=True).clamp_min(1)
    return torch.where(level.known, level.data, 0).sum(axes, keepdim=True) / count
