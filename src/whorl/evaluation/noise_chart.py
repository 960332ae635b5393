"""The noise of a picture as a figure: its variance over the grey value with the line, and its spectrum."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from whorl.automatic.noise_model import NoiseModel
from whorl.automatic.variance import noise_bins
from whorl.invariance.chart import COLOURS, house_style

__all__ = ["draw_noise", "spectrum"]

TILE, FLAT = 16, 0.1


def draw_noise(samples: Sequence[Tensor], model: NoiseModel, path: Path | str, *, format: str | None = None) -> None:
    """Draw the noise of the samples into a file: PNG, PDF or SVG by its ending, or by ``format``."""
    from matplotlib.figure import Figure

    inks = [COLOURS["ink"]] if len(model.gain) == 1 else ["#c8553d", "#4c8c4a", "#0b6e99", *["#8a8d94"] * 9]
    with house_style():
        figure = Figure(figsize=(9.6, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        for c, ink in zip(range(len(model.gain)), inks, strict=False):
            (mean, variance), _, _ = noise_bins([part[:, [c]] for part in samples])
            left.plot(mean, variance, "o", color=ink, markersize=4)
            ends = torch.stack((mean.min(), mean.max()))
            left.plot(ends, (model.gain[c] * ends + model.offset[c]).clamp_min(model.smallest), color=ink)
            right.plot(*spectrum([part[:, [c]] for part in samples], model.channel(c)), color=ink)
        left.set(xlabel="grey value", ylabel="variance", title="Variance of the noise, and the line", ylim=(0, None))
        right.set(xlabel="cycles per pixel", ylabel="power", title="Spectrum; white noise is flat at 1", ylim=(0, None))
        figure.savefig(path, dpi=150, format=format)


def spectrum(channel: Sequence[Tensor], model: NoiseModel) -> tuple[Tensor, Tensor]:
    """Frequencies in cycles per pixel, and the mean power there in the flattest tiles, made even by the model."""
    tiles = []
    for plane in (plane for part in channel for plane in part.double().flatten(0, -3)):
        if min(plane.shape) >= TILE:
            tiles.append(model.stabilise(plane).unfold(0, TILE, TILE).unfold(1, TILE, TILE).flatten(0, 1))
    if not tiles:
        return torch.zeros(0), torch.zeros(0)
    every = torch.cat(tiles)
    every = every - every.mean((1, 2), keepdim=True)
    flattest = every[every.square().mean((1, 2)).argsort()[: max(1, int(FLAT * len(every)))]]
    power = torch.fft.fft2(flattest).abs().square().mean(0) / TILE**2
    k = torch.fft.fftfreq(TILE).double()
    ring = (torch.hypot(k[:, None], k) * TILE).round().long().flatten()
    counts = torch.bincount(ring)
    means = torch.bincount(ring, power.flatten()) / counts
    shown = slice(1, TILE // 2 + 1)
    return torch.arange(len(counts))[shown] / TILE, means[shown]
