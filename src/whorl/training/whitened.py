r"""Adam along the principal directions of the gradients, for networks of a few thousand parameters.

Adam divides each number of a gradient by its usual size. Where numbers are correlated, as the weights of neighbouring
stencils are, that is a poor measure. Here the covariance :math:`C` of the gradients of each tensor is kept, and Adam is
done in the basis of its eigenvectors: Vyas et al. 2024, "SOAP", with whole covariances in the place of Kronecker
products. Where all eigenvalues are used at once this is :math:`C^{-1/2}` times the mean gradient.

>>> p = torch.nn.Parameter(torch.tensor([3.0, -1.0]))
>>> optimiser = WhitenedAdam([p], lr=0.1)
>>> for _ in range(60):
...     optimiser.zero_grad()
...     (p[0] + 0.999 * p[1]).square().add(1e-4 * p.square().sum()).backward()
...     optimiser.step()
>>> bool((p[0] + 0.999 * p[1]).abs() < 0.05)
True
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

LARGEST = 1024
"""Numbers that one covariance holds at most. Rows of a larger tensor share one; with still longer rows it is Adam."""

RENEWED = 20
"""Steps between two computations of the eigenvectors."""

BETAS = 0.9, 0.98
"""What is kept of the mean gradient, and of squares and products, from one step to the next."""

SMALL = 1e-5
"""Directions in which gradients are shorter than this, in units of the longest, are rounding rather than slopes."""


class WhitenedAdam(torch.optim.Optimizer):
    """Adam in the basis of the eigenvectors of the covariance of each tensor's gradients.

    Guarantees
    ----------
    With eigenvectors that are computed in every step, a rotation of the parameters rotates the steps.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})
        for p in (p for group in self.param_groups for p in group["params"]):
            n = next((n for n in (p.numel(), p[0].numel() if p.dim() else 1) if n <= LARGEST), 1)
            self.state[p] = {
                "step": torch.zeros(()), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p),
                "covariance": p.new_zeros(n, n), "basis": torch.eye(n, dtype=p.dtype, device=p.device),
            }  # fmt: skip

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Change all parameters by their gradients."""
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(group["lr"] * self._direction(p.grad, **self.state[p]))

    def _direction(
        self, grad: Tensor, step: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, covariance: Tensor, basis: Tensor
    ) -> Tensor:
        """What a tensor is changed by, for a rate of -1."""
        step += 1
        t, (kept, kept_squares) = int(step), BETAS
        g, squares = grad.reshape(-1, len(basis)), exp_avg_sq.view(-1, len(basis))
        exp_avg.lerp_(grad, 1 - kept)
        covariance.lerp_(g.mT @ g, 1 - kept_squares)
        squares.lerp_((g @ basis).square(), 1 - kept_squares)
        if t % RENEWED in (0, 1 % RENEWED) and len(basis) > 1 and bool(covariance.isfinite().all()):
            basis.copy_(torch.linalg.eigh(covariance)[1])
            if len(g) == 1:  # squares along the new directions are known exactly
                squares.copy_(((covariance @ basis) * basis).sum(0).clamp_min(0))
        mean = exp_avg.view_as(g) @ basis / (1 - kept**t)
        size = (squares / (1 - kept_squares**t)).sqrt()
        return (mean / (size + SMALL * size.max()).clamp_min(1e-30) @ basis.mT).view_as(grad)
