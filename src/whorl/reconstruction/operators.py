"""Measurements that people make of pictures ``(n, c, y, x)``, each with its exact adjoint.

They are examples, too: anything with a call and an ``adjoint`` can stand in their place.
"""

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from whorl.errors import ShapeError
from whorl.foundations.types import Image


class Blur:
    r"""Convolution with a kernel, :math:`(k * u)(x) = \sum_y k(y)\, u(x - y)`, whose middle belongs to the pixel.

    The picture is larger than the data by the kernel's radius on every side, so that nothing is assumed of what lies
    beyond; or, ``circular``, it begins again where it ends.

    >>> blur = Blur(torch.full((3, 3), 1 / 9))
    >>> blur(torch.ones(1, 1, 8, 8)).shape, round(blur.squared_norm((1, 1, 8, 8)), 3)
    (torch.Size([1, 1, 6, 6]), 1.0)
    """

    def __init__(self, kernel: Tensor, *, circular: bool = False) -> None:
        kernel = torch.as_tensor(kernel)
        if kernel.dim() != 2 or 0 in kernel.shape or not bool(kernel.isfinite().all()):
            raise ShapeError(f"Blur: expected a kernel (y, x) of finite numbers, got shape {tuple(kernel.shape)}.")
        height, width = kernel.shape
        self.kernel = torch.nn.functional.pad(kernel, (0, 1 - width % 2, 0, 1 - height % 2))
        self.circular = circular

    def __call__(self, u: Image) -> Image:
        self._fitting(u.shape)
        y, x = self.radii
        wide = torch.fft.irfft2(torch.fft.rfft2(u) * self._transfer(u), s=u.shape[2:])
        found: Tensor = wide if self.circular else wide[:, :, y : u.shape[2] - y, x : u.shape[3] - x]
        return found

    def adjoint(self, v: Image) -> Image:
        """Every sample goes back to the pixels it came from."""
        _four("Blur", v.shape)
        y, x = (0, 0) if self.circular else self.radii
        wide = torch.nn.functional.pad(v, (x, x, y, y))
        self._fitting(wide.shape)
        found: Tensor = torch.fft.irfft2(torch.fft.rfft2(wide) * self._transfer(wide).conj(), s=wide.shape[2:])
        return found

    @property
    def radii(self) -> tuple[int, int]:
        """How far the kernel reaches along y and x."""
        return self.kernel.shape[0] // 2, self.kernel.shape[1] // 2

    def squared_norm(self, shape: Sequence[int]) -> float:
        """By how much the square of a picture's length grows at most, for pictures of this shape."""
        return float(self._transfer(torch.zeros(tuple(shape), dtype=torch.float64)).abs().max()) ** 2

    def _transfer(self, like: Tensor) -> Tensor:
        placed = torch.zeros(like.shape[2:], dtype=like.dtype, device=like.device)
        placed[: self.kernel.shape[0], : self.kernel.shape[1]] = self.kernel.to(like)
        waves: Tensor = torch.fft.rfft2(placed.roll([-radius for radius in self.radii], (0, 1)))
        return waves

    def _fitting(self, shape: Sequence[int]) -> None:
        _four("Blur", shape)
        if any(size < side for size, side in zip(shape[2:], self.kernel.shape, strict=True)):
            raise ShapeError(f"Blur: a kernel of {tuple(self.kernel.shape)} is larger than the picture {tuple(shape)}.")


class Coarser:
    """Means over squares of ``factor`` by ``factor`` pixels: a picture of fewer, larger ones.

    >>> Coarser(2)(torch.arange(16.0).view(1, 1, 4, 4))[0, 0]
    tensor([[ 2.5000,  4.5000],
            [10.5000, 12.5000]])
    """

    def __init__(self, factor: int) -> None:
        self.factor = _count(factor, "Coarser(factor={!r})")

    def __call__(self, u: Image) -> Image:
        _four("Coarser", u.shape)
        if any(size % self.factor for size in u.shape[2:]):
            raise ShapeError(
                f"Coarser: {tuple(u.shape[2:])} pixels are no multiples of {self.factor}. Crop the picture."
            )
        return torch.nn.functional.avg_pool2d(u, self.factor)

    def adjoint(self, v: Image) -> Image:
        """The share of every pixel in its square."""
        _four("Coarser", v.shape)
        spread = v.repeat_interleave(self.factor, 2).repeat_interleave(self.factor, 3)
        return spread / self.factor**2

    def squared_norm(self, shape: Sequence[int]) -> float:
        return 1 / self.factor**2


class Masked:
    """Those pixels alone that a mask ``(y, x)`` of bool names, ``(n, c, pixels)``.

    >>> Masked(torch.tensor([[True, False], [False, True]]))(torch.arange(4.0).view(1, 1, 2, 2))
    tensor([[[0., 3.]]])
    """

    def __init__(self, mask: Tensor) -> None:
        self.mask = torch.as_tensor(mask)
        if self.mask.dim() != 2 or self.mask.dtype != torch.bool or not bool(self.mask.any()):
            raise ShapeError("Masked: expected a mask (y, x) of bool that is True somewhere.")

    def __call__(self, u: Image) -> Tensor:
        _fitting("Masked", u, self.mask.shape)
        return u[:, :, self.mask.to(u.device)]

    def adjoint(self, v: Tensor) -> Image:
        """The pixels in their places, 0 elsewhere."""
        if v.dim() != 3 or v.shape[2] != int(self.mask.sum()):
            raise ShapeError(
                f"Masked: expected data (n, c, {int(self.mask.sum())}), the pixels that the mask names, got "
                f"{tuple(v.shape)}. Take picture[..., mask]."
            )
        u = v.new_zeros((*v.shape[:2], *self.mask.shape))
        u[:, :, self.mask.to(v.device)] = v
        return u

    def squared_norm(self, shape: Sequence[int]) -> float:
        return 1.0


