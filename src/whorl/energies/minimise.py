"""Minimisers of smooth functions, and their derivatives by the implicit function theorem."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Gradient = Callable[[Tensor], Tensor]
TOLERANCE = 1e-4
STEPS = 2000
_MEMORY, _TRIES = 8, 12


@dataclass(frozen=True)
class Minimum:
    """Where the method stopped: the picture, the norm of the gradient there over the data's, and the steps taken.

    >>> minimise(lambda u: u.square().sum(), lambda u: 2 * u, torch.ones(3), 2.0, 1.0).residual
    0.0
    """

    u: Tensor
    residual: float
    steps: int
    reached: bool


@torch.no_grad()
def minimise(
    value: Callable[[Tensor], Tensor],
    gradient: Gradient,
    start: Tensor,
    curvature: float,
    size: float,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
) -> Minimum:
    r"""A point where the gradient is at most ``tolerance * size``: limited-memory BFGS, with what makes it sure.

    A direction comes from the last eight changes of the gradient (Liu and Nocedal 1989); along it the slope falls to
    0.9 of what it was, or below. At first after 50 steps, later after twice as many as before, the value is compared
    with the last one compared; where it has risen, the method goes back there. A plain gradient step of :math:`1/L`
    follows, and nothing is remembered. So these values never rise by more than rounding. For a strongly convex
    function, :math:`m \le \nabla^2 E \le L`, the plain step gains at least the share :math:`m/L` of what is left to
    gain: the method converges to the one minimiser. Any other smooth function bounded below has gradients that tend to
    zero.

    >>> found = minimise(lambda u: 0.5 * u.square().sum(), lambda u: u, torch.ones(3), 1.0, 1.0)
    >>> found.reached, found.steps
    (True, 1)
    """
    u, g, step = start, gradient(start), 0
    kept, base, compared, longest = math.inf, (u, g), 0, 50
    rounding = 8 * torch.finfo(start.dtype).eps  # of the sum that a value is
    changes: list[tuple[Tensor, Tensor]] = []
    while (residual := float(g.norm()) / size) > tolerance and step < steps:
        if step >= compared + longest:
            worth = float(value(u))
            if worth <= kept + rounding * abs(kept):
                kept, base = worth, (u, g)
            else:
                u, g = base
            compared, longest, changes = step, 2 * longest, []
        d = -_without_curvature(g, changes) if changes else -g / curvature
        slope, size_of_step = _dot(g, d), 1.0
        if slope >= 0:
            changes, d = [], -g / curvature
        for _ in range(_TRIES):
            following = gradient(u + size_of_step * d)
            step += 1
            found = _dot(following, d)
            if not changes or abs(found) <= 0.9 * abs(slope) or step == steps:
                break
            size_of_step *= min(max(slope / (slope - found), 0.1), 4.0) if found > slope else 4.0
        else:  # no such place: a plain step from where it was
            changes = []
            continue
        moved = size_of_step * d
        u, change, g = u + moved, following - g, following
        if _dot(moved, change) > 0:
            changes = [*changes[1 - _MEMORY :], (moved, change)]
    return Minimum(u, residual, step, residual <= tolerance)


def _without_curvature(g: Tensor, changes: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The gradient times the inverse curvature that changes of place and gradient tell, by two recursions."""
    shares = []
    for moved, change in reversed(changes):
        shares.append(_dot(moved, g) / _dot(moved, change))
        g = g - shares[-1] * change
    moved, change = changes[-1]
    g = g * (_dot(moved, change) / _dot(change, change))
    for (moved, change), share in zip(changes, reversed(shares), strict=True):
        g = g + (share - _dot(change, g) / _dot(moved, change)) * moved
    return g


def _dot(a: Tensor, b: Tensor) -> float:
    return float((a * b).sum())


def implicit(
    gradient: Gradient,
    minimum: Tensor,
    tolerance: float = 1e-5,
    steps: int = 200,
    along: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    r"""The minimiser as a function of what its energy depends on: weights and data.

    At the minimiser :math:`\nabla E(u, \theta) = 0`, so that
    :math:`u' = -(\nabla^2 E)^{-1}\, \partial_\theta \nabla E`.
    Going backwards one linear system is solved by conjugate gradients; no step of the method is kept. ``along``, where
    it is given, is the derivative of the gradient along a picture, and is found by autograd otherwise.

    >>> a = torch.tensor(3.0, requires_grad=True)  # the minimiser of (u - a)^2 is a
    >>> u = implicit(lambda u: 2 * (u - a), torch.tensor([3.0]))
    >>> u.backward(torch.ones(1)); a.grad
    tensor(1.)
    """
    point = minimum.detach().requires_grad_()
    with torch.enable_grad():
        g = gradient(point)

    def hessian(p: Tensor) -> Tensor:
        return torch.autograd.grad(g, point, p, retain_graph=True)[0] if along is None else along(p)

    def solve(b: Tensor) -> Tensor:
        p, r = torch.zeros_like(b), b.clone()
        q, length = r, r.square().sum()
        first = float(length)
        for _ in range(steps):
            if float(length) <= tolerance**2 * first:
                break
            image = hessian(q)
            size = length / (q * image).sum()
            p, r = p + size * q, r - size * image
            length, before = r.square().sum(), length
            q = r + length / before * q
        return p

    with torch.enable_grad():
        result = minimum.detach() - (g - g.detach())
        if result.requires_grad:
            result.register_hook(solve)
    return result
