"""The noise of a picture as a figure: variance over the grey value, spectrum; and the sheet about a result."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl.automatic.fit import CUT
from whorl.automatic.noise_model import NoiseModel, gaussian_weights
from whorl.automatic.variance import noise_bins
from whorl.evaluation.sheet import grey, views
from whorl.invariance.chart import COLOURS, house_style

TILE, FLAT = 16, 0.1

LINE = 0.24
"""Inches from line to line of the words on a sheet."""

OUTLIER = 4.0
"""Bins with more than this multiple of the usual variance hold detail, and may lie outside the figure."""


def draw_noise(samples: Sequence[Tensor], model: NoiseModel, path: Path | str, *, format: str | None = None) -> None:
    """Draw the noise of the samples into a file: PNG, PDF or SVG by its ending, or by ``format``."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(9.6, 4.0), layout="constrained")
        _noise(figure.subplots(1, 2), samples, model)
        figure.savefig(path, dpi=150, format=format)


def draw_report(
    before: Tensor,
    after: Tensor,
    samples: Sequence[Tensor],
    model: NoiseModel,
    words: tuple[str, str],
    path: Path | str,
    *,
    format: str | None = None,
) -> None:
    """Draw a sheet: a picture ``(c, y, x)``, the denoised one, what was removed, and the noise of the samples.

    ``words`` are a title and lines of text. Pictures with other than three channels are shown by their first one.
    """
    from matplotlib.figure import Figure

    removed = (before - after) / model.standard_deviation_at(after[None])[0]
    shown = removed if len(before) == 3 else removed[:1]
    panels = [
        *views(before.cpu().numpy(), after.cpu().numpy()),
        grey((255 * (shown + 3) / 6).clamp(0, 255).cpu().numpy()),
    ]
    names = ("picture", "result", "removed, in standard deviations from -3 to 3")
    height, width = before.shape[1:]
    with house_style():
        tall = min(max(4.1 * height / width, 2.0), 7.0)
        lines = [part for line in words[1].splitlines() for part in textwrap.wrap(line, 58) or [""]]
        low = max(3.7, 0.4 + LINE * len(lines))
        figure = Figure(figsize=(12.8, tall + low + 0.7), layout="constrained")
        figure.suptitle(words[0], x=0.01, ha="left", fontsize=13, weight="bold")
        rows: Any = figure.subfigures(2, 1, height_ratios=(tall + 0.3, low))
        upper, lower = rows
        for axis, name, pixels in zip(upper.subplots(1, 3), names, panels, strict=True):
            axis.imshow(pixels, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axis.set_title(name)
            axis.set_axis_off()
        *charts, text = lower.subplots(1, 3)
        _noise(charts, samples, model)
        text.set_axis_off()
        text.text(0, 1, "\n".join(lines), va="top", linespacing=1.5, fontsize=10, transform=text.transAxes)
        figure.savefig(path, dpi=150, format=format)


def _noise(axes: Any, samples: Sequence[Tensor], model: NoiseModel) -> None:
    """Variance over the grey value with the model, and the spectrum."""
    left, right = axes
    channels = samples[0].shape[1]
    top, drawn = 0.0, []
    inks = ["#c8553d", "#4c8c4a", "#0b6e99", *["#8a8d94"] * channels] if channels > 1 else [COLOURS["ink"]]
    for c, ink in zip(range(channels), inks, strict=False):
        one = model.channel(c if len(model.gain) > 1 else 0)
        (mean, variance), _, _ = noise_bins([part[:, [c]] for part in samples])
        values = torch.linspace(float(mean.min()), float(mean.max()), 101, dtype=torch.float64)
        curve = one.standard_deviation_at(values).square()
        left.plot(values, curve, color=ink)
        highest = min(float(variance.max()), OUTLIER * float(variance.median()))
        top = max(top, 1.1 * float(curve.max()), 1.1 * highest, 1e-12)
        drawn.append((mean, variance, ink))
        frequencies, power = spectrum([part[:, [c]] for part in samples], one)
        right.plot(frequencies, power, "o-", color=ink, markersize=4)
        right.plot(frequencies, _gaussian_power(frequencies, one.correlation[0]), "--", color=ink, linewidth=1)
    for mean, variance, ink in drawn:  # what lies far above, such as edges, is shown at the upper end
        left.plot(mean[variance <= top], variance[variance <= top], "o", color=ink, markersize=4)
        left.plot(mean[variance > top], torch.full_like(mean[variance > top], top), "^", color=ink, markersize=5)
    left.set(xlabel="grey value", ylabel="variance", ylim=(0, 1.04 * top), title="Variance: measured, and the model")
    right.set(xlabel="cycles per pixel", ylabel="power", title="Spectrum: measured, the model dashed")
    right.set_ylim(0, max(1.2, right.get_ylim()[1]))


def _gaussian_power(frequencies: Tensor, width: float) -> Tensor:
    """The power of white noise after the Gaussian of a model, for waves along an axis."""
    weights = gaussian_weights(width) if width else torch.ones(1, dtype=torch.float64)
    place = torch.arange(len(weights)) - len(weights) // 2
    along = (torch.cos(2 * torch.pi * frequencies[:, None] * place) * weights).sum(1)
    return (along * weights.sum()).square()


def spectrum(channel: Sequence[Tensor], model: NoiseModel) -> tuple[Tensor, Tensor]:
    """Frequencies in cycles per pixel, and the mean power there in the flattest tiles, made even by the model.

    Tiles whose noise was cut off at black or white count only where there are no others.
    """
    planes = (plane for part in channel for plane in part.double().flatten(0, -3) if min(plane.shape) >= TILE)
    tiles = [plane.unfold(0, TILE, TILE).unfold(1, TILE, TILE).flatten(0, 1) for plane in planes]
    if not tiles:
        return torch.zeros(0), torch.zeros(0)
    every = torch.cat(tiles)
    free = ((every <= model.black) | (every >= model.white)).double().mean((1, 2)) <= CUT
    every = model.stabilise(every[free] if bool(free.any()) else every)
    every = every - every.mean((1, 2), keepdim=True)
    flattest = every[every.square().mean((1, 2)).argsort()[: max(1, int(FLAT * len(every)))]]
    power = torch.fft.fft2(flattest).abs().square().mean(0) / TILE**2
    k = torch.fft.fftfreq(TILE).double()
    ring = (torch.hypot(k[:, None], k) * TILE).round().long().flatten()
    counts = torch.bincount(ring)
    means = torch.bincount(ring, power.flatten()) / counts
    shown = slice(1, TILE // 2 + 1)
    return torch.arange(len(counts))[shown] / TILE, means[shown]
