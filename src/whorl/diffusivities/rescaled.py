"""A diffusivity of a rescaled argument."""

from torch import Tensor

from whorl.diffusivities.base import Diffusivity

__all__ = ["Rescaled"]


class Rescaled(Diffusivity):
    r"""The diffusivity :math:`g(\kappa s^2)`, for responses that carry a quadrature weight :math:`1/\kappa`.

    >>> import torch
    >>> from whorl.diffusivities import Rational
    >>> Rescaled(Rational(2.0), 4.0)(torch.tensor(1.0))
    tensor(0.5000)
    """

    name = "rescaled"

    def __init__(self, inner: Diffusivity, factor: float) -> None:
        super().__init__()
        self.inner, self.factor = inner, float(factor)

    @property
    def contrast(self) -> Tensor:
        contrast: Tensor = self.inner.contrast / self.factor**0.5
        return contrast

    def forward(self, s2: Tensor) -> Tensor:
        value: Tensor = self.inner(self.factor * s2)
        return value

    def psi(self, s2: Tensor) -> Tensor:
        return self.inner.psi(self.factor * s2) / self.factor

    def slope(self, s2: Tensor) -> Tensor:
        return self.factor * self.inner.slope(self.factor * s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        return self.factor * self.inner.divided_difference(self.factor * x, self.factor * y)

    def maximum(self) -> float:
        return self.inner.maximum()