class RadialFourier:
    r"""Frequencies on lines through zero, as magnetic resonance measures them: complex ``(n, c, lines, samples)``.

    .. math:: (Au)(k) = \frac{1}{\sqrt{HW}} \sum_x u(x)\, e^{-i\,k\cdot x}

    summed as it stands, nothing is interpolated. Lines turn by the golden angle; samples on a line are ``1/size``
    cycles per pixel apart.

    >>> RadialFourier((16, 16), 5)(torch.ones(1, 1, 16, 16)).shape
    torch.Size([1, 1, 5, 16])
    """

    def __init__(self, shape: tuple[int, int], lines: int) -> None:
        lines = _count(lines, "RadialFourier(lines={!r})")
        self.shape = shape
        size = max(shape)
        angles = math.pi * (math.sqrt(5) - 1) / 2 * torch.arange(lines, dtype=torch.float64)
        radii = 2 * math.pi * (torch.arange(size, dtype=torch.float64) - size // 2) / size
        along = [angles.sin()[:, None] * radii, angles.cos()[:, None] * radii]
        self.waves = [
            torch.exp(-1j * k[..., None] * (torch.arange(n, dtype=torch.float64) - n // 2)) / math.sqrt(n)
            for k, n in zip(along, shape, strict=True)
        ]

    def __call__(self, u: Image) -> Tensor:
        _fitting("RadialFourier", u, self.shape)
        down, across = self._waves(u.dtype)
        return (torch.einsum("ncyx,lkx->nclky", u.to(across.dtype), across) * down).sum(-1)

    def adjoint(self, v: Tensor) -> Image:
        """The real part of the sum of waves."""
        down, across = self._waves(v.real.dtype)
        return torch.einsum("nclky,lkx->ncyx", v[..., None] * down.conj(), across.conj()).real

    def _waves(self, dtype: torch.dtype) -> list[Tensor]:
        return [wave.to(torch.complex128 if dtype == torch.float64 else torch.complex64) for wave in self.waves]


class ParallelBeam:
    """Sums along parallel rays, as tomography measures them: ``(n, c, angles, bins)``.

    Every pixel goes to the two bins nearest to its middle, in shares by distance.

    Parameters
    ----------
    shape : (int, int)
        Of the picture.
    angles : sequence of float
        In radians; 0 sums along y.

    >>> ParallelBeam((4, 4), [0.0])(torch.ones(1, 1, 4, 4)).sum()
    tensor(16.)
    """

    def __init__(self, shape: tuple[int, int], angles: Sequence[float]) -> None:
        if not len(angles) or not all(map(math.isfinite, angles)):
            raise ValueError("ParallelBeam: expected finite angles, one or more.")
        self.shape = shape
        y, x = (torch.arange(n, dtype=torch.float64) - (n - 1) / 2 for n in shape)
        self.bins = math.ceil(math.hypot(*shape)) + 2
        theta = torch.as_tensor(angles, dtype=torch.float64)[:, None, None]
        place = (x * theta.cos() + y[:, None] * theta.sin()).flatten(1) + (self.bins - 1) / 2
        self.first = place.floor().long()
        self.share = place - self.first

    def __call__(self, u: Image) -> Tensor:
        _fitting("ParallelBeam", u, self.shape)
        flat, share = u.flatten(2)[:, :, None], self.share.to(u.dtype)
        v = u.new_zeros((*u.shape[:2], len(self.first), self.bins))
        v.scatter_add_(3, self.first.expand(*v.shape[:3], -1), (1 - share) * flat)
        return v.scatter_add_(3, (self.first + 1).expand(*v.shape[:3], -1), share * flat)

    def adjoint(self, v: Tensor) -> Image:
        """Every bin back along its ray."""
        near, share = self.first.expand(*v.shape[:3], -1), self.share.to(v.dtype)
        u = (1 - share) * v.gather(3, near) + share * v.gather(3, near + 1)
        found: Tensor = u.sum(2).unflatten(-1, self.shape)
        return found


def _count(value: Any, where: str) -> int:
    """A whole number of at least 1."""
    if not isinstance(value, Integral) or int(value) < 1:
        raise ValueError(f"{where.format(value)}: expected a whole number, 1 or more.")
    return int(value)


def _fitting(name: str, u: Image, shape: Sequence[int]) -> None:
    """Refuse pictures of another size than an operator is made for."""
    if u.shape[2:] != torch.Size(shape):
        raise ShapeError(f"{name}: expected a picture (n, c, {', '.join(map(str, shape))}), got {tuple(u.shape)}.")


def _four(name: str, shape: Sequence[int]) -> None:
    """Refuse what has not the axes (n, c, y, x)."""
    if len(shape) != 4:
        raise ShapeError(f"{name}: expected (n, c, y, x), got the shape {tuple(shape)}. Name the channel_axis.")
