"""The shape vocabulary, defined once. All tensors are plain; the letters name their axes."""

from typing import TypeAlias

from torch import Tensor

Image: TypeAlias = Tensor
"""``(n, c, y, x)``: batch, image channels, rows, columns. Row index ``y`` is axis -2, column index ``x`` axis -1."""

Responses: TypeAlias = Tensor
"""``(n, c, s, k, y, x)``: batch, image channels, scales, operator channels, rows, columns (of cells or pixels)."""

Spacing: TypeAlias = tuple[float, float]
"""``(h_y, h_x)``: the pixel size along each axis, in the order of the axes."""
