"""Smaller copies of a picture or volume, for viewers: each sample the mean of those it stands for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.foundations.samples import rounded

__all__ = ["reduced"]


def reduced(finer: Any, region: Sequence[slice], shape: Sequence[int]) -> NDArray[Any]:
    """A region of the array ``finer`` shrunk to ``shape``: along every axis the mean of as many as fall together.

    >>> reduced(np.array([[0, 2, 8], [4, 2, 8]], np.uint8), (slice(0, 1), slice(0, 2)), (1, 2))
    array([[2, 8]], dtype=uint8)
    """
    factors = [max(1, round(have / want)) for have, want in zip(finer.shape, shape, strict=True)]
    bounds = [
        (min(part.start * factor, size - 1), min(part.stop * factor, size))
        for part, factor, size in zip(region, factors, finer.shape, strict=True)
    ]
    block = np.asarray(finer[tuple(slice(*pair) for pair in bounds)]).astype(np.float64)
    wanted = [(part.stop - part.start) * factor for part, factor in zip(region, factors, strict=True)]
    block = np.pad(block, [(0, want - have) for want, have in zip(wanted, block.shape, strict=True)], mode="edge")
    split = [number for want, factor in zip(wanted, factors, strict=True) for number in (want // factor, factor)]
    mean = block.reshape(split).mean(axis=tuple(range(1, 2 * len(factors), 2)))
    return rounded(mean, np.dtype(finer.dtype).newbyteorder("="))
