r"""What noise leaves in a picture, in numbers: the strengths of five filters in windows from flat to busy.

Noise is even: it is equally strong in all windows of one brightness, in every direction, and its spectrum is the same
everywhere. Texture is not. A filter's mean square is taken in the window around every pixel; the windows of one
brightness are sorted by it, and the logarithms of a few quantiles, averaged over brightnesses, tell how even they are.
In colour pictures brightness and differences of colour are looked at apart: textures have little colour, noise has as
much colour as brightness. All numbers are the same for the turns and mirror images of a picture, and in every unit.

Which noise leaves such traces was learned from photographs with noise of many kinds and with none
(experiments/photo/noise_measure.py): a small network tells the correlation of neighbours and five quantiles of the
level, how strong the noise is with a probability of 10 %, 25 %, 50 %, 75 % and 90 % at most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from whorl.automatic.paper import on_paper
from whorl.automatic.windows import WINDOW, binned, blank, box, ends_of, slack_of

BINS = 8
"""Brightnesses."""

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.8)
"""Quantiles of each filter's strength."""

MOST = 2**15
"""Roughly the number of windows that are looked at: in a large picture every second or third along each axis."""

FLAT = 0.1
"""The share of windows without any noise from which on a picture is a drawing or labels; noisy pictures have none."""

FLATTEST = 3
"""So many of the quantiles, from the first on, tell how soft colours are."""

FILE = Path(__file__).parent / "measure.safetensors"
FILTERS = 5
REFERENCE = 3 * len(SHARES) + 2
"""The number that all others are compared with: the quantile 0.1 of the ring."""


