r"""A training term for rotation invariance, free of interpolation: the 3-4-5 turn of band-limited pictures.

A noisy patch is made a sum of waves by its discrete Fourier transform, of which those above 0.35 cycles per pixel are
left out. This function of the plane is sampled on the pixel lattice and on the lattice turned by :math:`\arctan(3/4)`.
Every fifth pixel of the one is a pixel of the other, and there the network must remove the same. (The measurement
beside it, :mod:`whorl.invariance.noisy`, does this to whole pictures and with more turns.)
"""

import torch
from torch import Tensor, nn

__all__ = ["turn_penalty"]

FREQUENCY = 0.35
_COSINE, _SINE, _NORM = 4, 3, 5
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


_RENDERINGS: dict[tuple[int, torch.device], tuple[Tensor, Tensor]] = {}
_POINTS: dict[tuple[int, torch.device], tuple[Tensor, Tensor]] = {}


def _renderings(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Matrices that take the pixels of a patch to those of the band-limited patch, upright and turned."""
    if (size, device) not in _RENDERINGS:
        k = torch.fft.fftfreq(size, dtype=torch.float64, device=device)
        ky, kx = (part.flatten() for part in torch.meshgrid(k, k, indexing="ij"))
        kept = ky.square() + kx.square() <= FREQUENCY**2
        steps = torch.arange(size, dtype=torch.float64, device=device) - size // 2
        y, x = (part.flatten() for part in torch.meshgrid(steps, steps, indexing="ij"))

        def phases(y: Tensor, x: Tensor) -> Tensor:
            return 2 * torch.pi * (ky[kept][:, None] * y + kx[kept][:, None] * x)

        old = phases(y, x)
        c, s = _COSINE / _NORM, _SINE / _NORM
        new = [phases(y, x), phases(c * y - s * x, s * y + c * x)]
        pair = tuple(((old.cos().mT @ at.cos() + old.sin().mT @ at.sin()) / size**2).float() for at in new)
        _RENDERINGS[size, device] = (pair[0], pair[1])
    return _RENDERINGS[size, device]


def _shared(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Numbers of the pixels that both lattices share: upright, and where they lie in the turned picture."""
    if (size, device) not in _POINTS:
        centre, radius = size // 2, size // 2 - _MARGIN
        steps = range(-radius, radius + 1)
        upright, turned = [], []
        for y in steps:
            for x in steps:
                # Sample (y, x) of the turned lattice lies at this place of the upright one, times five.
                row, column = _COSINE * y - _SINE * x, _SINE * y + _COSINE * x
                if row % _NORM == 0 and column % _NORM == 0 and x * x + y * y <= radius * radius:
                    upright.append((centre + row // _NORM) * size + centre + column // _NORM)
                    turned.append((centre + y) * size + centre + x)
        _POINTS[size, device] = (torch.tensor(upright, device=device), torch.tensor(turned, device=device))
    return _POINTS[size, device]
