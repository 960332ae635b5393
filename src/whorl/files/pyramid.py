"""Smaller copies of a picture, for viewers: each pixel the mean of two by two."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.foundations.samples import rounded

__all__ = ["halved"]


def halved(block: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The block ``(y, x, channel)`` at half its size; where a size is odd, the last pixel counts twice.

    >>> halved(np.array([[[1], [2], [5]], [[3], [4], [7]]], np.uint8), np.dtype("u1"))[..., 0]
    array([[2, 6]], dtype=uint8)
    """
    high, wide = block.shape[0] % 2, block.shape[1] % 2
    even = np.pad(block.astype(np.float64), ((0, high), (0, wide), (0, 0)), mode="edge")
    return rounded((even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4, dtype)