def traces(samples: Sequence[Tensor]) -> tuple[Tensor, float] | None:
    """The numbers of pictures ``(n, c, y, x)`` with one or three channels, and the logarithm of a variance.

    None where there are no windows to look at. Where a tenth of them are flat, the variance is 0.
    """
    black, white = ends_of(samples)
    every = max(1, math.ceil(math.sqrt(sum(part[:, 0].numel() for part in samples) / MOST)))
    images = [image.double() for part in samples for image in part.detach()]
    slack = slack_of([plane for image in images for plane in image])
    found = [_windows(image, black, white, every, slack) for image in images]
    found = [each for each in found if each is not None]
    if not found:
        return None
    strengths, mean, cut = (torch.cat(column, -1) for column in zip(*found, strict=True))
    if strengths.shape[-1] < BINS:
        return None
    tiny = rounding(black, white)
    if float((strengths[0, 0] <= 2 * tiny).double().mean()) >= FLAT:
        return torch.empty(0), -math.inf
    free = cut <= max(0.01, float(cut.kthvalue(1 + len(cut) // 4).values))
    strengths, mean = strengths[..., free], mean[free]
    place = binned(mean, BINS)
    rows = [_quantiles(chosen) for k in range(BINS) if (chosen := strengths[..., place == k]).shape[-1]]
    numbers = torch.stack(rows).mean(0)
    reference = float(numbers[0, REFERENCE])
    numbers[:, : FILTERS * len(SHARES)] -= reference
    spread = math.log(max(float(mean.var()), 1e-300)) - reference
    rest = torch.tensor([spread, float(cut.mean()), math.log(strengths.shape[-1] * every**2)]).double()
    return torch.cat([numbers.flatten(), rest]), reference


@dataclass(frozen=True)
class Measured:
    """Quantiles of the level, in the units of the picture, and the correlation of neighbours.

    ``softness`` says by how much more ring than narrow filter see of the colours than of the brightness, in logarithms:
    JPEG and most textures are soft in colours, noise out of a camera is not. It is 0 for one channel.
    """

    levels: tuple[float, ...]
    correlation: float
    softness: float = 0.0

    @property
    def level(self) -> float:
        """The median."""
        return self.levels[len(self.levels) // 2]

    def at(self, place: float) -> float:
        """The level at a quantile, interpolated between two in the logarithm.

        >>> Measured((1.0, 2.0, 8.0, 9.0, 9.0), 0.0).at(1.5)
        4.0
        """
        below = min(int(place), len(self.levels) - 2)
        low, high = self.levels[below : below + 2]
        return low * math.pow(high / low, place - below)

    @property
    def uncertainty(self) -> float:
        """Half of the distance between the outer quantiles, as a share of the level."""
        return 0.5 * math.log(self.levels[-1] / self.levels[0]) if self.levels[0] > 0 else 0.0


NOTHING = Measured((0.0,) * 5, 0.0)


def measure(samples: Sequence[Tensor]) -> Measured | None:
    """The noise of pictures ``(n, c, y, x)``; None where they are too small to tell.

    Three channels are colours, or one grey channel where all are equal. Any other number of channels is looked at one
    by one.

    >>> noisy = 100 + 7 * torch.randn(1, 1, 200, 300, generator=torch.Generator().manual_seed(0))
    >>> 6.8 < measure([noisy]).level < 7.2
    True
    """
    if {part.shape[1] for part in samples} not in ({1}, {3}):
        samples = [part.flatten(0, 1)[:, None] for part in samples]
    if all(torch.equal(part, part[:, :1].expand_as(part)) for part in samples):
        samples = [part[:, :1] for part in samples]  # noise without colour would be taken for texture
    if (found := traces(samples)) is None:
        return None
    numbers, reference = found
    if math.isinf(reference):
        return NOTHING
    mean, deviation, layers = _learned(samples[0].shape[1])
    u = ((numbers - mean) / deviation).clamp(-3, 3)
    for weight, bias in layers[:-1]:
        u = torch.nn.functional.silu(weight @ u + bias)
    first, *steps, correlation = (layers[-1][0] @ u + layers[-1][1]).unbind()
    logs = torch.stack([first, *(torch.nn.functional.softplus(step) for step in steps)]).cumsum(0)
    planes = numbers[:-3].view(-1, (FILTERS + 2) * len(SHARES))[:, FILTERS * len(SHARES) :][:, :FLATTEST].mean(1)
    softness = 0.5 * float(planes[-1] - planes[0])
    measured = Measured(tuple((logs + 0.5 * reference).exp().tolist()), float(correlation), softness)
    most = on_paper(samples, measured.level)
    if most == measured.level:
        return measured
    return Measured(tuple(x * most / measured.level for x in measured.levels), 0.0, softness) if most else NOTHING


@cache
def _learned(channels: int) -> tuple[Tensor, Tensor, list[tuple[Tensor, Tensor]]]:
    """Mean and deviation of the traces, and the weights of the layers."""
    from safetensors.torch import load_file

    file = {name: value.double() for name, value in load_file(FILE).items() if name.startswith(f"{channels}.")}
    layers = [tuple(file[f"{channels}.layers.{k}.{part}"] for part in ("weight", "bias")) for k in range(3)]
    return file[f"{channels}.mean"], file[f"{channels}.deviation"], layers  # type: ignore[return-value]


def _quantiles(strengths: Tensor) -> Tensor:
    """The logarithms of the quantiles of every filter, and of the ratios of ring to narrow and of coarse to ring."""
    ratios = strengths[:, [3, 4]] / strengths[:, [0, 3]]
    rows = torch.cat([strengths, ratios], 1).sort(-1).values
    places = torch.tensor([share * (rows.shape[-1] - 1) for share in SHARES], dtype=torch.float64)
    low = places.long()
    high = (low + 1).clamp_max(rows.shape[-1] - 1)
    return torch.lerp(rows[..., low].log(), rows[..., high].log(), places - low).flatten(1)


def _windows(
    u: Tensor, black: float, white: float, every: int, slack: float = 0.0
) -> tuple[Tensor, Tensor, Tensor] | None:
    """For windows that are not half blank: strengths ``(planes, filters, windows)``, mean, share of samples cut off."""
    if min(u.shape[1:]) < WINDOW + 2:
        return None
    bright, inside = u.mean(0), (slice(1, -1),) * 2
    shown = torch.stack([~blank(plane, slack) for plane in u]).all(0)
    counted = (box(shown.double(), [3, 3]) == 9)[inside]
    sides = [WINDOW] * 2
    count = box(counted.double(), sides)
    chosen = (count >= WINDOW**2 / 2) & _symmetric(count.shape, every)
    if not chosen.any():
        return None
    count = count[chosen]

    def averaged(values: Tensor) -> Tensor:
        return box(values * counted, sides)[chosen] / count

    if len(u) == 3:
        red, green, blue = u
        groups = [[u.sum(0) / 3**0.5], [(red - blue) / 2**0.5, (red - 2 * green + blue) / 6**0.5]]
    else:
        groups = [[plane] for plane in u]
    planes = []
    for group in groups:
        rows = torch.stack([torch.stack([averaged(square) for square in _squares(plane)]) for plane in group]).mean(0)
        across, along = rows[1], rows[2]
        rows[1], rows[2] = torch.minimum(across, along), torch.maximum(across, along)
        planes.append(rows.clamp_min(rounding(black, white)))
    cut = ((u <= black) | (u >= white)).double().sum(0)  # sums of whole numbers are the same in any order
    return torch.stack(planes), averaged(bright[inside]), averaged(cut[inside]) / len(u)


def rounding(black: float, white: float) -> float:
    """The variance of what is left of a plane."""
    return (1e-9 * max(abs(black), abs(white))) ** 2 + 1e-300


def _symmetric(shape: Sequence[int], every: int) -> Tensor:
    """Pixels whose distances from both middles are multiples of a step: the same for all turns and mirror images."""
    rows, columns = ((2 * torch.arange(size) - size + 1).abs() // 2 % every == 0 for size in shape)
    return rows[:, None] & columns


def _squares(u: Tensor) -> list[Tensor]:
    """The squares of five filters where all neighbours are; for white noise of variance 1 each has the mean 1.

    Second differences along both axes, along one, along the other; a pixel less the ring around its neighbours; the
    mean of nine pixels less that of the pixels around them.
    """
    inside = (slice(1, -1),) * 2
    second = [
        u.narrow(axis, 0, u.shape[axis] - 2)
        - 2 * u.narrow(axis, 1, u.shape[axis] - 2)
        + u.narrow(axis, 2, u.shape[axis] - 2)
        for axis in (0, 1)
    ]
    both = second[0][:, :-2] - 2 * second[0][:, 1:-1] + second[0][:, 2:]
    three, seven, nine = (box(u, [side] * 2)[inside] for side in (3, 7, 9))
    ring = u[inside] - (seven - three) / 40
    coarse = three / 9 - (nine - three) / 72
    return [
        both.square() / 36,
        second[0][:, 1:-1].square() / 6,
        second[1][1:-1].square() / 6,
        ring.square() / (1 + 1 / 40),
        coarse.square() / (1 / 9 + 1 / 72),
    ]
