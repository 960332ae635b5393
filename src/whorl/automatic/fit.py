"""Whether a model of the noise fits: what was removed, in units of the model, must look like noise of the model.

Of noise with the right model, what a denoiser removes has no stronger correlation than the model says, its variance is
nowhere much above that of the model, and Stein's estimate of the error that is left is nowhere negative.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whorl.automatic.noise_model import NoiseModel

BINS = 6
"""Bins of the grey value, of equal counts."""

FEWEST = 256
"""Pixels of a bin that tell anything."""

CUT = 0.01
"""Bins with more samples than this share at black or white do not count: their noise was cut off."""

TOO_COLOURED, TOO_WHITE = 0.12, -0.32
"""Correlations of neighbours above and below those of the model. Detail that is left in the picture makes them smaller:
right models on photographs have -0.23 to -0.02, wrong ones 0.14 and more, or -0.4 and less."""

TOO_STRONG = -0.12
"""Stein's estimate over the variance of the model; -0.08 is the least of right models on photographs."""

TOO_WEAK = 1.3
"""The variance of what was removed over that of the model; 1.01 is the largest of right models."""


@dataclass(frozen=True)
class Fit:
    """The standardised residual: its mean and variance, and where they contradict the model.

    Attributes
    ----------
    mean, variance : float
        Of what was removed over the standard deviation of the noise: about 0, and at most about 1.
    neighbours, expected : float
        Correlation between neighbours, found and by the model.
    least : tuple of float
        Stein's estimate of the error that is left, over the variance of the noise: its least value beyond chance, and
        the grey value there.
    most : tuple of float
        The largest variance beyond chance, and the grey value there.
    """

    mean: float
    variance: float
    neighbours: float
    expected: float
    least: tuple[float, float]
    most: tuple[float, float]

    @property
    def doubt(self) -> str:
        """In one sentence what contradicts the model; empty where nothing does.

        >>> Fit(0.0, 0.9, 0.4, 0.0, (0.1, 20.0), (1.0, 90.0)).doubt
        'The noise model does not fit: neighbours in what was removed are correlated by 0.4, not by 0.0.'
        """
        says = "The noise model does not fit:"
        if self.neighbours < TOO_WHITE:  # a denoiser that is told too weak a noise takes most of it for detail
            return f"{says} the noise is stronger than the model says, or detail fills the picture."
        if not TOO_WHITE <= self.neighbours - self.expected <= TOO_COLOURED:
            return (
                f"{says} neighbours in what was removed are correlated by {self.neighbours:.1f}, "
                f"not by {self.expected:.1f}."
            )
        if self.least[0] < TOO_STRONG:
            return f"{says} at grey values around {self.least[1]:.4g} the noise is weaker than the model says."
        if self.most[0] > TOO_WEAK:
            return f"{says} at grey values around {self.most[1]:.4g} the noise is stronger than the model says."
        return ""


def fit(model: NoiseModel, looked_at: Sequence[tuple[Tensor, Tensor, Tensor]], expected: float) -> Fit:
    """The fit of a model, from pictures, what denoising made of them, and the terms of Stein's divergence per pixel.

    ``expected`` is the correlation between neighbours that noise of the model has.
    """
    rows, sums = [], torch.zeros(5, dtype=torch.float64)
    for f, found, divergence in looked_at:
        deviation = model.standard_deviation_at(found).double()
        r = (f - model.mean_at(found)).double() / deviation
        share = r.square() - 1 + 2 * divergence.double() / deviation.square()
        ends = ((f <= model.black) | (f >= model.white)).double()
        pairs = (r[..., 1:, :] * r[..., :-1, :]).sum() + (r[..., 1:] * r[..., :-1]).sum()
        count = r[..., 1:, :].numel() + r[..., 1:].numel()
        sums += torch.stack([r.sum(), r.square().sum(), pairs, *map(torch.tensor, (count, r.numel()))]).cpu()
        columns = torch.stack([found.double(), r.square(), share, ends], -1).transpose(0, 1).flatten(1, -2)
        for channel in columns:
            ordered = channel[channel[:, 0].argsort()]
            # Where grey values differ by less than the noise, the bins would sort by the noise that was left.
            flat = float(ordered[:, 0].std()) < float(deviation.mean())
            for bin in ordered.chunk(1 if flat else BINS) if ordered.shape[0] >= BINS * FEWEST else ():
                # The mean of n squares of standard normal numbers has the variance 2 / n: two deviations may be chance.
                chance = 2 * math.sqrt(2 / len(bin)) * torch.tensor([0.0, -1.0, 1.0, 0.0])
                rows.append(bin.mean(0).cpu() + chance)
    total, squares, pairs, count, pixels = sums.tolist()
    mean, variance = total / pixels, squares / pixels
    neighbours = (pairs / max(count, 1) - mean**2) / max(variance - mean**2, 1e-30) if rows else expected
    free = [row.tolist() for row in rows if row[3] <= CUT]
    least = min(((row[2], row[0]) for row in free), default=(0.0, 0.0))
    most = max(((row[1], row[0]) for row in free), default=(0.0, 0.0))
    return Fit(mean, variance, neighbours, expected, least, most)
