"""One independent stream of random numbers for each purpose, split, seed and image.

Philox is a counter-based generator: a stream is its key, not a position in someone else's stream. Drawing more images,
or other things before them, changes nothing.
"""

from typing import Literal, get_args

import numpy as np

__all__ = ["Split", "stream"]

Split = Literal["train", "validation", "test"]
_PURPOSES = ("scene", "noise", "order")


def stream(purpose: str, split: Split, seed: int, index: int) -> np.random.Generator:
    """Generator for one purpose (``"scene"``, ``"noise"`` or ``"order"``), split, seed and image number."""
    if split not in get_args(Split):
        raise ValueError(f"stream(split={split!r}): choose one of {get_args(Split)}.")
    if purpose not in _PURPOSES:
        raise ValueError(f"stream(purpose={purpose!r}): choose one of {_PURPOSES}.")
    if seed < 0 or index < 0:
        raise ValueError(f"stream(seed={seed}, index={index}): both must be at least 0.")
    key = [_PURPOSES.index(purpose), get_args(Split).index(split), seed, index]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))
