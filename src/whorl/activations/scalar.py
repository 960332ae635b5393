"""Activations that multiply by scalars: the uncoupled counter-example and isotropic coupling."""

from torch import Tensor

from whorl.activations.base import Activation
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Responses

__all__ = ["Isotropic", "Uncoupled"]


class Uncoupled(Activation):
    r"""Every direction for itself, :math:`\Phi(v)_i = g\big(\sum |v_i|^2\big)\, v_i`: the counter-example.

    The sum runs over the parts of one direction (and over coupled image channels and scales), never over directions.
    The result depends on how the directions lie in the image: rotation invariance is lost.

    >>> import torch
    >>> from whorl.diffusivities import Rational
    >>> Uncoupled(Rational(1.0))(torch.tensor([3.0, 1.0]).view(1, 1, 1, 2, 1, 1)).flatten()
    tensor([0.3000, 0.5000])
    """

    def forward(self, v: Responses, structure: Responses | None = None) -> Responses:
        weight = self.diffusivity(self._squared(v if structure is None else structure))
        return (self._by_axis(v) * weight.unsqueeze(3)).reshape(v.shape)

    def density(self, v: Responses) -> Tensor:
        return self.diffusivity.psi(self._squared(v)).sum(3, keepdim=True)

    def _squared(self, v: Responses) -> Tensor:
        return self._accumulate(ordered_sum(self._by_axis(v).square().unbind(3)))


class Isotropic(Activation):
    r"""One scalar for all responses, :math:`\Phi(v) = g\big(\sum |v|^2\big)\, v`.

    With ``couple=()`` this is Design Principle 1 (operator channels), with ``"channels"`` Design Principle 2, with
    ``"scales"`` Design Principle 3.

    >>> import torch
    >>> from whorl.diffusivities import Rational
    >>> Isotropic(Rational(1.0))(torch.tensor([3.0, 1.0]).view(1, 1, 1, 2, 1, 1)).flatten()
    tensor([0.2727, 0.0909])
    """

    def forward(self, v: Responses, structure: Responses | None = None) -> Responses:
        return self.diffusivity(self._squared(v if structure is None else structure)) * v

    def density(self, v: Responses) -> Tensor:
        return self.diffusivity.psi(self._squared(v))

    def _squared(self, v: Responses) -> Tensor:
        return self._accumulate(ordered_sum(v.square().split(1, dim=3)))
