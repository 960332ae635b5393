"""One function for people: an array in, the same kind of array out."""

import copy
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from whorl import models
from whorl.automatic import DEFAULT_TIME, automatic_settings, samples_of
from whorl.diffusivities import Diffusivity
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.samples import rounded, working_dtype
from whorl.foundations.types import SpacingLike
from whorl.schemes import Progress

__all__ = ["diffuse", "from_tensor", "to_tensor"]

Array = TypeVar("Array", bound=Any)

FEW = 4
"""A first or last axis of so many entries or fewer may hold channels."""


def diffuse(
    image: Array,
    model: str | models.Model = "weickert-brox",
    *,
    contrast: float | Sequence[float] | str | None = None,
    time: float | None = None,
    noise: float | None = None,
    alpha: float | None = None,
    gamma: float | None = None,
    channel_axis: int | None = None,
    diffusivity: str | Diffusivity | None = None,
    spacing: SpacingLike | None = None,
    tau: float | None = None,
    insist: bool = False,
    scheme: str = "explicit",
    cycles: int | None = None,
    engine: str = "auto",
    device: str | torch.device | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Array:
    r"""Filter an image or a volume by diffusion; turned by any angle, it comes out as the same result, turned.

    Parameters
    ----------
    image : numpy.ndarray or torch.Tensor
        Every axis but ``channel_axis`` is space: two axes ``(y, x)`` are an image, three ``(z, y, x)`` a volume.
        Integers are filtered in float and rounded half to even within the range of their type; type, shape and dtype of
        the result are those of the image. Three axes of which the first or the last has at most four entries look like
        colour: name the ``channel_axis``, or give a ``spacing`` of three numbers for a volume.
    model : str or Model
        A name of ``whorl.models.names()``, or a model made by ``whorl.models.build``, which is left as it is.
    contrast : float, optional
        The contrast :math:`\lambda` in the image's own units: stronger edges are kept, weaker ones smoothed. Left out,
        or ``"auto"``, it follows from the noise; see :mod:`whorl.automatic`.
    time : float, optional
        Diffusion time; for smooth regions it acts like a Gaussian of variance ``2 * time``. Left out, the flow stops
        when most of the noise is gone; with a contrast of your own, and for models built already, it is 5.
    noise : float, optional
        Standard deviation of the noise in the image's own units, where it is known; measured otherwise.
    channel_axis : int, optional
        The axis of the channels; None for a grey image or volume.
    alpha, gamma, diffusivity, spacing, **options
        See ``whorl.models.build``; not for a model that is built already.
    tau, insist
        Largest time step, and whether to take one beyond the stability limit.
    scheme, cycles
        ``"explicit"``, ``"fed"`` or ``"fsi"``; the latter two need fewer steps for long times.
    engine : str
        ``"auto"``, or the plain ``"reference"``, ``"numba"``, ``"triton"``.
    device : optional
        Where to compute; the result comes back to where the image was.
    progress : callable, optional
        Called after every step with the steps done and the steps in all.

    Examples
    --------
    >>> import whorl
    >>> noisy = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    >>> whorl.diffuse(noisy, "weickert-brox", contrast=12.0, time=2.0, channel_axis=-1).dtype
    dtype('uint8')
    >>> volume = np.random.default_rng(0).normal(size=(8, 12, 12))
    >>> whorl.diffuse(volume, "perona-malik", contrast=1.0, time=1.0, spacing=(2.0, 1.0, 1.0)).shape
    (8, 12, 12)
    """
    contrast = None if isinstance(contrast, str) and contrast == "auto" else contrast
    settings = {"contrast": contrast, "alpha": alpha, "gamma": gamma, "diffusivity": diffusivity, "spacing": spacing}
    given = {name: value for name, value in settings.items() if value is not None} | options
    u = to_tensor(image, channel_axis)
    if isinstance(model, models.Model):
        if given:
            raise ValueError(f"diffuse: the model is built already. Give {', '.join(given)} to models.build.")
        sized = model.operator.dimension is not None
    else:
        sized = spacing is not None and not validation.single(spacing)
        if not sized:
            # What is known of the image is told the model: defaults in space may differ from those in the plane.
            given["spacing"] = validation.spacing(1.0 if spacing is None else spacing, "diffuse").along(u.dim() - 2)
    if channel_axis is None and u.dim() == 5 and not sized and min(image.shape[0], image.shape[-1]) <= FEW:
        raise ShapeError(
            f"diffuse: shape {tuple(image.shape)} may be colour or a thin volume. For colour name the channel_axis, "
            "usually -1; for a volume give the size of its voxels, spacing=(h_z, h_y, h_x)."
        )
    if noise is not None and (contrast is not None or isinstance(model, models.Model)):
        raise ValueError(f"diffuse: noise = {noise} has no effect beside a contrast. Leave one of them out.")
    if not isinstance(model, models.Model):
        if contrast is None:
            chosen = automatic_settings(model, samples_of(u), noise=noise, time=time, engine=engine, **given)
            given["contrast"], time = chosen.contrast, chosen.time
        model = models.build(model, **given)
    time = DEFAULT_TIME if time is None else time
    target = u.device if device is None else torch.device(device)
    with torch.no_grad():
        result = _on(model, target)(
            u.to(target), time, tau=tau, insist=insist, progress=progress, scheme=scheme, cycles=cycles, engine=engine
        )
    return from_tensor(result, image, channel_axis)


def _on(model: models.Model, target: torch.device) -> models.Model:
    """The model on that device; a copy where it lies elsewhere, since the caller's model stays where it is."""
    tensors = (*model.parameters(), *model.buffers())
    return model if all(t.device == target for t in tensors) else copy.deepcopy(model).to(target)


def to_tensor(image: Any, channel_axis: int | None = None) -> Tensor:
    """The image as a float tensor ``(1, c, y, x)``, a volume as ``(1, c, z, y, x)``.

    float64 stays, int32 and wider become float64, the rest float32. Where nothing has to be converted, the tensor looks
    at the memory of the image.

    >>> to_tensor(np.zeros((4, 5), np.uint16)).dtype
    torch.float32
    """
    if not isinstance(image, np.ndarray | Tensor):
        raise ShapeError(
            f"diffuse: expected a NumPy array or a torch tensor, got {type(image).__name__}. "
            "Convert with numpy.asarray."
        )
    axes = image.ndim - (channel_axis is not None)
    if axes not in validation.DIMENSIONS or 0 in image.shape:
        remedy = "" if channel_axis is None else " beside the channels. For a grey image leave channel_axis out"
        raise ShapeError(f"diffuse: expected 2 or 3 non-empty axes of space, got shape {tuple(image.shape)}{remedy}.")
    if channel_axis is not None and not -image.ndim <= channel_axis < image.ndim:
        raise ShapeError(f"diffuse: channel_axis must lie in {-image.ndim}..{image.ndim - 1}, got {channel_axis}.")
    tensor, dtype = _source(image)
    tensor = tensor[None] if channel_axis is None else tensor.movedim(channel_axis, 0)
    if tensor.device.type != "cpu" or (tensor.dtype == dtype and tensor.is_contiguous()):
        return tensor.to(dtype, memory_format=torch.contiguous_format)[None]
    # One pass converts and lays the channels out one after the other; NumPy gives large arrays huge pages.
    planes = np.empty(tuple(tensor.shape), np.float64 if dtype == torch.float64 else np.float32)
    return torch.from_numpy(planes).copy_(tensor)[None]


def from_tensor(result: Tensor, like: Array, channel_axis: int | None = None) -> Array:
    """The result in the type, dtype and place of the image it came from."""
    plain = result[0, 0] if channel_axis is None else result[0].movedim(0, channel_axis)
    if isinstance(like, Tensor):
        plain = plain.to(like.device)
        if like.dtype.is_floating_point:
            return plain.to(like.dtype)  # type: ignore[return-value]
        kind = torch.empty(0, dtype=like.dtype).numpy().dtype
        return torch.from_numpy(rounded(plain.cpu().numpy(), kind)).to(like.device)  # type: ignore[return-value]
    return rounded(plain.cpu().numpy(), like.dtype)  # type: ignore[return-value]


def _source(image: Any) -> tuple[Tensor, torch.dtype]:
    """The image as a tensor, in its own memory where possible, and the dtype to filter it in."""
    if isinstance(image, Tensor):
        if image.is_complex() or image.dtype == torch.bool:
            raise ShapeError(f"diffuse: cannot filter {image.dtype}. Convert to a real number type first.")
        wide = image.dtype in (torch.float64, torch.int32, torch.int64, torch.uint32, torch.uint64)
        return image.detach(), torch.float64 if wide else torch.float32
    dtype = working_dtype(image.dtype, "diffuse")
    # What torch cannot look at in place, or would warn of, is converted by NumPy.
    plain = image.dtype in (np.float32, np.float64, np.uint8) and image.dtype.isnative
    usable = plain and image.flags.writeable and image.flags.aligned and min(image.strides) >= 0
    array = image if usable else np.array(image, dtype=dtype, order="C")
    return torch.from_numpy(array), torch.float64 if dtype == np.float64 else torch.float32
