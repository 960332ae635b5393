"""The napari plugin: read pictures, and filter image layers; chunked (dask) layers stay lazy.

It imports nothing of napari: layers come and go as the plain tuples that the plugin manifest allows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import napari

__all__ = ["filter_layer", "get_reader"]

SAMPLED = 8  # planes of a stack that are looked at when the contrast is measured
ANY_GREY_VALUE = {"min": 0.0, "max": 1e12}  # the widget would stop at 999, which is little in 16 bit

Name = Literal["weickert-brox", "gerig", "perona-malik", "eed", "multiscale-isotropic", "multiscale-anisotropic"]


def get_reader(path: str | list[str]) -> Callable[[str | list[str]], list[Any]] | None:
    """A function that reads the file, or None if it is none of ours; napari then asks the next plugin."""
    from whorl.errors import FileError
    from whorl.files import open_reader

    try:
        open_reader(path if isinstance(path, str) else path[0]).close()
    except FileError:
        return None
    return _read


def filter_layer(
    layer: "napari.layers.Image",
    model: Name = "weickert-brox",
    contrast: Annotated[float, ANY_GREY_VALUE] = 0.0,
    time: Annotated[float, {"min": 0.0, "max": 1e5}] = 5.0,
) -> "napari.types.LayerDataTuple":
    """The filtered image as a new layer. Contrast 0 means: measure it on the image, once for all its planes.

    Leading axes (time, depth) are filtered plane by plane; RGB channels together, alpha not at all. Where the scale of
    the layer says that pixels are not square, distances along both axes are measured alike.
    """
    import torch

    from whorl import large, models
    from whorl.automatic import automatic_settings
    from whorl.files.layout import pixel_aspect

    data, rgb = layer.data, bool(layer.rgb)
    stack: Any = __import__("dask.array").array if type(data).__module__.startswith("dask") else np
    outer = data.shape[: data.ndim - 2 - rgb]
    planes = [data[index] for index in np.ndindex(*outer)]
    height, width = (float(size) for size in tuple(layer.scale)[-2:])
    spacing = pixel_aspect((height, width))
    if not contrast:
        parts = [torch.from_numpy(np.ascontiguousarray(block))[None] for block in _blocks(planes, rgb)]
        contrast = automatic_settings(model, parts, time=time, spacing=spacing).contrast
    built = models.build(model, contrast=contrast, spacing=spacing)
    if rgb:
        done = [(large.map(p[..., :3], built, time=time, channel_axis=-1), p[..., 3:]) for p in planes]
        results = [stack.concatenate(pair, axis=-1) for pair in done]
    else:
        results = [large.map(plane, built, time=time) for plane in planes]
    result = stack.stack(results).reshape(data.shape) if outer else results[0]
    name = f"{layer.name} ({model}, contrast {contrast:.4g}, time {time:g})"
    return result, {"name": name, "rgb": rgb, "scale": layer.scale, "translate": layer.translate}, "image"


def _blocks(planes: Sequence[Any], rgb: bool) -> Iterator[NDArray[Any]]:
    """Blocks ``(c, y, x)`` of some windows of some planes, to measure on."""
    from whorl.large.windows import samples

    for plane in planes[:: -(-len(planes) // SAMPLED)]:
        colours = plane[..., :3] if rgb else plane[..., None]
        for window in samples(*plane.shape[:2]):
            block = colours[window.top : window.bottom, window.left : window.right]
            yield np.asarray(block).transpose(2, 0, 1).astype(np.float64)


def _read(path: str | list[str]) -> list[Any]:
    from whorl.files import read_pages

    pages = [page for name in ([path] if isinstance(path, str) else path) for page in read_pages(name)]
    layers: list[Any] = []
    for page in pages:
        rgb = page.layout.colour == "rgb"
        single = page.layout.filtered == 1
        how: dict[str, Any] = {"rgb": True} if rgb else {} if single else {"channel_axis": 2}
        how["scale"] = page.metadata.aspect
        layers.append((page.colours[..., 0] if single else page.samples, how, "image"))
    return layers
