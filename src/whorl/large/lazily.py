"""Functions for dask arrays: they give another dask array, which is not computed yet."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl.denoising import Denoising, denoise
from whorl.errors import ShapeError
from whorl.foundations.samples import rounded, working_dtype
from whorl.images import diffuse
from whorl.large.arrays import map
from whorl.large.plan import plan, working_bytes
from whorl.large.run import check
from whorl.large.stages import Stage, fused, halo
from whorl.networks import TrainedNetwork

NOT_LAZY = ("page_axis", "insist", "progress")
"""Arguments that need the whole array."""


def lazily(function: Callable[..., Any], told: dict[str, Any]) -> Any:
    """What :func:`whorl.diffuse` or :func:`whorl.denoise` gives; noise that is not told is measured now, on samples."""
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


def map_lazy(image: Any, steps: tuple[Stage, ...], axis: int | None, *, memory: int, device: str | torch.device) -> Any:
    """The filtered dask array, not computed yet.

    Every pass is one ``dask.array.map_overlap`` with the exact halo of its steps; how many steps go into a pass is
    chosen by cost for chunks of this size. Chunks thinner than the halo are merged with their neighbours by dask.
    """
    import dask.array as da

    spatial = [index for index in range(image.ndim) if index != axis]
    shape = [image.shape[index] for index in spatial]
    channels = 1 if axis is None else image.shape[axis]
    kind = working_dtype(image.dtype)
    _, scratch = working_bytes(steps, channels, image.dtype, len(shape))
    side = max(1, min(max(image.chunks[index]) for index in spatial))
    chosen = plan(shape, steps, tile=side, scratch_cost=scratch, memory=memory)
    result = image if axis is None else image.rechunk({axis: -1})  # channels are filtered together
    chunks = result.chunks
    for number, part in enumerate(chosen.passes, start=1):
        last = number == len(chosen.passes)
        depth = {index: min(halo(part), image.shape[index]) if index in spatial else 0 for index in range(image.ndim)}
        block = _Block(part, axis, kind, image.dtype if last else kind, number == 1, str(device), image.ndim)
        result = da.map_overlap(block, result, depth=depth, boundary="none", dtype=block.output, meta=block.meta())
    return result if result.chunks == chunks else result.rechunk(chunks)


@dataclass(frozen=True)
class _Block:
    """What happens to one chunk with its halo; dask trims the halo from the result."""

    stages: tuple[Stage, ...]
    axis: int | None
    kind: np.dtype[Any]
    output: np.dtype[Any]
    first: bool
    device: str
    axes: int

    def __call__(self, block: NDArray[Any]) -> NDArray[Any]:
        samples = block.astype(self.kind)
        planes = samples[None] if self.axis is None else np.moveaxis(samples, self.axis, 0)
        u = torch.from_numpy(np.ascontiguousarray(planes))[None].to(self.device)
        if self.first:
            check(u, self.stages)
        with torch.no_grad():
            for stage in fused(self.stages):
                u = stage.apply(u)
        result: NDArray[Any] = u[0].cpu().numpy()
        return rounded(result[0] if self.axis is None else np.moveaxis(result, 0, self.axis), self.output)

    def meta(self) -> NDArray[Any]:
        return np.empty((0,) * self.axes, self.output)
