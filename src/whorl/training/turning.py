r"""A training term for rotation invariance, free of interpolation: the 3-4-5 turn of band-limited pictures.

A noisy patch is made a sum of waves by its discrete Fourier transform, of which those above 0.35 cycles per pixel are
left out. This function of the plane is sampled on the pixel lattice and on the lattice turned by :math:`\arctan(3/4)`.
Every fifth pixel of the one is a pixel of the other, and there the network must remove the same. (The measurement
beside it, :mod:`whorl.invariance.coincidence`, does this to whole pictures and with more turns.)
"""

from functools import cache

import torch
from torch import Tensor, nn

from whorl.data.synthetic import Turn
from whorl.invariance.coincidence import coincident_points

FREQUENCY = 0.35
TURN = Turn(4, -3, 5)
_MARGIN = 12  # pixels next to the frame, which does not turn with the picture


def turn_penalty(network: nn.Module, noisy: Tensor, channels: int) -> Tensor:
    r"""The energy of the difference between upright and turned, relative to what was removed.

    .. math:: \frac{\sum_p |d_R(Rp) - d(p)|^2}{\sum_p |d(p)|^2}, \qquad d = N(f) - f

    Parameters
    ----------
    network : nn.Module
        Maps ``(n, c, y, x)`` to pictures.
    noisy : Tensor
        Square input pictures; channels after the first ``channels`` are passed on as they are.
    channels : int
        How many of them are picture.
    """
    pictures, rest = noisy[:, :channels], noisy[:, channels:]
    here, there = (
        (pictures.flatten(2) @ matrix).view_as(pictures) for matrix in _renderings(noisy.shape[-1], noisy.device)
    )
    both = torch.cat([torch.cat([here, there]), rest.repeat(2, 1, 1, 1)], dim=1)
    change = (network(both) - both[:, :channels]).flatten(2)
    upright, turned = change.split(len(noisy))
    p, turned_p = _shared(noisy.shape[-1], noisy.device)
    upright, turned = upright[:, :, p], turned[:, :, turned_p]
    penalty: Tensor = (upright - turned).square().sum() / upright.detach().square().sum().clamp(min=1e-12)
    return penalty


@cache
def _renderings(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Matrices that take the pixels of a patch to those of the band-limited patch, upright and turned."""
    k = torch.fft.fftfreq(size, dtype=torch.float64, device=device)
    ky, kx = (part.flatten() for part in torch.meshgrid(k, k, indexing="ij"))
    kept = ky.square() + kx.square() <= FREQUENCY**2
    steps = torch.arange(size, dtype=torch.float64, device=device) - size // 2
    y, x = (part.flatten() for part in torch.meshgrid(steps, steps, indexing="ij"))

    def phases(x: Tensor, y: Tensor) -> Tensor:
        return 2 * torch.pi * (ky[kept][:, None] * y + kx[kept][:, None] * x)

    old = phases(x, y)
    upright, turned = (
        ((old.cos().mT @ at.cos() + old.sin().mT @ at.sin()) / size**2).float()
        for at in (old, phases(*TURN.upright(x, y)))
    )
    return upright, turned


@cache
def _shared(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Numbers of the pixels that both lattices share: upright, and where they lie in the turned picture."""
    centre = size // 2
    upright, turned = (
        (centre + points) @ torch.tensor([1, size]) for points in coincident_points(TURN, centre - _MARGIN)
    )
    return upright.to(device), turned.to(device)
