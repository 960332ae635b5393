"""The activation that multiplies by a diffusion tensor."""

from collections.abc import Iterable

import torch
from torch import Tensor

from whorl.activations.base import Activation
from whorl.activations.tensors import SymmetricMatrix, eigenvalues, matrix_diffusivity
from whorl.diffusivities import Diffusivity
from whorl.foundations import validation
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Responses

__all__ = ["Anisotropic"]


class Anisotropic(Activation):
    r"""A diffusion tensor for all responses, :math:`\Phi(v) = g\big(\sum v\, v^\top\big)\, v`.

    Responses come in parts of two directions. The first part is a vector :math:`(p, q)`, further parts are details
    that count towards their own direction:

    .. math:: J = \sum \begin{pmatrix} p^2 + r_x^2 & p q \\ p q & q^2 + r_y^2 \end{pmatrix}, \qquad
              g(J) = \begin{pmatrix} a & b \\ b & c \end{pmatrix}, \qquad
              \Phi = \begin{pmatrix} a p + b q \\ b p + c q \\ a r_x - \gamma |b| r_y \\ c r_y - \gamma |b| r_x
              \end{pmatrix}.

    With one part (a plain gradient) this is the paper's matrix-vector product; with the cell gradient it is the family
    of Weickert, Welk and Wickert. Both eigenvalues go through :math:`g`.

    Parameters
    ----------
    gamma : float
        In [0, 1]; how far the detail follows the off-diagonal entry. Above 0 no energy exists.

    Guarantees
    ----------
    Values and gradients finite and exact on flat images and at equal eigenvalues, in both precisions; the multiplier is
    symmetric with eigenvalues within the range of :math:`g`, for any gamma.

    >>> from whorl.diffusivities import Rational
    >>> Anisotropic(Rational(1.0))(torch.tensor([3.0, 0.0]).view(1, 1, 1, 2, 1, 1)).flatten()
    tensor([0.3000, 0.0000])
    """

    def __init__(
        self,
        diffusivity: Diffusivity,
        couple: Iterable[str] = (),
        *,
        gamma: float = 0.0,
        scale_weights: Iterable[float] | None = None,
    ) -> None:
        super().__init__(diffusivity, couple, axes=2, scale_weights=scale_weights)
        self.gamma = validation.number(gamma, "gamma", "Anisotropic", 0.0, 1.0)

    def forward(self, v: Responses, structure: Responses | None = None) -> Responses:
        D = matrix_diffusivity(self.diffusivity, self.structure_tensor(v if structure is None else structure))
        p, q, *details = v.split(1, dim=3)
        flux = [D.a * p + D.b * q, D.b * p + D.c * q]
        if self.gamma == 0:
            flux += [(D.a, D.c)[index % 2] * detail for index, detail in enumerate(details)]
        else:
            across = self.gamma * D.b.abs()
            for r_x, r_y in zip(details[::2], details[1::2], strict=True):
                flux += [D.a * r_x - across * r_y, D.c * r_y - across * r_x]
        return torch.cat(flux, dim=3)

    def density(self, v: Responses) -> Tensor:
        large, small = eigenvalues(self.structure_tensor(v))
        return self.diffusivity.psi(large) + self.diffusivity.psi(small)

    def structure_tensor(self, v: Responses) -> SymmetricMatrix:
        """The structure tensor of the responses, summed over what is coupled."""
        squares = ordered_sum(self._by_axis(v).square().unbind(3))
        p, q = v[:, :, :, :1], v[:, :, :, 1:2]
        xx, yy = squares.split(1, dim=3)
        return SymmetricMatrix(self._accumulate(xx), self._accumulate(p * q), self._accumulate(yy))

    @property
    def has_energy(self) -> bool:
        return super().has_energy and self.gamma == 0

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, gamma={self.gamma:g}"
