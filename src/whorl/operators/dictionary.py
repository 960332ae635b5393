"""Trainable operators that are rotationally invariant by construction."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whorl.foundations.ordered import combined, ordered_sum
from whorl.foundations.types import Image, Responses, SpacingLike
from whorl.operators.base import Around, Operator, per_scale
from whorl.operators.laplacian import Laplacian
from whorl.operators.smoothing import Smoothing


class LaplacianPower(nn.Module):
    r"""The rotationally invariant image filter :math:`(\frac{1}{4}\Delta)^m G_\sigma`, to be listed in a dictionary.

    >>> LaplacianPower(1.0, power=2).radius
    6
    """

    def __init__(self, sigma: float, power: int = 1, spacing: SpacingLike = 1.0) -> None:
        super().__init__()
        if power < 0:
            raise ValueError(f"LaplacianPower: power must not be negative, got {power}.")
        self.smoothing, self.laplacian = Smoothing(sigma, spacing=spacing), Laplacian(spacing=spacing)
        self.power = power

    def forward(self, u: Image) -> Image:
        result: Tensor = self.smoothing(u)
        for _ in range(self.power):
            result = 0.25 * self.laplacian(result)[:, :, 0, 0]
        return result

    def adjoint(self, v: Image) -> Image:
        """The same: Laplacian and Gaussian are symmetric and commute."""
        return self.forward(v)

    def transfer(self, *theta: Tensor) -> Tensor:
        """The factor for a cosine of this frequency."""
        gain = -0.25 * self.laplacian.gradient.symbol(*theta)
        return gain**self.power * self.smoothing.transfer(*theta)

    @property
    def radius(self) -> int:
        """How far the filter looks, in pixels."""
        return self.smoothing.radius + self.power


class Dictionary(Around):
    r"""Trainable combinations of rotationally invariant filters before one base operator (paper, Discussion).

    .. math:: (K_f u) = K \sum_j w_{fj}\, A_j u

    with filters :math:`A_j`, the words of the dictionary, such as Gaussians of several widths or Laplacians of
    Gaussians. Whatever the weights :math:`w`, each feature :math:`f` is a rotationally invariant operator of the kind
    of :math:`K`. Features take the place of scales: ``(n, c, y, x) -> (n, c, f, k, y', x')``, a volume with one more
    axis.

    Guarantees
    ----------
    Exact adjoint for any weights; a proven norm bound that follows the weights.

    Examples
    --------
    >>> from whorl.operators import CellGradient
    >>> K = Dictionary(CellGradient(), [Smoothing(0.5), Smoothing(2.0)], features=3)
    >>> K(torch.zeros(1, 1, 8, 8)).shape
    torch.Size([1, 1, 3, 4, 9, 9])
    """

    def __init__(
        self,
        operator: Operator,
        words: Sequence[Smoothing | LaplacianPower],
        features: int = 1,
        weights: Tensor | None = None,
        *,
        trainable: bool = True,
    ) -> None:
        super().__init__(operator)
        if not words or features < 1:
            raise ValueError(f"Dictionary: needs at least one word and one feature, got {len(words)} and {features}.")
        if weights is None:
            # At the start feature f is mostly word f.
            weights = torch.eye(features, len(words), dtype=torch.float64) * 0.9 + 0.1 / len(words)
        if tuple(weights.shape) != (features, len(words)):
            raise ValueError(
                f"Dictionary: weights must have shape {(features, len(words))}, got {tuple(weights.shape)}."
            )
        self.words = nn.ModuleList(words)
        self.weights = nn.Parameter(weights.detach().double().clone(), requires_grad=trainable)

    def forward(self, u: Image) -> Responses:
        filtered = [word(u) for word in self.words]
        mixtures = [combined(row.unbind(), filtered) for row in self.weights.unbind(0)]
        return torch.cat([self.operator(mixture) for mixture in mixtures], dim=2)

    def adjoint(self, v: Responses) -> Image:
        parts = v.split(self.operator.scale_weights(v).numel(), dim=2)
        mixtures = [self.operator.adjoint(part) for part in parts]
        shares = [combined(column.unbind(), mixtures) for column in self.weights.unbind(1)]
        words = zip(self._members(), shares, strict=True)
        return ordered_sum(word.adjoint(image) for word, image in words)

    def symbol(self, *theta: Tensor) -> Tensor:
        transfers = torch.stack([word.transfer(*theta) for word in self._members()])
        gains = torch.einsum("fj,j...->f...", self.weights.detach().cpu(), transfers)
        return self.operator.symbol(*theta) * (gains**2).sum(0)

    def scale_weights(self, like: Tensor) -> Tensor:
        inner = self.operator.scale_weights(like).flatten()
        return per_scale(inner.repeat(self.weights.shape[0]), like)

    @property
    def radius(self) -> int:
        return max(word.radius for word in self._members())

    def _members(self) -> list[Smoothing | LaplacianPower]:
        return [word for word in self.words if isinstance(word, Smoothing | LaplacianPower)]
