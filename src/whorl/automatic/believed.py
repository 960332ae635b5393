"""Which noise a network is told to remove: what was measured, as far as it can be told from texture.

Two measures meet. The bins of grey values (:mod:`whorl.automatic.variance`) say how the variance depends on the grey
value, but take even texture for noise. The traces (:mod:`whorl.automatic.traces`) say how strong the noise is in the
whole, and how sure that is. Where the bins lie on a line, the line is scaled to a level that the traces allow;
else the noise gets one level, one that it reaches with some certainty and that is not above the flattest bins.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from whorl.automatic.between import COMMON, POSSIBLE, common, falling, measure_colours, white
from whorl.automatic.labels import labels
from whorl.automatic.noise import noise_level
from whorl.automatic.noise_model import NoiseModel, width_of
from whorl.automatic.policy import Samples
from whorl.automatic.traces import Measured, measure
from whorl.automatic.variance import noise_bins, noise_model
from whorl.engines.cpu.threads import alone

ON_A_LINE = (0.06, 0.10)
"""The uncertainty up to which the line is believed, and the one from which on it is not."""

CERTAIN = 1
"""The quantile of the level that is removed: in three of four pictures the noise is at least as strong."""

SURE = (0.3, 0.5)
"""Uncertainties of the level up to which a line of correlated noise gets the median, and from which on it does not."""

UNSURE = (0.5, 1.0)
"""Uncertainties of the level from which on the quantile below is removed, more and more."""

WHITE = (0.05, 0.15)
"""Correlations of neighbours up to which the bins show all of the noise, so that it is nowhere stronger than they say,
and from which on they miss some of it."""

FLATTEST = 0.1
"""The share of the bins in which noise of one level may come out too weak by chance."""

CAMERA = (0.8, 1.1)
"""Medians of the level, in grey values of 8 bits, from which on correlated noise of colours may be, and is, that
of a camera; it comes out weaker than it is, for it went through a tone curve and compression."""

SOFT = (0.0, 0.25)
"""Softness of the colours up to which they may be those of a camera, and from which on they are texture."""

CAMERA_LEVEL, STRONG = 8.0, (5.0, 7.0)
"""The level of noise of cameras, in the same unit, at which the network for white noise removes most of it; and the
medians from which on correlated noise is, more and more, taken as it was measured."""

COLOURED = (0.3, 0.45)
"""Correlations of neighbours from which on noise may be, and is, that of a camera."""

SMALL = 4096
"""Pixels below which there are too few windows to tell noise from texture, and the level is believed as it is."""

ROUNDING = 0.5
"""In grey values: weaker noise of whole numbers is hardly more than their rounding, and stays."""

LINE = 0.15
"""Largest error of a line for the variance of volumes; where it is larger, the noise is taken to have one level."""


@alone()
def model_to_remove(samples: Samples, caller: str, *, colours: bool = False) -> NoiseModel | None:
    """The noise that networks are to remove, measured; None where there is none, and the picture is copied.

    With ``colours`` the channels are those of one photograph and have one noise; each has its own otherwise.
    """
    parts = list(samples())
    if labels(parts, caller):
        return None
    correlation = common(parts) if colours else 0.0
    traced, grey = measure_colours(parts, correlation) if colours else (None, 1.0)
    if grey < 1:
        together = [part.movedim(1, 0).reshape(-1, 1, *part.shape[2:]) for part in parts]
        one = _believed(together, traced, colours=True)
        squares = [one.standard_deviation_at(part).double().square().mean() for part in parts]
        level = math.sqrt(float(sum(squares)) / len(squares))
        share = white(traced.correlation) if traced is not None else 1.0
        return _above_rounding(_with_common(one, share * common(parts, level)), parts)
    single = [[part[:, [c]] for part in parts] for c in range(parts[0].shape[1])]
    if colours and all(torch.equal(a, b) for channel in single[1:] for a, b in zip(single[0], channel, strict=True)):
        single = single[:1]
    found = [_believed(channel, measure(channel)) for channel in single]
    if len(found) == 1:
        return _above_rounding(_with_common(found[0], correlation), parts)
    # Each channel was recognised as Rician, or not, by itself: for Rician noise in all of them the user has to say so.
    gain, offset, width = (
        tuple(getattr(each, name)[0] for each in found) for name in ("gain", "offset", "correlation")
    )
    ends = min(model.black for model in found), max(model.white for model in found)
    joined = NoiseModel(gain, offset, width, *ends, max(model.uncertainty for model in found))
    return _above_rounding(_with_common(joined, correlation), parts)


def volume_to_remove(parts: Sequence[Tensor], caller: str) -> float | NoiseModel:
    """The noise of a volume, measured: Rician where it is recognised, a line, or one level; 0 where there is none."""
    if labels(parts, caller):
        return 0.0
    model = noise_model(parts)
    if model.kind == "rician" or (model.uncertainty < LINE and any(model.gain)):
        return model
    levels = [noise_level([part[:, [c]] for part in parts]) for c in range(parts[0].shape[1])]
    flat = replace(model, gain=(0.0,) * len(levels), offset=tuple(level**2 for level in levels))
    return flat if any(levels) else 0.0


def _with_common(model: NoiseModel, correlation: float) -> NoiseModel:
    """The model for three colours with this correlation between any two, where there is much of it."""
    if correlation <= COMMON[0]:
        return model
    correlation = min(correlation, 1 - POSSIBLE)
    between = tuple(tuple(1.0 if i == j else correlation for j in range(3)) for i in range(3))
    gain, offset, width = (3 // len(model.gain) * values for values in (model.gain, model.offset, model.correlation))
    return replace(model, gain=gain, offset=offset, correlation=width, between=between)


def _above_rounding(model: NoiseModel, parts: Sequence[Tensor]) -> NoiseModel | None:
    """The model, or None where no noise is to be removed."""
    if not any(map(any, (model.gain, model.offset))):
        return None
    if any(bool((part != part.round()).any()) for part in parts):
        return model
    strongest = max(float(model.standard_deviation_at(part).square().mean((0, 2, 3)).max()) for part in parts)
    return model if strongest > ROUNDING**2 else None


def _believed(parts: Sequence[Tensor], found: Measured | None, *, colours: bool = False) -> NoiseModel:
    """The model of one channel: a line, or noise of one level where there is no line."""
    bins = noise_bins(parts)
    model = noise_model(parts, bins=[bins])
    if model.kind == "rician":
        return model
    if found is None or found.level == 0 or sum(part.numel() for part in parts) < SMALL:
        level = 0.0 if found is not None and found.level == 0 else noise_level(parts)
        return replace(model, gain=(0.0,), offset=(level**2,), correlation=(0.0,))
    white = falling(found.correlation, *WHITE)
    unsure = 1 - falling(found.uncertainty, *UNSURE)
    unsure *= falling(found.correlation, *COLOURED) if colours else 1
    level, width = found.at(CERTAIN - unsure), width_of(found.correlation)
    logs = torch.cat([model.standard_deviation_at(part.double()).log().flatten() for part in parts])
    drawn = math.exp(float(logs.mean()))
    line = falling(model.uncertainty, *ON_A_LINE)
    correlated = found.at(CERTAIN + falling(found.uncertainty, *SURE) - unsure)
    scale = (min(drawn, level) ** white * correlated ** (1 - white) / drawn) ** 2
    if not colours:  # these have noise of one level each, at best
        variance = bins[0][1]
        flattest = math.sqrt(float(variance.kthvalue(1 + int(FLATTEST * len(variance))).values))
        level, camera = min(level, flattest) ** white * level ** (1 - white), 0.0
    else:
        grey = 1.0 if _eight_bits(model, parts) else (model.white - model.black) / 255
        camera = (1 - falling(found.correlation, *COLOURED)) * (1 - falling(found.level / grey, *CAMERA))
        camera *= falling(found.level / grey, *STRONG) * falling(found.softness, *SOFT)
        line *= 1 - camera
        level, width = level ** (1 - camera) * (CAMERA_LEVEL * grey) ** camera, (1 - camera) * width
    gain, offset = line * scale * model.gain[0], line * scale * model.offset[0] + (1 - line) * level**2
    width = line * model.correlation[0] + (1 - line) * width
    return NoiseModel((gain,), (offset,), (width,), model.black, model.white, found.uncertainty, coarse=camera)


def _eight_bits(model: NoiseModel, parts: Sequence[Tensor]) -> bool:
    """Whether the grey values may be those of 8 bits; others are told by their range."""
    return model.black >= 0 and 1 < model.white <= 255 and all(bool((part == part.round()).all()) for part in parts)
