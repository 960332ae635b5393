"""Dask arrays: chunks are the windows, and dask brings the halos."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl.foundations.samples import rounded, working_dtype
from whorl.large.plan import plan, working_bytes
from whorl.large.run import check
from whorl.large.stages import Stage, fused, halo

__all__ = ["map_lazy"]


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
    _, scratch = working_bytes(steps, channels, torch.float64 if kind == np.float64 else torch.float32, len(shape))
    side = max(1, min(max(image.chunks[index]) for index in spatial))
    chosen = plan(shape, steps, tile=side, scratch_cost=scratch, memory=memory)
    result = image if axis is None else image.rechunk({axis: -1})  # channels are filtered together
    chunks = result.chunks
    for number, stages in enumerate(chosen.passes, start=1):
        last = number == len(chosen.passes)
        depth = {index: min(halo(stages), image.shape[index]) if index in spatial else 0 for index in range(image.ndim)}
        block = _Block(stages, axis, kind, image.dtype if last else kind, number == 1, str(device), image.ndim)
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
