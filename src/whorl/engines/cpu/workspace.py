"""Memory for kernels, and the view they have of tensors.

Room for the fields of a strip is kept between calls: fresh memory costs a page fault every 4 kB, as much as the work.
Every thread has its own. Room beyond ``KEPT`` bytes is given back at once.
"""

import threading
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

KEPT = 2**26

LINE = 64

_local = threading.local()


def room(sizes: tuple[int, ...], dtype: np.dtype[Any], of: str = "") -> list[np.ndarray[Any, Any]]:
    """Uninitialised arrays of these sizes, valid until this thread asks again, ``of`` the same."""
    total = sum(sizes)
    kept: np.ndarray[Any, Any] | None = getattr(_local, dtype.char + of, None)
    if kept is None or kept.size < total:
        kept = _aligned(total, dtype)
        if kept.nbytes <= KEPT:
            setattr(_local, dtype.char + of, kept)
    ends = list(accumulate(sizes))
    return [kept[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def fresh(like: Tensor) -> Tensor:
    """An uninitialised tensor of the same kind. NumPy asks for huge pages where it is large: far fewer page faults."""
    return torch.from_numpy(np.empty(like.shape, like.numpy().dtype))


def turns(u: Tensor, out: Tensor | None, count: int, back: int) -> list[Tensor]:
    """Where ``count`` steps put their results, of which the last is fresh, or ``out``.

    The others take turns in room that this thread keeps; each step reads the results of the last ``back`` steps.
    """
    between = room((u.numel(),) * min(back, count - 1), u.numpy().dtype, "images")
    images = [torch.from_numpy(each).view(u.shape) for each in between]
    return [images[k % back] for k in range(count - 1)] + [fresh(u) if out is None else out] * min(count, 1)


def flat(u: Tensor) -> np.ndarray[Any, Any]:
    """The values of a contiguous tensor, as kernels take them."""
    return u.numpy().reshape(-1)


def precision(u: Tensor) -> str:
    """In which precision kernels compute."""
    return "float32" if u.dtype == torch.float32 else "float64"


def _aligned(size: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array that starts on a line of the caches."""
    extra = LINE // dtype.itemsize
    whole = np.empty(size + extra, dtype)
    skip = -whole.ctypes.data % LINE // dtype.itemsize
    return whole[skip : skip + size]
