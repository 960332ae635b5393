"""One function for arrays that are too large for memory, or lie on many machines."""

import builtins
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl import models
from whorl.automatic import Filtering
from whorl.automatic.samples import sample_slices, samples_read
from whorl.denoising import Denoising
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.arrays import check_unmasked, placed
from whorl.foundations.samples import rounded, working_dtype
from whorl.images import check_volume
from whorl.large.plan import MEMORY, plan, working_bytes
from whorl.large.run import run
from whorl.large.scratch import Scratch
from whorl.large.stages import Stage, denoising_stages, network_stages, stages
from whorl.large.windows import Window, windows
from whorl.networks import DiffusionNetwork, TrainedNetwork


def map(
    image: Any,
    model: str | models.Model | TrainedNetwork | Denoising = "weickert-brox",
    *,
    time: float | None = None,
    noise: float | None = None,
    factor: float | None = None,
    channel_axis: int | None = None,
    tile: int | None = None,
    out: Any = None,
    scheme: str = "explicit",
    cycles: int | None = None,
    tau: float | None = None,
    device: str | torch.device = "cpu",
    engine: str = "auto",
    memory: int = MEMORY,
    folder: Path | None = None,
    advance: Callable[[float], None] | None = None,
    **settings: Any,
) -> Any:
    """Filter a large image or volume in windows, with the bits of :func:`whorl.diffuse` on the whole.

    Parameters
    ----------
    image : numpy.ndarray, zarr.Array, dask.array.Array
        ``(y, x)`` or ``(z, y, x)``, or with one more axis of channels; what is ambiguous is refused as by
        :func:`whorl.diffuse`. Anything that gives NumPy arrays for slices will do. Integers are filtered in float and
        rounded half to even once, at the end.
    model : str, Model, trained network or Denoising
        A name of ``whorl.models.names()`` with its ``settings`` (contrast, alpha, ...), a model already built, a
        trained network, or ``whorl.denoising.Denoising()`` for what :func:`whorl.denoise` does.
    time : float, optional
        Diffusion time; networks have none. Without contrast and time, both follow from the noise, which is measured on
        samples of the image; with a contrast of your own the time is 5.
    noise : float, optional
        Standard deviation of the noise, where it is known and no contrast is given; measured on samples otherwise.
    factor : float, optional
        For the networks of the paper's experiment, in place of the noise: the image is multiplied by this before the
        first block and divided by it after the last.
    channel_axis : int, optional
        The axis of the channels; None for a grey image.
    tile : int, optional
        Side of the windows; chosen by cost within ``memory`` by default. For dask its chunks are the windows.
    out : array, optional
        Where to write: anything that takes slices, such as a zarr array, or the image itself. Results are rounded to
        its type. A new NumPy array by default.
    scheme, cycles, tau
        How the time is reached; see ``Model.forward``. Fast schemes take fewer steps, but all of them in one pass.
    device : str or torch.device
        Where to compute.
    engine : str
        One of ``whorl.engines.ENGINES``.
    memory : int
        Bytes that the computation in one window may take.
    folder : Path, optional
        Where scratch files go, if there are several passes.
    advance : callable, optional
        Called with the share of the work just done.
    **settings
        For ``whorl.models.build``, if the model is given by name.

    Returns
    -------
    array
        ``out``, or an array of the shape and type of the image. A dask array comes back as a dask array that has not
        been computed yet; it can be computed on a cluster.

    Examples
    --------
    >>> image = np.random.default_rng(0).integers(0, 256, (300, 200), dtype=np.uint8)
    >>> map(image, "perona-malik", contrast=9.0, time=2.0, tile=64).dtype
    dtype('uint8')
    """
    check_unmasked(image, "large.map")
    working_dtype(image.dtype, "large.map")
    how: dict[str, Any] = {"scheme": scheme, "cycles": cycles, "tau": tau, "engine": engine}
    if isinstance(model, TrainedNetwork | Denoising):
        if time is not None or settings or how != {"scheme": "explicit", "cycles": None, "tau": None, "engine": "auto"}:
            raise ValueError("large.map: a trained network has its own steps. Leave time, scheme, tau and engine out.")
        axis, space = _axes(image, channel_axis, sized=True)
        if space != 2:
            raise ShapeError(
                "large.map: networks take pictures here; for volumes call whorl.denoise. Name the channel_axis."
            )
        steps = _network_stages(model, noise, factor, image, axis, device)
    else:
        policy = Filtering(model, settings.pop("contrast", None), time, noise, settings, engine, "large.map")
        if factor is not None:
            raise ValueError(f"large.map: factor = {factor:g} is for networks. Scale the contrast instead.")
        axis, space = _axes(image, channel_axis, policy.sized)
        built, chosen = policy.chosen(lambda: _samples(image, axis), policy.space(space))
        steps = stages(placed(built, torch.device(device)), chosen.time, dimension=space, **how)
    if _is_dask(image):
        from whorl.large.lazily import map_lazy

        return map_lazy(image, steps, axis, memory=memory, device=device)
    out = np.empty(image.shape, image.dtype) if out is None else out
    if tuple(out.shape) != tuple(image.shape):
        raise ShapeError(
            f"large.map: out has shape {tuple(out.shape)}, the image {tuple(image.shape)}. Make them equal."
        )
    _map_windows(image, steps, axis, out, tile, memory, device, folder, advance)
    return out


