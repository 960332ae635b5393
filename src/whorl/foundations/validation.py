"""Checks at the public entries. Each message names the caller's value and the remedy; inside, code trusts its input."""

import math
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real
from typing import Any, cast

import torch
from torch import Tensor

from whorl.errors import ShapeError
from whorl.foundations.types import Spacing

_KINDS = {2: "an image (n, c, y, x)", 3: "a volume (n, c, z, y, x)"}
DIMENSIONS = tuple(_KINDS)
"""Images and volumes."""

SMALL = 2**20
"""Up to this many values one thread is faster than several, which must be woken first."""


def image(u: Any, caller: str, dimension: int | None = None) -> Tensor:
    """A floating-point image ``(n, c, y, x)`` or volume ``(n, c, z, y, x)`` without empty axes, or one of the two."""
    batched(u, caller, dimension)
    if u.dtype not in (torch.float32, torch.float64):
        raise ShapeError(
            f"{caller}: expected float32 or float64, got {u.dtype}. Convert with u.float(), "
            "or use whorl.diffuse, which filters integers in float and rounds back."
        )
    return cast(Tensor, u)


def batched(u: Any, caller: str, dimension: int | None = None) -> None:
    """A tensor with axes for pictures and channels before those of space."""
    if not isinstance(u, Tensor):
        raise ShapeError(
            f"{caller}: expected a torch tensor (n, c, y, x), got {type(u).__name__}. "
            "Use whorl.diffuse for NumPy arrays."
        )
    if u.dim() - 2 not in (DIMENSIONS if dimension is None else (dimension,)) or 0 in u.shape:
        kinds = [_KINDS[d] for d in DIMENSIONS if dimension in (None, d)]
        raise ShapeError(
            f"{caller}: expected {' or '.join(kinds)} with no empty axis, got shape {tuple(u.shape)}. "
            "Use u[None, None] for a single grey image, u[None] for one with channels (c, y, x)."
        )


def receiver(out: Any, u: Tensor, caller: str) -> Tensor:
    """A tensor that can take a result like ``u`` while ``u`` is read."""
    if not isinstance(out, Tensor) or (out.shape, out.dtype, out.device) != (u.shape, u.dtype, u.device):
        got = f"{tuple(out.shape)} {out.dtype} on {out.device}" if isinstance(out, Tensor) else type(out).__name__
        raise ShapeError(
            f"{caller}: out must be a tensor {tuple(u.shape)} {u.dtype} on {u.device} like the image, got {got}. "
            "Make it with torch.empty_like."
        )
    if not out.is_contiguous():
        raise ShapeError(f"{caller}: out must be contiguous, got strides {out.stride()}. Use out.contiguous().")
    (start, end), (first, last) = _addresses(u), _addresses(out)
    if start < last and first < end:
        raise ValueError(f"{caller}: out shares memory with the image, which the step still reads. Use another tensor.")
    return out


def _addresses(u: Tensor) -> tuple[int, int]:
    """Where the memory of a tensor begins and ends."""
    reach = sum((size - 1) * stride for size, stride in zip(u.shape, u.stride(), strict=True))
    return u.data_ptr(), u.data_ptr() + (reach + 1) * u.element_size()


def broadcasting(part: Tensor, data: Tensor, what: str, caller: str) -> Tensor:
    """The same tensor, if it broadcasts to the data."""
    try:
        fits = torch.broadcast_shapes(part.shape, data.shape) == data.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{caller}: {what} of shape {tuple(part.shape)} and data of shape {tuple(data.shape)} do not fit together. "
            "Give one value per pixel, or a shape that broadcasts to it."
        )
    return part


REPLACE = "Replace them first, for example with numpy.nan_to_num or whorl.inpaint."


def finite(u: Tensor, caller: str, where: str = "", remedy: str = REPLACE) -> Tensor:
    """The same tensor, if it holds neither NaN nor infinity; ``where`` says which part of an image it is."""
    _largest(u, caller, where, remedy)
    return u


def squarable(u: Tensor, squared_norm: float, caller: str) -> Tensor:
    """The same tensor, if it is finite and squared derivatives stay far below the largest number of its dtype."""
    largest = _largest(u, caller)
    if largest and 2 * math.log10(largest) + math.log10(max(squared_norm, 1e-300)) + 4 > math.log10(
        torch.finfo(u.dtype).max
    ):
        raise ValueError(
            f"{caller}: values up to {largest:g} overflow {u.dtype} when their derivatives are squared. "
            "Rescale the image (and the contrast with it), or use float64."
        )
    return u


