r"""A tomogram drawn from formulas: membranes, filaments and particles, seen by a microscope that tilts too little.

Electron tomography looks at a sample from directions up to :math:`\pm\theta_{\max}` about one axis. The directions
beyond are missing: in the Fourier transform of the volume a wedge about the axis of the beam is empty, so that
membranes across the beam are seen and those along it fade. Noise covers everything.
"""

from dataclasses import dataclass
from math import pi, radians, tan

import numpy as np
import torch
from torch import Tensor

from whorl.data.noise import gaussian_noise, stream
from whorl.data.solids import Solid, render_solid
from whorl.data.synthetic import rise
from whorl.errors import ShapeError

Point = tuple[float, float, float]
GROUND = 160.0
"""Grey value of the ice around; dense matter is darker."""


@dataclass(frozen=True)
class Vesicle:
    """A membrane of two leaflets around a bent ball: two dark shells, 5 voxels apart."""

    centre: Point
    radius: float
    bends: Point
    depth: float = 90.0

    def __call__(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """How much darker the point ``(x, y, z)`` is for the membrane."""
        x, y, z = (value - start for value, start in zip((x, y, z), self.centre, strict=True))
        r = (x * x + y * y + z * z).sqrt()
        bump = (self.bends[0] * x + self.bends[1] * y + self.bends[2] * z) / (r + 1)
        distance = r - self.radius * (1 + 0.15 * bump * bump)
        leaflet = [torch.exp(-(((distance - side) / 1.3) ** 2)) for side in (-2.5, 2.5)]
        return self.depth * (leaflet[0] + leaflet[1])


@dataclass(frozen=True)
class Filament:
    """A thread of Gaussian cross-section that winds about a straight line."""

    start: Point
    direction: Point
    swing: float
    period: float
    width: float = 1.8
    depth: float = 110.0

    def __call__(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """How much darker the point ``(x, y, z)`` is for the thread."""
        along, first, second = _frame(self.direction)
        x, y, z = (value - start for value, start in zip((x, y, z), self.start, strict=True))
        t, a, b = (axis[0] * x + axis[1] * y + axis[2] * z for axis in (along, first, second))
        phase = 2 * pi * t / self.period
        off = (a - self.swing * phase.cos()) ** 2 + (b - self.swing * phase.sin()) ** 2
        return self.depth * torch.exp(-off / self.width**2)


@dataclass(frozen=True)
class Particle:
    """A dense ball, such as a ribosome."""

    centre: Point
    radius: float
    depth: float = 80.0

    def __call__(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """How much darker the point ``(x, y, z)`` is for the particle."""
        x, y, z = (value - start for value, start in zip((x, y, z), self.centre, strict=True))
        return self.depth * rise(self.radius - (x * x + y * y + z * z).sqrt(), 1.0)


@dataclass(frozen=True)
class Tomogram:
    """A volume ``(1, 1, z, y, x)``, float32: as it is, as the microscope sees it without noise, and with noise."""

    sample: Tensor
    clean: Tensor
    noisy: Tensor


def tomogram(
    size: int | tuple[int, int, int] = 96, *, noise: float = 40.0, tilt: float = 60.0, seed: int = 0
) -> Tomogram:
    """Draw a tomogram with grey values around 160, dark where matter is dense.

    Parameters
    ----------
    size : int or (int, int, int)
        Voxels along z (the beam), y (the axis of the tilts) and x.
    noise : float
        Standard deviation of white Gaussian noise, added after the missing wedge.
    tilt : float
        The largest tilt in degrees; 90 leaves nothing out.
    seed : int
        Other numbers give other samples, and other noise.

    Examples
    --------
    >>> drawn = tomogram(24, noise=20.0)
    >>> drawn.noisy.shape, round(float((drawn.noisy - drawn.clean).std()))
    (torch.Size([1, 1, 24, 24, 24]), 20)
    """
    shape = (size, size, size) if isinstance(size, int) else size
    sample = render_solid(scene(shape, seed), shape).float()
    clean = missing_wedge(sample, tilt)
    return Tomogram(sample, clean, clean + gaussian_noise(1, (1, *shape), noise, seed=seed))


def scene(shape: tuple[int, int, int], seed: int = 0) -> Solid:
    """Vesicles, filaments and particles in a volume of that shape, about its middle, as a function of space.

    Each cube of 60 voxels has its share: one vesicle, three filaments and eight particles; one share at least.
    """
    random = stream("scene", "test", seed, 0)
    half = np.asarray(shape[::-1]) / 2
    count = max(1, round(float(np.prod(shape)) / 60**3))

    def place(share: float = 0.9) -> Point:
        a, b, c = (float(value) for value in half * random.uniform(-share, share, 3))
        return a, b, c

    def direction() -> Point:
        a, b, c = (float(value) for value in random.standard_normal(3))
        return a, b, c

    things: list[Solid] = []
    for _ in range(count):
        things.append(Vesicle(place(0.7), float(random.uniform(9, 18)), direction()))
        for _ in range(3):
            things.append(Filament(place(), direction(), float(random.uniform(1, 4)), float(random.uniform(25, 50))))
        things.extend(Particle(place(), float(random.uniform(2.5, 5))) for _ in range(8))

    def grey(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        # Matter does not get denser where two things meet: the darkest counts.
        darkest = torch.zeros(1, dtype=x.dtype)
        for thing in things:
            darkest = torch.maximum(darkest, thing(x, y, z))
        return GROUND - darkest

    return grey


def missing_wedge(u: Tensor, tilt: float) -> Tensor:
    r"""The volume ``(n, c, z, y, x)`` without the waves that no tilt up to ``tilt`` degrees about the axis y shows.

    A wave :math:`k` is seen where :math:`|k_z| \le |k_x| \tan\theta_{\max}`, and the mean always. The volume is taken
    to go on periodically.

    >>> float(missing_wedge(torch.full((1, 1, 8, 8, 8), 3.0), 60.0).std())
    0.0
    """
    if u.dim() != 5:
        raise ShapeError(f"missing_wedge: expected a volume (n, c, z, y, x), got shape {tuple(u.shape)}.")
    if not 0 < tilt <= 90:
        raise ValueError(f"missing_wedge(tilt={tilt}): the largest tilt lies between 0 and 90 degrees.")
    if tilt == 90:
        return u
    z, x = torch.fft.fftfreq(u.shape[2]).abs()[:, None, None], torch.fft.rfftfreq(u.shape[4]).abs()
    shown = z <= x * tan(radians(tilt))  # the mean, too: 0 <= 0
    left: Tensor = torch.fft.irfftn(torch.fft.rfftn(u, dim=(2, 3, 4)) * shown, s=u.shape[2:], dim=(2, 3, 4))
    return left


def _frame(direction: Point) -> tuple[list[float], list[float], list[float]]:
    """Three perpendicular directions of length 1, the first along the given one."""
    along = np.asarray(direction) / np.linalg.norm(direction)
    first = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    first /= np.linalg.norm(first)
    return along.tolist(), first.tolist(), np.cross(along, first).tolist()
