"""The norm of a steerable map while it is being trained: two steps of the power method at each frequency."""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from whorl.operators.steerable import SteerableMap

_NODES = 9


class NormEstimate(nn.Module):
    r"""An estimate of :math:`\|K\|^2` that can be differentiated and costs little: a lower bound.

    At each of a few frequencies a vector is multiplied by :math:`K^* K` twice per call and kept; it tends to the
    eigenvector of the largest eigenvalue. For a proven upper bound use ``K.squared_norm_bound()``.
    """

    def __init__(self, operator: SteerableMap) -> None:
        super().__init__()
        nodes = torch.linspace(0, math.pi, _NODES, dtype=torch.float64)
        theta = torch.meshgrid(*[nodes] * operator.dimension, indexing="ij")
        # The symbol is the same for (x, y) and (y, x).
        upper = torch.stack([a <= b for a, b in pairwise(theta)]).all(0)
        for order in range(len(operator.fields)):
            waves = operator.stencils(order).transfer(*(part[upper] for part in theta))
            # Stencils of odd order are odd functions: their transfer is purely imaginary, that of the others real.
            part = waves.imag if order % 2 else waves.real
            self.register_buffer(f"waves_{order}", part.to(torch.get_default_dtype()), persistent=False)
        start = torch.randn(int(upper.sum()), operator.channels, generator=torch.Generator().manual_seed(0))
        self.register_buffer("vectors", nn.functional.normalize(start, dim=1), persistent=False)

    def forward(self, operator: SteerableMap) -> Tensor:
        """The estimate, a number with a gradient to the weights."""
        parts = [
            torch.einsum("fcp,pkt->tfkc", weight, self.get_buffer(f"waves_{order}")).flatten(1, 2)
            for order, weight in enumerate(operator.mixing)
        ]
        matrix = torch.cat(parts, dim=1)
        vectors = self.get_buffer("vectors")
        with torch.no_grad():
            for _ in range(2):
                response = torch.einsum("tkc,tc->tk", matrix, vectors)
                vectors.copy_(nn.functional.normalize(torch.einsum("tkc,tk->tc", matrix, response), dim=1))
        return torch.einsum("tkc,tc->tk", matrix, vectors.clone()).square().sum(1).amax()
