r"""Whether an answer can be trusted: the error before and after denoising, estimated from the noisy picture alone.

For noise with covariance :math:`\Sigma` the mean squared error of a denoiser :math:`D` on a noisy picture :math:`f` of
:math:`N` pixels is, up to chance (Stein's estimate),

.. math:: \frac1N \Big( \|D(f) - f\|^2 - \operatorname{tr} \Sigma
          + 2\, n^\top \frac{D(f + \varepsilon n) - D(f)}{\varepsilon} \Big)

with noise :math:`n` drawn from the model of the noise. Drawn once, as a pattern that all turns and mirrors of the
window leave as it is, it gives turned pictures the same answer.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whorl.automatic.noise_model import NoiseModel, gaussian_weights

__all__ = ["Answer", "answer"]

LARGEST = 320
"""Side of the largest window that is looked at, in the middle of a sample; at most half of the sample's own."""

STEP = 0.1
"""How much of the noise is added once more."""


@dataclass(frozen=True)
class Answer:
    """Mean squared errors before and after, and the variance of what was removed over that of the noise."""

    before: float
    after: float
    removed: float

    @property
    def gain(self) -> float:
        """Decibels gained.

        >>> round(Answer(100.0, 10.0, 0.9).gain, 1)
        10.0
        """
        return 10 * math.log10(self.before / max(self.after, 1e-3 * self.before)) if self.before > 0 else 0.0


@torch.no_grad()
def answer(denoise: Callable[[Tensor], Tensor], model: NoiseModel, samples: Sequence[Tensor]) -> Answer:
    """What the denoiser is expected to do to pictures of which these are samples ``(n, c, y, x)``."""
    count = before = after = removed = 0.0
    for sample in samples:
        f = _middle(sample)
        found = denoise(f)
        n = model.standard_deviation_at(found) * _pattern(f, model)
        again = denoise(f + STEP * n)
        change = (found - f).double().square().sum()
        variance = model.standard_deviation_at(found).double().square().sum()
        before += float(variance)
        after += float(change - variance + 2 * (n * (again - found)).double().sum() / STEP)
        removed += float(change)
        count += f.numel()
    return Answer(before / count, max(after, 0.0) / count, removed / max(before, 1e-30))


def _middle(sample: Tensor) -> Tensor:
    """The window in the middle: as far from one border as from the opposite one."""
    for axis in (-2, -1):
        size = sample.shape[axis]
        side = min(max(size // 2, min(size, 16)), LARGEST)
        start = (size - side) // 2
        sample = sample.narrow(axis, start, size - 2 * start)
    return sample.contiguous()


def _pattern(like: Tensor, model: NoiseModel) -> Tensor:
    """Noise of variance 1 with the model's correlation, the same for all turns and mirrors of the window."""
    rows, columns = like.shape[-2:]
    half = (max(rows, columns) + 1) // 2
    drawn = torch.randn(like.shape[1], half, half, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = drawn.triu() + drawn.triu(1).mT
    y, x = ((2 * torch.arange(side) - side + 1).abs() // 2 for side in (rows, columns))
    pattern = drawn[:, y][:, :, x]
    widths = model.correlation * (like.shape[1] if len(model.correlation) == 1 else 1)
    return torch.stack([_smoothed(plane, width) for plane, width in zip(pattern, widths, strict=True)]).to(like)


def _smoothed(plane: Tensor, width: float) -> Tensor:
    weights = gaussian_weights(width) if width else torch.ones(1)
    for axis in (0, 1):
        parts = [float(weight) * plane.roll(k - len(weights) // 2, axis) for k, weight in enumerate(weights)]
        plane = torch.stack(parts).sum(0)
    return plane
