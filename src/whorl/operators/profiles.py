r"""Steerable fields of several scales from one picture: an exact adjoint, and a norm proven for any factor of a field.

Where :class:`~whorl.operators.SteerableMap` mixes many channels with small stencils, this operator looks at one channel
with large ones: the most steerable stencils of 5 x 5 pixels, and Gaussians of three sizes times polynomials.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor, nn

from whorl.foundations.types import Image, Responses
from whorl.operators.boundary import fold, mirror
from whorl.operators.fields import Fielded
from whorl.operators.stencils import steerable_stencils

SIZE = 13
SCALES = (1.0, 1.5, 2.25)
BLOCK = 4  # pixels along a side that the adjoint computes as channels: one alone would leave vector units idle
_OVERSAMPLING = 16


class ProfileMap(Fielded):
    r"""Fields :math:`v_f = \sum_p w_{fp}\, S_p^{(m)} * u` of angular orders 0, 1, 2, ...; each channel for itself.

    The stencils :math:`S_p^{(m)}` are orthonormal for every order; those of order 0 have the sum 0, so that a constant
    has no response. One number :math:`w_{fp}` serves both components of a field, which keeps the invariance whatever is
    learned.

    Shapes: ``(n, c, y, x) -> (n, c, 1, k, y, x)``; fields of order 0 come first, then those of order 1 with their two
    components side by side, and so on.

    Parameters
    ----------
    fields : sequence of int
        How many fields of order 0, 1, 2, ...

    Guarantees
    ----------
    Exact adjoint for any weights; proven norm, also with a factor for each field; quarter turns and mirror images carry
    over exactly.

    Examples
    --------
    >>> K = ProfileMap((2, 3, 1))
    >>> K(torch.zeros(1, 1, 16, 16)).shape, K.orders
    (torch.Size([1, 1, 1, 10, 16, 16]), (0, 0, 1, 1, 1, 2))
    """

    size = SIZE

    def __init__(self, fields: Sequence[int]) -> None:
        super().__init__()
        if not fields or min(fields) < 0 or sum(fields) == 0:
            raise ValueError(f"ProfileMap(fields={tuple(fields)}): needs at least one field.")
        self.fields = tuple(fields)
        self.weights = nn.ParameterList()
        for order, count in enumerate(self.fields):
            taps = field_stencils(order).to(torch.get_default_dtype())
            # Kept with the weights: vectors found on another machine may differ in their last digits.
            self.register_buffer(f"taps_{order}", taps)
            turns = -(-count // len(taps))
            start = [torch.linalg.qr(torch.randn(len(taps), len(taps)))[0] for _ in range(max(turns, 1))]
            self.weights.append(nn.Parameter(torch.cat(start)[:count]))

    def kernel(self) -> Tensor:
        """All stencils, ``(k, size, size)``."""
        parts = [
            torch.einsum("fp,pkyx->fkyx", weight, self.get_buffer(f"taps_{order}")).flatten(0, 1)
            for order, weight in enumerate(self.weights)
        ]
        return torch.cat(parts)

    def forward(self, u: Image) -> Responses:
        wide = mirror(u.flatten(0, 1)[:, None], self.radius)
        basis = nn.functional.conv2d(wide, self._taps(u.dtype)[:, None]).split(self._sizes(), 1)
        v = [
            torch.einsum(
                "fp,npky->nfky", weight.to(u.dtype), part.view(len(wide), weight.shape[1], -1, u[0, 0].numel())
            )
            for weight, part in zip(self.weights, basis, strict=True)
        ]
        found: Tensor = torch.cat([part.flatten(1, 2) for part in v], 1)
        return found.view(*u.shape[:2], 1, self.responses, *u.shape[2:])

    def adjoint(self, v: Responses) -> Image:
        (height, width), radius = v.shape[4:], self.radius
        parts = v.reshape(-1, self.responses, height * width).split(self._counts(), 1)
        basis = [
            torch.einsum("fp,nfky->npky", weight.to(v.dtype), part.unflatten(1, (len(weight), -1))).flatten(1, 2)
            for weight, part in zip(self.weights, parts, strict=True)
        ]
        more = [-(size + 2 * radius) % BLOCK for size in (height, width)]
        sides = (2 * radius, 2 * radius + more[1], 2 * radius, 2 * radius + more[0])
        spread = nn.functional.pad(torch.cat(basis, 1).unflatten(2, (height, width)), sides)
        taps, last = self._taps(v.dtype).flip(1, 2), BLOCK - 1
        moved = [nn.functional.pad(taps, (x, last - x, y, last - y)) for y in range(BLOCK) for x in range(BLOCK)]
        wide = nn.functional.pixel_shuffle(nn.functional.conv2d(spread, torch.stack(moved), stride=BLOCK), BLOCK)
        whole = fold(wide[:, :, : height + 2 * radius, : width + 2 * radius], radius)
        found: Tensor = whole[:, 0].unflatten(0, v.shape[:2])
        return found

    def _taps(self, dtype: torch.dtype) -> Tensor:
        """All stencils that are mixed, ``(k, size, size)``: fewer than fields, so that these are convolved."""
        return torch.cat([self.get_buffer(f"taps_{m}").flatten(0, 1) for m in range(len(self.fields))]).to(dtype)

    def _sizes(self) -> list[int]:
        return [weight.shape[1] * (1 + (order > 0)) for order, weight in enumerate(self.weights)]

    def _counts(self) -> list[int]:
        return [count * (1 + (order > 0)) for order, count in enumerate(self.fields)]

    def symbol(self, *theta: Tensor) -> Tensor:
        steps = torch.arange(-self.radius, self.radius + 1, dtype=torch.float64)
        waves = [torch.exp(1j * angle[..., None] * steps) for angle in theta]
        kernel = self.kernel().detach().cpu().to(torch.complex128)
        return torch.einsum("kyx,...y,...x->k...", kernel, *waves).abs().square().sum(0)

    def powers(self, nodes: int) -> Tensor:
        """The squared responses of every field to waves, ``(fields, nodes, nodes // 2 + 1)``; differentiable."""
        squares = torch.fft.rfft2(self.kernel(), s=(nodes, nodes)).abs().square()
        scalars = self.fields[0]
        return torch.cat([squares[:scalars], squares[scalars::2] + squares[scalars + 1 :: 2]])

    @torch.no_grad()
    def scaled_norms(self, factors: Tensor) -> Tensor:
        r"""Proven bounds of :math:`\|\mathrm{diag}(a)\, K\|^2` for every row :math:`a` of factors, ``(rows, fields)``.

        The sum of squares is a trigonometric polynomial, looked at on a grid; see :mod:`whorl.operators.symbol`.
        """
        powers = self.powers(2 * _OVERSAMPLING * self.degree).double()
        largest = torch.stack([torch.einsum("f,fyx->yx", row.double().square(), powers).max() for row in factors])
        # The transform is in the precision of the weights: its rounding stays far below one part in a thousand.
        return largest / math.cos(math.pi / (2 * _OVERSAMPLING)) ** 2 * 1.001

    @property
    def responses(self) -> int:
        """Components of all fields together."""
        return 2 * sum(self.fields) - self.fields[0]

    def extra_repr(self) -> str:
        return f"fields={self.fields}"


@lru_cache(maxsize=16)
def field_stencils(order: int) -> Tensor:
    """Orthonormal stencils ``(p, 1 or 2, 13, 13)`` of an angular order, in float64; those of order 0 have the sum 0.

    >>> field_stencils(1).shape
    torch.Size([8, 2, 13, 13])
    """
    radius = SIZE // 2
    steps = torch.arange(-radius, radius + 1, dtype=torch.float64)
    z = torch.complex(steps.expand(SIZE, SIZE), steps[:, None].expand(SIZE, SIZE))
    parts = [nn.functional.pad(steerable_stencils(order, 5).taps, (radius - 2,) * 4)]
    for scale in SCALES:
        x = z.abs() ** 2 / scale**2
        for polynomial in (torch.ones_like(x), 1 + order - x):  # Laguerre's: degree 0 and 1
            kernel = z**order * polynomial * torch.exp(-0.5 * x)
            taps = kernel.real[None] if order == 0 else torch.stack([kernel.real, kernel.imag])
            parts.append((taps / taps.norm())[None])
    taps = torch.cat(parts)
    if order == 0:
        across = torch.linalg.svd(taps.sum((1, 2, 3))[None], full_matrices=True)[2]
        taps = torch.einsum("qp,pkyx->qkyx", across[1:], taps)
    _, lengths, rows = torch.linalg.svd(taps.flatten(1), full_matrices=False)
    found: Tensor = rows[lengths > 1e-3 * lengths[0]].view(-1, *taps.shape[1:]).contiguous()
    return found
