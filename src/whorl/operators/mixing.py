"""Learned mixtures of image channels behind any operator."""

import torch
from torch import Tensor, nn

from whorl.foundations.types import Image, Responses
from whorl.operators.base import Around, Operator


class Mixed(Around):
    r"""An operator whose responses are mixed over the image channels: :math:`v_f = \sum_c w_{fc}\, K u_c`.

    The same number multiplies all operator channels of a response, so that vectors and tensors stay what they are: a
    turned picture gives turned responses, whatever the weights.

    Shapes: ``(n, c, y, x) -> (n, f, s, k, y', x')``.

    Guarantees
    ----------
    Exact adjoint for any weights; the norm is that of the operator times that of the matrix.

    Examples
    --------
    >>> from whorl.operators import CellGradient
    >>> Mixed(CellGradient(), torch.eye(3)[:2])(torch.zeros(1, 3, 8, 8)).shape
    torch.Size([1, 2, 1, 4, 9, 9])
    """

    def __init__(self, operator: Operator, weights: Tensor, *, trainable: bool = True) -> None:
        super().__init__(operator)
        if weights.dim() != 2 or 0 in weights.shape or not torch.isfinite(weights).all():
            raise ValueError(f"Mixed: expected a finite matrix of weights (f, c), got shape {tuple(weights.shape)}.")
        self.weights = nn.Parameter(weights.detach().clone(), requires_grad=trainable)

    def forward(self, u: Image) -> Responses:
        return torch.einsum("fc,nc...->nf...", self.weights.to(u.dtype), self.operator(u))

    def adjoint(self, v: Responses) -> Image:
        return self.operator.adjoint(torch.einsum("fc,nf...->nc...", self.weights.to(v.dtype), v))

    def symbol(self, *theta: Tensor) -> Tensor:
        norm = torch.linalg.matrix_norm(self.weights.detach().cpu().double(), ord=2)
        largest: Tensor = norm.square() * self.operator.symbol(*theta)
        return largest
