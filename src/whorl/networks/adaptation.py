r"""A network that adapts to one picture: its gates alone, by Stein's estimate, and only if it helps.

In the units of a noise model the noise has variance 1. Steps on crops :math:`f` make

.. math:: \|D(f) - f\|^2 + \tfrac{2}{\varepsilon}\, n^\top (D(f + \varepsilon n) - D(f)),

with noise :math:`n` of the model, as small as they can. Errors of the model go straight into the weights, so the
adapted network has to prove itself on crops held back: by Stein's estimate, and by how well it predicts pixels that are
hidden from it, which needs white noise and no model.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from whorl.networks.coarse import CoarseDenoiser
from whorl.networks.common import CommonDenoiser
from whorl.networks.denoiser import Denoiser
from whorl.networks.real_noise import RealDenoiser

STEPS, RATE, CROP, HELD = 20, 5e-4, 64, 12
"""Steps, their size (Adam), the side of crops, and how many are held back at most."""

STEP = 0.1
"""How much of the noise is added once more."""

WHITE = 0.1
"""Correlation of neighbours up to which hidden pixels tell the error."""


def adapted(
    found: RealDenoiser, samples: Sequence[Tensor], watch: Callable[[int], None] = lambda step: None
) -> RealDenoiser:
    """The denoiser adapted to the picture of these samples, or itself where that does not help, or cannot be told.

    ``watch`` is called with the number of every step.
    """
    stabilised = [found.model.stabilise(part) for part in samples]
    several = len(found.denoisers) > 1
    parts = [[u[:, [k]] if several else u for u in stabilised] for k in range(len(found.denoisers))]
    each = [_adapted(one, part, watch) for one, part in zip(found.denoisers, parts, strict=True)]
    return found if each == list(found.denoisers) else replace(found, denoisers=tuple(each))


def _adapted(
    denoiser: Denoiser | CommonDenoiser | CoarseDenoiser, samples: Sequence[Tensor], watch: Callable[[int], None]
) -> Denoiser | CommonDenoiser | CoarseDenoiser:
    learning, held = _crops(samples)
    if not isinstance(denoiser, Denoiser) or denoiser.correlation > WHITE or min(len(learning), len(held)) < 2:
        return denoiser
    taught = replace(denoiser, network=copy.deepcopy(denoiser.network), second=copy.deepcopy(denoiser.second))
    networks = [network for network, _ in taught.shares(taught.noise * taught.factor)]
    gates = [p for network in networks for name, p in network.named_parameters() if ".gate." in name]
    for network in networks:
        network.requires_grad_(False)
    for weight in gates:
        weight.requires_grad_(True)
    optimiser, random = torch.optim.Adam(gates, lr=RATE), torch.Generator().manual_seed(0)
    for step in range(STEPS):
        optimiser.zero_grad()
        _stein(taught, learning[step % len(learning)], random).mean().backward()
        optimiser.step()
        watch(step + 1)
    with torch.no_grad():
        risks, hidden = ([_errors(measure, each, held) for each in (denoiser, taught)] for measure in (_stein, _hidden))
    return taught if _better(risks[0], risks[1]) and _better(hidden[0], hidden[1], sure=0.0) else denoiser


def _errors(measure: Callable[..., Tensor], denoiser: Denoiser, crops: Sequence[Tensor]) -> list[float]:
    return [float(measure(denoiser, f, torch.Generator().manual_seed(k)).mean()) for k, f in enumerate(crops)]


def _crops(samples: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Crops to learn from and crops to hold back: the squares of a checkerboard."""
    colours: tuple[list[Tensor], list[Tensor]] = ([], [])
    for u in samples:
        for i in range(u.shape[2] // CROP):
            for j in range(u.shape[3] // CROP):
                crop = u[..., i * CROP : (i + 1) * CROP, j * CROP : (j + 1) * CROP]
                colours[(i + j) % 2].append(crop.contiguous())
    learning, held = (_spread(crops, most) for crops, most in zip(colours, (STEPS, HELD), strict=True))
    return learning, held


def _spread(crops: list[Tensor], most: int) -> list[Tensor]:
    """At most so many of the crops, evenly spread."""
    return crops if len(crops) <= most else [crops[k * len(crops) // most] for k in range(most)]


def _stein(denoiser: Denoiser, f: Tensor, random: torch.Generator) -> Tensor:
    """Stein's estimate of the squared error in every pixel, less the variance of the noise."""
    n = torch.randn(f.shape, generator=random).to(f)
    once, again = denoiser.differentiable(torch.cat([f, f + STEP * n])).chunk(2)
    return (once - f).square() + 2 * n * (again - once) / STEP


def _hidden(denoiser: Denoiser, f: Tensor, random: torch.Generator) -> Tensor:
    """Squared errors at a sixteenth of the pixels, each of which is replaced by the mean of its four neighbours."""
    places = (..., slice(1, -1, 4), slice(1, -1, 4))
    around = [f.roll(shift, axis)[places] for axis in (-1, -2) for shift in (-1, 1)]
    hidden = f.clone()
    hidden[places] = sum(around) / 4
    return (denoiser.differentiable(hidden)[places] - f[places]).square()


def _better(before: Sequence[float], after: Sequence[float], sure: float = 2.0) -> bool:
    """Whether the errors of crops fell, in the mean by more than ``sure`` standard errors of that mean."""
    gains = torch.tensor(before, dtype=torch.float64) - torch.tensor(after, dtype=torch.float64)
    return bool(gains.mean() > sure * gains.std() / math.sqrt(len(gains)))
