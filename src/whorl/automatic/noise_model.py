r"""Noise as it is: its variance depends on the grey value, neighbours are correlated, black and white cut it off.

A camera counts photons and adds its own noise: the variance at the grey value :math:`u` is :math:`a u + b`. The
generalised Anscombe transform

.. math:: T(u) = \frac{2}{a} \sqrt{a u + b + \tfrac38 a^2}

makes noise of variance 1 of it, whatever the grey value. What removes such noise yields the mean of :math:`T`, which is
not :math:`T` of the mean: the way back is the unbiased inverse in the closed form of Mäkitalo and Foi (2013).

Magnitudes of magnetic resonance have Rician noise, see :mod:`whorl.automatic.rician`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from whorl.automatic import rician

KINDS = ("gaussian", "rician")

SMALLEST = 1e-3
"""The least standard deviation, as a share of the range of the picture: weaker noise counts as this strong."""

NEARLY_CONSTANT = 1e-3
"""A variance that changes by less than this share over the whole range is taken as constant."""


@dataclass(frozen=True)
class NoiseModel:
    """Noise of variance ``gain * u + offset`` at the grey value u, for each channel.

    Images are ``(n, c, y, x)`` or ``(n, c, z, y, x)``; with one channel they may have any shape.

    Attributes
    ----------
    gain, offset : tuple of float
        Of each channel, in the units of the picture.
    correlation : tuple of float
        Of each channel the width in pixels of the Gaussian that makes white noise as correlated as this noise; 0 for
        white noise.
    black, white : float
        What is darker or brighter was cut off.
    uncertainty : float
        The share by which the standard deviation may be wrong, roughly.
    kind : "gaussian" or "rician"
        Rician noise is that of the magnitude of a complex signal. Its ``offset`` is the variance in both parts, its
        ``gain`` is 0, and the clean picture is the signal, which is darker than the mean of the magnitudes.
    between : tuple of tuple of float
        The matrix of the correlations between channels; empty where channels are independent.
    coarse : float
        From 0 to 1, for the noise of a camera, which is coarser in colours than in brightness. How strong such noise
        is cannot be told from the picture: its level is one at which networks remove most of it.

    Examples
    --------
    >>> camera = NoiseModel((0.5,), (4.0,), (0.0,), 0.0, 255.0)
    >>> float(camera.standard_deviation_at(torch.tensor(90.0)))
    7.0
    >>> transformed = camera.stabilise(camera.simulate(torch.full((1, 1, 64, 64), 90.0), seed=0))
    >>> round(float(transformed.std()), 1), round(float(camera.restore(transformed).mean()))
    (1.0, 90)
    """

    gain: tuple[float, ...]
    offset: tuple[float, ...]
    correlation: tuple[float, ...]
    black: float
    white: float
    uncertainty: float = 0.0
    kind: str = "gaussian"
    between: tuple[tuple[float, ...], ...] = ()
    coarse: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.gain) == len(self.offset) == len(self.correlation) > 0:
            raise ValueError("NoiseModel: gain, offset and correlation need one number for each channel.")
        if not self.black < self.white:
            raise ValueError(f"NoiseModel: black = {self.black} must lie below white = {self.white}.")
        if self.kind not in KINDS:
            raise ValueError(f"NoiseModel: kind = {self.kind!r}: choose {' or '.join(map(repr, KINDS))}.")
        if self.kind == "rician" and any(self.gain):
            raise ValueError("NoiseModel: Rician noise has no gain; its offset is the variance of both parts.")
        if self.between:
            matrix = torch.tensor(self.between, dtype=torch.float64)
            square = matrix.shape == (len(self.gain),) * 2 and bool((matrix == matrix.mT).all())
            if not (square and bool((matrix.diagonal() == 1).all()) and float(torch.linalg.eigvalsh(matrix)[0]) > 0):
                raise ValueError(
                    f"NoiseModel: between = {self.between} must be a symmetric positive definite matrix with one row "
                    "for each channel and 1 on its diagonal."
                )

    @classmethod
    def constant(cls, deviation: float, black: float = 0.0, white: float = 255.0) -> "NoiseModel":
        """White noise of one standard deviation."""
        return cls((0.0,), (deviation**2,), (0.0,), black, white)

    def channel(self, number: int) -> "NoiseModel":
        """The noise of one channel."""
        gain, offset, correlation = ((values[number],) for values in (self.gain, self.offset, self.correlation))
        return replace(self, gain=gain, offset=offset, correlation=correlation, between=())

    def covariance_at(self, u: Tensor) -> Tensor:
        """The covariances ``(n, c, c, ...)`` between channels where a picture ``(n, c, ...)`` has these grey values."""
        deviation = self.standard_deviation_at(u).expand_as(u)
        matrix = torch.tensor(self.between, dtype=u.dtype, device=u.device) if self.between else torch.eye(u.shape[1])
        return deviation[:, :, None] * deviation[:, None] * matrix.to(u).view(*matrix.shape, *[1] * (u.dim() - 2))

    @property
    def common(self) -> float:
        """The mean correlation between any two channels.

        >>> NoiseModel((0.0,) * 2, (1.0,) * 2, (0.0,) * 2, 0.0, 1.0, between=((1.0, 0.25), (0.25, 1.0))).common
        0.25
        """
        count = len(self.between)
        return (sum(map(sum, self.between)) - count) / (count * (count - 1)) if count > 1 else 0.0

    def mixed(self, noise: Tensor) -> Tensor:
        """Noise ``(n, c, ...)`` of independent channels with the correlation of the model between them."""
        if not self.between:
            return noise
        factor = torch.linalg.cholesky(torch.tensor(self.between, dtype=torch.float64)).to(noise)
        return torch.einsum("ij,nj...->ni...", factor, noise)

    @property
    def smallest(self) -> float:
        """The least variance."""
        return (SMALLEST * (self.white - self.black)) ** 2

    def standard_deviation_at(self, u: Tensor) -> Tensor:
        """The standard deviation of the noise where a picture has these grey values."""
        v = u.double()  # variances of large and of small values leave the range of float32
        gain, offset = (self._along(values, v) for values in (self.gain, self.offset))
        deviation = (gain * v + offset).clamp_min(self.smallest).sqrt()
        return (deviation * rician.variance_of(v / deviation).sqrt() if self.kind == "rician" else deviation).to(u)

    def mean_at(self, u: Tensor) -> Tensor:
        """The mean of noisy pictures where the clean one has these grey values, as far as nothing is cut off."""
        if self.kind == "gaussian":
            return u
        deviation = self._along(self.offset, u).clamp_min(self.smallest).sqrt()
        return deviation * rician.mean_of(u / deviation)

    def stabilise(self, u: Tensor) -> Tensor:
        """The picture transformed so that its noise has standard deviation 1 everywhere; the grey value 0 stays 0."""
        return self._each(u, _stabilised)

    def restore(self, transformed: Tensor) -> Tensor:
        """The clean picture of a denoised ``stabilise(u)``, which is a mean of the transform: the unbiased inverse."""
        return self._each(transformed, _restored)

    def simulate(self, clean: Tensor, seed: int = 0) -> Tensor:
        """A clean picture with such noise, cut off at black and white."""
        random = torch.Generator().manual_seed(seed)
        noise = self._drawn(clean, random)
        if self.kind == "gaussian":
            noisy = clean + self.standard_deviation_at(clean) * noise
        else:
            deviation = self._along(self.offset, clean).clamp_min(self.smallest).sqrt()
            noisy = torch.hypot(clean + deviation * noise, deviation * self._drawn(clean, random))
        return noisy.clamp(self.black, self.white)

    def _drawn(self, clean: Tensor, random: torch.Generator) -> Tensor:
        """Noise of variance 1 with the correlation of the model, for such a picture."""
        drawn = torch.randn(clean.shape, generator=random, dtype=torch.float64)
        if any(self.correlation):
            planes = [plane for image in drawn for plane in image] if drawn.dim() > 3 else [drawn]
            widths = self.correlation * (len(planes) // len(self.correlation))
            drawn = torch.stack([smoothed(*pair) for pair in zip(planes, widths, strict=True)]).view(clean.shape)
        return self.mixed(drawn).to(clean)

    def __str__(self) -> str:
        lines = []
        for number, (gain, offset, width) in enumerate(zip(self.gain, self.offset, self.correlation, strict=True)):
            ends = torch.tensor([self.black, self.white], dtype=torch.float64)
            low, high = (math.sqrt(max(gain * float(end) + offset, self.smallest)) for end in ends)
            name = f"channel {number}: " if len(self.gain) > 1 else ""
            kind = f"correlated as by a Gaussian of {width:.2f} pixels" if width else "white"
            if self.kind == "rician":
                variance, deviation = "Rician", f"standard deviation {math.sqrt(offset):.4g} in both parts"
            elif _constant(gain, offset, self) is None:
                variance = f"variance {gain:.4g} u {'+' if offset >= 0 else '-'} {abs(offset):.4g}"
                deviation = f"standard deviation {low:.4g} at {self.black:g}, {high:.4g} at {self.white:g}"
            else:
                variance, deviation = f"variance {low**2:.4g}", f"standard deviation {low:.4g}"
            lines.append(f"{name}{variance}, {kind}; {deviation}")
        if self.between:
            pairs = [(i, j) for j in range(len(self.gain)) for i in range(j)]
            named = ", ".join(f"{self.between[i][j]:.2f} between {i} and {j}" for i, j in pairs)
            lines.append(f"correlation of channels: {named}")
        if self.coarse:
            lines.append("as out of a camera: coarser in colours, of a strength that cannot be told")
        told = "too small or too busy a picture to tell" if self.uncertainty > 0.5 else f"{self.uncertainty:.0%}"
        return "\n".join([*lines, f"uncertainty of the standard deviation: {told}"])

    def _along(self, values: Sequence[float], u: Tensor) -> Tensor:
        """One number for each channel, beside images ``(n, c, ...)``."""
        numbers = torch.tensor(values, dtype=u.dtype, device=u.device)
        if len(values) == 1:
            return numbers[0]
        if u.dim() < 4 or u.shape[1] != len(values):
            raise ValueError(
                f"NoiseModel: has {len(values)} channels, the picture has shape {tuple(u.shape)}. Give (n, c, y, x)."
            )
        return numbers.view(-1, *[1] * (u.dim() - 2))

    def _each(self, u: Tensor, transform: Callable[[Tensor, float, float, "NoiseModel"], Tensor]) -> Tensor:
        self._along(self.gain, u)
        if len(self.gain) == 1:
            return transform(u, self.gain[0], self.offset[0], self)
        parts = zip(u.unbind(1), self.gain, self.offset, strict=True)
        return torch.stack([transform(part, gain, offset, self) for part, gain, offset in parts], 1)


def _constant(gain: float, offset: float, model: NoiseModel) -> float | None:
    """The standard deviation where it is nearly the same for all grey values."""
    ends = [max(gain * end + offset, model.smallest) for end in (model.black, model.white)]
    return math.sqrt(sum(ends) / 2) if max(ends) - min(ends) <= NEARLY_CONSTANT * max(ends) else None


def _stabilised(u: Tensor, gain: float, offset: float, model: NoiseModel) -> Tensor:
    if (same := _constant(gain, offset, model)) is not None:
        return rician.stabilised(u / same) if model.kind == "rician" else u / same
    sign, gain = math.copysign(1.0, gain), abs(gain)
    counts = (sign * u.double() * gain + offset) / gain**2
    return (sign * (2 * (counts + 3 / 8).clamp_min(0).sqrt() - _zero(gain, offset))).to(u)


def _restored(transformed: Tensor, gain: float, offset: float, model: NoiseModel) -> Tensor:
    if (same := _constant(gain, offset, model)) is not None:
        return same * (rician.restored(transformed) if model.kind == "rician" else transformed)
    sign, gain = math.copysign(1.0, gain), abs(gain)
    d = (sign * transformed.double() + _zero(gain, offset)).clamp_min(2 * math.sqrt(3 / 8))
    root = math.sqrt(3 / 2)
    counts = d.square() / 4 + root / (4 * d) - 11 / (8 * d.square()) + 5 * root / (8 * d**3) - 1 / 8
    return (sign * (counts * gain - offset / gain)).to(transformed)


def _zero(gain: float, offset: float) -> float:
    """The transform of the grey value 0. It is subtracted: small gains make it so large that float32 loses digits."""
    return 2 * math.sqrt(max(offset / gain**2 + 3 / 8, 0.0))


def gaussian_weights(width: float) -> Tensor:
    """The weights of a Gaussian of this width in pixels along an axis; their squares sum to 1."""
    reach = max(1, math.ceil(4 * width))
    weights = torch.exp(-0.5 * (torch.arange(-reach, reach + 1, dtype=torch.float64) / max(width, 1e-3)) ** 2)
    return weights / weights.square().sum().sqrt()


def width_of(neighbours: float) -> float:
    """The width of the Gaussian that gives neighbours this correlation; 0 where it is small.

    >>> width_of(0.02), round(width_of(0.7788), 2)
    (0.0, 1.0)
    """
    return 1 / (2 * math.sqrt(-math.log(min(neighbours, 0.9)))) if neighbours > 0.05 else 0.0


def neighbours(width: float) -> float:
    """The correlation between neighbours of white noise after a Gaussian of this width.

    >>> neighbours(0.0), round(neighbours(1.0), 2)
    (0.0, 0.78)
    """
    weights = gaussian_weights(width)
    return float((weights[1:] * weights[:-1]).sum()) if width else 0.0


def smoothed(plane: Tensor, width: float) -> Tensor:
    """White noise, correlated by a Gaussian, of the same variance; beyond a border lies the opposite one."""
    if width == 0:
        return plane
    weights = gaussian_weights(width)
    reach = len(weights) // 2
    for axis in range(plane.dim()):
        plane = sum(float(weight) * plane.roll(shift - reach, axis) for shift, weight in enumerate(weights))  # type: ignore[assignment]
    return plane