def _network_stages(
    network: TrainedNetwork | Denoising,
    noise: float | None,
    factor: float | None,
    image: Any,
    axis: int | None,
    device: str | torch.device,
) -> tuple[Stage, ...]:
    """A network scaled by the factor, or to the noise given or measured; no stages where there is no noise."""
    if isinstance(network, DiffusionNetwork) and (factor is not None or (noise, network.noise_range) == (None, None)):
        return network_stages(placed(network, torch.device(device)), 1.0 if factor is None else factor)
    if factor is not None:
        raise ValueError(f"large.map: factor = {factor:g} is not for networks for photographs. Give the noise.")
    samples = list(_samples(image, axis))
    policy = network if isinstance(network, Denoising) else Denoising(network, noise, "large.map")
    found = policy.measured(lambda: samples)
    steps, remover = denoising_stages(policy, found, samples, eight_bits=image.dtype == np.uint8, device=device)
    if remover.why:
        warnings.warn(f"{policy.caller}: {remover.why}", stacklevel=validation.outside())
    return steps


def _samples(image: Any, axis: int | None) -> Iterator[torch.Tensor]:
    """Parts of the image that stand for it, as tensors ``(1, c, y, x)`` or ``(1, c, z, y, x)``."""
    kind = working_dtype(image.dtype, "large.map")
    shape = [size for index, size in enumerate(image.shape) if index != axis]

    def part(place: tuple[Any, ...]) -> Any:
        where = [*place]
        if axis is not None:
            where.insert(axis, slice(None))
        return image[tuple(where)]

    together: dict[str, Any] = {}
    if _is_dask(image):  # all samples in one pass over the graph
        import dask

        places = list(sample_slices(shape))
        together = dict(zip(builtins.map(str, places), dask.compute(*builtins.map(part, places)), strict=True))

    def read(place: tuple[Any, ...]) -> torch.Tensor:
        found = together[str(place)] if str(place) in together else part(place)
        samples = validation.finite(torch.from_numpy(np.asarray(found).astype(kind)), "large.map")
        return samples[None, None] if axis is None else samples.movedim(axis, 0)[None].contiguous()

    return samples_read(shape, read)


def _is_dask(image: Any) -> bool:
    return type(image).__module__.partition(".")[0] == "dask"


def _map_windows(
    image: Any,
    steps: tuple[Stage, ...],
    axis: int | None,
    out: Any,
    tile: int | None,
    memory: int,
    device: str | torch.device,
    folder: Path | None,
    advance: Callable[[float], None] | None,
) -> None:
    kind = working_dtype(image.dtype, "large.map")
    shape = [size for index, size in enumerate(image.shape) if index != axis]
    channels = 1 if axis is None else image.shape[axis]
    pixel, scratch = working_bytes(steps, channels, image.dtype, len(shape))
    chosen = plan(shape, steps, tile=tile, bytes_per_pixel=pixel, scratch_cost=scratch, memory=memory)

    def place(window: Window) -> tuple[slice, ...]:
        parts = [*window.slices]
        if axis is not None:
            parts.insert(axis, slice(None))
        return tuple(parts)

    def read(window: Window) -> NDArray[Any]:
        block = np.asarray(image[place(window)]).astype(kind)
        return block[None] if axis is None else np.moveaxis(block, axis, 0)

    def write(window: Window, block: NDArray[Any]) -> None:
        samples = rounded(block, np.dtype(out.dtype))
        out[place(window)] = samples[0] if axis is None else np.moveaxis(samples, 0, axis)

    if chosen.count == 1 or len(chosen.passes) > 1 or not _share(image, out):
        run(chosen, read, write, device=device, folder=folder, advance=advance)
        return
    # a window must not be written before its neighbours have been read
    with closing(Scratch(folder or Path(tempfile.gettempdir()), shape)) as copy:
        run(chosen, read, copy.write, device=device, folder=folder, advance=advance)
        for window in windows(shape, chosen.sides):
            write(window, copy.read(window))


def _share(image: Any, out: Any) -> bool:
    """Whether writing into ``out`` may change ``image``; in doubt it may, unless both lie in memory apart."""
    if isinstance(image, np.ndarray) and isinstance(out, np.ndarray):
        names = [getattr(array, "filename", None) for array in (image, out)]  # of memory maps
        return np.may_share_memory(image, out) or (names[0] is not None and names[0] == names[1])
    if isinstance(image, np.ndarray) or isinstance(out, np.ndarray):
        return False
    places = [getattr(array, "store_path", None) for array in (image, out)]  # of zarr arrays
    return None in places or places[0] == places[1]


def _axes(image: Any, axis: int | None, sized: bool) -> tuple[int | None, int]:
    """The axis of the channels, counted from the front, and the number of axes of space."""
    shape = tuple(image.shape)
    space = len(shape) - (axis is not None)
    if space not in validation.DIMENSIONS or 0 in shape:
        raise ShapeError(
            f"large.map: expected 2 or 3 non-empty axes of space, got shape {shape}. "
            "Give channel_axis for colour, and leave it out for a grey image."
        )
    if axis is not None and axis not in range(-len(shape), len(shape)):
        raise ShapeError(f"large.map: channel_axis must be one of {-len(shape)}..{len(shape) - 1}, got {axis!r}.")
    if axis is None and space == 3 and not sized:
        check_volume(shape, "large.map")
    return axis if axis is None else axis % len(shape), space
