r"""Linear operators :math:`K` as objects that can be applied, transposed, composed, stacked and scaled.

An operator maps an image ``(n, c, y, x)`` to responses ``(n, c, s, k, y, x)``, and a volume with one more axis each.
The response space carries a weighted inner product :math:`\langle v, w \rangle = \sum \omega_s W_{yx}\, v\, w`: cells
on the border of the image count 1/2 and corner cells 1/4, because they are shared with the mirror image, and scale
:math:`s` counts :math:`\omega_s`. ``adjoint`` is the exact adjoint in this product, for arbitrary arguments.

The tensor decides whether an operator acts in the plane or in space; one that was given a spacing of two or three
numbers, or that exists in the plane alone, has a ``dimension``.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Image, Responses, Spacing
from whorl.operators.derivative import Derivative
from whorl.operators.symbol import maximum_bound


class Operator(nn.Module, ABC):
    """Base of all operators from images to responses.

    A subclass gives ``forward``, ``adjoint``, ``symbol`` and ``degree``; the norm follows from the symbol.

    >>> import torch, whorl
    >>> K = whorl.operators.CellGradient()
    >>> isinstance(K, whorl.operators.Operator), K.squared_norm_bound()
    (True, 4.0)
    """

    if TYPE_CHECKING:  # torch leaves the type of a call open

        def __call__(self, u: Tensor) -> Tensor: ...

    spacing: Spacing = Spacing([1.0])
    """The pixel or voxel size along each axis."""

    _bounds: dict[int, tuple[tuple[float, ...], float]]

    def __init__(self) -> None:
        super().__init__()
        self._bounds = {}

    @abstractmethod
    def forward(self, u: Image) -> Responses:
        """The responses ``K u``."""

    @abstractmethod
    def adjoint(self, v: Responses) -> Image:
        """The image ``K* v``, adjoint in the weighted inner product, for arbitrary ``v``."""

    @abstractmethod
    def symbol(self, *theta: Tensor) -> Tensor:
        """The eigenvalue of ``K* K`` at a frequency, one angle per axis (real, not negative)."""

    @property
    @abstractmethod
    def degree(self) -> int:
        """The degree of the symbol as a trigonometric polynomial, per axis: one less than the stencil has taps."""

    @property
    def reach(self) -> int:
        """How many pixels around a pixel ``K* Phi(K u)`` looks at, on either side; that is the degree."""
        return self.degree

    @property
    def orders(self) -> tuple[int, ...]:
        """The angular orders of the responses in the plane.

        When the image turns by an angle, a field of order ``m`` turns by ``m`` times that angle: a Laplacian has the
        order 0, a gradient 1, a Hessian 0 (its trace) and 2 (the rest).
        """
        return (0,)

    @property
    def axes(self) -> int:
        """How many directions the operator channels belong to; channel ``k`` belongs to direction ``k % axes``.

        Channels are derivatives along x and y; for the highest order ``m`` there are ``2 ** m`` of them.
        """
        return int(2 ** max(self.orders))

    @property
    def bare(self) -> "Operator":
        """The operator alone, without the Gaussians before it."""
        return self

    @property
    def dimension(self) -> int | None:
        """2 or 3 where the operator acts on images or on volumes alone; None where the tensor decides."""
        return self.spacing.dimension

    def settle(self, dimension: int | None = None) -> int:
        """The dimension that is meant: the operator's own, or the one asked for, or the plane."""
        own = self.dimension
        if None not in (own, dimension) and own != dimension:
            raise ValueError(f"{type(self).__name__}: acts in {own} dimensions, asked about {dimension}.")
        return own or dimension or 2

    def parts(self, dimension: int) -> Derivative | None:
        """What the operator is made of in so many dimensions; None where it is more than a derivative after Gaussians.

        Engines, export and page work from it, none of them from the class. A subclass with a ``forward`` of its own
        counts as something else, unless its ``_parts`` say what it is made of.
        """
        by = {name: next(each for each in type(self).__mro__ if name in vars(each)) for name in ("forward", "_parts")}
        known = issubclass(by["_parts"], by["forward"]) and self.dimension in (None, dimension)
        return self._parts(dimension) if known else None

    def _parts(self, dimension: int) -> Derivative | None:
        return None

    def numbers(self) -> tuple[Tensor | None, Tensor | None]:
        """The weights of its scales: omega in the inner product, and beta; None for an operator without scales."""
        return None, None

    def squared_norm_bound(self, dimension: int | None = None) -> float:
        r"""A proven bound :math:`\|K\|^2 \le` this number; found once for each state of the trained weights."""
        dimension = self.settle(dimension)
        state = tuple(value for parameter in self.parameters() for value in parameter.detach().flatten().tolist())
        if dimension not in self._bounds or self._bounds[dimension][0] != state:
            with torch.no_grad():
                self._bounds[dimension] = (state, maximum_bound(self.symbol, self.degree, dimension))
        return self._bounds[dimension][1]

    def scale_weights(self, like: Tensor) -> Tensor:
        """The weights of the scales in the inner product, shaped to multiply responses like the given ones."""
        return per_scale(torch.ones(1), like)

    def cell_weights(self, v: Responses) -> Tensor:
        """The weights ``W`` of the positions, shaped ``(y, x)`` or ``(z, y, x)``."""
        return torch.ones(v.shape[4:], dtype=v.dtype, device=v.device)

    def inner(self, v: Responses, w: Responses) -> Tensor:
        """The weighted inner product of two responses."""
        return (v * w * self.scale_weights(v) * self.cell_weights(v)).sum()

    def __rmul__(self, factor: float) -> "Scaled":
        return Scaled(self, factor)


