"""One function for people: an array in, the same kind of array out."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Unpack

import torch
from torch import nn

from whorl import models
from whorl.automatic import Filtering, samples_of
from whorl.diffusivities import Diffusivity
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.arrays import device_of, from_tensor, placed, to_tensor
from whorl.foundations.other_libraries import any_array
from whorl.foundations.types import SpacingLike
from whorl.models.build import BuildOptions
from whorl.schemes import Progress

__all__ = ["diffuse", "from_tensor", "to_tensor"]

Array = TypeVar("Array", bound=Any)

HOW = {"scheme": "explicit", "engine": "auto"}
"""How the time is reached unless told otherwise."""

OTHER_WORDS = dict.fromkeys(("kappa", "conductance", "conductance_parameter", "K", "k"), "contrast")
OTHER_WORDS |= dict.fromkeys(("niter", "n_iter", "iterations", "num_iter", "weight"), "time")
OTHER_WORDS |= {"option": "diffusivity", "voxelspacing": "spacing"}
"""The names that other libraries give to the settings of a filter."""

FEW = 4
"""A first or last axis of at most this many entries may hold channels."""


@any_array()
def diffuse(
    image: Array,
    model: str | models.Model | nn.Module = "weickert-brox",
    *,
    contrast: float | Sequence[float] | str | None = None,
    time: float | None = None,
    noise: float | None = None,
    alpha: float | None = None,
    gamma: float | None = None,
    channel_axis: int | None = None,
    page_axis: int | None = None,
    diffusivity: str | Diffusivity | None = None,
    spacing: SpacingLike | None = None,
    tau: float | None = None,
    insist: bool = False,
    scheme: str = HOW["scheme"],
    cycles: int | None = None,
    engine: str = HOW["engine"],
    device: str | torch.device | None = None,
    progress: Progress | None = None,
    **options: Unpack[BuildOptions],
) -> Array:
    r"""Filter an image or a volume by diffusion; turned by any angle, it comes out as the same result, turned.

    Parameters
    ----------
    image : array
        Of NumPy, PyTorch, xarray, ITK, SimpleITK or Pillow, with what it knows of itself (size of pixels, coordinates),
        or anything with ``__dlpack__`` or ``__array__``, such as arrays of zarr.
        Every axis but ``channel_axis`` and ``page_axis`` is space: two axes ``(y, x)`` are an image, three
        ``(z, y, x)`` a volume.
        Integers are filtered in float and rounded half to even within the range of their type; type, shape and dtype of
        the result are those of the image. Three axes of which the first or the last has at most four entries look like
        colour: name the ``channel_axis``, or give a ``spacing`` of three numbers for a volume.
    model : str, Model or trained network
        A name of ``whorl.models.names()``, or a model made by ``whorl.models.build``, which is left as it is. With a
        network of ``whorl.load`` this is :func:`whorl.denoise`.
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
    page_axis : int, optional
        The axis of the pages of a stack or film: each page is filtered for itself, all with one contrast and time.
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
    >>> import numpy as np
    >>> import whorl
    >>> noisy = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    >>> whorl.diffuse(noisy, "weickert-brox", contrast=12.0, time=2.0, channel_axis=-1).dtype
    dtype('uint8')
    >>> volume = np.random.default_rng(0).normal(size=(8, 12, 12))
    >>> whorl.diffuse(volume, "perona-malik", contrast=1.0, time=1.0, spacing=(2.0, 1.0, 1.0)).shape
    (8, 12, 12)
    """
    given: dict[str, Any] = {"alpha": alpha, "gamma": gamma, "diffusivity": diffusivity, "spacing": spacing}
    given |= checked_options(options)
    if isinstance(model, str):
        _check_name(model)
    elif not isinstance(model, models.Model):
        given |= {"contrast": contrast, "page_axis": page_axis, "time": time, "tau": tau, "cycles": cycles}
        given |= {"progress": progress}
        given |= {name: value for name, value in (("scheme", scheme), ("engine", engine)) if value != HOW[name]}
        told = [name for name, value in given.items() if value is not None]
        return _network(model, image, noise, channel_axis, device, told)
    policy = Filtering(model, contrast, time, noise, given, engine)
    u = to_tensor(image, channel_axis, page_axis=page_axis)
    if channel_axis is None and page_axis is None and u.dim() == 5 and not policy.sized:
        check_volume(image.shape, "diffuse")
    if spacing is not None:
        validation.sides(spacing, u.dim() - 2, "diffuse")
    built, chosen = policy.chosen(lambda: samples_of(u), policy.space(u.dim() - 2))
    target = device_of(device, u.device)
    with torch.no_grad():
        result = placed(built, target)(
            u.to(target), chosen.time, tau=tau, insist=insist, progress=progress, scheme=scheme, cycles=cycles,
            engine=engine,
        )  # fmt: skip
    return from_tensor(result, image, channel_axis, page_axis)


def checked_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options, if ``whorl.models.build`` knows them all; words of other libraries are translated."""
    known = BuildOptions.__annotations__
    for name in options:
        if name in OTHER_WORDS:
            raise TypeError(f"diffuse: {name} is called {OTHER_WORDS[name]} here. See docs, 'Coming from elsewhere'.")
        if name not in known:
            raise TypeError(str(validation.unknown("diffuse: the option", name, known)))
    return options


def _check_name(name: str) -> None:
    """An error that says what to call, where a network is named and a model expected."""
    if name in models.names():
        return
    from whorl.networks import available, photo_networks

    if name in (*photo_networks(), *available()):
        raise ValueError(f"{name} is a trained network. Call whorl.denoise(image, network={name!r}).")


def check_volume(shape: Sequence[int], caller: str) -> None:
    """Refuse three axes that may be colour as well."""
    if min(shape[0], shape[-1]) <= FEW:
        raise ShapeError(
            f"{caller}: shape {tuple(shape)} may be colour or a thin volume. For colour name the channel_axis, "
            "usually -1; for a stack of pictures the page_axis; for a volume give the size of its voxels, "
            "spacing=(h_z, h_y, h_x)."
        )


def _network(
    network: object, image: Array, noise: float | None, channel_axis: int | None, device: Any, given: list[str]
) -> Array:
    """The result of :func:`diffuse` with a trained network in place of a model."""
    from whorl.networks.trained import TrainedNetwork

    if not isinstance(network, TrainedNetwork):
        known = ", ".join(models.names())
        raise ValueError(
            f"diffuse: expected the name of a model, a model or a trained network, got {type(network).__name__}. "
            f"Names are {known}."
        )
    if given:
        raise ValueError(f"diffuse: a trained network has its own steps. Leave {', '.join(given)} out.")
    result: Array = network.denoise(image, noise, channel_axis=channel_axis, device=device)
    return result
