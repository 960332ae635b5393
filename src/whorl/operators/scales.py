"""Operators on several scales at once."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from whorl.foundations import validation
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.positive import geometric
from whorl.foundations.types import Image, Responses
from whorl.operators.base import Around, Operator, per_scale
from whorl.operators.derivative import Derivative
from whorl.operators.smoothing import TRUNCATE, Smoothing


class ScaleSampling(NamedTuple):
    r"""Scales :math:`\sigma_\ell` and the steps :math:`\omega_\ell = \sigma_{\ell+1} - \sigma_\ell` between them.

    >>> ScaleSampling(sigma=(1.0, 2.0), omega=(1.0, 2.0)).omega
    (1.0, 2.0)
    """

    sigma: tuple[float, ...]
    omega: tuple[float, ...]


@cache
def sample_scales(count: int = 8, smallest: float = 0.1, largest: float = 10.0) -> ScaleSampling:
    r"""The exponential sampling of the paper: :math:`\sigma_\ell = 0.1 \cdot 100^{(\ell-1)/8}`.

    >>> [round(sigma, 2) for sigma in sample_scales().sigma]
    [0.1, 0.18, 0.32, 0.56, 1.0, 1.78, 3.16, 5.62]
    >>> round(sum(sample_scales().omega), 6)
    9.9
    """
    if count < 1:
        raise ValueError(f"sample_scales: count must be at least 1, got {count}.")
    nodes = geometric(
        validation.number(smallest, "smallest", "sample_scales", 0.0, open_low=True),
        validation.number(largest, "largest", "sample_scales", smallest, open_low=True),
        count,
    )
    steps = tuple(after - before for before, after in pairwise(nodes))
    return ScaleSampling(tuple(nodes[:-1]), steps)


class ScaleStack(Around):
    r"""One operator on several scales, :math:`K_\ell = \beta_\ell\, K\, G_{\sigma_\ell}`.

    Shapes: ``(n, c, y, x) -> (n, c, s, k, y', x')``, a volume with one more axis. In the inner product scale
    :math:`\ell` counts :math:`\omega_\ell`, so that

    .. math:: K^* v = \sum_\ell \omega_\ell\, \beta_\ell\, G_{\sigma_\ell} K^* v_\ell ,

    the adjoint side of the paper's equation (36). Each scale is smoothed once in :math:`K`,
    before it is differenced, and once in :math:`K^*`.

    Parameters
    ----------
    operator : Operator
        What is applied on each scale.
    sampling : ScaleSampling
        Scales and their weights, lengths in the units of the operator's spacing; the paper's eight by default.
    beta : sequence of float, optional
        Weight per scale; 1 by default.
    trainable : bool
        Whether the weights ``beta`` are trained.

    Guarantees
    ----------
    Exact adjoint in the weighted product; a proven norm bound from the sum of all symbols, at most 1 % above the norm.

    Examples
    --------
    >>> import torch, whorl
    >>> sampling = whorl.operators.ScaleSampling((1.0, 2.0), (1.0, 2.0))
    >>> whorl.operators.ScaleStack(whorl.operators.CellGradient(), sampling)(torch.zeros(1, 1, 8, 8)).shape
    torch.Size([1, 1, 2, 4, 9, 9])
    """

    by_magnitude = ("beta",)
    """Parameters whose sign changes nothing in :math:`K^* \\Phi(K u)`, as activations are odd."""

    omega: Tensor

    def __init__(
        self,
        operator: Operator,
        sampling: ScaleSampling | None = None,
        beta: Sequence[float] | None = None,
        *,
        trainable: bool = False,
        truncate: float = TRUNCATE,
    ) -> None:
        super().__init__(operator)
        self.sampling = sample_scales() if sampling is None else sampling
        weights = [1.0] * len(self.sampling.sigma) if beta is None else [float(b) for b in beta]
        if len(weights) != len(self.sampling.sigma):
            raise ValueError(
                f"ScaleStack: expected one beta per scale, {len(self.sampling.sigma)}, got {len(weights)}."
            )
        self.beta = nn.Parameter(torch.tensor(weights, dtype=torch.float64), requires_grad=trainable)
        self.register_buffer("omega", torch.tensor(self.sampling.omega, dtype=torch.float64))
        self.smoothings = nn.ModuleList(Smoothing(sigma, truncate, self.spacing) for sigma in self.sampling.sigma)

    def forward(self, u: Image) -> Responses:
        scales = [beta * self.operator(G(u)) for beta, G in zip(self.beta.unbind(), self.smoothings, strict=True)]
        return torch.cat(scales, dim=2)

    def adjoint(self, v: Responses) -> Image:
        weights = (self.omega * self.beta).unbind()
        parts = v.split(self.operator.scale_weights(v).numel(), dim=2)
        scales = zip(weights, self._members(), parts, strict=True)
        return ordered_sum(weight * G.adjoint(self.operator.adjoint(part)) for weight, G, part in scales)

    def symbol(self, *theta: Tensor) -> Tensor:
        weights = (self.omega * self.beta.detach() ** 2).tolist()
        transfers = [weight * G.transfer(*theta) ** 2 for weight, G in zip(weights, self._members(), strict=True)]
        return self.operator.symbol(*theta) * torch.stack(transfers).sum(0)

    def scale_weights(self, like: Tensor) -> Tensor:
        inner = self.operator.scale_weights(like).flatten()
        return per_scale(torch.outer(self.omega.to(inner), inner).flatten(), like)

    def _parts(self, dimension: int) -> Derivative | None:
        inner, taps = self.operator.parts(dimension), [G.weights_along(dimension) for G in self._members()]
        return inner and inner.on_scales(*taps, omega=tuple(self.omega.tolist()))

    def numbers(self) -> tuple[Tensor, Tensor]:
        return self.omega, self.beta

    @property
    def radius(self) -> int:
        return max(G.radius for G in self._members())

    def _members(self) -> list[Smoothing]:
        return [G for G in self.smoothings if isinstance(G, Smoothing)]
