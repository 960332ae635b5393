r"""Learned maps from scalar channels to fields of any angular order, with exact adjoints.

A field of angular order :math:`m` has one component for :math:`m = 0` and two for :math:`m > 0`; when the picture turns
by an angle, the two turn by :math:`m` times that angle. Numbers made from the squared length of a field do not change,
which is what :class:`~whorl.activations.Gated` builds upon. In space a field has 2m + 1 components, which a turn
mixes by an orthogonal matrix; nothing else changes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from whorl.foundations.types import Image, Responses
from whorl.operators.boundary import fold, mirror
from whorl.operators.fields import Fielded
from whorl.operators.stencils import FREQUENCY, SteerableStencils, component_count, steerable_stencils

CONVOLUTION = {2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}
_TRANSPOSED = {2: torch.nn.functional.conv_transpose2d, 3: torch.nn.functional.conv_transpose3d}


class SteerableMap(Fielded):
    r"""Fields of angular orders 0, 1, 2, ... from all image channels, with learned radial profiles.

    .. math:: v_f = \sum_c \sum_p w_{fcp}\, S_p^{(m)} * u_c

    :math:`S_p^{(m)}` are the stencils of :func:`~whorl.operators.stencils.steerable_stencils` for the order :math:`m`
    of the field, so the sum over :math:`p` is a learned radial profile. One number :math:`w_{fcp}` serves both
    components of a field: that keeps the invariance, whatever is learned.

    Shapes: ``(n, c, y, x) -> (n, 1, 1, k, y, x)``; fields of order 0 come first, then those of order 1 with their two
    components side by side, and so on; in space ``(n, c, z, y, x) -> (n, 1, 1, k, z, y, x)`` with 1, 3 and 5
    components. ``orders`` names the order of every field.

    Parameters
    ----------
    channels : int
        Image channels that come in.
    fields : sequence of int
        How many fields of order 0, 1, 2, ... go out.
    size : int
        Pixels along a side of the stencils.
    profiles : sequence of int, optional
        Stencils for each order; by default all with an error below 0.1.
    frequency : float
        Up to which frequency the stencils are fitted, in cycles per pixel.
    dimension : int
        2 for pictures, 3 for volumes.

    Guarantees
    ----------
    Exact adjoint for any weights; proven norm bound that follows the weights; quarter turns and mirror images (in space
    all 48 symmetries of the cube) carry over exactly; under any other turn the error of the stencils is at most
    ``stencil_error`` up to ``frequency``.

    Examples
    --------
    >>> K = SteerableMap(3, fields=(4, 2, 1))
    >>> K(torch.zeros(1, 3, 16, 16)).shape, K.orders
    (torch.Size([1, 1, 1, 10, 16, 16]), (0, 0, 0, 0, 1, 1, 2))
    """

    _held: Tensor | None = None
    _holding: torch.dtype | None = None

    def __init__(
        self,
        channels: int,
        fields: Sequence[int],
        size: int = 5,
        profiles: Sequence[int] | None = None,
        frequency: float = FREQUENCY,
        dimension: int = 2,
    ) -> None:
        super().__init__()
        if channels < 1 or not fields or min(fields) < 0 or sum(fields) == 0:
            raise ValueError(f"SteerableMap(channels={channels}, fields={tuple(fields)}): needs at least one of each.")
        if profiles is not None and len(profiles) < len(fields):
            raise ValueError(
                f"SteerableMap(profiles={tuple(profiles)}): expected one for each of {len(fields)} orders."
            )
        self.channels, self.fields, self.size, self.frequency = channels, tuple(fields), size, frequency
        self._dimension = dimension
        self.weights = nn.ParameterList()
        self._stencils: list[SteerableStencils] = []
        for order, count in enumerate(self.fields):
            count_of = None if profiles is None else profiles[order]
            stencils = steerable_stencils(order, size, count_of, frequency, dimension)
            self._stencils.append(stencils)
            # Kept with the weights: eigenvectors found on another machine may differ in their last digits.
            self.register_buffer(f"taps_{order}", stencils.taps.to(torch.get_default_dtype()))
            start = torch.randn(count, channels, len(stencils.errors)) / (channels * len(stencils.errors)) ** 0.5
            self.weights.append(nn.Parameter(start))

    @property
    def mixing(self) -> list[Tensor]:
        """The numbers :math:`w_{fcp}` of every order, ``(fields, channels, profiles)``."""
        return list(self.weights)

    def kernel(self, dtype: torch.dtype | None = None) -> Tensor:
        """The weights as one convolution, ``(k, c, size, size)``; in space with one more ``size``."""
        held = self._held  # another thread may let go of it
        if held is not None and held.dtype == (dtype or held.dtype):
            return held
        parts = [
            torch.einsum("fcp,pk...->fkc...", weight, self.taps(order)).flatten(0, 1)
            for order, weight in enumerate(self.mixing)
        ]
        layout = torch.channels_last if self._dimension == 2 else torch.channels_last_3d
        made = torch.cat(parts).to(dtype=dtype, memory_format=layout)
        if made.dtype == self._holding and not torch.is_grad_enabled() and not torch.compiler.is_compiling():
            self._held = made
        return made

    @contextmanager
    def held(self, dtype: torch.dtype) -> Iterator[None]:
        """Compute the convolution once for everything inside; for a map that is applied many times.

        Where no gradient is needed the convolution may never be computed: compiled kernels read the weights themselves.
        """
        self._holding = dtype
        self._held = self.kernel(dtype) if torch.is_grad_enabled() else None
        try:
            yield
        finally:
            self._held = self._holding = None

    def taps(self, order: int) -> Tensor:
        """The stencils of an order, ``(p, k, size, size)``; in space with one more ``size``."""
        return self.get_buffer(f"taps_{order}")

    def forward(self, u: Image) -> Responses:
        return self.inside(mirror(u, self.radius))[:, None, None]

    def inside(self, u: Image) -> Tensor:
        """The fields ``(n, k, y, x)`` of all pixels whose neighbours are there, without any border."""
        fields: Tensor = CONVOLUTION[self._dimension](u, self.kernel(u.dtype))
        return fields

    def adjoint_inside(self, v: Tensor) -> Image:
        """The adjoint of fields ``(n, k, y, x)`` at all pixels whose neighbours are there."""
        u: Tensor = _TRANSPOSED[self._dimension](v, self.kernel(v.dtype), padding=2 * self.radius)
        return u

    def adjoint(self, v: Responses) -> Image:
        if len(self.fields) == 1:
            # Stencils of order 0 are even, so with the mirrored border each is its own adjoint; mixing comes first.
            mixed = torch.einsum("fcp,nf...->ncp...", self.mixing[0].to(v.dtype), v[:, 0, 0]).flatten(1, 2)
            taps = self.taps(0)[:, 0].to(v.dtype)
            own = taps.expand(self.channels, *taps.shape)
            return CONVOLUTION[self._dimension](mirror(mixed, self.radius), own, groups=self.channels)
        transposed = _TRANSPOSED[self._dimension](v[:, 0, 0], self.kernel(v.dtype))
        return fold(transposed, self.radius)

    def symbol(self, *theta: Tensor) -> Tensor:
        # K* K mixes the channels, so that its symbol is a matrix; its largest eigenvalue stands for it. For each
        # direction in the space of channels it is a trigonometric polynomial, and the bound holds for all of them.
        matrix = self.transfer(*theta)
        largest: Tensor = torch.linalg.eigvalsh(matrix.mH @ matrix)[..., -1]
        return largest

    def transfer(self, *theta: Tensor) -> Tensor:
        """The complex matrices ``(*frequencies, k, c)`` that map the channels of a wave to fields."""
        parts = [
            torch.einsum("fcp,pk...->...fkc", weight.detach().cpu().to(torch.complex128), waves).flatten(-3, -2)
            for order, weight in enumerate(self.mixing)
            for waves in [self.stencils(order).transfer(*theta)]
        ]
        return torch.cat(parts, dim=-2)

    @property
    def multiplications(self) -> int:
        """For each pixel, carried out in factors: stencils by their different taps for each channel, then mixing."""
        stencils = [self.taps(order).flatten(2).abs() for order in range(len(self.fields))]
        different = sum(len(set(taps[taps > 0].tolist())) for stencil in stencils for taps in stencil.flatten(0, 1))
        return int(self.channels * different + self.mixing_multiplications)

    @property
    def mixing_multiplications(self) -> int:
        """For each pixel, once the stencils' responses are known."""
        counts = [component_count(order, self._dimension) for order in range(len(self.fields))]
        return sum(weight.numel() * count for weight, count in zip(self.weights, counts, strict=True))

    @property
    def dimension(self) -> int:
        """That of the stencils."""
        return self._dimension

    @property
    def stencil_error(self) -> float:
        """Bound of the relative error of the stencils under any turn, up to the fitted frequency."""
        return max(s.errors[-1] for s, count in zip(self._stencils, self.fields, strict=True) if count)

    @property
    def stencil_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of every order."""
        return tuple(tuple(self.taps(order).shape) for order in range(len(self.fields)))

    def extra_repr(self) -> str:
        return f"channels={self.channels}, fields={self.fields}, size={self.size}"

    def stencils(self, order: int) -> SteerableStencils:
        """The stencils in use: of a network from a file they are those that the file holds."""
        fitted = self._stencils[order]
        return SteerableStencils(order, self.taps(order).detach().cpu().double(), fitted.errors, fitted.frequency)
