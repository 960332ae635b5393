"""Which noise a network is told to remove: what was measured, as far as it can be told from texture.

Noise lies on the line that is fitted to its variance; texture does not. Where the bins of grey values differ from the
line, the noise of the flattest windows is believed instead, and less and less of it: a clean picture comes back as it
came. Photographs out of a camera are an exception. Their noise lies on no line, for it went through a tone curve and
compression, but it has lost its highest frequencies in every channel, which textures have seldom.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from whorl.automatic.noise import labelled, noise_level
from whorl.automatic.noise_model import NoiseModel
from whorl.automatic.policy import Samples
from whorl.automatic.variance import noise_bins, noise_model

__all__ = ["model_to_remove"]

ON_A_LINE = (0.06, 0.10)
"""Uncertainties up to which the line is believed, and from which on it is not."""

DOUBTED = (0.10, 0.22)
"""Uncertainties from which on the noise of the flattest windows is believed less, and from which on not at all."""

SMALL = 4096
"""Pixels below which there are too few windows to tell noise from texture, and the level is believed as it is."""

ROUNDING = 0.5
"""Grey values: weaker noise of whole numbers is not much more than their rounding, and stays."""

CAMERA = (0.50, 0.60)
"""Widths of the correlation from which on noise may be, and is, that of a camera."""

TEXTURE = (0.68, 0.78)
"""Widths from which on it may be, and is, texture: no camera smooths so much."""

STRONG = (0.03, 0.05)
"""Of the range of the picture: stronger noise than this is not that of a camera, but texture."""

GRASS = (0.05, 0.09)
"""Of the range: noise of a photograph that is correlated and so strong may be, and is, even texture such as grass."""

UNEVEN = (0.24, 0.30)
"""Uncertainties from which on it is doubted, and not believed, that noise is that of a camera."""

MISSED = 1.5
"""The noise of cameras over what the flattest windows of each bin show of it, found on photographs with known noise."""


def model_to_remove(samples: Samples, caller: str, *, colours: bool = False) -> NoiseModel | None:
    """The noise that networks are to remove, measured; None where there is none, and the picture is copied.

    With ``colours`` the channels are those of one photograph and have one noise; each has its own otherwise.
    """
    parts = list(samples())
    if labelled(parts):
        warnings.warn(f"{caller}: areas of one whole number each, such as labels, have no noise: copied.", stacklevel=4)
        return None
    if colours:
        return _above_rounding(_photograph(parts), parts)
    found = [_believed([part[:, [c]] for part in parts]) for c in range(parts[0].shape[1])]
    gain, offset, width = (
        tuple(getattr(each, name)[0] for each in found) for name in ("gain", "offset", "correlation")
    )
    ends = min(model.black for model in found), max(model.white for model in found)
    return _above_rounding(NoiseModel(gain, offset, width, *ends, max(model.uncertainty for model in found)), parts)


def _above_rounding(model: NoiseModel, parts: Sequence[Tensor]) -> NoiseModel | None:
    """The model, or None where nothing of it is to be removed."""
    if not any(map(any, (model.gain, model.offset))):
        return None
    if any(bool((part != part.round()).any()) for part in parts):
        return model
    strongest = max(float(model.standard_deviation_at(part).square().mean((0, 2, 3)).max()) for part in parts)
    return model if strongest > ROUNDING**2 else None


def _believed(parts: Sequence[Tensor]) -> NoiseModel:
    """The model of one channel: a line, or the noise of the flattest windows where there is no line."""
    model = noise_model(parts)
    doubt, small = model.uncertainty, sum(part.numel() for part in parts) < SMALL
    belief, line = (1.0, 0.0) if small else (_falling(doubt, *DOUBTED), _falling(doubt, *ON_A_LINE))
    flattest = 0.0 if line == 1 else (belief * noise_level(parts)) ** 2
    gain, offset = line * model.gain[0], line * model.offset[0] + (1 - line) * flattest
    return NoiseModel((gain,), (offset,), (line * model.correlation[0],), model.black, model.white, doubt)


def _photograph(parts: Sequence[Tensor]) -> NoiseModel:
    """One model for all channels."""
    together = [part.movedim(1, 0).reshape(-1, 1, *part.shape[2:]) for part in parts]
    model = _believed(together)
    if model.correlation[0] > 0:
        squares = [float(model.standard_deviation_at(part).square().mean()) for part in together]
        noise = _falling(math.sqrt(max(squares)) / (model.white - model.black), *GRASS)
        model = replace(model, gain=(noise * model.gain[0],), offset=(noise * model.offset[0],))
    bins = [noise_bins([part[:, [c]] for part in parts]) for c in range(parts[0].shape[1])]
    width = sum(each[1] for each in bins) / len(bins)
    camera = (1 - _falling(width, *CAMERA)) * (1 - _falling(model.uncertainty, *ON_A_LINE))
    camera *= _falling(model.uncertainty, *UNEVEN)
    if camera > 0:
        variances = torch.cat([variance[variance > 0] for (_, variance), *_ in bins])
        seen = MISSED * math.exp(0.5 * float(variances.log().mean())) * _falling(width, *TEXTURE)
        camera *= _falling(seen / (model.white - model.black), *STRONG)
        level = noise_level(together) ** (1 - camera) * max(seen, 1e-6) ** camera
        kept = (1 - camera) * model.gain[0], (1 - camera) * model.offset[0] + camera * level**2
        model = NoiseModel((kept[0],), (kept[1],), (camera * width,), model.black, model.white, model.uncertainty)
    return model


def _falling(value: float, begin: float, end: float) -> float:
    """1 up to the beginning, 0 from the end on, and a straight line between."""
    return min(max((end - value) / (end - begin), 0.0), 1.0)
