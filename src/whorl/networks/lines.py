"""Networks that find lines: streams of scalars, vectors and orientations on the levels of a pyramid."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock
from whorl.errors import ShapeError
from whorl.foundations.types import Image
from whorl.networks.trained import ARCHITECTURES, Spec, TrainedNetwork
from whorl.operators.contrast import local_contrast
from whorl.operators.fields import FieldMap
from whorl.operators.levels import coarser, finer
from whorl.operators.steerable import SteerableMap

Head = Literal["pixel", "picture"]

HALVED = 1.5
"""Pictures whose field of view is this many times as wide as in training are halved."""


@dataclass(frozen=True)
class LineSpec(Spec, kind="lines"):
    """The architecture of a network that finds lines.

    Parameters
    ----------
    channels : int
        1 for grey, 3 for colour pictures.
    stream, fields : tuple of int
        Fields of angular order 0, 1, 2, ... in the stream, and inside every block.
    levels : int
        Levels of the pyramid, the picture itself included.
    repetitions : int
        How often a block is applied on each level, on the way down and on the way up.
    shared : bool
        Whether all levels have the same blocks.
    head : str
        ``"pixel"`` for numbers at every pixel, ``"picture"`` for numbers of the whole picture: no way up is needed.
    outputs : int
        How many numbers.
    size : int
        Pixels along a side of a stencil.
    sigma : float
        Pictures are given to the network as local contrast under a Gaussian of so many pixels; 0 as they are.
    handed : bool
        Whether mirror images may come out as something else, as those of digits are.

    Examples
    --------
    >>> LineSpec(outputs=2).outputs
    2
    """

    channels: int = 3
    stream: tuple[int, ...] = (8, 2, 3)
    fields: tuple[int, ...] = (10, 8, 5)
    levels: int = 4
    repetitions: int = 2
    shared: bool = True
    head: Head = "pixel"
    outputs: int = 1
    size: int = 5
    sigma: float = 0.0
    handed: bool = False

    def __post_init__(self) -> None:
        if self.head not in get_args(Head):
            raise ValueError(f"LineSpec(head={self.head!r}): choose one of {get_args(Head)}.")
        if not 0 <= self.sigma < math.inf:
            raise ValueError(f"LineSpec(sigma={self.sigma}): must be at least 0 and finite.")
        for name in ("channels", "levels", "repetitions", "outputs"):
            if getattr(self, name) < 1:
                raise ValueError(f"LineSpec({name}={getattr(self, name)}): must be at least 1.")

    def map(self, stream: tuple[int, ...], fields: tuple[int, ...], size: int = 0) -> FieldMap:
        """A map between fields with stencils of this architecture."""
        return FieldMap(stream, fields, size or self.size, handed=self.handed)

    def block(self, uses: int) -> GatedBlock:
        """A step on the stream with a bias for each use, near the identity as it begins; on scalars a compiled one."""
        scalars = len(self.stream) == 1 and not self.handed
        first: Any  # either kind of map: both have what a block reads
        second: Any
        first, second = (
            SteerableMap(self.stream[0], self.fields, self.size) if scalars else self.map(self.stream, self.fields)
            for _ in range(2)
        )
        with torch.no_grad():
            for weight in second.parameters():
                weight.mul_(0.2)
        return GatedBlock(first, second, Gated(first.orders, repetitions=uses, contrast=0.5))

    def build(self) -> "LineNetwork":
        return LineNetwork(self)


class LineNetwork(TrainedNetwork):
    r"""A stream of fields that is changed on coarser and coarser levels, and on the way back to the picture.

    .. math:: u_0 = L f, \qquad u_{\ell+1} = R\, S^\downarrow(u_\ell), \qquad
              w_\ell = S^\uparrow(S^\downarrow(u_\ell) + M_\ell P\, w_{\ell+1}), \qquad N(f) = H w_0

    :math:`S^\downarrow` and :math:`S^\uparrow` are a few steps with one block each, the same on every level unless each
    has its own; :math:`R` and :math:`P` lead to the coarser and the finer level, :math:`M` mixes fields of equal order.
    With the head for whole pictures there is no way up: means of scalars and of squared lengths of the others over the
    coarsest level are what the numbers are computed from.

    >>> LineNetwork(LineSpec()).parameter_count
    4980
    """

    diameter = 0.0
    """Of the field of view in training, in pixels; 0 where that is not known."""

    def __init__(self, spec: LineSpec) -> None:
        super().__init__()
        self.spec: LineSpec = spec
        self.channels = spec.channels
        own, pixel = (1 if spec.shared else spec.levels), spec.head == "pixel"
        uses = spec.repetitions * (spec.levels if spec.shared else 1)
        self.lift = spec.map((spec.channels,), spec.stream)
        made = [spec.block(uses) for _ in range(own * (1 + pixel))]
        self.down, self.up = nn.ModuleList(made[:own]), nn.ModuleList(made[own:])
        if pixel:
            self.mix = nn.ModuleList(spec.map(spec.stream, spec.stream, 1) for _ in range(spec.levels - 1))
            self.head: nn.Module = spec.map(spec.stream, (spec.outputs,))
        else:
            hidden = sum(spec.stream)
            self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, spec.outputs))
        self.bias = nn.Parameter(torch.zeros(spec.outputs))

    def forward(self, picture: Image) -> Tensor:
        """Log odds ``(n, outputs, y, x)`` of every pixel, or ``(n, outputs)`` of the whole picture."""
        if picture.dim() != 4 or picture.shape[1] != self.channels:
            shape = tuple(picture.shape)
            raise ShapeError(f"{type(self).__name__}: expected (n, {self.channels}, y, x), got shape {shape}.")
        u, kept = self.lift(picture)[:, 0, 0].to(picture.dtype), []  # responses may be bfloat16, the stream is not
        for level in range(self.spec.levels):
            u = self._steps(self.down, coarser(u).to(u.dtype) if level else u, level)
            kept.append(u)
        if self.spec.head == "picture":
            numbers: Tensor = self.head(self._invariants(u)) + self.bias
            return numbers
        for level in reversed(range(self.spec.levels)):
            if level + 1 < self.spec.levels:
                fine = kept[level]
                u = fine + self.mix[level](finer(u, (fine.shape[2], fine.shape[3])))[:, 0, 0]
            u = self._steps(self.up, u, level)
        odds: Tensor = self.head(u)[:, 0, 0] + self.bias.view(1, -1, 1, 1)
        return odds

    def _steps(self, blocks: nn.ModuleList, u: Image, level: int) -> Image:
        first = level * self.spec.repetitions if self.spec.shared else 0
        block = blocks[0 if self.spec.shared else level]
        for repetition in range(self.spec.repetitions):
            u = block(u, first + repetition)
        return u

    def _invariants(self, u: Image) -> Tensor:
        """Means over the picture of what does not change when it turns: ``(n, fields)``."""
        scalars = self.spec.stream[0]
        lengths = u[:, scalars:].unflatten(1, (-1, 2)).square().sum(2)
        return torch.cat([u[:, :scalars], torch.log1p(lengths)], dim=1).mean((2, 3))

    def prepared(self, picture: Image, inside: Tensor) -> Image:
        """What the network sees of a picture: its local contrast inside the field of view, as in training."""
        return local_contrast(picture, inside, self.spec.sigma) if self.spec.sigma else picture * inside

    def probabilities(self, picture: Image, inside: Tensor) -> Image:
        """The chance of a line at every pixel; 0 outside the field of view ``(n, 1, y, x)``.

        Pictures with a field of view far wider than in training are halved as often as it takes, and what is found is
        brought back to their size.
        """
        inside = inside.to(picture.dtype)
        if 0 < self.diameter < diameter(inside) / HALVED and min(picture.shape[2:]) > 1:
            share = coarser(inside)
            small = coarser(picture * inside) / share.clamp_min(1e-6)
            found: Tensor = self.probabilities(small, share > 0.5)
            size = (picture.shape[2], picture.shape[3])
            return inside * finer(found, size) / finer(torch.ones_like(found), size)
        found = self(self.prepared(picture, inside)).sigmoid()
        return inside * found

    def restore(self, weights: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
        """Take over what a file has kept, and how wide the fields of view in training were."""
        super().restore(weights, data)
        self.diameter = float(data.get("diameter", 0.0))

    def denoise(self, image: Any, *arguments: Any, **named: Any) -> Any:
        """Refuses: such a network gives log odds, and no picture."""
        raise ValueError("denoise: this network finds lines. Take whorl.segment, or photo-colour to denoise.")

    @property
    def noise_range(self) -> None:
        """It removes no noise."""
        return None

    @property
    def reach(self) -> int:
        each = 2 * self.spec.repetitions * 2 * (self.spec.size // 2)
        return 2 * self.spec.size + (each + 4) * ((1 << self.spec.levels) - 1)


def diameter(inside: Tensor) -> float:
    """That of a disc with the area of a field of view.

    >>> round(diameter(torch.ones(1, 1, 10, 10)), 2)
    11.28
    """
    return 2 * math.sqrt(float(inside.sum()) / len(inside) / math.pi)


ARCHITECTURES["vessels-5k"] = LineSpec(stream=(10,), fields=(12, 10, 5), sigma=20.0)
