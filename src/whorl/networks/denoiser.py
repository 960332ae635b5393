"""A trained network at work on pictures of any range and any noise level: the one place that knows of levels."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from whorl.automatic.between import rising
from whorl.engines.selection import undisturbed
from whorl.errors import ShapeError
from whorl.foundations import validation

if TYPE_CHECKING:
    from whorl.networks.trained import TrainedNetwork

REFERENCE_LEVEL = 25.0
"""The level whose logarithm gates count as 0."""

MIDDLE = 127.5
_TAIL = 0.002  # share of the darkest and of the brightest samples that a range leaves out
_COLOURED = (0.1, 0.25)  # correlations between which the second network takes over: those of white noise scatter
_WEAK = (1.0, 1.4)  # smallest level trained for, over the noise: there the second network begins, and there it does all
_ROUNDING = 1e-6  # by which a level that was scaled to the end of a range may lie beyond it


@dataclass(frozen=True)
class Denoiser:
    r"""Removes noise of one level: :math:`u \mapsto m + (N(c\,(u - m) + 127.5;\, c\,\sigma) - 127.5) / c`.

    The factor :math:`c` takes the range of the picture to that of 8 bits. Where the noise is then stronger than the
    network is trained for, c is chosen so that it has the largest level. Where it is weaker than the smallest level
    :math:`s_0`, the network is told :math:`s_0` and is blended out, so that a clean picture comes back as it came:

    .. math:: u + \left(\frac{c\,\sigma}{s_0}\right)^2 (N(u;\, s_0) - u).

    A network trained for one level has the picture scaled to that. A network for grey pictures takes the channels of a
    colour picture one by one, unless it ``takes_colours``; one for colour takes pictures with three channels alone.

    Networks for volumes take voxels for cubes. Where voxels are r times as long along one axis as along the others, a
    network for pictures has the share 1 - 1/r, on the slices across that axis: neighbours in other slices tell little.

    Where there is a second network for noise of other kinds, it takes over as the noise gets weaker than the first one
    is trained for, or as neighbours get correlated; in between both have a share, so that nothing jumps.

    Attributes
    ----------
    network : TrainedNetwork
        The trained network.
    noise : float or Tensor
        Standard deviation of the noise in the picture's own units; one number, or a map ``(n, 1, y, x)``.
    low, high : float
        The range of the picture; 0 and 255 for 8 bits.
    correlation : float
        Of the noise between neighbours; 0 for white noise.
    second : TrainedNetwork, optional
        The network for noise that is not white, or weak; of a volume the one for its slices.
    spacing : tuple of float
        The sides of a voxel, of which the ratio counts, where they are not equal.
    apart : bool
        Whether each channel is taken for itself, also by a network that could take three as colours.

    Examples
    --------
    >>> import torch, whorl
    >>> remove = Denoiser(whorl.load("photo-8k"), noise=25.0)
    >>> with torch.no_grad():
    ...     remove(torch.full((1, 1, 16, 16), 100.0)).shape
    torch.Size([1, 1, 16, 16])
    """

    network: "TrainedNetwork"
    noise: float | Tensor
    low: float = 0.0
    high: float = 255.0
    correlation: float = 0.0
    second: "TrainedNetwork | None" = None
    spacing: tuple[float, ...] = ()
    apart: bool = False

    @property
    def factor(self) -> float:
        """What the picture is multiplied with."""
        factor = 255 / (self.high - self.low)
        assert self.network.noise_range is not None
        smallest, largest = self.network.noise_range
        least = 0.0 if self.network.takes_level else smallest
        noise = float(self.noise.max()) if isinstance(self.noise, Tensor) else self.noise
        return factor * min(max(noise * factor, least), largest) / (noise * factor)

    def __call__(self, u: Tensor) -> Tensor:
        """The denoised picture ``(n, c, y, x)``."""
        with undisturbed(u), torch.no_grad():
            return self.differentiable(u)

    def differentiable(self, u: Tensor) -> Tensor:
        """The same, with derivatives."""
        middle, factor, channels = 0.5 * (self.low + self.high), self.factor, self.network.channels
        if channels > 1 and u.shape[1] != channels:
            raise ShapeError(
                f"denoise: this network takes pictures with {channels} channels, got {u.shape[1]}. Use one for grey "
                "pictures, such as photo-grey."
            )
        if isinstance(self.noise, Tensor) and self.noise.numel() > 1 and not self.network.takes_level:
            raise ValueError("denoise: this network knows one level of noise, and takes no map. Use photo-grey.")
        v = factor * (u - middle) + MIDDLE
        whole = self.network.takes_colours and u.shape[1] == 3 and not self.apart
        single = v.flatten(0, 1)[:, None] if channels == 1 and not whole else v
        level = self.noise * factor
        each = level.repeat_interleave(len(single) // len(u), 0).float() if isinstance(level, Tensor) else level
        parts = [share * self._removed(network, single.float(), each) for network, share in self.shares(each)]
        found: Tensor = middle + (sum(parts[1:], parts[0]).to(u.dtype).reshape(v.shape) - MIDDLE) / factor
        smallest = _smallest(self.second or self.network)
        if isinstance(level, Tensor):
            return u + (level / smallest).clamp_max(1).square() * (found - u)
        return found if level >= smallest else u + (level / smallest) ** 2 * (found - u)

    def told(self, level: float | Tensor) -> "Denoiser":
        """The same for noise of another level, or of one for each pixel."""
        return replace(self, noise=level)

    @property
    def coloured(self) -> float:
        """From 0, for white noise, to 1, for correlated noise."""
        return rising(self.correlation, *_COLOURED)

    def shares(self, level: float | Tensor) -> "list[tuple[TrainedNetwork, Any]]":
        """The networks that take part, and how much of the result is each one's, for a level in grey values."""
        if self.second is None:
            return [(self.network, 1.0)]
        if self.spacing:
            share = 1 - (math.prod(self.spacing) / max(self.spacing)) ** 0.5 / max(self.spacing)
            return [(self.network, 1 - share), (self.second, share)]
        if isinstance(level, Tensor):
            begin, end = _WEAK
            weak = ((_smallest(self.network) / level - begin) / (end - begin)).clamp(0, 1)
            return [(self.network, 1 - weak), (self.second, weak)] if bool(weak.any()) else [(self.network, 1.0)]
        share = max(self.coloured, rising(_smallest(self.network) / level, *_WEAK))
        return [pair for pair in ((self.network, 1 - share), (self.second, share)) if pair[1] > 0]

    def _removed(self, network: "TrainedNetwork", v: Tensor, level: float | Tensor) -> Tensor:
        told: tuple[float, ...] = (self.correlation,) if getattr(network.spec, "correlated", False) else ()
        least = _smallest(network)
        if across := v.dim() - 2 - network.dimension:  # slices are pictures, one beside the other
            across += 1 + self.spacing.index(max(self.spacing))
            slices = v.movedim(across, 1)
            return self._removed(network, slices.flatten(0, 1), level).view(slices.shape).movedim(1, across)
        result: Tensor = network(v, level.clamp_min(least) if isinstance(level, Tensor) else max(level, least), *told)
        return result

    @property
    def reach(self) -> int:
        """How many pixels around a pixel the result depends on."""
        return max(network.reach for network in (self.network, self.second) if network is not None)

    def bytes_per_pixel(self, channels: int) -> float:
        """About how many bytes the computation holds for a pixel."""
        return 4.0 * (channels if self.network.channels == 1 else 1) * self.network.floats_per_pixel


