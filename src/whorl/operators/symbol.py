r"""Proven maxima of Fourier symbols, hence proven operator norms.

With half-sample mirroring, :math:`K^* K` of a symmetric set of stencils is diagonal in the cosine basis (DCT-II), with
the eigenvalues :math:`\hat K(\theta_y, \theta_x)` at :math:`\theta = \pi k / N`. The largest value of the symbol over
all frequencies therefore bounds :math:`\|K\|^2` for every image size.

A symbol is a trigonometric polynomial. For degree :math:`n` and :math:`2 m n` equispaced nodes, Ehlich and Zeller
(1964) proved :math:`\max |f| \le \max_{\text{nodes}} |f| / \cos(\pi / 2m)`; in two variables the factor counts twice.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["Symbol", "maximum_bound"]

Symbol = Callable[[Tensor, Tensor], Tensor]
"""``(theta_y, theta_x) -> `` the eigenvalue of ``K* K`` there, for tensors that broadcast."""


def maximum_bound(symbol: Symbol, degree: int, oversampling: int = 16) -> float:
    r"""An upper bound of a non-negative even trigonometric polynomial, at most 1 % above its maximum.

    >>> maximum_bound(lambda y, x: 2 - torch.cos(x) - torch.cos(y), degree=1) >= 4
    True
    """
    # The symbols are even, so that half of the 2 m n nodes on the circle, both ends included, tell all of them.
    nodes = torch.arange(oversampling * degree + 1, dtype=torch.float64) * (math.pi / (oversampling * degree))
    largest = symbol(nodes[:, None], nodes[None, :]).max()
    return float(largest) / math.cos(math.pi / (2 * oversampling)) ** 2
