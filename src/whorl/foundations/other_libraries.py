"""Pictures of other libraries: their arrays and facts for a function of arrays, and the way back for its result."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import torch
import torch.utils.dlpack
from torch import Tensor

from whorl.errors import ShapeError

Function = TypeVar("Function", bound=Callable[..., Any])

PLAIN_MODES = ("L", "RGB", "I;16", "I", "F")
"""Modes of Pillow whose numbers are brightnesses."""

NO_SPACE = {"c", "ch", "channel", "channels", "band", "bands", "rgb", "wavelength", "t", "time", "page", "frame"}
"""Names of axes that are not smoothed along unless the user says what they are."""

LAZY: list[Callable[[Callable[..., Any], dict[str, Any]], Any]] = []
"""Called in place of a function where the image is an array of dask. Set by ``whorl``: imports go backwards only."""

ARRAYS = (np.ndarray, Tensor)
"""Images that functions take as they are."""

MASKS = (*ARRAYS, str, type(None))
"""Masks likewise."""

EQUAL_STEPS = 1e-3
"""The share by which the steps between coordinates may differ."""


@dataclass(frozen=True)
class Opened:
    """The array in a picture, its axis of channels and size of pixels where the picture knows them, and the way back.

    Only the ratio of sides counts: the shortest is 1, so that contrast and time mean what they mean in pixels.
    """

    array: Any
    back: Callable[[Any], Any] = lambda result: result
    channel_axis: int | None = None
    spacing: tuple[float, ...] | None = None


def any_array(least_axes: int = 2) -> Callable[[Function], Function]:
    """Let a function of NumPy arrays and tensors take the pictures of other libraries, and give back what it was given.

    Its argument ``image`` is opened, and its ``mask`` where it has one. Arguments that were left out (channels, size of
    pixels) are taken from the picture where it knows them; the size of pixels counts where a picture has ``least_axes``
    axes of space or more.
    """
    return lambda function: _taking_any(function, least_axes)


def _taking_any(function: Function, least_axes: int) -> Function:
    names = signature(function)

    @wraps(function)
    def with_any_array(*arguments: Any, **named: Any) -> Any:
        given = dict(zip(names.parameters, arguments, strict=False)) | named
        if isinstance(given.get("image"), ARRAYS) and isinstance(given.get("mask"), MASKS):
            return function(*arguments, **named)  # at once: to bind them takes as long as a step on a small picture
        bound = names.bind(*arguments, **named)
        told = bound.arguments
        if LAZY and type(told["image"]).__module__.partition(".")[0] == "dask":
            return LAZY[0](with_any_array, told)
        axes = [told[name] for name in ("channel_axis", "page_axis") if told.get(name) is not None]
        untold = "spacing" in names.parameters and told.get("spacing") is None
        sized = least_axes if untold and isinstance(told.get("model", ""), str) else 0
        found = opened(told["image"], function.__name__, axes, sized)
        if not isinstance(mask := told.get("mask"), MASKS):
            picture = hasattr(mask, "__array_interface__")  # such as one of Pillow with two values
            told["mask"] = np.array(mask) if picture else opened(mask, function.__name__).array
        if told.get("channel_axis") is None and found.channel_axis is not None:
            told["channel_axis"] = found.channel_axis
        told |= {"image": found.array} | ({"spacing": found.spacing} if sized else {})
        return found.back(function(*bound.args, **bound.kwargs))

    return with_any_array  # type: ignore[return-value]


def opened(image: Any, caller: str, others: Sequence[int] = (), sized: int = 0) -> Opened:
    """A picture of any library as NumPy array or tensor.

    ``others`` are the axes that are not space. The size of pixels is asked for where ``sized`` is not 0 and there are
    so many axes of space or more.
    """
    if isinstance(image, ARRAYS):
        return Opened(image)
    library = type(image).__module__.partition(".")[0]
    if library == "dask":
        return Opened(image)
    if library == "xarray" and hasattr(image, "dims") and hasattr(image, "data"):
        space = _space(image, caller, others)
        return Opened(image.data, lambda result: image.copy(data=result), None, _steps(image, caller, space, sized))
    if library in ("SimpleITK", "itk") and hasattr(image, "GetSpacing"):
        return _medical(image, sys.modules[library], others, sized)
    if library == "PIL" and hasattr(image, "mode"):
        return _pillow(image, caller)
    if hasattr(image, "__cuda_array_interface__") or hasattr(image, "__dlpack__"):
        return _tensor(image, caller)
    if hasattr(image, "__array__"):
        return Opened(np.asarray(image))
    raise ShapeError(
        f"{caller}: expected an array (NumPy, PyTorch, xarray, SimpleITK, ITK, Pillow, zarr, or anything with "
        f"__dlpack__ or __array__), got {type(image).__name__}. Convert with numpy.asarray if it holds numbers."
    )


def _aspect(sizes: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(size / min(sizes), 6) for size in sizes)


def _space(image: Any, caller: str, others: Sequence[int]) -> list[Any]:
    """The names of the axes of space of a labelled array."""
    axes = {axis % image.ndim for axis in others if -image.ndim <= axis < image.ndim}
    space = [name for axis, name in enumerate(image.dims) if axis not in axes]
    for name in space:
        kind = image.coords[name].dtype.kind if name in image.coords else "i"
        if str(name).lower() in NO_SPACE or kind not in "iuf":
            raise ShapeError(
                f"{caller}: the axis {name!r} is no axis of space. Name it as channel_axis={image.dims.index(name)} "
                "or page_axis, or choose one entry with image.isel."
            )
    return space


def _steps(image: Any, caller: str, space: list[Any], sized: int) -> tuple[float, ...] | None:
    """The size of pixels by the coordinates; None where no axis has any, or it is not asked for."""
    if not 0 < sized <= len(space):
        return None
    known = {name: np.diff(image.coords[name].values.astype(float)) for name in space if name in image.coords}
    for name, steps in known.items():
        middle = np.median(steps) if len(steps) else 0.0
        if len(steps) and not np.all(np.abs(steps - middle) < EQUAL_STEPS * abs(middle)):
            raise ShapeError(
                f"{caller}: the coordinate {name!r} has steps from {steps.min():g} to {steps.max():g}. Interpolate to "
                "equal steps with image.interp, or give the size of a pixel as spacing=."
            )
    sizes = [abs(float(np.median(known[name]))) for name in space if name in known and len(known[name])]
    if not sizes or (len(sizes) == len(space) == 3 and min(image.shape[0], image.shape[-1]) <= 4):
        return None  # three thin axes may be colour, whatever their coordinates say
    if len(sizes) < len(space):
        raise ShapeError(
            f"{caller}: of the axes {', '.join(map(str, space))} only some have coordinates that tell the size of a "
            "pixel. Give spacing=, or image.drop_vars of those coordinates."
        )
    return _aspect(sizes)


def _medical(image: Any, library: Any, others: Sequence[int], sized: int) -> Opened:
    """Images of ITK and SimpleITK: axes the other way round, channels last."""
    sizes = [float(size) for size in image.GetSpacing()][::-1]
    array = library.GetArrayFromImage(image)
    axes = {axis % array.ndim for axis in others if -array.ndim <= axis < array.ndim}
    vector = array.ndim > len(sizes)

    def back(result: Any) -> Any:
        made = library.GetImageFromArray(np.ascontiguousarray(result), vector)
        made.CopyInformation(image)
        if hasattr(image, "GetMetaDataKeys"):
            for key in image.GetMetaDataKeys():
                made.SetMetaData(key, image.GetMetaData(key))
        elif hasattr(image, "GetMetaDataDictionary"):
            made.SetMetaDataDictionary(image.GetMetaDataDictionary())
        return made

    space = [h for axis, h in enumerate(sizes) if axis not in axes]
    return Opened(array, back, -1 if vector else None, _aspect(space) if 0 < sized <= len(space) else None)


def _pillow(image: Any, caller: str) -> Opened:
    if image.mode not in PLAIN_MODES:
        kept = " and put the transparency back with putalpha" if image.mode in ("LA", "RGBA") else ""
        to = "L" if image.mode in ("1", "LA") else "RGB"
        raise ShapeError(
            f"{caller}: pictures of Pillow's mode {image.mode} hold more or other than brightness. "
            f"Take image.convert({to!r}){kept}."
        )

    def back(result: Any) -> Any:
        made = sys.modules["PIL.Image"].fromarray(result)
        made.info = dict(image.info)
        return made

    return Opened(np.array(image), back, -1 if image.mode == "RGB" else None)


def _tensor(image: Any, caller: str) -> Opened:
    """Arrays of JAX, CuPy and others, in their own memory; those without a namespace of their own come back as tensors.

    Memory that cannot be shared, such as that of a foreign device or read-only one, is copied by NumPy where possible.
    """
    try:
        read = (
            torch.utils.dlpack.from_dlpack if hasattr(image, "__dlpack__") else partial(torch.as_tensor, device="cuda")
        )
        tensor = read(image)
    except (RuntimeError, BufferError, TypeError, AssertionError) as error:
        if hasattr(image, "__cuda_array_interface__") and not torch.cuda.is_available():
            raise ShapeError(
                f"{caller}: the {type(image).__name__} lies on a CUDA device, and PyTorch finds none here. "
                "Copy it to the memory of the processor first."
            ) from error
        if not hasattr(image, "__array__"):
            raise ShapeError(f"{caller}: PyTorch cannot read the {type(image).__name__}: {error}") from error
        tensor = torch.from_numpy(np.array(image))
    namespace = image.__array_namespace__() if hasattr(image, "__array_namespace__") else None
    return Opened(tensor, lambda result: result if namespace is None else namespace.from_dlpack(result))
