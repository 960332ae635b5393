r"""Minimisers: accelerated gradients with restart, and their derivatives by the implicit function theorem."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Gradient = Callable[[Tensor], Tensor]
TOLERANCE = 1e-4
STEPS = 2000


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
    r"""A point where the gradient is at most ``tolerance * size``, by Nesterov's steps of :math:`1/L` with restart.

    Momentum is dropped where it points uphill (O'Donoghue and Candès 2015), and at the latest after as many steps as
    the longest run may have, which doubles. At every restart the value is compared with that of the restart before;
    where it has risen, the method goes back there. So values at restarts never rise by more than rounding, and a plain
    gradient step follows each. For a strongly convex function, :math:`m \le \nabla^2 E \le L`, that step gains at least
    the share :math:`m/L` of what is left to gain: the method converges to the one minimiser. Any other smooth function
    bounded below has gradients that tend to zero.

    >>> found = minimise(lambda u: 0.5 * u.square().sum(), lambda u: u, torch.ones(3), 1.0, 1.0)
    >>> found.reached, found.steps
    (True, 1)
    """
    u = y = base = start
    momentum, run, longest = 1.0, 0, 50
    rounding = 8 * torch.finfo(start.dtype).eps  # of the sum that a value is
    kept = math.inf
    residual = math.inf
    for step in range(steps + 1):
        g = gradient(y)
        residual = float(g.norm()) / size
        if residual <= tolerance or step == steps:
            break
        moved = y - g / curvature
        run += 1
        if run > 1 and (float(((y - moved) * (moved - u)).sum()) > 0 or run >= longest):
            worth = float(value(moved))
            longest = longest if run < longest else 2 * longest
            momentum, run = 1.0, 0
            if worth <= kept + rounding * abs(kept):
                base, kept = moved, worth
            u = y = base
            continue
        following = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
        y = moved + (momentum - 1) / following * (moved - u)
        u, momentum = moved, following
    return Minimum(y, residual, step, residual <= tolerance)


def implicit(gradient: Gradient, minimum: Tensor, tolerance: float = 1e-5, steps: int = 200) -> Tensor:
    r"""The minimiser as a function of what its energy depends on: weights and data.

    At the minimiser :math:`\nabla E(u, \theta) = 0`, so that
    :math:`u' = -(\nabla^2 E)^{-1}\, \partial_\theta \nabla E`.
    Going backwards one linear system is solved by conjugate gradients; no step of the method is kept.

    >>> a = torch.tensor(3.0, requires_grad=True)  # the minimiser of (u - a)^2 is a
    >>> u = implicit(lambda u: 2 * (u - a), torch.tensor([3.0]))
    >>> u.backward(torch.ones(1)); a.grad
    tensor(1.)
    """
    point = minimum.detach().requires_grad_()
    with torch.enable_grad():
        g = gradient(point)

    def hessian(p: Tensor) -> Tensor:
        return torch.autograd.grad(g, point, p, retain_graph=True)[0]

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
