r"""Learned maps between streams of fields: scalars, vectors and orientations go in, and come out.

With a field of order :math:`m` written as a complex number :math:`z` that a turn by :math:`\theta` multiplies by
:math:`e^{i m \theta}`, and a stencil :math:`T_d` of angular order :math:`d`, the products :math:`T_{n-m} z` and
:math:`T_{n+m} \bar z` are fields of order :math:`n`; :math:`T_{-d}` is the conjugate of :math:`T_d`. Real weights keep
mirror images, too. There are no other linear maps between fields that commute with turns and mirror images. Complex
weights commute with turns alone: a digit and its mirror image are two things.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whorl.foundations.types import Image, Responses
from whorl.operators.base import Operator
from whorl.operators.boundary import fold, mirror
from whorl.operators.stencils import FREQUENCY, steerable_stencils


def components(fields: Sequence[int]) -> int:
    """How many numbers a pixel holds of so many fields of order 0, 1, 2, ...: one for a scalar, two for others.

    >>> components((8, 2, 3))
    18
    """
    return sum(count if order == 0 else 2 * count for order, count in enumerate(fields))


class Fielded(Operator):
    """Base of operators whose responses are ``fields`` of angular orders 0, 1, 2, ... from stencils of odd ``size``."""

    fields: tuple[int, ...]
    size: int
    channels: int

    @property
    def mixing(self) -> list[Tensor]:
        """The numbers that are learned."""
        return list(self.parameters())

    @property
    def dimension(self) -> int:
        """Angular orders belong to the plane."""
        return 2

    @property
    def orders(self) -> tuple[int, ...]:
        """The angular order of every field."""
        return tuple(order for order, count in enumerate(self.fields) for _ in range(count))

    @property
    def axes(self) -> int:
        """Components of fields belong to no direction of the grid."""
        return 1

    @property
    def radius(self) -> int:
        """How far a stencil looks, in pixels."""
        return self.size // 2

    @property
    def degree(self) -> int:
        return 2 * self.radius


class FieldMap(Fielded):
    r"""Fields of angular orders 0, 1, 2, ... from a stream of such fields, with learned radial profiles.

    .. math:: v_f = \sum_c \sum_p w_{fcp}\, B_p^{(n m)} z_c

    :math:`B_p^{(n m)}` are all products of a stencil with a field of order :math:`m` that are a field of order
    :math:`n`. :class:`~whorl.operators.SteerableMap` is the case of a stream of scalars.

    Shapes: ``(n, c, y, x) -> (n, 1, 1, k, y, x)``; on both sides fields of order 0 come first, then those of order 1
    with their two components side by side, and so on.

    Parameters
    ----------
    stream, fields : sequence of int
        How many fields of order 0, 1, 2, ... come in, and go out.
    size : int
        Pixels along a side of the stencils; 1 mixes fields of equal order, pixel by pixel.
    frequency : float
        Up to which frequency the stencils are fitted, in cycles per pixel.
    handed : bool
        Whether weights are complex, so that mirror images may come out as something else.

    Guarantees
    ----------
    Exact adjoint for any weights; quarter turns and (unless handed) mirror images carry over exactly.

    Examples
    --------
    >>> K = FieldMap((4, 2, 1), (1, 1))
    >>> K(torch.zeros(1, 10, 16, 16)).shape
    torch.Size([1, 1, 1, 3, 16, 16])
    """

    def __init__(
        self,
        stream: Sequence[int],
        fields: Sequence[int],
        size: int = 5,
        frequency: float = FREQUENCY,
        handed: bool = False,
    ) -> None:
        super().__init__()
        for name, counts in (("stream", stream), ("fields", fields)):
            if not counts or min(counts) < 0 or sum(counts) == 0:
                raise ValueError(f"FieldMap({name}={tuple(counts)}): needs at least one field.")
        self.stream, self.fields, self.size = tuple(stream), tuple(fields), size
        self.channels = components(stream)
        self.weights = nn.ParameterDict()
        products = [(n, m) for n in range(len(fields)) for m in range(len(stream)) if fields[n] and stream[m]]
        made = {(n, m): _products(n, m, size, frequency, handed) for n, m in products}
        for (n, m), basis in made.items():
            if len(basis):
                start = torch.randn(fields[n], stream[m], len(basis))
                inputs = sum(stream[j] * len(made[n, j]) for j in range(len(stream)) if stream[j])
                self.weights[f"{n}{m}"] = nn.Parameter(start / inputs**0.5)
                # Kept with the weights: eigenvectors found on another machine may differ in their last digits.
                self.register_buffer(f"basis_{n}{m}", basis.to(torch.get_default_dtype()))

    def kernel(self, dtype: torch.dtype | None = None) -> Tensor:
        """The weights as one convolution, ``(k, c, size, size)``."""
        rows = []
        for n, count in enumerate(self.fields):
            row = [self._part(n, m, count, given) for m, given in enumerate(self.stream) if given]
            rows += [torch.cat(row, dim=1)] if count else []
        return torch.cat(rows).to(dtype=dtype, memory_format=torch.channels_last)

    def _part(self, n: int, m: int, count: int, given: int) -> Tensor:
        name = f"{n}{m}"
        if name not in self.weights:
            shape = (count * (1 + (n > 0)), given * (1 + (m > 0)), self.size, self.size)
            zeros: Tensor = next(iter(self.weights.values())).new_zeros(shape)
            return zeros
        made = torch.einsum("fcp,pkjyx->fkcjyx", self.weights[name], self.get_buffer(f"basis_{name}"))
        kernel: Tensor = made.flatten(0, 1).flatten(1, 2)
        return kernel

    def forward(self, u: Image) -> Responses:
        return torch.nn.functional.conv2d(mirror(u, self.radius), self.kernel(u.dtype))[:, None, None]

    def adjoint(self, v: Responses) -> Image:
        return fold(torch.nn.functional.conv_transpose2d(v[:, 0, 0], self.kernel(v.dtype)), self.radius)

    def symbol(self, *theta: Tensor) -> Tensor:
        # As for a steerable map: the largest eigenvalue of the matrix that K* K is for a wave.
        theta_y, theta_x = torch.broadcast_tensors(*theta)
        steps = torch.arange(-self.radius, self.radius + 1, dtype=torch.float64)
        waves = torch.exp(1j * (theta_y[..., None, None] * steps[:, None] + theta_x[..., None, None] * steps))
        matrix = torch.einsum("kcyx,...yx->...kc", self.kernel().detach().cpu().to(torch.complex128), waves)
        largest: Tensor = torch.linalg.eigvalsh(matrix.mH @ matrix)[..., -1]
        return largest

    def extra_repr(self) -> str:
        return f"stream={self.stream}, fields={self.fields}, size={self.size}"


def _products(n: int, m: int, size: int, frequency: float, handed: bool) -> Tensor:
    r"""All products of a stencil with a field of order m that have order n, as real kernels ``(p, k_n, k_m, y, x)``."""
    factors = (1, 1j) if handed and (n or m) else (1,)
    found = [_real(factor * _stencils(n - m, size, frequency), 1.0) for factor in factors]
    if n and m:
        found += [_real(factor * _stencils(n + m, size, frequency), -1.0) for factor in factors]
    return torch.cat(found)[:, : 1 + (n > 0), : 1 + (m > 0)]


def _stencils(order: int, size: int, frequency: float) -> Tensor:
    """Complex stencils ``(p, y, x)`` of a positive or negative order; none where the size has none."""
    if size == 1 and order:
        return torch.zeros(0, 1, 1, dtype=torch.complex128)
    taps = steerable_stencils(abs(order), size, 1 if size == 1 else None, frequency).taps
    imaginary = torch.zeros_like(taps[:, 0]) if order == 0 else taps[:, 1]
    return torch.complex(taps[:, 0], -imaginary if order < 0 else imaginary)


def _real(taps: Tensor, sign: float) -> Tensor:
    """The product with a complex number, or with its conjugate for a sign of -1, as 2x2 matrices of real kernels."""
    rows = (torch.stack([taps.real, -sign * taps.imag], 1), torch.stack([taps.imag, sign * taps.real], 1))
    return torch.stack(rows, 1)
