"""Networks for photographs: steerable operators and gates, rotationally invariant by construction."""

import dataclasses
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest

import torch
from torch import Tensor, nn

from whorl import engines
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock, LearnedBlock, StableGatedBlock
from whorl.blocks.guided import GuidedBlock
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.networks.denoiser import REFERENCE_LEVEL, trained_for
from whorl.networks.trained import ARCHITECTURES, Spec, TrainedNetwork
from whorl.operators.steerable import SteerableMap


@dataclass(frozen=True)
class PhotoSpec(Spec, kind="photo"):
    """The architecture of a network for photographs.

    Parameters
    ----------
    channels : int
        1 for grey, 3 for colour pictures.
    width : int
        Channels of the stream, without those of a guide.
    fields : tuple of int
        Fields of angular order 0, 1, 2, ... in every block.
    blocks, repetitions : int
        Blocks with weights of their own, and how often each is applied.
    size : int
        Pixels along a side of a stencil.
    profiles : tuple of int, optional
        Stencils for each order; by default all with an error below 0.1.
    rho : int
        Smoothing of the invariants the gates look at.
    alternate : bool
        Whether the blocks take turns, or each does all its repetitions before the next.
    stable : bool
        One operator per block and a step size within its norm: the L2 norm never grows.
    guide : int
        Channels beside the stream of a stable network that only gates look at; their steps are not restricted.
    guide_fields : tuple of int
        Fields of angular order 0, 1, 2, ... made from the stream and the guide together.
    noise : tuple of float
        Smallest and largest noise level the network is trained for.
    correlated : bool
        Whether the network is told the correlation of the noise between neighbours beside the level.
    dimension : int
        2 for pictures, 3 for volumes.

    Examples
    --------
    >>> PhotoSpec(channels=3).channels
    3
    """

    channels: int = 1
    width: int = 24
    fields: tuple[int, ...] = (24, 24, 12)
    blocks: int = 2
    repetitions: int = 6
    size: int = 5
    profiles: tuple[int, ...] | None = None
    frequency: float = 0.35
    rho: int = 0
    alternate: bool = False
    stable: bool = False
    guide: int = 0
    guide_fields: tuple[int, ...] = ()
    noise: tuple[float, float] = (25.0, 25.0)
    correlated: bool = False
    dimension: int = 2

    def __post_init__(self) -> None:
        if self.guide and not (self.stable and len(self.guide_fields) == len(self.fields)):
            raise ValueError(f"{self}: a guide belongs to a stable network and has fields of the same orders.")

    @property
    def blind(self) -> bool:
        """Whether the network takes the noise level as an input."""
        return self.noise[0] < self.noise[1]

    def build(self) -> "PhotoNetwork":
        return PhotoNetwork(self)


_GREY = PhotoSpec(width=24, fields=(32, 24, 12))
_VOLUME = PhotoSpec(size=3, rho=1, noise=(2.0, 60.0), correlated=True, dimension=3)

NAMED_PHOTO = {
    "photo-8k": PhotoSpec(width=16, fields=(24, 20, 8), blocks=1, repetitions=12),
    "photo-27k": _GREY,
    "photo-27k-strict": _GREY,
    "photo-27k-stable": PhotoSpec(width=1, fields=(6, 6, 4), stable=True, guide=23, guide_fields=(26, 22, 12)),
    "photo-66k": PhotoSpec(width=32, fields=(32, 32, 20), blocks=3, repetitions=4),
    "photo-grey": dataclasses.replace(_GREY, rho=1, noise=(5.0, 55.0)),
    "photo-colour": dataclasses.replace(_GREY, rho=1, channels=3, noise=(5.0, 55.0)),
    "photo-grey-real": dataclasses.replace(_GREY, rho=1, noise=(0.5, 60.0), correlated=True),
    "photo-colour-real": dataclasses.replace(_GREY, rho=1, channels=3, noise=(0.5, 60.0), correlated=True),
}
"""Architectures by name. Those without a range of levels are for noise 25 unless another level is asked for. The strict
one differs by its training."""

NAMED_VOLUME = {
    "volume-5k": dataclasses.replace(_VOLUME, width=16, fields=(20, 18, 8), blocks=1, repetitions=12),
    "volume-30k": dataclasses.replace(_VOLUME, width=28, fields=(40, 32, 16)),
}
"""Architectures for volumes."""

ARCHITECTURES.update(NAMED_PHOTO | NAMED_VOLUME)


