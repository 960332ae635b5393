"""From arrays of people to tensors of the library, and back."""

import copy
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.samples import rounded, working_dtype

Array = TypeVar("Array", bound=Any)
Module = TypeVar("Module", bound=nn.Module)


def to_tensor(
    image: Any,
    channel_axis: int | None = None,
    caller: str = "diffuse",
    page_axis: int | None = None,
    *,
    gaps: bool = False,
) -> Tensor:
    """The image as a float tensor ``(1, c, y, x)``, a volume as ``(1, c, z, y, x)``; pages of a stack in place of 1.

    All images of users come in through this door, and images that no filter can take are refused here, such as those
    with NaN or infinity (unless there may be ``gaps``).

    float64 stays, int32 and wider become float64, the rest float32. Where nothing has to be converted, the tensor looks
    at the memory of the image.

    >>> to_tensor(np.zeros((4, 5), np.uint16)).dtype
    torch.float32
    """
    if not isinstance(image, np.ndarray | Tensor):
        raise ShapeError(
            f"{caller}: expected a NumPy array or a torch tensor, got {type(image).__name__}. "
            "Convert with numpy.asarray."
        )
    check_unmasked(image, caller)
    others = {
        name: axis for name, axis in (("channel_axis", channel_axis), ("page_axis", page_axis)) if axis is not None
    }
    axes = image.ndim - len(others)
    if axes not in validation.DIMENSIONS or 0 in image.shape:
        remedy = f" beside it; leave {' or '.join(others)} out where the image has none." if others else "."
        if not others and axes > max(validation.DIMENSIONS):
            remedy = ". Name the channel_axis, or the page_axis of pictures or volumes one after the other."
        raise ShapeError(f"{caller}: expected 2 or 3 non-empty axes of space, got shape {tuple(image.shape)}{remedy}")
    for name, axis in others.items():
        if axis not in range(-image.ndim, image.ndim):
            raise ShapeError(f"{caller}: {name} must be one of {-image.ndim}..{image.ndim - 1}, got {axis!r}.")
    if len({axis % image.ndim for axis in others.values()}) < len(others):
        raise ShapeError(f"{caller}: channel_axis and page_axis are both {page_axis}. Give each its own axis.")
    tensor, dtype = _source(image, caller)
    tensor = tensor.movedim(tuple(others.values()), tuple(range(len(others))))
    tensor = tensor[None] if channel_axis is None else tensor
    tensor = tensor[None] if page_axis is None else tensor.transpose(0, 1)
    whole = not tensor.is_floating_point()
    if tensor.device.type != "cpu" or (tensor.dtype == dtype and tensor.is_contiguous()):
        tensor = tensor.to(dtype, memory_format=torch.contiguous_format)
    else:
        # One pass converts and lays the channels out one after the other; NumPy gives large arrays huge pages.
        planes = np.empty(tuple(tensor.shape), np.float64 if dtype == torch.float64 else np.float32)
        tensor = torch.from_numpy(planes).copy_(tensor)
    return tensor if whole or gaps else validation.finite(tensor, caller)


def check_unmasked(array: Any, caller: str, what: str = "image") -> None:
    """Refuse an array of ``numpy.ma``, or one of dask made of such: its mask would be lost."""
    if isinstance(getattr(array, "_meta", array), np.ma.MaskedArray):
        raise ShapeError(
            f"{caller}: the {what} is a masked array, and what it masks would come back. Fill it with "
            f"whorl.inpaint(image.data, image.mask), or take {what}.filled(value)."
        )


def from_tensor(result: Tensor, like: Array, channel_axis: int | None = None, page_axis: int | None = None) -> Array:
    """The result in the type, dtype and place of the image it came from."""
    if channel_axis is None:
        plain = result[0, 0] if page_axis is None else result[:, 0].movedim(0, page_axis)
    elif page_axis is None:
        plain = result[0].movedim(0, channel_axis)
    else:
        plain = result.movedim((0, 1), (page_axis, channel_axis))
    if isinstance(like, Tensor):
        plain = plain.to(like.device)
        if like.dtype.is_floating_point:
            return plain.to(like.dtype)  # type: ignore[return-value]
        kind = torch.empty(0, dtype=like.dtype).numpy().dtype
        return torch.from_numpy(rounded(plain.cpu().numpy(), kind)).to(like.device)  # type: ignore[return-value]
    return rounded(plain.cpu().numpy(), like.dtype)  # type: ignore[return-value]


def device_of(device: str | torch.device | None, own: torch.device) -> torch.device:
    """The device to compute on: the one that was told, if this machine has it, or that of the image."""
    try:
        found = own if device is None else torch.device(device)
    except RuntimeError:
        raise ValueError(f"device {device!r} is unknown. Use cpu, cuda or cuda:0.") from None
    if found.type == "cuda" and found.index is not None and found.index >= torch.cuda.device_count() > 0:
        raise ValueError(f"device {device!r}: this machine has {torch.cuda.device_count()}, counted from cuda:0.")
    if not {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}.get(found.type):
        raise ValueError(
            f"device {str(device)!r}: this machine or this build of PyTorch has no {found.type.upper()}. Use cpu."
        )
    return found


def placed(module: Module, device: torch.device) -> Module:
    """The module on that device; a copy where it lies elsewhere, since the caller's module stays where it is."""
    tensors = (*module.parameters(), *module.buffers())
    return module if all(t.device == device for t in tensors) else copy.deepcopy(module).to(device)


def _source(image: Any, caller: str) -> tuple[Tensor, torch.dtype]:
    """The image as a tensor, in its own memory where possible, and the dtype to filter it in."""
    if isinstance(image, Tensor):
        if image.is_complex() or image.dtype == torch.bool:
            raise ShapeError(f"{caller}: cannot filter {image.dtype}. Convert to a real number type first.")
        wide = image.dtype in (torch.float64, torch.int32, torch.int64, torch.uint32, torch.uint64)
        return image.detach(), torch.float64 if wide else torch.float32
    dtype = working_dtype(image.dtype, caller)
    # What torch cannot look at in place, or would warn of, is converted by NumPy.
    plain = image.dtype in (np.float32, np.float64, np.uint8) and image.dtype.isnative
    usable = plain and image.flags.writeable and image.flags.aligned and min(image.strides) >= 0
    array = image if usable else np.array(image, dtype=dtype, order="C")
    return torch.from_numpy(array), torch.float64 if dtype == np.float64 else torch.float32