def per_scale(values: Tensor, like: Tensor) -> Tensor:
    """One number per scale, shaped ``(1, 1, s, 1, 1, 1)`` to multiply responses in the plane, one more in space."""
    return values.to(like).view(1, 1, -1, *[1] * max(like.dim() - 3, 3))


class Around(Operator):
    """Base of operators that are built around another one, and that respond like it unless they say otherwise."""

    def __init__(self, operator: Operator) -> None:
        super().__init__()
        self.operator, self.spacing = operator, operator.spacing

    @property
    def bare(self) -> Operator:
        return self.operator.bare

    def scale_weights(self, like: Tensor) -> Tensor:
        return self.operator.scale_weights(like)

    def cell_weights(self, v: Responses) -> Tensor:
        return self.operator.cell_weights(v)

    @property
    def radius(self) -> int:
        """How many pixels on either side are looked at before the other operator is applied."""
        return 0

    @property
    def degree(self) -> int:
        return self.operator.degree + 2 * self.radius

    @property
    def orders(self) -> tuple[int, ...]:
        return self.operator.orders

    @property
    def axes(self) -> int:
        return self.operator.axes


class Scaled(Around):
    """A multiple of an operator: ``2.0 * K``.

    >>> from whorl.operators import CellGradient
    >>> (2.0 * CellGradient()).squared_norm_bound() == 4 * CellGradient().squared_norm_bound()
    True
    """

    def __init__(self, operator: Operator, factor: float) -> None:
        super().__init__(operator)
        self.factor = float(factor)

    def forward(self, u: Image) -> Responses:
        response: Tensor = self.operator(u)
        return self.factor * response

    def adjoint(self, v: Responses) -> Image:
        return self.factor * self.operator.adjoint(v)

    def symbol(self, *theta: Tensor) -> Tensor:
        return self.factor**2 * self.operator.symbol(*theta)

    def squared_norm_bound(self, dimension: int | None = None) -> float:
        return self.factor**2 * self.operator.squared_norm_bound(dimension)


class Stacked(Operator):
    """Several operators side by side as the operator channels of one.

    All must respond on the same grid (all on cells, or all on pixels), with the same scales.

    >>> import torch, whorl
    >>> K = whorl.operators.CellGradient()
    >>> whorl.operators.Stacked([K, K])(torch.zeros(1, 1, 8, 8)).shape
    torch.Size([1, 1, 1, 8, 9, 9])
    """

    def __init__(self, operators: Sequence[Operator]) -> None:
        super().__init__()
        if not operators:
            raise ValueError("Stacked: expected at least one operator, got none.")
        self.operators = nn.ModuleList(operators)
        self.spacing = next((K.spacing for K in operators if K.dimension), operators[0].spacing)
        if len({K.dimension for K in operators} - {None}) > 1:
            raise ValueError("Stacked: some operators act on images, others on volumes. Give all the same spacing.")
        probe = torch.zeros(1, 1, *[3] * self.settle(), dtype=torch.float64)
        shapes = {tuple(operator(probe).shape[4:]) for operator in operators}
        if len(shapes) > 1:
            raise ValueError(
                f"Stacked: the operators respond on different grids, {sorted(shapes)} on three pixels each way. "
                "Stack cell operators with cell operators and pixel operators with pixel operators."
            )
        scales = {tuple(operator.scale_weights(probe).flatten().tolist()) for operator in operators}
        if len(scales) > 1:
            raise ValueError(
                f"Stacked: the operators weigh their scales differently, {sorted(scales)}. Give all the same sampling."
            )

    def _members(self) -> list[Operator]:
        return [operator for operator in self.operators if isinstance(operator, Operator)]

    def forward(self, u: Image) -> Responses:
        return torch.cat([operator(u) for operator in self._members()], dim=3)

    def adjoint(self, v: Responses) -> Image:
        probe = v.new_zeros(1, 1, *[3] * (v.dim() - 4))
        sizes = [operator(probe).shape[3] for operator in self._members()]
        parts = zip(self._members(), v.split(sizes, dim=3), strict=True)
        return ordered_sum(operator.adjoint(part) for operator, part in parts)

    def symbol(self, *theta: Tensor) -> Tensor:
        return torch.stack([operator.symbol(*theta) for operator in self._members()]).sum(0)

    def scale_weights(self, like: Tensor) -> Tensor:
        return self._members()[0].scale_weights(like)

    def cell_weights(self, v: Responses) -> Tensor:
        return self._members()[0].cell_weights(v)

    @property
    def degree(self) -> int:
        return max(operator.degree for operator in self._members())

    @property
    def orders(self) -> tuple[int, ...]:
        return tuple(order for operator in self._members() for order in operator.orders)

    @property
    def axes(self) -> int:
        """Channels of different operators share no direction."""
        return 1
