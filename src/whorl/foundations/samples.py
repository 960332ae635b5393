"""The samples of an image: in which float type they are filtered, and how a result becomes samples again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import ShapeError


def working_dtype(dtype: np.dtype[Any], caller: str = "filter") -> np.dtype[Any]:
    """The float type in which samples of this type are filtered: float64 for what float32 cannot hold exactly.

    >>> working_dtype(np.dtype("uint16")), working_dtype(np.dtype("int32"))
    (dtype('float32'), dtype('float64'))
    """
    if dtype.kind not in "uif" or dtype.itemsize > 8:
        raise ShapeError(
            f"{caller}: cannot filter samples of type {dtype}. Convert to a real number type first, for example "
            "with image.astype(float)."
        )
    wide = dtype.itemsize > 2 and dtype != np.float32
    return np.dtype(np.float64 if wide else np.float32)


def rounded(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """``values`` in the given type; integers are rounded half to even and clipped to their range.

    >>> rounded(np.array([-3.0, 2.5, 300.0]), np.dtype("u1"))
    array([  0,   2, 255], dtype=uint8)
    """
    if dtype.kind == "f":
        return values.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    # float64 holds the limits of 32 bits exactly, float32 does not
    whole: NDArray[Any] = np.rint(values if dtype.itemsize <= 2 else values.astype(np.float64, copy=False))
    top = np.asarray(limits.max, whole.dtype)
    if int(top) > limits.max:  # the largest 64-bit integers have no float of their own: stop at the float below
        top = np.nextafter(top, whole.dtype.type(0))
    np.clip(whole, limits.min, top, out=whole)  # before the cast, which would wrap around
    result: NDArray[Any] = whole.astype(dtype)
    return result