@dataclass(frozen=True)
class Partly:
    r"""A share of what a filter does: :math:`u + s\,(F(u) - u)`, the picture itself for 0 and all of it for 1."""

    apply: Callable[[Tensor], Tensor]
    strength: float
    reach: int

    def __call__(self, u: Tensor) -> Tensor:
        return torch.lerp(u, self.apply(u), self.strength)

    @property
    def bytes_per_pixel(self) -> Callable[[int], float] | None:
        """What the filter says of itself."""
        return getattr(self.apply, "bytes_per_pixel", None)


def each_page(levels: Tensor) -> list[float | Tensor]:
    """Levels ``(n, 1, 1, 1)`` as numbers, maps ``(n, 1, y, x)`` as one for each page."""
    return [float(level) if level.numel() == 1 else level for level in levels.split(1)]


def _smallest(network: "TrainedNetwork") -> float:
    """The smallest level that a network is trained for."""
    return (network.noise_range or (0.0,))[0]


def value_range(samples: Tensor, eight_bits: bool) -> tuple[float, float]:
    """The darkest and the brightest value that a picture makes use of; 0 and 255 where it has 8 bits.

    >>> value_range(torch.linspace(0, 1, 1001), False)  # doctest: +ELLIPSIS
    (0.002..., 0.998...)
    """
    if eight_bits:
        return 0.0, 255.0
    flat = samples.flatten().float()
    cut = int(_TAIL * (len(flat) - 1))
    low, high = (float(flat.kthvalue(place).values) for place in (cut + 1, len(flat) - cut))
    return (low, high) if high > low else (low - 127.5, low + 127.5)


def trained_for(network: "TrainedNetwork", noise: float | Tensor) -> None:
    """Refuse a level for which a network was not trained, in a call with tensors: nothing scales the picture there."""
    assert network.noise_range is not None
    low, high = network.noise_range
    if isinstance(noise, Tensor) and validation.recorded(noise):
        return  # nothing has a value yet
    ends = [float(end) for end in noise.aminmax()] if isinstance(noise, Tensor) else [noise]
    if wrong := [end for end in ends if not low * (1 - _ROUNDING) <= end <= high * (1 + _ROUNDING)]:
        levels = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        raise ValueError(
            f"{type(network).__name__}: trained for noise {levels} in grey values from 0 to 255, got {wrong[0]:.4g}. "
            "Call whorl.denoise or network.remove(u, noise), which scale a picture to a level trained for."
        )
