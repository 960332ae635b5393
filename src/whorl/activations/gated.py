"""A coupled activation with a learned matrix: every field times one number computed from all invariants."""

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor, nn

from whorl.errors import ShapeError
from whorl.foundations.types import Responses
from whorl.operators.boundary import along, mirror
from whorl.operators.steerable import CONVOLUTION
from whorl.operators.stencils import component_count

LARGEST = 24.0  # of the logarithm of a squared contrast: beyond it numbers would overflow and say nothing more


def components(orders: Sequence[int], dimension: int = 2) -> list[int]:
    """For every operator channel the number of the field it belongs to: one for order 0, two for others in the plane.

    >>> components((0, 0, 1, 2)), components((0, 1), dimension=3)
    ([0, 1, 2, 2, 3, 3], [0, 1, 1, 1])
    """
    return [field for field, order in enumerate(orders) for _ in range(component_count(order, dimension))]


class Gated(nn.Module):
    r"""Each field times a number in [0, 1] that all fields decide upon together.

    .. math:: \Phi(v)_f = \sigma\Big(\sum_h A_{fh}\, a_h + b_f + c_f\, t\Big)\, v_f, \qquad
              a_h = \begin{cases} e^{-d_h t}\, B_\rho v_h & \text{order } 0 \\
              \log\big(1 + e^{-2 d_h t}\, \lambda_h^{-2}\, B_\rho |v_h|^2\big) & \text{other orders} \end{cases}

    with the logistic function :math:`\sigma`. The numbers :math:`a_h` do not change when the picture turns, so neither
    does the gate (Design Principle 1); the matrix :math:`A` couples all channels (Design Principle 2, with learned
    weights). :math:`B_\rho` is a binomial filter of radius :math:`\rho`: it removes what aliases when fields are
    squared, as smoothing the structure tensor does. :math:`t` is a number given from outside, the logarithm of the
    noise level: with :math:`d_h = 1`, where training begins, gates see everything in units of the noise. A second
    number :math:`r`, the correlation of the noise between neighbours, enters in the same way, as :math:`c'_f\, r`
    beside :math:`c_f\, t` and :math:`d'_h\, r` beside :math:`d_h\, t`; for white noise it is 0.

    Parameters
    ----------
    orders : sequence of int
        The angular order of every field, as an operator's ``orders`` names them.
    rho : int
        Radius of the binomial filter in pixels; 0 leaves it out.
    repetitions : int
        How many own biases :math:`b` there are, for a block that is applied several times.
    levelled : bool
        Whether a level :math:`t` is given; only then there are :math:`c` and :math:`d`.
    correlated : bool
        Whether the correlation :math:`r` is given beside it; only then there are :math:`c'` and :math:`d'`, which begin
        with zeros.
    contrast : float
        Starting value of every :math:`\lambda_h`.
    dimension : int
        2 for pictures, 3 for volumes, where fields have 1, 3, 5, ... components.

    Guarantees
    ----------
    multipliers in [0, 1], so that :math:`|\Phi(v)| \le |v|` for any weights; quarter turns and mirror images carry over
    exactly; smooth everywhere, gradients are finite on flat images.
    """

    def __init__(
        self,
        orders: Sequence[int],
        rho: int = 0,
        repetitions: int = 1,
        *,
        levelled: bool = False,
        correlated: bool = False,
        contrast: float = 0.05,
        dimension: int = 2,
    ) -> None:
        super().__init__()
        if not orders or min(orders) < 0 or list(orders) != sorted(orders):
            raise ValueError(f"Gated(orders={tuple(orders)}): expected orders of at least 0, lowest first.")
        if rho < 0 or repetitions < 1 or not contrast > 0:
            raise ValueError(f"Gated(rho={rho}, repetitions={repetitions}, contrast={contrast}): out of range.")
        if correlated and not levelled:
            raise ValueError("Gated(correlated=True): needs levelled=True; a correlation is told beside a level.")
        self.orders, self.rho, self.dimension = tuple(orders), rho, dimension
        self.scalars = sum(order == 0 for order in orders)
        fields = len(self.orders)
        self.matrix = nn.Parameter(torch.randn(fields, fields) / fields**0.5)
        self.bias = nn.Parameter(torch.zeros(repetitions, fields))
        if levelled:
            self.level = nn.Parameter(torch.zeros(fields))
            self.units = nn.Parameter(torch.ones(fields))
        if correlated:
            self.correlation = nn.Parameter(torch.zeros(fields))
            self.correlation_units = nn.Parameter(torch.zeros(fields))
        self.levelled, self.correlated = levelled, correlated
        powers = [1.0 if order == 0 else 2.0 for order in orders]
        self.register_buffer("powers", torch.tensor(powers), persistent=False)
        self.log_contrast = nn.Parameter(torch.full((fields - self.scalars,), contrast).log())
        owner = torch.nn.functional.one_hot(torch.tensor(components(orders, dimension)), fields)
        self.register_buffer("spread", owner.to(torch.get_default_dtype()), persistent=False)

    def forward(self, v: Responses, bias: Tensor | None = None, level: Tensor | None = None) -> Responses:
        """The flux; ``bias`` is one of the rows of ``self.bias``, ``level`` a number or a map ``(n, 1, y, x)``.

        Gates that are told the correlation take it as the second channel of ``level``.
        """
        if v.dim() != 4 + self.dimension or v.shape[3] != len(self.get_buffer("spread")):
            expected = len(self.get_buffer("spread"))
            raise ShapeError(f"Gated: expected {expected} operator channels, got shape {tuple(v.shape)}.")
        if (level is not None) != self.levelled:
            raise ValueError(f"Gated(levelled={self.levelled}): a level is {'missing' if self.levelled else 'given'}.")
        fields = v[:, 0, 0]
        if self.dimension == 3:
            return self.inside(mirror(fields, self.rho), bias, level)[:, None, None]
        return (self.gates(fields, bias, level) * fields)[:, None, None]

    def inside(self, v: Tensor, bias: Tensor | None = None, level: Tensor | None = None) -> Tensor:
        """The flux of fields ``(n, k, z, y, x)`` of volumes at all voxels with ``rho`` neighbours on either side.

        The channels of a voxel lie side by side in memory, and every gate is computed once for its field.
        """
        first, spread, d = self.scalars, self.get_buffer("spread").to(v.dtype), self.dimension
        fields, linear = v.movedim(1, -1), torch.nn.functional.linear
        s2 = linear(fields[..., first:].square(), spread[first:, first:].mT)
        seen, scale = torch.cat([fields[..., :first], s2], -1), self.scale(level).movedim(1, -1)
        for axis in [*range(1, 1 + d)] * (2 * self.rho):  # a binomial filter is sums of neighbours, of neighbours ...
            size = seen.shape[axis] - 1
            seen = seen.narrow(axis, 0, size) + seen.narrow(axis, 1, size)
        seen = seen * (0.25 ** (d * self.rho) * scale).to(v.dtype)
        seen[..., first:].log1p_()
        gates = linear(seen, self.matrix.to(v.dtype)).add_(self.offset(bias, level).movedim(1, -1)).sigmoid_()
        own = [slice(self.rho, size - self.rho) for size in v.shape[2:]]
        return (linear(gates, spread) * fields[(slice(None), *own)]).movedim(-1, 1)

    def gates(self, v: Tensor, bias: Tensor | None = None, level: Tensor | None = None) -> Tensor:
        """The multiplier of every operator channel, ``(n, k, y, x)``."""
        spread = self.get_buffer("spread")  # all components of a field get the same multiplier
        matrix, mixed = (spread @ self.matrix).to(v.dtype), CONVOLUTION[self.dimension]
        offset = mixed(self.offset(bias, level), self._at_a_point(spread)).to(v.dtype)
        return (mixed(self.invariants(v, level), self._at_a_point(matrix)) + offset).sigmoid()

    def _at_a_point(self, numbers: Tensor) -> Tensor:
        """Numbers with one axis more for every direction of space."""
        return numbers.view(*numbers.shape, *[1] * self.dimension)

    def offset(self, bias: Tensor | None = None, level: Tensor | None = None) -> Tensor:
        """The number of every field that its gate adds, :math:`b_f + c_f t`: ``(n, fields, y, x)``."""
        own = self._at_a_point((self.bias[0] if bias is None else bias)[None])
        return own if level is None else own + self._told(level, self.level, "correlation")

    def scale(self, level: Tensor | None = None) -> Tensor:
        """What every invariant is multiplied with: ``(n, fields, y, x)``."""
        factor = self._at_a_point(torch.cat([self.log_contrast.new_zeros(self.scalars), 2 * self.log_contrast])[None])
        if level is not None:
            powers = self.get_buffer("powers")
            factor = factor + self._told(level, powers * self.units, "correlation_units", powers)
        return (-factor.clamp(-LARGEST, LARGEST)).exp()

    def _told(self, level: Tensor, slope: Tensor, second: str, powers: Tensor | float = 1.0) -> Tensor:
        """What the level and the correlation beside it add to a number of every field."""
        if not self.correlated:
            return self._at_a_point(slope[None]) * level
        other: Tensor = powers * getattr(self, second)
        return self._at_a_point(slope[None]) * level[:, :1] + self._at_a_point(other[None]) * level[:, 1:]

    def invariants(self, v: Tensor, level: Tensor | None = None) -> Tensor:
        """What the gates look at: ``(n, fields, y, x)``, unchanged by turns of the picture."""
        parts, begin = [v[:, : self.scalars]], self.scalars
        for count, group in groupby(component_count(order, self.dimension) for order in self.orders[self.scalars :]):
            end = begin + count * len(list(group))
            first, *others = v[:, begin:end].unflatten(1, (-1, count)).unbind(2)
            parts.append(sum((other.square() for other in others), first.square()))
            begin = end
        s2 = self._smoothed(torch.cat(parts, dim=1))
        scaled = s2 * self.scale(level).to(v.dtype)
        return torch.cat([scaled[:, : self.scalars], torch.log1p(scaled[:, self.scalars :])], dim=1)

    def _smoothed(self, u: Tensor) -> Tensor:
        for _ in range(self.rho):
            for axis in range(-1, -1 - self.dimension, -1):
                wide = mirror(u, *(int(k == axis) for k in range(-self.dimension, 0)))
                u = 0.5 * u + 0.25 * (along(wide, axis, 0, -2) + along(wide, axis, 2))
        return u

    def extra_repr(self) -> str:
        return f"orders={self.orders}, rho={self.rho}"
