"""Room for the fields of a strip, kept between calls: fresh memory costs a page fault every 4 kB, as much as the work.

Every thread has its own. Room beyond ``KEPT`` bytes is given back at once.
"""

import threading
from typing import Any

import numpy as np

__all__ = ["room"]

KEPT = 2**26

_local = threading.local()


def room(sizes: tuple[int, ...], dtype: np.dtype[Any]) -> list[np.ndarray[Any, Any]]:
    """Uninitialised arrays of these sizes, valid until this thread asks again."""
    total = sum(sizes)
    kept: np.ndarray[Any, Any] | None = getattr(_local, dtype.name, None)
    if kept is None or kept.size < total:
        kept = np.empty(total, dtype)
        if kept.nbytes <= KEPT:
            setattr(_local, dtype.name, kept)
    ends = np.cumsum(sizes)
    return [kept[end - size : end] for size, end in zip(sizes, ends, strict=True)]
