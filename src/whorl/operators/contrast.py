"""Local contrast: a picture less its local mean, in units of its local deviation."""

import torch
from torch import Tensor

from whorl.foundations.types import Image
from whorl.operators.smoothing import Smoothing

TRUNCATE = 3.0
"""The radius at which the Gaussian is cut, in standard deviations."""

FLOOR = 1e-3
"""Added to the deviation, in units of the picture: flat parts stay flat."""


def local_contrast(u: Image, inside: Tensor, sigma: float) -> Image:
    r"""Values less their mean, over their deviation, under a Gaussian inside a field of view; 0 outside.

    .. math:: m = \frac{G_\sigma * (\chi u)}{G_\sigma * \chi}, \qquad
              v = \frac{G_\sigma * (\chi (u - m)^2)}{G_\sigma * \chi}, \qquad
              \chi\, \frac{u - m}{\sqrt v + \varepsilon}

    Shapes: ``(n, c, y, x), (n, 1, y, x) -> (n, c, y, x)``. Another brightness or gain of a channel changes nothing
    (gains up to the floor of the deviation).

    >>> u = torch.arange(8.0).expand(1, 1, 8, 8)
    >>> torch.allclose(local_contrast(u, torch.ones_like(u), 2.0), local_contrast(5 * u + 3, torch.ones_like(u), 2.0),
    ...                atol=1e-2)
    True
    """
    smooth = Smoothing(sigma, TRUNCATE)
    radius = smooth.radius
    chi = inside.to(u.dtype)

    def mean(values: Tensor) -> Tensor:
        # Nothing is known outside the picture, so the mask is 0 there, too.
        wide = torch.nn.functional.pad(values, (radius,) * 4)
        result: Tensor = smooth(wide)[..., radius : radius + u.shape[2], radius : radius + u.shape[3]]
        return result

    share = mean(chi).clamp_min(1e-6)
    centred = u - mean(chi * u) / share
    return chi * centred / ((mean(chi * centred.square()) / share).sqrt() + FLOOR)
