r"""Pictures written as formulas: they can be rendered at any angle and about any point, and never resampled.

A *scene* is a function of the plane, :math:`s(x, y) \in [0, 255]`, with lengths in pixels, ``x`` to the right and ``y``
downwards. :func:`render` samples it on the pixel lattice after a turn; because the turn happens inside the formula, a
turned picture is as exact as the upright one. All scenes are smooth at the scale of a pixel (a hard edge is a different
picture on every lattice), free of any state, and computed in float64.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import atan2, cos, degrees, hypot, pi, radians, sin, sqrt

import torch
from torch import Tensor

from whorl.errors import ShapeError

Scene = Callable[[Tensor, Tensor], Tensor]
GOLDEN_ANGLE = pi * (3 - sqrt(5))


@dataclass(frozen=True)
class Turn:
    r"""A turn with :math:`\cos\theta` = ``cosine/norm`` and :math:`\sin\theta` = ``sine/norm``.

    Positive turns go the way of ``torch.rot90(k=1)``. ``Turn(4, 3, 5)`` is the 3-4-5 turn by 36.87 degrees, free of
    rounding: it maps a fifth of the pixel lattice exactly onto itself.

    Examples
    --------
    >>> Turn.by(90.0)
    Turn(cosine=0.0, sine=1.0, norm=1.0)
    >>> round(Turn(4, 3, 5).angle, 2)
    36.87
    """

    cosine: float
    sine: float
    norm: float = 1.0

    def __post_init__(self) -> None:
        if not self.norm > 0 or abs(hypot(self.cosine, self.sine) - self.norm) > 1e-12 * self.norm:
            raise ValueError(f"{self}: cosine² + sine² must be norm². Use Turn.by(degrees) for a plain angle.")

    @classmethod
    def by(cls, angle: float) -> "Turn":
        """Turn by an angle in degrees; quarter turns are exact."""
        quarters, rest = divmod(angle, 90.0)
        c, s = (1.0, 0.0) if rest == 0 else (cos(radians(rest)), sin(radians(rest)))
        for _ in range(int(quarters) % 4):
            c, s = -s, c
        return cls(c + 0.0, s + 0.0)  # adding zero turns -0.0 into 0.0

    @property
    def angle(self) -> float:
        """The angle in degrees, in (-180, 180]."""
        return degrees(atan2(self.sine, self.cosine))

    @property
    def rows(self) -> tuple[tuple[float, float], ...]:
        """The matrix, times ``norm``, that carries a point ``(x, y)`` of the upright scene to its turned place."""
        return (self.cosine, self.sine), (-self.sine, self.cosine)

    def upright(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Where in the upright scene the point ``(x, y)`` of the turned picture comes from."""
        return (self.cosine * x - self.sine * y) / self.norm, (self.sine * x + self.cosine * y) / self.norm


def render(
    scene: Scene,
    size: int | tuple[int, int],
    *,
    turn: Turn | float = 0.0,
    centre: tuple[float, float] = (0.0, 0.0),
    channels: int = 1,
) -> Tensor:
    """Sample a scene on the pixel lattice: a float64 tensor ``(1, channels, y, x)``.

    Parameters
    ----------
    scene : Scene
        The function of the plane.
    size : int or (int, int)
        Rows and columns. With odd sizes the turning point lies on a pixel, else between pixels.
    turn : Turn or float
        How far to turn the scene about ``centre``; a number is an angle in degrees.
    centre : (float, float)
        The point ``(x, y)`` of the scene that lies in the middle of the frame.
    channels : int
        Channel ``k`` shows the scene turned by another ``40 k`` degrees about its own origin, odd ones as a negative,
        so that edges of different channels cross each other and coupling them matters.

    Guarantees
    ----------
    ``render(s, n, turn=90)`` is ``torch.rot90(render(s, n))`` to rounding; the same input gives the same bits.

    Examples
    --------
    >>> render(Whorl(), 65, turn=30.0, channels=3).shape
    torch.Size([1, 3, 65, 65])
    """
    rows, columns = (size, size) if isinstance(size, int) else size
    if rows < 1 or columns < 1 or channels < 1:
        raise ShapeError(f"render(size={size}, channels={channels}): every number must be at least 1.")
    turn = turn if isinstance(turn, Turn) else Turn.by(turn)
    y = torch.arange(rows, dtype=torch.float64)[:, None] - (rows - 1) / 2
    x = torch.arange(columns, dtype=torch.float64)[None, :] - (columns - 1) / 2
    x, y = turn.upright(x, y)
    x, y = x + centre[0], y + centre[1]
    layers = []
    for k in range(channels):
        layer = scene(*Turn.by(40.0 * k).upright(x, y)).expand(rows, columns)
        layers.append(255 - layer if k % 2 else layer)
    return torch.stack(layers)[None]


