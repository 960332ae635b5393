"""Derivatives along many directions, each with a stencil of its own."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from whorl.foundations import validation
from whorl.foundations.ordered import combined, ordered_sum
from whorl.foundations.types import Image, Responses, Spacing, SpacingLike
from whorl.operators.base import Operator
from whorl.operators.boundary import fold, mirror
from whorl.operators.cells import border_weights
from whorl.operators.derivative import Derivative

# The 4x4 taps around a cell centre fall into eight pairs that lie opposite each other. Working with the eight
# differences makes constants vanish exactly and shares the work between all directions.
_PAIRS = [(row, column) for row in range(2) for column in range(4)]


def cubic_weights(t: float) -> tuple[float, float, float, float]:
    """Cubic convolution weights (Keys 1981) of the samples at -1, 0, 1, 2 for a point at ``t`` in [0, 1].

    >>> cubic_weights(0.5)
    (-0.0625, 0.5625, 0.5625, -0.0625)
    """
    return (
        ((-0.5 * t + 1.0) * t - 0.5) * t,
        (1.5 * t - 2.5) * t * t + 1.0,
        ((-1.5 * t + 2.0) * t + 0.5) * t,
        (0.5 * t - 0.5) * t * t,
    )


class DirectionalDerivatives(Operator):
    r"""Derivatives along the directions :math:`\theta_j = \pi j / m`, for the integration model of Weickert (1994).

    .. math:: (K u)_j = \sqrt{\tfrac{2}{m}}\; \frac{u(z + \tfrac{\ell}{2} e_{\theta_j}) - u(z - \tfrac{\ell}{2}
              e_{\theta_j})}{\ell}, \qquad \ell = \min(h_x, h_y),

    at the cell centres :math:`z`, where the values between pixels come from cubic convolution: a 4x4 stencil per
    direction. The factor :math:`\sqrt{2/m}` is the quadrature of :math:`\frac{2}{\pi} \int_0^\pi d\theta`, so that
    :math:`K^* K \approx -\Delta`.

    Shapes: ``(n, c, y, x) -> (n, c, 1, m, y+1, x+1)``.

    Guarantees
    ----------
    Exact adjoint; proven norm bound; annihilates constants to the last bit. Quarter turns carry over when
    ``directions`` is even, since only then a turned direction is again one of the set.

    Notes
    -----
    Blind to checkerboards, like the cell gradient with alpha = 1/2. It has ``m`` channels where the tensor form of
    edge-enhancing diffusion has two.

    Examples
    --------
    >>> import torch
    >>> DirectionalDerivatives(8)(torch.zeros(1, 1, 9, 9)).shape
    torch.Size([1, 1, 1, 8, 10, 10])
    """

    degree = 3
    orders = (1,)

    def __init__(self, directions: int = 8, spacing: SpacingLike = 1.0) -> None:
        super().__init__()
        if int(directions) != directions or directions < 2:
            raise ValueError(f"DirectionalDerivatives: directions must be a whole number >= 2, got {directions!r}.")
        self.directions = int(directions)
        # A single number stands for square pixels.
        self.spacing = Spacing(tuple(validation.spacing(spacing, "DirectionalDerivatives")))
        if self.spacing.dimension == 3:
            raise ValueError(
                f"DirectionalDerivatives: exist in the plane alone, got the spacing {tuple(self.spacing)} of a volume. "
                "Use CellGradient."
            )
        self.weights = [self._stencil(math.pi * j / directions) for j in range(self.directions)]

    def forward(self, u: Image) -> Responses:
        rows, columns = u.shape[-2] + 1, u.shape[-1] + 1
        extended = mirror(u, 2)

        def tap(row: int, column: int) -> Tensor:
            return extended[..., row : row + rows, column : column + columns]

        pairs = [tap(3 - row, 3 - column) - tap(row, column) for row, column in _PAIRS]
        return torch.stack([combined(weights, pairs) for weights in self.weights], dim=2).unsqueeze(2)

    def adjoint(self, v: Responses) -> Image:
        parts = (v * self.cell_weights(v)).squeeze(2).unbind(2)
        pad = torch.nn.functional.pad

        def spread(weights: Sequence[float], row: int, column: int) -> Tensor:
            pair = combined(weights, parts)
            return pad(pair, (3 - column, column, 3 - row, row)) - pad(pair, (column, 3 - column, row, 3 - row))

        return fold(ordered_sum(map(spread, zip(*self.weights, strict=True), *zip(*_PAIRS, strict=True))), 2)

    def symbol(self, *theta: Tensor) -> Tensor:
        theta_y, theta_x = theta

        def gain(weights: Sequence[float], theta_x: Tensor) -> Tensor:
            # Opposite taps at distance d from the centre contribute 2 sin(d . theta).
            terms = zip(weights, _PAIRS, strict=True)
            waves = [w * 2 * torch.sin((1.5 - row) * theta_y + (1.5 - column) * theta_x) for w, (row, column) in terms]
            return torch.stack(waves).sum(0)

        # Under mirroring, a cosine mixes the two signs of its frequency with equal parts.
        return ordered_sum(0.5 * (gain(w, theta_x) ** 2 + gain(w, -theta_x) ** 2) for w in self.weights)

    def cell_weights(self, v: Responses) -> Tensor:
        return border_weights(v)

    def _parts(self, dimension: int) -> Derivative:
        return Derivative("directional", self.spacing.along(dimension), directions=self.directions)

    @property
    def axes(self) -> int:
        return self.directions

    def extra_repr(self) -> str:
        return f"directions={self.directions}, spacing={self.spacing}"

    def _stencil(self, theta: float) -> list[float]:
        """Weights of the eight pair differences for one direction."""
        h_y, h_x = self.spacing
        length = min(h_x, h_y)
        across = cubic_weights(0.5 + 0.5 * length * math.cos(theta) / h_x)
        down = cubic_weights(0.5 + 0.5 * length * math.sin(theta) / h_y)
        scale = math.sqrt(2 / self.directions) / length
        taps = [[down[row] * across[column] for column in range(4)] for row in range(4)]
        return [scale * (taps[3 - row][3 - column] - taps[row][column]) for row, column in _PAIRS]
