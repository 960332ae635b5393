"""A diffusivity whose shape is trained."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from whorl.diffusivities.base import Contrast, Diffusivity
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.positive import geometric


class FreeForm(Diffusivity):
    r"""A trainable decreasing diffusivity: a convex combination of steps at several thresholds.

    .. math:: g(s^2) = \sum_j w_j \frac{1}{1 + (x / c_j)^2}, \qquad
              \Psi(s^2) = \lambda^2 \sum_j w_j\, c_j \arctan(x / c_j), \qquad x = s^2/\lambda^2,

    with :math:`w = \mathrm{softmax}` of the trained logits and fixed thresholds :math:`c_j` spaced geometrically.

    Guarantees
    ----------
    Decreasing and positive with :math:`g(0) = 1` for any parameters, so that the stability limits hold throughout
    training.

    >>> FreeForm(1.0, trainable=False)(torch.zeros(1))
    tensor([1.])
    """

    name = "free-form"

    def __init__(
        self,
        contrast: Contrast = 1.0,
        *,
        trainable: bool = True,
        steps: int = 8,
        smallest: float = 1 / 16,
        largest: float = 16.0,
    ) -> None:
        super().__init__(contrast, trainable=trainable)
        if steps < 2:
            raise ValueError(f"FreeForm: steps must be at least 2, got {steps}.")
        self.thresholds = tuple(geometric(smallest, largest, steps - 1))
        self.logits = nn.Parameter(torch.zeros(steps, dtype=torch.float64), requires_grad=trainable)

    def forward(self, s2: Tensor) -> Tensor:
        x = self._argument(s2)
        return self._sum(lambda c: _step(x / c))

    def psi(self, s2: Tensor) -> Tensor:
        x = self._argument(s2)
        return self._contrast_squared(s2) * self._sum(lambda c: c * torch.atan(x / c))

    def slope(self, s2: Tensor) -> Tensor:
        x = self._argument(s2)
        return -self._sum(lambda c: 2 * x / c**2 * _step(x / c) ** 2) / self._contrast_squared(s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        x, y = self._argument(x), self._argument(y)
        secants = self._sum(lambda c: (x + y) / c**2 * _step(x / c) * _step(y / c))
        return -secants / self._contrast_squared(x)

    def _sum(self, term: Callable[[float], Tensor]) -> Tensor:
        weights = torch.softmax(self.logits, 0).unbind()
        return ordered_sum(weight * term(c) for weight, c in zip(weights, self.thresholds, strict=True))

    def _argument(self, s2: Tensor) -> Tensor:
        return s2 / self._contrast_squared(s2)


def _step(x: Tensor) -> Tensor:
    return 1 / (1 + x**2)
