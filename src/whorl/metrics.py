r"""Quality of an estimate against its reference: PSNR and SSIM, with the value range as an explicit argument.

Both functions return one number **for each picture** of a batch, so that nobody averages in the wrong place: the mean
of PSNRs is not the PSNR of the mean error. :func:`population` then sums a list of such numbers up, with the
*population* variance (divided by ``n``): the angles of an experiment are all there are, not a sample of them.
"""

from dataclasses import dataclass
from math import fsum

import torch
from torch import Tensor

from whorl.errors import ShapeError

__all__ = ["Population", "mean_squared_error", "population", "psnr", "ssim"]


def mean_squared_error(estimate: Tensor, reference: Tensor) -> Tensor:
    r"""Mean of :math:`(u - f)^2` over channels and pixels: ``(n, c, y, x) -> (n,)``, in float64.

    Examples
    --------
    >>> mean_squared_error(torch.full((2, 1, 4, 4), 3.0), torch.ones(2, 1, 4, 4))
    tensor([4., 4.], dtype=torch.float64)
    """
    _check_pair("mean_squared_error", estimate, reference)
    return (estimate.double() - reference.double()).square().mean(dim=(-3, -2, -1))


def psnr(estimate: Tensor, reference: Tensor, *, value_range: float) -> Tensor:
    r"""Peak signal-to-noise ratio in dB, one for each picture.

    .. math:: \mathrm{PSNR} = 10 \log_{10} \frac{R^2}{\mathrm{MSE}}, \qquad
              \mathrm{MSE} = \frac{1}{c\,y\,x} \sum (u - f)^2

    Shapes: ``(n, c, y, x), (n, c, y, x) -> (n,)``, in float64.

    Parameters
    ----------
    estimate, reference : Tensor
        Real pictures of one shape. Nothing is clipped: values outside the range count as they are.
    value_range : float
        :math:`R > 0`, the distance from black to white: 255 for 8-bit grey values, 1 for values in [0, 1].

    Guarantees
    ----------
    infinite for equal pictures; unchanged when both pictures and the range are scaled alike; differentiable elsewhere.

    Examples
    --------
    >>> psnr(torch.full((1, 1, 8, 8), 60.0), torch.zeros(1, 1, 8, 8), value_range=255)
    tensor([12.5678], dtype=torch.float64)
    """
    _check_range("psnr", value_range)
    return 10 * torch.log10(value_range**2 / mean_squared_error(estimate, reference))


def ssim(
    estimate: Tensor,
    reference: Tensor,
    *,
    value_range: float,
    sigma: float = 1.5,
    radius: int = 5,
) -> Tensor:
    r"""Structural similarity of Wang et al. (2004), one number for each picture.

    .. math:: \mathrm{SSIM} = \operatorname{mean} \frac{(2 \mu_u \mu_f + c_1)(2 \sigma_{uf} + c_2)}
              {(\mu_u^2 + \mu_f^2 + c_1)(\sigma_u^2 + \sigma_f^2 + c_2)},
              \qquad c_1 = (0.01 R)^2, \; c_2 = (0.03 R)^2

    with moments under a normalised Gaussian window of ``2 radius + 1`` pixels (11 as published). Variances are those of
    the population (weights sum to 1, no ``n - 1``), as in the authors' program.

    Shapes: ``(n, c, y, x), (n, c, y, x) -> (n,)``, in float64; channels are treated one by one and averaged.

    Guarantees
    ----------
    1 for equal pictures and at most 1; symmetric in its arguments; agrees with the authors' definition where the window
    fits wholly inside the picture (the border of ``radius`` pixels is left out).

    Notes
    -----
    Weights are the same in all directions, but the window is square: turned pictures may differ in the last digits.

    Examples
    --------
    >>> import torch
    >>> u = torch.linspace(0, 255, 256).reshape(1, 1, 16, 16)
    >>> ssim(u, u, value_range=255)
    tensor([1.], dtype=torch.float64)
    """
    _check_range("ssim", value_range)
    _check_pair("ssim", estimate, reference)
    if min(estimate.shape[-2:]) < 2 * radius + 1:
        size = tuple(estimate.shape[-2:])
        raise ShapeError(
            f"ssim(radius={radius}): needs at least {2 * radius + 1} pixels each way, got {size}. Lower radius."
        )
    u, f = estimate.double(), reference.double()
    mu_u, mu_f = _window_mean(u, sigma, radius), _window_mean(f, sigma, radius)
    var_u = _window_mean(u * u, sigma, radius) - mu_u * mu_u
    var_f = _window_mean(f * f, sigma, radius) - mu_f * mu_f
    cov = _window_mean(u * f, sigma, radius) - mu_u * mu_f
    c1, c2 = (0.01 * value_range) ** 2, (0.03 * value_range) ** 2
    similarity = (2 * mu_u * mu_f + c1) * (2 * cov + c2) / ((mu_u**2 + mu_f**2 + c1) * (var_u + var_f + c2))
    return similarity.mean(dim=(-3, -2, -1))


@dataclass(frozen=True)
class Population:
    """Mean and spread of a complete list of numbers; ``variance`` is the population's (divided by ``count``).

    >>> from whorl.metrics import population
    >>> population([1.0, 3.0]).deviation
    1.0
    """

    count: int
    mean: float
    variance: float
    minimum: float
    maximum: float

    @property
    def deviation(self) -> float:
        """Standard deviation of the population, the root of its variance."""
        return float(self.variance**0.5)


def population(values: Tensor | list[float] | tuple[float, ...]) -> Population:
    r"""Mean :math:`m = \frac1n \sum x_i` and population variance :math:`\frac1n \sum (x_i - m)^2` of all values.

    Sums are rounded once (``math.fsum``), so the order of the values does not matter.

    Examples
    --------
    >>> population([1.0, 2.0, 6.0])
    Population(count=3, mean=3.0, variance=4.666666666666667, minimum=1.0, maximum=6.0)
    """
    numbers = [float(x) for x in (values.flatten().tolist() if isinstance(values, Tensor) else values)]
    if not numbers:
        raise ShapeError("population: got no values. Give at least one.")
    mean = fsum(numbers) / len(numbers)
    variance = fsum((x - mean) ** 2 for x in numbers) / len(numbers)
    return Population(len(numbers), mean, variance, min(numbers), max(numbers))


def _window_mean(u: Tensor, sigma: float, radius: int) -> Tensor:
    offsets = torch.arange(-radius, radius + 1, dtype=u.dtype, device=u.device)
    weights = torch.exp(-(offsets**2) / (2 * sigma**2))
    weights = weights / weights.sum()
    # valid positions only: a window over the border would compare padding with padding
    rows = u.unfold(-2, 2 * radius + 1, 1) @ weights
    return rows.unfold(-1, 2 * radius + 1, 1) @ weights


def _check_pair(name: str, estimate: Tensor, reference: Tensor) -> None:
    if estimate.shape != reference.shape or estimate.ndim != 4 or estimate.numel() == 0:
        shapes = f"{tuple(estimate.shape)} and {tuple(reference.shape)}"
        raise ShapeError(f"{name}: expected two pictures of one shape (n, c, y, x), got {shapes}. Use u[None, None].")
    if estimate.is_complex() or reference.is_complex():
        raise ShapeError(f"{name}: expected real pictures, got {estimate.dtype} and {reference.dtype}. Use u.real.")


def _check_range(name: str, value_range: float) -> None:
    if not 0 < value_range < float("inf"):
        raise ValueError(f"{name}(value_range={value_range}): must be positive; 255 for 8-bit pictures, 1 for [0, 1].")
