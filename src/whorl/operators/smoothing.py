"""Gaussian smoothing, the one definition that every model and every engine shares."""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul

import torch
from torch import Tensor, nn

from whorl.foundations import validation
from whorl.foundations.types import Image, Responses, SpacingLike
from whorl.operators.base import Around, Operator
from whorl.operators.boundary import along, mirror
from whorl.operators.derivative import Derivative, Taps

TRUNCATE = 4.0
"""The radius at which the Gaussian is cut, in standard deviations: the weights beyond sum up to 6e-5."""


FASTER: list[Callable[["Smoothing", Tensor], Tensor | None]] = []
"""Other ways to the same bits, which engines offer when they are imported; None where a way does not apply."""

LARGEST_RADIUS = 2**12
"""Radius in pixels up to which a Gaussian is summed up weight by weight."""


def gaussian_weights(sigma: float, truncate: float = TRUNCATE) -> list[float]:
    r"""The weights :math:`w_0, \dots, w_R`, :math:`R = \lceil 4\sigma \rceil`, with :math:`w_0 + 2\sum w_k = 1`.

    >>> [round(w, 4) for w in gaussian_weights(0.5)]
    [0.7866, 0.1065, 0.0003]
    """
    if sigma * sigma == 0:
        return [1.0]
    if truncate * sigma > LARGEST_RADIUS:
        raise ValueError(
            f"Smoothing: sigma = {sigma:g} pixels needs a Gaussian of more than {LARGEST_RADIUS} pixels on each side. "
            "Lower sigma, or shrink the image first."
        )
    radius = math.ceil(truncate * sigma)
    weights = [math.exp(-(k**2) / (2 * sigma**2)) for k in range(radius + 1)]
    total = math.fsum([weights[0], *(2 * w for w in weights[1:])])
    return [w / total for w in weights]


class Gaussian(nn.Module):
    """Base of Gaussians: the weights along every axis."""

    def __init__(self, sigma: float, truncate: float = TRUNCATE, spacing: SpacingLike = 1.0) -> None:
        super().__init__()
        name = type(self).__name__
        self.sigma = validation.number(sigma, "sigma", name, 0.0)
        self.truncate = validation.number(truncate, "truncate", name, 0.0, open_low=True)
        self.spacing = validation.spacing(spacing, name)
        self._taps = {h: tuple(gaussian_weights(self.sigma / h, self.truncate)) for h in self.spacing}

    def weights_along(self, dimension: int) -> tuple[Taps, ...]:
        """The weights ``w_0 .. w_R`` for each axis of a picture or volume."""
        return tuple(self._taps[h] for h in self.spacing.along(dimension))

    @property
    def radius(self) -> int:
        """The radius of the kernel in pixels, the largest of all axes."""
        return max(len(weights) - 1 for weights in self._taps.values())

    def extra_repr(self) -> str:
        return f"sigma={self.sigma:g}, radius={self.radius}"


class Smoothing(Gaussian):
    r"""Convolution with a sampled, normalised Gaussian, cut at :math:`R = \lceil 4\sigma/h\rceil`, under mirroring.

    Images to images and volumes to volumes, one axis after the other (slices, rows, columns). Every pixel is the same
    sum in the same order, so that a constant image stays constant over all pixels to the last bit and a window of an
    image gives the bits of the whole.

    Parameters
    ----------
    sigma : float
        The standard deviation, a length in the units of ``spacing``: on unequal pixels the Gaussian is as round as on
        square ones.
    truncate : float
        Where the Gaussian is cut, in standard deviations.
    spacing : float or tuple of float
        Pixel size ``(h_y, h_x)``, voxel size ``(h_z, h_y, h_x)``, or one number for images and volumes alike.

    Guarantees
    ----------
    Symmetric (its own adjoint); norm at most 1; works for any size, also below the radius.

    Examples
    --------
    >>> Smoothing(2.0)(torch.full((1, 1, 3, 9), 0.1)).unique().numel()
    1
    >>> Smoothing(2.0, spacing=(0.5, 1.0)).radii(2)
    (16, 8)
    """

    def forward(self, u: Image) -> Image:
        if self.radius == 0:
            return u
        for faster in FASTER:
            if (done := faster(self, u)) is not None:
                return done
        u, dimension = u.view_as(u), u.dim() - 2
        for axis, weights in enumerate(self.weights_along(dimension), start=-dimension):
            u = convolved(u, mirror(u, 0, len(weights) - 1, *[0] * (-1 - axis)), axis, weights)
        return u

    def adjoint(self, v: Image) -> Image:
        """The same: the mirrored Gaussian is symmetric."""
        return self.forward(v)

    def transfer(self, *theta: Tensor) -> Tensor:
        """The factor by which a cosine of this frequency is damped, one angle per axis."""
        factors = [_transfer(angle, w) for angle, w in zip(theta, self.weights_along(len(theta)), strict=True)]
        return reduce(mul, factors)

    def radii(self, dimension: int) -> tuple[int, ...]:
        """The radius of the kernel in pixels, for each axis of a picture or volume."""
        return tuple(len(weights) - 1 for weights in self.weights_along(dimension))

    @property
    def uniform(self) -> bool:
        """Whether the weights are the same along each axis."""
        return len({*self.spacing}) == 1

    @property
    def weights(self) -> Taps:
        """The weights along x; along every axis where the pixels are square."""
        return self._taps[self.spacing[-1]]


def convolved(u: Tensor, extended: Tensor, axis: int, weights: Sequence[float]) -> Tensor:
    """The convolution of ``u`` with weights ``w_0 .. w_R`` along an axis; ``extended`` is u with R more per side."""
    R, size = len(weights) - 1, u.shape[axis]
    result = weights[0] * u
    for k in range(1, R + 1):
        pair = along(extended, axis, R - k, R - k + size) + along(extended, axis, R + k, R + k + size)
        result = result + weights[k] * pair
    return result


def _transfer(theta: Tensor, weights: Taps) -> Tensor:
    result = torch.full_like(theta, weights[0])
    for k in range(1, len(weights)):
        result = result + 2 * weights[k] * torch.cos(k * theta)
    return result


class Composed(Around):
    r"""An operator after a smoothing: :math:`K_\sigma = K\, G_\sigma`, with the adjoint :math:`G_\sigma K^*`.

    ``Composed(CellGradient(), Smoothing(2.0))`` is the Gaussian-smoothed gradient.

    >>> from whorl.operators import CellGradient
    >>> Composed(CellGradient(), Smoothing(1.0)).reach
    9
    """

    def __init__(self, operator: Operator, smoothing: Smoothing) -> None:
        super().__init__(operator)
        self.smoothing = smoothing
        self.spacing = operator.spacing if smoothing.spacing.dimension is None else smoothing.spacing
        if operator.dimension is not None and self.spacing != operator.spacing:
            raise ValueError(
                f"Composed: the operator has the spacing {tuple(operator.spacing)}, the smoothing "
                f"{tuple(smoothing.spacing)}. Give both the same."
            )

    def forward(self, u: Image) -> Responses:
        responses: Tensor = self.operator(self.smoothing(u))
        return responses

    def adjoint(self, v: Responses) -> Image:
        return self.smoothing.adjoint(self.operator.adjoint(v))

    def symbol(self, *theta: Tensor) -> Tensor:
        return self.operator.symbol(*theta) * self.smoothing.transfer(*theta) ** 2

    def _parts(self, dimension: int) -> Derivative | None:
        inner = self.operator.parts(dimension)
        return inner and inner.on_scales(self.smoothing.weights_along(dimension))

    @property
    def radius(self) -> int:
        return self.smoothing.radius
