"""What :func:`whorl.diffuse` and :func:`whorl.denoise` do with a dask array: give another one, not computed yet."""

import inspect
from collections.abc import Callable
from typing import Any

from whorl.denoising import Denoising, denoise
from whorl.errors import ShapeError
from whorl.images import diffuse
from whorl.large.arrays import map
from whorl.networks import TrainedNetwork

NOT_LAZY = ("page_axis", "insist", "progress")
"""Arguments that need the whole array."""


def lazily(function: Callable[..., Any], told: dict[str, Any]) -> Any:
    """The result of a function of pictures for these arguments; noise that is not told is measured now, on samples."""
    usual = {name: known.default for name, known in inspect.signature(function).parameters.items()}
    image, *_ = told.values()
    options = told.get("options", {})
    given = {
        name: value for name, value in told.items() if name not in ("image", "options") and value is not usual[name]
    }
    refused = [name for name in NOT_LAZY if name in given]
    if function.__name__ not in (diffuse.__name__, denoise.__name__) or refused:
        what = f"{refused[0]} is" if refused else "they are"
        raise ShapeError(
            f"{function.__name__}: of dask arrays only a part is in memory, and {what} for whole ones. "
            "Give image.compute()" + (", or one page after the other." if "page_axis" in refused else ".")
        )
    where = {name: given.pop(name) for name in ("channel_axis", "device") if name in given}
    if function.__name__ == diffuse.__name__:
        return map(image, **where, **given, **options)
    network, noise = given.get("network"), given.get("noise")
    if getattr(noise, "ndim", 0):
        raise ShapeError("denoise: a map of the noise must be in memory, and so must the image. Give image.compute().")
    if isinstance(network, TrainedNetwork) and noise is not None:
        return map(image, network, noise=noise, **where)
    return map(image, Denoising(**given), **where)
