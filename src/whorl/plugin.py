"""The napari plugin: read pictures, and filter image layers; chunked (dask) layers stay lazy.

It imports nothing of napari: layers come and go as the plain tuples that the plugin manifest allows.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import napari

__all__ = ["filter_layer", "get_reader"]

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
    layer: "napari.layers.Image", model: Name = "weickert-brox", contrast: float = 0.0, time: float = 5.0
) -> "napari.types.LayerDataTuple":
    """The filtered image as a new layer. Contrast 0 means: measure it on the image.

    Leading axes (time, depth) are filtered plane by plane; RGB channels together, alpha not at all.
    """
    from whorl import large, models
    from whorl.large.contrast import typical_contrast
    from whorl.large.windows import samples

    data, rgb = layer.data, bool(layer.rgb)
    stack: Any = __import__("dask.array").array if type(data).__module__.startswith("dask") else np
    outer = data.shape[: data.ndim - 2 - rgb]
    planes = [data[index] for index in np.ndindex(*outer)]
    if not contrast:
        first = np.asarray(planes[0][..., :3] if rgb else planes[0][..., None]).transpose(2, 0, 1).astype(np.float64)
        probe = models.build(model, contrast=1.0)
        contrast = typical_contrast(
            probe, [first[w.inside(large.Window(0, 0, 0, 0))] for w in samples(*first.shape[1:])]
        )
    built = models.build(model, contrast=contrast)
    if rgb:
        done = [(large.map(p[..., :3], built, time=time, channel_axis=-1), p[..., 3:]) for p in planes]
        results = [stack.concatenate(pair, axis=-1) for pair in done]
    else:
        results = [large.map(plane, built, time=time) for plane in planes]
    result = stack.stack(results).reshape(data.shape) if outer else results[0]
    name = f"{layer.name} ({model}, contrast {contrast:.4g}, time {time:g})"
    return result, {"name": name, "rgb": rgb, "scale": layer.scale, "translate": layer.translate}, "image"


def _read(path: str | list[str]) -> list[Any]:
    from whorl.files import read_pages

    pages = [page for name in ([path] if isinstance(path, str) else path) for page in read_pages(name)]
    layers: list[Any] = []
    for page in pages:
        rgb = page.layout.colour == "rgb"
        single = page.layout.filtered == 1
        how = {"rgb": True} if rgb else {} if single else {"channel_axis": 2}
        layers.append((page.colours[..., 0] if single else page.samples, how, "image"))
    return layers
