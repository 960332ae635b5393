"""Potentials that are learned: their derivatives are piecewise linear, with slopes that never leave their limits."""

import math

import torch
from torch import Tensor, nn

KNOTS = (0.0, *(0.03 * 1.6**k for k in range(14)))
"""Where the slopes change, in units of a field's contrast."""


class Potentials(nn.Module):
    r"""Functions :math:`\psi_f` with :math:`\psi_f(0) = \psi_f'(0) = 0`, one for each field.

    Between two knots :math:`\psi_f''` is constant. It lies in [0, :math:`\mu`] for the convex kind, and in
    [-``weak``, :math:`\mu`] otherwise; there it is never so low that :math:`\psi_f'` becomes negative before the next
    knot. Beyond the last knot :math:`\psi_f'` is constant. A sigmoid keeps the limits for any weights.

    Guarantees
    ----------
    :math:`\psi_f' \ge 0`, :math:`-\mathrm{weak} \le \psi_f'' \le \mu`, for any weights.

    Examples
    --------
    >>> psi = Potentials(3, mu=40.0)
    >>> psi.of(torch.zeros(5, 3))[0].shape
    torch.Size([5, 3])
    """

    def __init__(self, count: int, mu: float, weak: float = 0.0) -> None:
        super().__init__()
        if not 0 <= weak < 1:
            raise ValueError(f"Potentials(weak={weak:g}): must lie in [0, 1), or there may be several minimisers.")
        self.mu, self.weak = mu, weak
        self.register_buffer("knots", torch.tensor(KNOTS, dtype=torch.get_default_dtype()))
        # The start is like total variation: steep up to a small contrast, then level.
        level = torch.tensor(KNOTS[1:]) / (torch.tensor(KNOTS[1:]) ** 2 + (1.5 / mu) ** 2).sqrt()
        steps = torch.diff(torch.tensor(KNOTS))
        share = (torch.diff(level, prepend=torch.zeros(1)) / steps + weak) / (mu + weak)
        self.theta = nn.Parameter(share.clamp(3e-4, 0.9).logit().expand(count, -1).clone())

    def slopes(self) -> Tensor:
        """The second derivatives between the knots, ``(fields, knots)``; the last is 0."""
        share, steps = self.theta.sigmoid(), torch.diff(self.get_buffer("knots"))
        height, found = torch.zeros_like(share[:, 0]), []
        for part, step in zip(share.unbind(1), steps, strict=True):
            least = (-height / step).clamp(min=-self.weak) if self.weak else torch.zeros_like(height)
            found.append(least + (self.mu - least) * part)
            height = height + step * found[-1]
        return torch.stack([*found, torch.zeros_like(height)], 1)

    def of(self, x: Tensor, slopes: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        r"""The values :math:`\psi_f, \psi_f', \psi_f''` at numbers :math:`x \ge 0`; fields on the last axis."""
        slopes = (self.slopes() if slopes is None else slopes).to(x.dtype)
        knots = self.get_buffer("knots").to(x.dtype)
        steps, height = torch.diff(knots), self._heights(slopes)
        value = nn.functional.pad(((height[:, :-1] + 0.5 * slopes[:, :-1] * steps) * steps).cumsum(1), (1, 0))
        part = self.part(x)
        place = part + torch.arange(len(slopes), device=x.device) * len(knots)
        beyond = x - knots[part]
        slope, first, base = (each.flatten()[place] for each in (slopes, height, value))
        return base + (first + 0.5 * slope * beyond) * beyond, first + slope * beyond, slope

    def lines(self) -> tuple[Tensor, Tensor]:
        r"""Numbers a and b of every piece of :math:`\psi_f'(x) = a x + b`, ``(fields, knots)``."""
        slopes = self.slopes()
        return slopes, self._heights(slopes) - slopes * self.get_buffer("knots").to(slopes.dtype)

    def part(self, x: Tensor) -> Tensor:
        """On which piece numbers lie: the knots are geometric, and a logarithm is faster than a search."""
        first, second = self.get_buffer("knots")[1:3].tolist()
        place: Tensor = (x.detach() * (1 / first)).log2_().mul_(1 / math.log2(second / first)).add_(1)
        return place.clamp_(0, len(KNOTS) - 1).to(torch.int32)

    def _heights(self, slopes: Tensor) -> Tensor:
        steps = torch.diff(self.get_buffer("knots").to(slopes.dtype))
        return nn.functional.pad((slopes[:, :-1] * steps).cumsum(1), (1, 0))
