"""Gaussian smoothing, the one definition that every model and every engine shares."""

import math
from importlib import import_module
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from whorl.foundations import validation
from whorl.foundations.types import Image, Responses
from whorl.operators.base import Operator
from whorl.operators.boundary import mirror

__all__ = ["Composed", "Smoothing", "gaussian_weights"]

TRUNCATE = 4.0
"""Where the Gaussian is cut, in standard deviations: the weights left out sum up to 6e-5."""


LARGE = 2**16
"""Pixels from which on compiled loops are worth loading."""


def gaussian_weights(sigma: float, truncate: float = TRUNCATE) -> list[float]:
    r"""The weights :math:`w_0, \dots, w_R`, :math:`R = \lceil 4\sigma \rceil`, with :math:`w_0 + 2\sum w_k = 1`.

    >>> [round(w, 4) for w in gaussian_weights(0.5)]
    [0.7866, 0.1065, 0.0003]
    """
    if sigma == 0:
        return [1.0]
    radius = math.ceil(truncate * sigma)
    weights = [math.exp(-(k**2) / (2 * sigma**2)) for k in range(radius + 1)]
    total = math.fsum([weights[0], *(2 * w for w in weights[1:])])
    return [w / total for w in weights]


class Smoothing(nn.Module):
    r"""Convolution with a sampled, normalised Gaussian, cut at :math:`R = \lceil 4\sigma\rceil`, under mirroring.

    Images to images, ``(n, c, y, x) -> (n, c, y, x)``, rows first, then columns. Every pixel is the same sum in the
    same order, so that a constant image stays constant over all pixels to the last bit and a window of an image gives
    the bits of the whole.

    Guarantees
    ----------
    Symmetric (its own adjoint); norm at most 1; works for any size, also below the radius.

    Examples
    --------
    >>> Smoothing(2.0)(torch.full((1, 1, 3, 9), 0.1)).unique().numel()
    1
    """

    def __init__(self, sigma: float, truncate: float = TRUNCATE) -> None:
        super().__init__()
        self.sigma = validation.number(sigma, "sigma", "Smoothing", 0.0)
        self.truncate = validation.number(truncate, "truncate", "Smoothing", 0.0, open_low=True)
        self.weights = gaussian_weights(self.sigma, self.truncate)

    def forward(self, u: Image) -> Image:
        """The smoothed image."""
        if self.radius == 0:
            return u
        done = self._compiled(u)
        return self._along_x(self._along_x(u.mT).mT) if done is None else done

    def adjoint(self, v: Image) -> Image:
        """The same: the mirrored Gaussian is symmetric."""
        return self.forward(v)

    def transfer(self, theta_y: Tensor, theta_x: Tensor) -> Tensor:
        """The factor by which a cosine of this frequency is damped."""
        return self._transfer(theta_y) * self._transfer(theta_x)

    @property
    def radius(self) -> int:
        """The radius ``R`` of the kernel in pixels."""
        return len(self.weights) - 1

    def extra_repr(self) -> str:
        return f"sigma={self.sigma:g}, radius={self.radius}"

    def _compiled(self, u: Tensor) -> Tensor | None:
        """The same result in every bit from compiled loops, for large images on the CPU when no gradient is needed."""
        if type(u) is not Tensor or torch.compiler.is_compiling() or u.dim() != 4 or u.numel() < LARGE:
            return None
        if u.device.type != "cpu" or (torch.is_grad_enabled() and u.requires_grad) or find_spec("numba") is None:
            return None
        # Engines build on operators; here one of them is looked up, as an option.
        result: Tensor | None = import_module("whorl.engines.cpu.smoothing").smoothed(u, self.weights)
        return result

    def _along_x(self, u: Tensor) -> Tensor:
        R, size = self.radius, u.shape[-1]
        extended = mirror(u, 0, R)
        result = self.weights[0] * u
        for k in range(1, R + 1):
            pair = extended[..., R - k : R - k + size] + extended[..., R + k : R + k + size]
            result = result + self.weights[k] * pair
        return result

    def _transfer(self, theta: Tensor) -> Tensor:
        result = torch.full_like(theta, self.weights[0])
        for k in range(1, self.radius + 1):
            result = result + 2 * self.weights[k] * torch.cos(k * theta)
        return result


class Composed(Operator):
    r"""An operator after a smoothing: :math:`K_\sigma = K\, G_\sigma`, with the adjoint :math:`G_\sigma K^*`.

    ``Composed(CellGradient(), Smoothing(2.0))`` is the Gaussian-smoothed gradient.

    >>> from whorl.operators import CellGradient
    >>> Composed(CellGradient(), Smoothing(1.0)).reach
    9
    """

    def __init__(self, operator: Operator, smoothing: Smoothing) -> None:
        super().__init__()
        self.operator, self.smoothing = operator, smoothing

    def forward(self, u: Image) -> Responses:
        responses: Tensor = self.operator(self.smoothing(u))
        return responses

    def adjoint(self, v: Responses) -> Image:
        return self.smoothing.adjoint(self.operator.adjoint(v))

    def symbol(self, theta_y: Tensor, theta_x: Tensor) -> Tensor:
        return self.operator.symbol(theta_y, theta_x) * self.smoothing.transfer(theta_y, theta_x) ** 2

    def cell_weights(self, v: Responses) -> Tensor:
        return self.operator.cell_weights(v)

    @property
    def degree(self) -> int:
        return self.operator.degree + 2 * self.smoothing.radius

    @property
    def reach(self) -> int:
        return self.operator.reach + 2 * self.smoothing.radius

    @property
    def axes(self) -> int:
        return self.operator.axes
