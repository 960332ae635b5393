"""Seeded random numbers, and the noise made of them."""

from typing import Literal, get_args

import numpy as np
import torch

Split = Literal["train", "validation", "test"]
_PURPOSES = ("scene", "noise", "order")


def stream(purpose: str, split: Split, seed: int, index: int) -> np.random.Generator:
    """Generator for one purpose (``"scene"``, ``"noise"`` or ``"order"``), split, seed and image number.

    Philox is a counter-based generator: a stream is its key, not a position in someone else's stream. Drawing more
    images, or other things before them, changes nothing.
    """
    if split not in get_args(Split):
        raise ValueError(f"stream(split={split!r}): choose one of {get_args(Split)}.")
    if purpose not in _PURPOSES:
        raise ValueError(f"stream(purpose={purpose!r}): choose one of {_PURPOSES}.")
    if seed < 0 or index < 0:
        raise ValueError(f"stream(seed={seed}, index={index}): both must be at least 0.")
    key = [_PURPOSES.index(purpose), get_args(Split).index(split), seed, index]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))


def gaussian_noise(
    count: int, shape: tuple[int, ...], deviation: float, split: Split = "test", seed: int = 0
) -> torch.Tensor:
    """White Gaussian noise ``(count, *shape)``, float32, mean 0 and the given standard deviation; never clipped.

    Each image has its own stream, so noise ``i`` does not depend on ``count``.

    >>> bool((gaussian_noise(1, (4, 4), 60.0) == gaussian_noise(3, (4, 4), 60.0)[:1]).all())
    True
    """
    if deviation < 0:
        raise ValueError(f"gaussian_noise(deviation={deviation}): a standard deviation is at least 0.")
    drawn = [stream("noise", split, seed, i).standard_normal(shape) for i in range(count)]
    return torch.from_numpy((deviation * np.stack(drawn)).astype(np.float32))