def _largest(u: Tensor, caller: str, where: str = "", remedy: str = REPLACE) -> float:
    """The largest magnitude of a finite tensor; 0 where a graph is recorded, and nothing has a value yet."""
    if recorded(u):
        return 0.0
    # The extremes pass NaN and infinity on, and cost a twentieth of asking every pixel: less than a step. Small images
    # are left to NumPy, which takes one thread: the threads of PyTorch spin for a while after their work, while the
    # steps that follow need the processors.
    values = u.detach()
    if values.device.type == "cpu" and values.dtype in (torch.float32, torch.float64) and values.numel() <= SMALL:
        low, high = float(values.numpy().min()), float(values.numpy().max())
    else:
        low, high = (float(end) for end in values.aminmax())
    if not (math.isfinite(low) and math.isfinite(high)):
        bad = int((~torch.isfinite(u)).sum())
        raise ValueError(f"{caller}: the image holds {bad} NaN or infinite value(s){where}. {remedy}")
    return max(abs(low), abs(high))


def recorded(u: Tensor) -> bool:
    """Whether a CUDA graph is recorded of what happens to the tensor."""
    return u.is_cuda and torch.cuda.is_current_stream_capturing()


def number(value: Any, name: str, caller: str, low: float, high: float = math.inf, *, open_low: bool = False) -> float:
    """A finite number within ``[low, high]`` (or ``(low, high]``)."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{caller}: {name} must be a number, got {value!r}.") from None
    inside = (low < result if open_low else low <= result) and result <= high and math.isfinite(result)
    if not inside:
        left = "(" if open_low else "["
        right = f"{high:g}]" if math.isfinite(high) else "inf)"
        raise ValueError(f"{caller}: {name} must lie in {left}{low:g}, {right}, got {value!r}.")
    return result


def single(value: Any) -> bool:
    """Whether a value is one number: of Python, of NumPy, or an array or tensor without axes.

    >>> import numpy as np
    >>> single(np.float32(5)), single(torch.tensor(5.0)), single([5.0])
    (True, True, False)
    """
    return isinstance(value, Real) or getattr(value, "ndim", None) == 0


def listed(value: Any) -> list[Any]:
    """One number or several, as a list."""
    return [value] if single(value) else list(value)


def spacing(value: Any, caller: str) -> Spacing:
    """Positive pixel sizes ``(h_y, h_x)`` or voxel sizes ``(h_z, h_y, h_x)``; one number serves every axis."""
    if isinstance(value, Spacing):
        return value
    sizes = listed(value)
    if not single(value) and len(sizes) not in DIMENSIONS:
        raise ValueError(f"{caller}: spacing must be (h_y, h_x), (h_z, h_y, h_x) or one number, got {value!r}.")
    return Spacing(number(h, "spacing", caller, 0.0, open_low=True) for h in sizes)


def sides(value: Any, dimension: int, caller: str) -> tuple[float, ...]:
    """The sizes of a pixel or voxel along every axis of space, of which there are so many."""
    given = spacing(value, caller)
    if given.dimension not in (None, dimension):
        raise ValueError(
            f"{caller}: spacing has {given.dimension} sizes, and the image {dimension} axes of space. "
            "Give one size for each, or one number for all."
        )
    return given.along(dimension)


def outside() -> int:
    """The ``stacklevel`` for a warning that is to name the line of whoever called whorl."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "whorl":
        frame, level = frame.f_back, level + 1
    return level


def unknown(what: str, name: object, known: Iterable[str]) -> ValueError:
    """The error to raise for a name that is none of those known.

    >>> unknown("model", "gerik", ["gerig", "eed"])
    ValueError("model 'gerik' is unknown; did you mean 'gerig'? Known: gerig, eed.")
    >>> unknown("model", "foo", ["gerig", "eed"])
    ValueError("model 'foo' is unknown. Known: gerig, eed.")
    """
    names = list(known)
    near = get_close_matches(str(name).lower().replace("_", "-").replace(" ", "-"), names, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    return ValueError(f"{what} {name!r} is unknown{meant} Known: {', '.join(names)}.")