@dataclass(frozen=True)
class Bump:
    r"""Radial hill :math:`255\,\Phi((R - r)/w)` with the normal distribution function :math:`\Phi`.

    The steepest slope is :math:`255 / (w \sqrt{2\pi})`, at radius :math:`R`; the shoulder is most curved at
    :math:`R - w`. Depends on :math:`x^2 + y^2` alone, so lattice points of equal radius hold equal bits.
    """

    radius: float = 73.5
    width: float = 8.5

    @property
    def slope(self) -> float:
        """The steepest slope, in grey values per pixel."""
        return 255 / (self.width * sqrt(2 * pi))

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return 255 * rise(self.radius - (x * x + y * y).sqrt(), self.width)


@dataclass(frozen=True)
class Edge:
    """One straight soft edge through the origin, dark on the left."""

    width: float = 3.0

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return 255 * rise(x + 0 * y, self.width)


@dataclass(frozen=True)
class Bars:
    """Parallel bars with soft edges: a sine pushed towards a square wave."""

    period: float = 24.0
    hardness: float = 1.5

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return 127.5 * (1 + torch.erf(self.hardness * torch.sin(2 * pi / self.period * (x + 0 * y))))


@dataclass(frozen=True)
class Discs:
    """Bright soft discs, placed like the seeds of a sunflower so that no two directions are alike."""

    count: int = 24
    spacing: float = 15.0
    radius: float = 8.0
    width: float = 2.0

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        ground = torch.ones_like(x + y)
        for k in range(1, self.count + 1):
            reach, phi = self.spacing * sqrt(k), k * GOLDEN_ANGLE
            radius = self.radius * (0.6 + 0.4 * cos(k) ** 2)  # unequal sizes
            distance = ((x - reach * cos(phi)) ** 2 + (y - reach * sin(phi)) ** 2).sqrt()
            ground = ground * (1 - rise(radius - distance, self.width))
        return 255 * (1 - ground)


@dataclass(frozen=True)
class Whorl:
    r"""Fingerprint whorl: ridges wound into a stretched spiral, :math:`127.5\,(1 + m \cos(2\pi r/\ell + k \varphi))`.

    ``r`` is the elliptic radius, ``ell`` the ridge period, ``k`` the number of spiral arms; ``m`` vanishes smoothly at
    the core, where the phase has no value. The steepest slope is about :math:`255 \pi` ``stretch/period``.
    """

    period: float = 14.0
    arms: int = 1
    stretch: float = 1.25

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        x, y = x + 0 * y, self.stretch * y + 0 * x
        r2, phi = x * x + y * y, torch.atan2(y, x)
        modulation = -torch.expm1(-r2 / (2 * (self.period / 3) ** 2))
        return 127.5 * (1 + modulation * torch.cos(2 * pi / self.period * r2.sqrt() + self.arms * phi))


@dataclass(frozen=True)
class Faded:
    """A scene that fades into flat mid-grey outside a disc: at the frame's border nothing depends on the angle.

    ``strength`` scales the scene's distance from mid-grey, and so its slopes.
    """

    scene: Scene
    radius: float
    width: float = 4.0
    strength: float = 1.0

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        share = self.strength * rise(self.radius - (x * x + y * y).sqrt(), self.width)
        return 127.5 + share * (self.scene(x, y) - 127.5)


@dataclass(frozen=True)
class Waves:
    r"""Band-limited noise as a formula: :math:`\sigma \sqrt{2/n} \sum_{j=1}^n \cos(k_j \cdot x + \varphi_j)`.

    Wave vectors are drawn evenly from the disc of ``cutoff`` cycles per pixel and phases from the circle, by ``seed``;
    close to Gaussian noise of standard deviation ``deviation``, alike in all directions. Not within [0, 255]: add it to
    a scene, it is not clipped.
    """

    deviation: float = 20.0
    seed: int = 0
    count: int = 256
    cutoff: float = 0.4

    def waves(self) -> list[tuple[float, float, float]]:
        r"""Wave vector :math:`(k_x, k_y)` in radians per pixel and phase of each wave."""
        rng = torch.Generator().manual_seed(self.seed)
        draws = torch.rand(self.count, 3, generator=rng, dtype=torch.float64)
        polar = [(2 * pi * self.cutoff * sqrt(a), 2 * pi * b, 2 * pi * c) for a, b, c in draws.tolist()]
        return [(k * cos(phi), k * sin(phi), phase) for k, phi, phase in polar]

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        total = torch.zeros_like(x + y)
        for k_x, k_y, phase in self.waves():
            total = total + torch.cos(k_x * x + (k_y * y + phase))
        return self.deviation * sqrt(2 / self.count) * total


@dataclass(frozen=True)
class Smudged:
    """A scene with noise added to it; not within [0, 255]."""

    scene: Scene
    noise: Waves

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return self.scene(x, y) + self.noise(x, y)


def rise(distance: Tensor, width: float) -> Tensor:
    """Normal distribution function of ``distance/width``: a step from 0 to 1 as seen through a Gaussian."""
    return 0.5 * torch.erfc(-distance / (width * sqrt(2)))
