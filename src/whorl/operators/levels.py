r"""From a level of a pyramid to the next coarser one, and back by the adjoint.

Along an axis of even length two pixels become one by the binomial weights (1, 3, 3, 1)/8, centred between them; along
one of odd length every second pixel is kept, beginning with the first, after (1, 2, 1)/4. Both look the same from
either end, so that quarter turns and mirror images carry over exactly for any size of the picture. The way back is the
adjoint times 2 for each axis, linear interpolation. It keeps constants, but for the first and the last pixel of an axis
of odd length, which the mirrored border makes 1.5 times as large: their coarse pixel lies on them, and not beside them.
"""

from functools import lru_cache

import torch
from torch import Tensor

from whorl.foundations.types import Image
from whorl.operators.boundary import fold, mirror


def coarser(u: Image) -> Image:
    """The picture on the next coarser level; sizes are halved and rounded up.

    >>> coarser(torch.ones(1, 1, 6, 5)).shape
    torch.Size([1, 1, 3, 3])
    """
    return torch.nn.functional.conv2d(mirror(u, 1), _weights(u, *u.shape[2:]), stride=2, groups=u.shape[1])


def finer(v: Image, size: tuple[int, int]) -> Image:
    """The picture on the next finer level, which has this size: 4 times the adjoint of :func:`coarser`.

    >>> finer(torch.ones(1, 1, 3, 3), (6, 6))[0, 0, 0]
    tensor([1., 1., 1., 1., 1., 1.])
    """
    spread = torch.nn.functional.conv_transpose2d(v, 4 * _weights(v, *size), stride=2, groups=v.shape[1])
    return fold(spread, 1)


def _weights(u: Tensor, *size: int) -> Tensor:
    """The weights of a level of this size, one copy for each channel: ``(c, 1, 3 or 4, 3 or 4)``."""
    return _product(size[0] % 2, size[1] % 2, u.dtype, u.device).expand(u.shape[1], 1, -1, -1)


@lru_cache(maxsize=64)  # numbers cannot be brought to a device while a CUDA graph is recorded
def _product(odd_rows: int, odd_columns: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    rows, columns = (torch.tensor([1.0, 2, 1] if odd else [1.0, 3, 3, 1]) for odd in (odd_rows, odd_columns))
    return torch.outer(rows / rows.sum(), columns / columns.sum()).to(device, dtype)
