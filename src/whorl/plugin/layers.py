"""From an image layer to a filtered one, without napari: a layer is anything with ``data``, ``rgb`` and ``scale``.

The last two axes are space, or the last three where a layer is filtered as a volume; leading axes (time, depth) are
filtered part by part, RGB channels together, alpha not at all. Layers of dask arrays stay lazy in the plane: napari
computes the windows it shows. The pixel size is the layer's scale, of which the ratio counts.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import replace
from threading import Thread
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl import large, models
from whorl.automatic import Filtering
from whorl.automatic.samples import samples_read
from whorl.data.plate import Plate
from whorl.data.synthetic import render
from whorl.files.layout import pixel_aspect
from whorl.foundations.samples import working_dtype
from whorl.images import diffuse
from whorl.inpainting import inpaint

LayerData = tuple[Any, dict[str, Any], str]
Run = Callable[..., Any]
"""Filters a plane or volume, tells the share done, and takes the ``channel_axis`` of colours."""

MEASURED_PLANES = 4
"""Planes or volumes, spread over the layer, on which contrast and noise are measured for all of it."""

NEARBY = 24
"""The most planes on either side that a preview of a plane looks at."""


class Cancelled(Exception):
    """The computation was stopped on request; nothing was added."""


class Job:
    """How far a computation is, and whether it shall go on; read and written from different threads."""

    def __init__(self) -> None:
        self.share, self.cancelled, self.measuring = 0.0, False, False

    def measured(self, measure: Callable[[], Any]) -> Any:
        """The result of a measurement; it is abandoned where the user has cancelled."""
        found: Future[Any] = Future()

        def run() -> None:
            try:
                found.set_result(measure())
            except BaseException as error:
                found.set_exception(error)

        self.measuring = True
        Thread(target=run, daemon=True).start()
        try:
            while not wait([found], timeout=0.05).done:
                self.advance(0.0)
        finally:
            self.measuring = False
        return found.result()

    def advance(self, share: float) -> None:
        """Another part is done; raises :class:`Cancelled` if the user has cancelled."""
        if self.cancelled:
            raise Cancelled
        self.share += share


def contrast_range(dtype: Any, limits: tuple[float, float]) -> float:
    """The largest contrast worth offering: the range of an integer type, else that of the layer's values.

    >>> contrast_range(np.uint16, (0, 1)), contrast_range(np.float32, (-1.0, 3.0))
    (65535.0, 4.0)
    """
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return 1.0
    if np.issubdtype(kind, np.integer):
        return float(np.iinfo(kind).max) - float(np.iinfo(kind).min)
    return float(limits[1] - limits[0]) or 1.0


KEPT = ("scale", "translate", "rotate", "shear", "affine", "units", "axis_labels", "metadata", "opacity", "blending")
OF_GREY = ("colormap", "gamma", "contrast_limits")
"""Attributes that a new layer takes from the old one, and those that only layers without colours have."""


class _Finest:
    """A layer of several resolutions, seen as its finest one."""

    def __init__(self, layer: Any) -> None:
        self.data, self._layer = layer.data[0], layer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._layer, name)


def _finest(layer: Any) -> Any:
    return _Finest(layer) if getattr(layer, "multiscale", False) else layer


def filter_layer(
    layer: Any,
    model: str = "weickert-brox",
    contrast: float = 0.0,
    time: float = 0.0,
    sigma: float | None = None,
    job: Job | None = None,
    *,
    volume: bool = False,
) -> LayerData:
    """The filtered image as the data of a new layer. Contrast or time 0 means: from the noise of the image.

    With ``volume`` the last three axes are filtered together.
    """
    job, whole, layer = job or Job(), layer, _finest(layer)
    built, contrast, time = _built(layer, model, contrast, time, sigma, 3 if volume else 2, job)
    if volume:
        result = _each(layer, 3, job, _in_memory(built, time))
    else:
        result = _each(
            layer, 2, job, lambda plane, tell, **how: large.map(plane, built, time=time, advance=tell, **how)
        )
    return _like(whole, result, f"{model}{' in space' if volume else ''}, contrast {contrast:.4g}, time {time:g}")


def preview_plane(
    layer: Any,
    place: tuple[int, ...],
    model: str = "weickert-brox",
    contrast: float = 0.0,
    time: float = 0.0,
    sigma: float | None = None,
    job: Job | None = None,
    *,
    volume: bool = False,
) -> Any:
    """What :func:`filter_layer` will make of one plane; ``place`` is its index along the leading axes.

    In a volume the planes around it are filtered along, as many as the flow looks at: up to 24 on either side the
    preview has the voxels of the result, beyond that nearly so.
    """
    job, layer = job or Job(), _finest(layer)
    built, _, time = _built(layer, model, contrast, time, sigma, 3 if volume else 2, job)
    run = _in_memory(built, time)
    if not volume:
        return _passing_alpha(layer, np.asarray(layer.data[place]), run, job.advance)
    *front, z = place
    stack = layer.data[tuple(front)]
    steps = math.ceil(time / built.automatic_step(3))
    reach = min(NEARBY, built.reach * steps)
    first = max(0, z - reach)
    slab = np.asarray(stack[first : z + reach + 1])
    return _passing_alpha(layer, slab, run, job.advance)[z - first]


def denoise_layer(layer: Any, network: str = "auto", noise: float = 0.0, job: Job | None = None) -> LayerData:
    """The denoised image as the data of a new layer. Noise 0 means: estimate its standard deviation.

    ``auto`` takes the network for colour photographs on RGB layers, and that for grey ones on others.
    """
    from whorl.denoising import Denoising

    policy, channels = Denoising(None if network == "auto" else network, noise or None), 3 if layer.rgb else 1
    job, whole, layer = job or Job(), layer, _finest(layer)
    found = job.measured(lambda: policy.measured(lambda: _samples(layer)))
    if found == 0:
        return _like(whole, layer.data, "no noise found, copied")
    one = replace(policy, noise=found)  # for all planes
    result = _each(layer, 2, job, lambda plane, tell, **how: large.map(plane, one, advance=tell, **how))
    by = f"denoised by {policy.name(channels)}"
    if isinstance(found, float):
        return _like(whole, result, f"{by}, noise {found:.4g}")
    data, how, kind = _like(whole, result, by)  # a model of the noise is too long for a list of layers
    return data, how | {"metadata": {**how.get("metadata", {}), "noise": str(found)}}, kind


def fill_layer(layer: Any, labels: Any, job: Job | None = None) -> LayerData:
    """The image with every labelled pixel filled in from around it, plane by plane, as the data of a new layer.

    The labels have the axes of the image without colours, or those of one plane, which then holds for all.
    """
    job, whole, layer, mask = job or Job(), layer, _finest(layer), np.asarray(_finest(labels).data) != 0
    shape = layer.data.shape[: layer.data.ndim - bool(layer.rgb)]
    if mask.shape not in (shape, shape[-2:]):
        raise ValueError(f"the labels have shape {mask.shape}, the image {shape}. Make labels for this image.")
    masks = iter(np.broadcast_to(mask, shape).reshape(-1, *shape[-2:]))
    sizes = pixel_aspect(tuple(float(abs(size)) for size in layer.scale)[-2:])

    def filled(plane: Any, tell: Callable[[float], None], **how: Any) -> Any:
        holes = next(masks)
        tell(1.0)
        if not holes.any():
            return np.asarray(plane)
        return inpaint(np.asarray(plane), holes.copy(), spacing=sizes, report=lambda distance: tell(0.0), **how)

    return _like(whole, _each(layer, 2, job, filled), "filled in")


def noisy_scene() -> list[LayerData]:
    """Sample data: a drawing with noise, and labels over a scratch to be filled in."""
    clean = render(Plate(), 256)[0, 0].numpy()
    noisy = np.clip(clean + np.random.default_rng(0).normal(0, 20, clean.shape), 0, 255).astype(np.uint8)
    scratch = np.zeros(clean.shape, np.uint8)
    scratch[120:126, 40:220] = 1
    return [(noisy, {"name": "fingerprint with noise 20"}, "image"), (scratch, {"name": "scratch"}, "labels")]


def _built(
    layer: Any, model: str, contrast: float, time: float, sigma: float | None, axes: int, job: Job
) -> tuple[models.Model, float, float]:
    """The model for the pixels or voxels of the layer, its contrast, and the time."""
    options = {"sigma": sigma} if models.row(model).sigma else {}
    policy = Filtering(model, contrast or None, time or None, options=options, caller="whorl")
    scale = tuple(float(abs(size)) for size in layer.scale)[-axes:]
    pixel = (1.0,) * (axes - len(scale)) + scale
    built, settings = job.measured(lambda: policy.chosen(lambda: _samples(layer, axes), pixel_aspect(pixel)))
    return built, settings.contrast, settings.time


def _parts(layer: Any, axes: int) -> Iterator[Any]:
    """The planes ``(y, x)`` or volumes ``(z, y, x)`` of a layer, in order, with the colours last."""
    leading = layer.data.ndim - axes - bool(layer.rgb)
    if leading < 0:
        raise ValueError(
            f"the layer {layer.name!r} has {layer.data.ndim - bool(layer.rgb)} axes: too few for a volume. Filter it "
            "plane by plane."
        )
    for index in np.ndindex(*layer.data.shape[:leading]):
        yield layer.data[index]


def _samples(layer: Any, axes: int = 2) -> list[Tensor]:
    """Parts ``(1, c, y, x)`` of a few planes, or of volumes: as much as a measurement needs, also of huge layers."""
    parts = list(_parts(layer, axes))
    count = min(len(parts), MEASURED_PLANES)
    found: list[Tensor] = []
    for whole in (parts[number * len(parts) // count] for number in range(count)):

        def read(place: tuple[Any, ...], whole: Any = whole) -> Tensor:
            part = np.asarray(whole[place])
            part = np.moveaxis(part[..., :3], -1, 0) if layer.rgb else part[None]
            return torch.from_numpy(np.ascontiguousarray(part.astype(working_dtype(part.dtype))))[None]

        found += samples_read(whole.shape[:axes], read)
    return found


def _in_memory(built: models.Model, time: float) -> Run:
    return lambda part, tell, **how: diffuse(part, built, time=time, progress=lambda done, of: tell(1 / of), **how)


def _each(layer: Any, axes: int, job: Job, run: Run) -> Any:
    """All planes, or all volumes in memory, through the filter, put together again."""
    lazy = axes == 2 and type(layer.data).__module__.partition(".")[0] == "dask"
    stack: Any = __import__("dask.array").array if lazy else np
    parts = list(_parts(layer, axes))
    results = []
    for part in parts:
        job.advance(0.0)  # asks whether to go on, also where there is no step to take
        whole = part if axes == 2 else np.asarray(part)
        results.append(_passing_alpha(layer, whole, run, lambda share: job.advance(share / len(parts)), stack))
        if lazy:
            job.advance(1 / len(parts))
    leading = layer.data.ndim - axes - bool(layer.rgb)
    return stack.stack(results).reshape(layer.data.shape) if leading else results[0]


def _passing_alpha(layer: Any, part: Any, run: Run, tell: Callable[[float], None], stack: Any = np) -> Any:
    """The filtered part of a layer, RGB channels together; alpha is passed on."""
    if not layer.rgb:
        return run(part, tell)
    return stack.concatenate([run(part[..., :3], tell, channel_axis=-1), part[..., 3:]], axis=-1)


def _like(layer: Any, data: Any, what: str) -> LayerData:
    """The new layer: where and as the old one is shown, with as many resolutions."""
    names = KEPT if layer.rgb else (*KEPT, *OF_GREY)
    how = {name: getattr(layer, name) for name in names if hasattr(layer, name)}
    how |= {"name": f"{layer.name} ({what})", "rgb": bool(layer.rgb)}
    if getattr(layer, "multiscale", False):
        data, how["multiscale"] = [_reduced(data, level.shape) for level in layer.data], True
    return data, how, "image"


def _reduced(data: Any, shape: tuple[int, ...]) -> Any:
    """Every second, fourth, ... pixel, for a coarser resolution of that shape."""
    steps = [max(1, round(size / small)) for size, small in zip(data.shape, shape, strict=True)]
    return data[tuple(slice(None, None, step) for step in steps)][tuple(slice(size) for size in shape)]
