"""From an image layer to a filtered one, without anything of napari: layers are what has ``data``, ``rgb``, ``scale``.

Leading axes (time, depth) are filtered plane by plane, RGB channels together, alpha not at all. Layers of dask arrays
stay lazy: napari computes the windows it shows. The pixel size is the layer's scale, of which the ratio counts.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl import large, models
from whorl.automatic import automatic_settings, noise_level, sample_slices
from whorl.files.layout import pixel_aspect
from whorl.foundations.samples import working_dtype

__all__ = ["Cancelled", "Job", "contrast_range", "denoise_layer", "filter_layer"]

LayerData = tuple[Any, dict[str, Any], str]
MEASURED_PLANES = 4
"""Contrast and noise are measured on so many planes, spread over the layer, and hold for all of it."""


class Cancelled(Exception):
    """The computation was stopped on request; nothing was added."""


class Job:
    """How far a computation is, and whether it shall go on; read and written from different threads."""

    def __init__(self) -> None:
        self.share, self.cancelled = 0.0, False

    def advance(self, share: float) -> None:
        """Another part is done; raises :class:`Cancelled` if nobody waits for the rest."""
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


def filter_layer(
    layer: Any,
    model: str = "weickert-brox",
    contrast: float = 0.0,
    time: float = 5.0,
    sigma: float | None = None,
    job: Job | None = None,
) -> LayerData:
    """The filtered image as the data of a new layer. Contrast 0 means: from the noise of the image."""
    options: dict[str, Any] = {"spacing": pixel_aspect(_pixel(layer))}
    if sigma is not None and "sigma" in models.row(model).options:
        options["sigma"] = sigma
    if not contrast:
        contrast = automatic_settings(model, _samples(layer), time=time, **options).contrast
    built = models.build(model, contrast=contrast, **options)
    result = _each_plane(layer, job or Job(), lambda plane, how: large.map(plane, built, time=time, **how))
    return _like(layer, result, f"{model}, contrast {contrast:.4g}, time {time:g}")


def denoise_layer(
    layer: Any, network: str = "anisotropic-0.41", noise: float = 0.0, job: Job | None = None
) -> LayerData:
    """The denoised image as the data of a new layer. Noise 0 means: estimate its standard deviation."""
    from whorl.networks import load_card

    noise = noise or noise_level(_samples(layer))
    job = job or Job()
    if not noise:
        return _like(layer, layer.data, "no noise found, copied")
    card = load_card(network)
    factor = float(card.data["noise"]) / noise
    built = card.build()
    result = _each_plane(layer, job, lambda plane, how: large.map(plane, built, factor=factor, **how))
    return _like(layer, result, f"denoised, noise {noise:.4g}")


def _pixel(layer: Any) -> tuple[float, float] | None:
    scale = [float(abs(size)) for size in layer.scale][-2:]
    return (scale[0], scale[1]) if len(scale) == 2 else None


def _planes(layer: Any) -> Iterator[Any]:
    """The planes ``(y, x)`` or ``(y, x, rgb)`` of a layer, in order."""
    for index in np.ndindex(*layer.data.shape[: layer.data.ndim - 2 - bool(layer.rgb)]):
        yield layer.data[index]


def _samples(layer: Any) -> list[Tensor]:
    """Parts ``(1, c, y, x)`` of a few planes: as much as a measurement needs, also of layers larger than memory."""
    planes = list(_planes(layer))
    count = min(len(planes), MEASURED_PLANES)
    found = []
    for plane in (planes[number * len(planes) // count] for number in range(count)):
        for place in sample_slices(plane.shape[:2]):
            part = np.asarray(plane[place])
            part = part[..., :3].transpose(2, 0, 1) if layer.rgb else part[None]
            found.append(torch.from_numpy(np.ascontiguousarray(part.astype(working_dtype(part.dtype))))[None])
    return found


def _each_plane(layer: Any, job: Job, run: Callable[[Any, dict[str, Any]], Any]) -> Any:
    """All planes through the filter, put together again; alpha is passed on."""
    data, rgb = layer.data, bool(layer.rgb)
    lazy = type(data).__module__.partition(".")[0] == "dask"
    stack: Any = __import__("dask.array").array if lazy else np
    planes = list(_planes(layer))
    results = []
    for plane in planes:
        how: dict[str, Any] = {"channel_axis": -1} if rgb else {}
        if not lazy:
            how["advance"] = lambda share: job.advance(share / len(planes))
        done = run(plane[..., :3] if rgb else plane, how)
        results.append(stack.concatenate([done, plane[..., 3:]], axis=-1) if rgb else done)
        if lazy:
            job.advance(1 / len(planes))
    return stack.stack(results).reshape(data.shape) if len(data.shape) > 2 + rgb else results[0]


def _like(layer: Any, data: Any, what: str) -> LayerData:
    how = {"name": f"{layer.name} ({what})", "rgb": bool(layer.rgb), "scale": layer.scale, "translate": layer.translate}
    return data, how, "image"
