"""Seeded degradations."""

import numpy as np
import torch

from whorl.data.seeds import Split, stream

__all__ = ["gaussian_noise"]


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
