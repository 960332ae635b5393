"""The shape vocabulary, defined once. All tensors are plain; the letters name their axes."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from torch import Tensor

Image: TypeAlias = Tensor
"""``(n, c, y, x)``: batch, image channels, rows, columns; of a volume ``(n, c, z, y, x)``, with its slices before.

The column index ``x`` is axis -1, the row index ``y`` axis -2, the index of slices ``z`` axis -3. *Direction* 0 is x,
1 is y, 2 is z.
"""

Responses: TypeAlias = Tensor
"""``(n, c, s, k, y, x)``: batch, image channels, scales, operator channels, rows, columns (of cells or pixels).

Of a volume ``(n, c, s, k, z, y, x)``.
"""


class Spacing(tuple[float, ...]):
    """Pixel sizes ``(h_y, h_x)`` or voxel sizes ``(h_z, h_y, h_x)``, in the order of the axes.

    Made of one number it serves images and volumes alike: it reads as a pair, its ``dimension`` is None, and
    :meth:`along` gives it the length that is needed.

    >>> Spacing([2.0, 0.5, 0.5]).dimension, Spacing([2.0]).along(3)
    (3, (2.0, 2.0, 2.0))
    """

    dimension: int | None

    def __new__(cls, sizes: Iterable[float]) -> "Spacing":
        """One number for every axis, or one per axis."""
        given = tuple(sizes)
        new = super().__new__(cls, given * 2 if len(given) == 1 else given)
        new.dimension = None if len(given) == 1 else len(given)
        return new

    def __getnewargs__(self) -> tuple[tuple[float, ...]]:
        return (tuple(self) if self.dimension else tuple(self)[:1],)

    def along(self, dimension: int) -> tuple[float, ...]:
        """One size for each axis."""
        return (self[0],) * dimension if self.dimension is None else tuple(self)


SpacingLike: TypeAlias = Spacing | Sequence[float] | float
"""What users give as spacing: one number, ``(h_y, h_x)`` or ``(h_z, h_y, h_x)``."""