class PhotoNetwork(TrainedNetwork):
    r"""A stream of scalar channels, lifted from the picture, changed by blocks, and taken back.

    .. math:: u^0 = L f, \qquad u^{k+1} = u^k - K_2^*\, \Phi(K_1 u^k), \qquad N(f) = f - P^* u^T

    The stable kind keeps the picture in its first channels and begins with zeros in the others:
    :math:`u^0 = (f, 0)`, :math:`N(f) = u^T_1`, so that its L2 norm never grows. A guide
    beside it begins with :math:`L f`.

    >>> from whorl.networks import PhotoSpec
    >>> PhotoNetwork(PhotoSpec(width=4, fields=(4, 4, 2), blocks=1, repetitions=2)).parameter_count
    342
    """

    def __init__(self, spec: PhotoSpec) -> None:
        super().__init__()
        self.spec: PhotoSpec = spec
        self.channels, self.dimension = spec.channels, spec.dimension
        self.blocks = nn.ModuleList(self._block() for _ in range(spec.blocks))
        if spec.guide or not spec.stable:
            self.lift = self._map(spec.channels, (spec.guide or spec.width,))
        if not spec.stable:
            self.projection = self._map(spec.channels, (spec.width,), start=0.1)

    def forward(self, picture: Image, noise: float | Tensor | None = None, correlation: float | Tensor = 0.0) -> Image:
        """The denoised picture, in grey values from 0 to 255 like the picture itself.

        ``noise`` is the standard deviation of the noise: a number, one for each picture ``(n,)``, or a map
        ``(n, 1, y, x)``. Networks trained for one level need none. ``correlation`` is that of the noise between
        neighbours, 0 for white noise; networks that were trained for white noise alone do not look at it.
        """
        validation.batched(picture, "PhotoNetwork", self.spec.dimension)
        if picture.shape[1] != self.channels:
            raise ShapeError(f"PhotoNetwork: takes {self.channels} channel(s), got shape {tuple(picture.shape)}.")
        f = picture / 255 - 0.5
        level = self.level(noise, f, correlation)
        u = self.enter(f)
        with ExitStack() as stack:
            for map in self.blocks.modules():
                if isinstance(map, SteerableMap):
                    stack.enter_context(map.held(torch.bfloat16 if self.low_precision else f.dtype))
            for block, repetition in self.schedule():
                u = block(u, repetition, level, self.low_precision)
        return 255 * (self.leave(f, u) + 0.5)

    def compiled(self, on: bool = True) -> "PhotoNetwork":
        """Let torch fuse what happens between the convolutions from now on, or no longer; returns the network.

        Every size of a batch is compiled anew, so this is for training.
        """
        for block in self.each():
            block._compiled_call_impl = None
            if on:
                block.compile(dynamic=False)
        return self

    def each(self) -> list[LearnedBlock]:
        """The blocks."""
        return [block for block in self.blocks if isinstance(block, LearnedBlock)]

    @property
    def engine(self) -> str:
        """The engine that all blocks are taken by; see :mod:`whorl.engines`."""
        return self.each()[0].engine

    @engine.setter
    def engine(self, name: str) -> None:
        for block in self.each():
            block.engine = name

    def schedule(self) -> list[tuple[LearnedBlock, int]]:
        """The blocks in the order in which they are applied, with the number of the repetition."""
        if self.spec.alternate:
            return [(block, k) for k in range(self.spec.repetitions) for block in self.each()]
        return [(block, k) for block in self.each() for k in range(self.spec.repetitions)]

    def enter(self, f: Image) -> Image:
        """The stream at its beginning."""
        if self.spec.stable:
            n, channels, *size = f.shape
            guide = [self.lift(f)[:, 0, 0]] if self.spec.guide else []
            nothing = f.new_zeros([1] * f.dim()).expand(n, self.spec.width - channels, *size)
            return torch.cat([f, nothing, *guide], 1)
        return self.lift(f)[:, 0, 0]

    def leave(self, f: Image, u: Image) -> Image:
        """The picture at the end."""
        return u[:, : f.shape[1]] if self.spec.stable else f - self.projection.adjoint(u[:, None, None])

    def level(self, noise: float | Tensor | None, like: Tensor, correlation: float | Tensor = 0.0) -> Tensor | None:
        """Level and correlation as the gates take them; levels that the network was not trained for are refused."""
        if noise is None and self.takes_level:
            low, high = self.spec.noise
            raise ValueError(
                f"PhotoNetwork: trained for noise from {low:g} to {high:g}; say which with "
                "noise=, or give a NumPy array, on which it is measured."
            )
        traced = isinstance(noise, Tensor) and (self.training or torch.compiler.is_compiling())
        if noise is not None and not traced:  # in training, and in exported programs, nothing looks at a tensor
            trained_for(self, noise)
        if not self.takes_level:
            return None
        level = (self._along(noise, like).clamp(*self.spec.noise) / REFERENCE_LEVEL).log()
        return torch.cat([level, self._along(correlation, like).expand_as(level)], 1) if self.spec.correlated else level

    def _along(self, level: float | Tensor | None, like: Tensor) -> Tensor:
        """One number, one for each picture ``(n,)``, or a map, beside pictures ``(n, c, y, x)``."""
        n, _, *size = like.shape
        # A number is written on the device: a CUDA graph could not record how it is copied there.
        level = like.new_full((), level) if isinstance(level, int | float) else torch.as_tensor(level).to(like)
        one = (1,) * len(size)
        level = level.view(-1, 1, *one) if level.dim() < 2 else level
        fits = level.dim() == like.dim() and level.shape[0] in (1, n) and level.shape[2:] in (one, tuple(size))
        if not fits or level.shape[1] != 1:
            raise ShapeError(
                f"PhotoNetwork: noise of shape {tuple(level.shape)} does not belong to pictures {tuple(like.shape)}. "
                f"Give a number, one for each picture ({n},), or a map ({n}, 1, {', '.join(map(str, size))})."
            )
        return level

    @property
    def noise_range(self) -> tuple[float, float]:
        return self.spec.noise

    @property
    def reach(self) -> int:
        ends = sum(map.radius for map in self._ends())
        return ends + len(self.schedule()) * (2 * (self.spec.size // 2) + self.spec.rho)

    @property
    def floats_per_pixel(self) -> int:  # type: ignore[override]
        """About how many numbers are held for a pixel: streams, and the responses of a block where they are kept."""
        block, d = self.each()[0], self.spec.dimension
        channels = block.analysis.channels
        stream = block.gate.matrix.new_zeros(1, channels, *[8] * d)
        if d == 3 or engines.choose(block.description(), stream, self.engine).name == "numba":  # in boxes or strips
            return 4 * channels
        return 3 * channels + 4 * len(block.gate.get_buffer("spread"))

    @property
    def multiplications(self) -> int:
        """How many for each pixel, operators carried out in factors; logarithms and exponentials are not counted."""
        total = sum(map.multiplications for map in self._ends())
        for block, _ in self.schedule():
            fields, responses = len(block.gate.orders), len(block.gate.get_buffer("spread"))
            # Squares of components, the gates' matrix and the gates themselves.
            total += block.analysis.multiplications + block.synthesis.multiplications
            total += 2 * (responses - fields) + fields**2 + responses
        return total

    def _block(self) -> GatedBlock | StableGatedBlock:
        spec = self.spec
        analysis = self._map(spec.width, spec.fields)
        fields = [a + b for a, b in zip_longest(spec.fields, spec.guide_fields, fillvalue=0)]
        orders = [order for order, count in enumerate(fields) for _ in range(count)]
        gate = Gated(orders, spec.rho, spec.repetitions, levelled=spec.blind, correlated=spec.correlated,
                     dimension=spec.dimension)  # fmt: skip
        if spec.guide:
            G1 = self._map(spec.width + spec.guide, spec.guide_fields)
            return GuidedBlock(analysis, G1, self._map(spec.guide, spec.guide_fields, start=0.1), gate)
        if spec.stable:
            return StableGatedBlock(analysis, gate)
        return GatedBlock(analysis, self._map(spec.width, spec.fields, start=0.1), gate)

    def _ends(self) -> list[SteerableMap]:
        """The lift and the projection, as far as there are."""
        return [getattr(self, name) for name in ("lift", "projection") if hasattr(self, name)]

    def _map(self, channels: int, fields: tuple[int, ...], start: float = 1.0) -> SteerableMap:
        """A map with random weights; small ones let a network begin near the identity."""
        spec = self.spec
        profiles = None if spec.profiles is None else spec.profiles[: len(fields)]
        made = SteerableMap(channels, fields, spec.size, profiles, spec.frequency, spec.dimension)
        with torch.no_grad():
            for weight in made.weights:
                weight *= start
        return made
