"""The classical diffusivities, each with its regulariser in closed form."""

import math

import torch
from torch import Tensor

from whorl.diffusivities.base import Diffusivity
from whorl.foundations.traced import primitive, quotient

__all__ = ["CLASSICAL", "Charbonnier", "Exponential", "Homogeneous", "Rational", "RegularisedTV", "Tukey", "Weickert"]


class Exponential(Diffusivity):
    r"""The exponential diffusivity of Perona and Malik (1990), the paper's choice.

    .. math:: g(s^2) = \exp\!\Big(-\frac{s^2}{2\lambda^2}\Big), \qquad
              \Psi(s^2) = 2\lambda^2 \Big(1 - \exp\!\Big(-\frac{s^2}{2\lambda^2}\Big)\Big)

    >>> Exponential(2.0)(torch.tensor(8.0))
    tensor(0.3679)
    """

    name, closed_form = "exponential", True

    def forward(self, s2: Tensor) -> Tensor:
        return torch.exp(-s2 / self._twice(s2))

    def psi(self, s2: Tensor) -> Tensor:
        return -self._twice(s2) * torch.expm1(-s2 / self._twice(s2))

    def slope(self, s2: Tensor) -> Tensor:
        return -self(s2) / self._twice(s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        return self.slope(x) * _relative_decay((y - x) / self._twice(x))

    def secant(self, x: Tensor, y: Tensor, at_x: Tensor, at_y: Tensor) -> Tensor:
        # Both values save another exponential.
        z = (y - x) / self._twice(x)
        near, far = at_x * decay_series(z.clamp_max(_NEAR)), (at_x - at_y) / z.clamp_min(_NEAR)
        return -torch.where(z < _NEAR, near, far) / self._twice(x)

    def _twice(self, like: Tensor) -> Tensor:
        return 2 * self._contrast_squared(like)


class Rational(Diffusivity):
    r"""The rational diffusivity of Perona and Malik (1990).

    .. math:: g(s^2) = \frac{1}{1 + s^2/\lambda^2}, \qquad \Psi(s^2) = \lambda^2 \ln(1 + s^2/\lambda^2)

    >>> Rational(2.0)(torch.tensor(4.0))
    tensor(0.5000)
    """

    name, closed_form = "rational", True

    def forward(self, s2: Tensor) -> Tensor:
        return 1 / (1 + s2 / self._contrast_squared(s2))

    def psi(self, s2: Tensor) -> Tensor:
        return self._contrast_squared(s2) * torch.log1p(s2 / self._contrast_squared(s2))

    def slope(self, s2: Tensor) -> Tensor:
        return -(self(s2) ** 2) / self._contrast_squared(s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        return -self(x) * self(y) / self._contrast_squared(x)


class Charbonnier(Diffusivity):
    r"""The diffusivity of Charbonnier et al. (1994), whose regulariser is convex in :math:`s`.

    .. math:: g(s^2) = \frac{1}{\sqrt{1 + s^2/\lambda^2}}, \qquad
              \Psi(s^2) = 2\lambda^2 \Big(\sqrt{1 + s^2/\lambda^2} - 1\Big)

    >>> Charbonnier(2.0)(torch.tensor(12.0))
    tensor(0.5000)
    """

    name, closed_form = "charbonnier", True

    def forward(self, s2: Tensor) -> Tensor:
        return torch.rsqrt(1 + s2 / self._contrast_squared(s2))

    def psi(self, s2: Tensor) -> Tensor:
        return 2 * s2 / (1 + torch.sqrt(1 + s2 / self._contrast_squared(s2)))

    def slope(self, s2: Tensor) -> Tensor:
        return -0.5 * self(s2) ** 3 / self._contrast_squared(s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        at_x, at_y = self(x), self(y)
        return -quotient((at_x * at_y) ** 2, (at_x + at_y) * self._contrast_squared(x))


class RegularisedTV(Diffusivity):
    r"""Regularised total variation: the contrast is the regularisation :math:`\varepsilon`, in grey values.

    .. math:: g(s^2) = \frac{1}{\sqrt{s^2 + \varepsilon^2}}, \qquad
              \Psi(s^2) = 2 \Big(\sqrt{s^2 + \varepsilon^2} - \varepsilon\Big)

    It is Charbonnier's diffusivity divided by the contrast; ``maximum()`` is :math:`1/\varepsilon`, so small
    :math:`\varepsilon` means small steps.

    >>> RegularisedTV(3.0)(torch.tensor(16.0))
    tensor(0.2000)
    """

    name, closed_form, amplitude, shape = "tv", True, -1, Charbonnier

    def forward(self, s2: Tensor) -> Tensor:
        return torch.rsqrt(s2 + self._contrast_squared(s2))

    def psi(self, s2: Tensor) -> Tensor:
        return 2 * s2 / (torch.sqrt(s2 + self._contrast_squared(s2)) + self._contrast_like(s2).to(s2.dtype))

    def slope(self, s2: Tensor) -> Tensor:
        return -0.5 * self(s2) ** 3

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        at_x, at_y = self(x), self(y)
        # In this order neither large nor small contrasts leave the range of float32.
        return -(at_x * at_y) * (at_x * at_y / (at_x + at_y))

    def maximum(self) -> float:
        return 1 / float(self.contrast.detach().min())


class Weickert(Diffusivity):
    r"""The diffusivity of Weickert (1998), which changes from 1 to 0 most rapidly.

    .. math:: g(s^2) = 1 - \exp\!\Big(-\frac{C}{(s^2/\lambda^2)^4}\Big), \qquad C = 3.31488,

    with :math:`\Psi` from the incomplete gamma function. The constant makes the flux :math:`g(s^2) s` grow for
    :math:`s < \lambda` and fall for :math:`s > \lambda`.

    >>> Weickert(2.0)(torch.tensor([0.0, 400.0]))
    tensor([1.0000e+00, 3.3149e-08])
    """

    name, closed_form = "weickert", True

    # Below this value of s2 / lambda² the exponential is zero in every precision.
    _FLAT = 0.2

    def forward(self, s2: Tensor) -> Tensor:
        return -torch.expm1(-self._exponent(s2))

    def psi(self, s2: Tensor) -> Tensor:
        x, z = s2 / self._contrast_squared(s2), self._exponent(s2)
        shape = torch.tensor(0.75, dtype=s2.dtype, device=s2.device)
        constant = _CONSTANT**0.25 * math.gamma(0.75)
        tail: Tensor = torch.special.gammaincc(shape, z)
        psi: Tensor = self._contrast_squared(s2) * (-x * torch.expm1(-z) + constant * tail)
        return psi

    def slope(self, s2: Tensor) -> Tensor:
        x, z = (s2 / self._contrast_squared(s2)).clamp_min(self._FLAT), self._exponent(s2)
        return -4 * z / x * torch.exp(-z) / self._contrast_squared(s2)

    def _exponent(self, s2: Tensor) -> Tensor:
        # Squared twice: a general power is rounded differently in the middle and at the end of an array.
        inverse = (s2 / self._contrast_squared(s2)).clamp_min(self._FLAT).reciprocal()
        return _CONSTANT * inverse.square().square()


class Tukey(Diffusivity):
    r"""Tukey's biweight as Black et al. (1998) use it: edges beyond a threshold are not smoothed at all.

    .. math:: g(s^2) = \Big(1 - \frac{s^2}{5\lambda^2}\Big)^2, \qquad
              \Psi(s^2) = \frac{5\lambda^2}{3} \bigg(1 - \Big(1 - \frac{s^2}{5\lambda^2}\Big)^3\bigg)
              \qquad \text{for } s^2 \le 5\lambda^2,

    and :math:`g = 0` beyond. The factor 5 makes the flux :math:`g(s^2) s` largest at :math:`s = \lambda`, as with the
    exponential diffusivity. (Black et al. have a factor 1/2 before it, which changes the time scale only.)

    >>> Tukey(2.0)(torch.tensor([0.0, 10.0, 20.0, 400.0]))
    tensor([1.0000, 0.2500, 0.0000, 0.0000])
    """

    name, closed_form = "tukey", True

    def forward(self, s2: Tensor) -> Tensor:
        return self._rest(s2).square()

    def psi(self, s2: Tensor) -> Tensor:
        x = (s2 / self._five(s2)).clamp_max(1)
        return self._five(s2) * x * (1 - x * (1 - x / 3))

    def slope(self, s2: Tensor) -> Tensor:
        return -2 * self._rest(s2) / self._five(s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        at_x, at_y, width = self._rest(x), self._rest(y), (y - x).abs()
        inside = (at_x > 0) & (at_y > 0)
        # With one argument beyond the threshold they are apart; with both beyond, the sum is zero.
        fall = quotient((at_x - at_y).abs(), torch.where(inside | (width == 0), 1, width))
        return -(at_x + at_y) * torch.where(inside, 1 / self._five(x), fall)

    def _rest(self, s2: Tensor) -> Tensor:
        return (1 - s2 / self._five(s2)).clamp_min(0)

    def _five(self, like: Tensor) -> Tensor:
        return 5 * self._contrast_squared(like)


class Homogeneous(Diffusivity):
    r"""Constant diffusivity: :math:`g = 1`, :math:`\Psi(s^2) = s^2`. The contrast has no effect.

    >>> Homogeneous()(torch.tensor([0.0, 7.0]))
    tensor([1., 1.])
    """

    name, closed_form = "homogeneous", True

    def forward(self, s2: Tensor) -> Tensor:
        return torch.ones_like(s2)

    def psi(self, s2: Tensor) -> Tensor:
        return s2

    def slope(self, s2: Tensor) -> Tensor:
        return torch.zeros_like(s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.zeros_like(x + y)


CLASSICAL: tuple[type[Diffusivity], ...] = (
    Exponential,
    Rational,
    Charbonnier,
    Weickert,
    Tukey,
    RegularisedTV,
    Homogeneous,
)
"""All of them; every engine, the export and the page have each."""

_CONSTANT, _NEAR = 3.31488, 0.3


def _relative_decay(z: Tensor) -> Tensor:
    """``(1 - exp(-z)) / z`` with value and gradient exact near ``z = 0``, where it is a power series."""
    near = z.abs() < _NEAR
    series = decay_series(torch.where(near, z, 0))
    large = torch.where(near, 1, z)
    return torch.where(near, series, -torch.expm1(-large) / large)


@primitive
def decay_series(z: Tensor) -> Tensor:
    """``(1 - exp(-z)) / z`` by its power series, for small ``z``."""
    series = torch.ones_like(z)
    for k in range(12, 1, -1):
        series = 1 - z / k * series
    return series
