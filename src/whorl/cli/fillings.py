"""What ``whorl inpaint`` does to the pages of a file: where to fill is read from a mask, or from the samples."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl import files
from whorl.cli.treatments import Treatment, voxel_aspect
from whorl.errors import FileError
from whorl.files import Page
from whorl.files.formats import is_zarr
from whorl.files.volume import VolumeFile, open_volume
from whorl.inpainting.images import checked_mask, steady
from whorl.large import Stage

Gaps = NDArray[Any]
Where = Callable[[NDArray[Any]], Gaps]
"""Where to fill, ``(y, x)`` or ``(z, y, x)``, told from samples with one more axis in front, or known without them."""


class ByFilling(Treatment):
    """Filling in by a model, where a mask says so: a file, a folder of files, ``alpha``, ``nan`` or a colour.

    A mask with one page serves every page of a picture; one with several belongs to a picture with as many.
    """

    volumes = True
    doing = "filling in"

    def __init__(
        self, mask: str, model: str, contrast: float | None, tolerance: float | None, device: torch.device
    ) -> None:
        self.mask, self.model, self.device = mask, model, device
        self.numbers = {"contrast": contrast, "tolerance": tolerance}

    def _measured(self, pages: Sequence[Page]) -> dict[int, Gaps | None]:
        """The gaps of every page, as far as the mask is a file."""
        masks: Sequence[Gaps | None] = [None]
        if not self._in_samples:
            masks = [_marked(self.mask, shown.colours, -1) for shown in files.read_pages(self._file(pages[0].path))]
        if len(masks) not in (1, len(pages)):
            raise FileError(f"{self.mask}: has {len(masks)} pages, the picture {len(pages)}. Give one, or as many.")
        return {id(page): masks[number % len(masks)] for number, page in enumerate(pages)}

    def _stages(self, page: Page, measured: dict[int, Gaps | None]) -> tuple[Sequence[Stage], dict[str, Any]]:
        height, width, colours = page.layout.height, page.layout.width, page.layout.filtered
        gaps = measured[id(page)]
        if gaps is None:
            samples = page.read(0, height, 0, width).transpose(2, 0, 1)
            if self.mask == "alpha":
                if not page.layout.kept:
                    raise FileError(f"{page.path}: has no alpha channel. Give a mask as a picture, or a colour.")
                gaps = (samples[colours:] == 0).any(0)
            else:
                gaps = self._seen(page.path, page.layout.dtype, colours)(samples[:colours])
        if gaps.shape != (height, width):
            raise FileError(
                f"{self.mask}: the mask has {gaps.shape[1]} x {gaps.shape[0]} pixels, the picture {width} x {height}. "
                "Make them equal."
            )
        if len(measured) == 1 or gaps.all():
            checked_mask(gaps, gaps.shape)
        elif not gaps.any():
            return (), {"model": self.model, "filled": 0.0, "distance": 0.0}
        aspect = page.metadata.aspect
        alpha = colours if self.mask == "alpha" else None
        return self._filled(lambda samples: gaps, None if {*aspect} == {1.0} else aspect, float(gaps.mean()), alpha)

    def volume(self, file: VolumeFile) -> tuple[Sequence[Stage], dict[str, Any]]:
        """Filling in three dimensions, with the file's size of a voxel; one mask serves all volumes of the file."""
        aspect = voxel_aspect(file.spacing)
        if self.mask == "alpha":
            raise FileError(f"{file.path}: a volume has no alpha channel. Give a mask as a volume, or nan.")
        if self._in_samples:
            seen = self._seen(file.path, file.dtype, file.channels)
            boxes = [(number, box) for number in range(file.count) for box in file.slabs()]
            share = sum(int(seen(file.read(*box)).sum()) for box in boxes) / (file.count * math.prod(file.shape))
            if share in (0, 1):
                checked_mask(np.full(1, bool(share)), (1,))
            return self._filled(seen, aspect, share)
        mask = open_volume(self._file(file.path), asked=True)
        if mask is None or mask.count != 1 or mask.shape != file.shape:
            sizes = " x ".join(map(str, file.shape[::-1]))
            raise FileError(f"{self.mask}: expected one volume of {sizes} voxels, like {file.path}.")
        with mask:
            gaps = _marked(self.mask, mask.read(0, mask.whole()), 0)
        checked_mask(gaps, gaps.shape)
        return self._filled(lambda samples: gaps, aspect, float(gaps.mean()))

    @property
    def _in_samples(self) -> bool:
        return self.mask in ("alpha", "nan") or self.mask.startswith("#")

    def _file(self, source: Path) -> Path:
        """The mask of a picture: the file told, or the one of the same name in the folder told."""
        told = Path(self.mask)
        if not told.is_dir() or is_zarr(told):
            return told
        found = [told / name for name in (source.name, f"{source.stem}.png") if (told / name).exists()]
        if not found:
            raise FileError(f"{told}: holds no mask for {source}. Give it the name of the picture.")
        return found[0]

    def _seen(self, path: Path, kind: np.dtype[Any], channels: int) -> Where:
        """Where samples are NaN, or have the colour."""
        if self.mask != "nan":
            colour = _colour(self.mask, kind, channels)
            return lambda samples: np.asarray((samples == colour.reshape(-1, *[1] * (samples.ndim - 1))).all(0))
        if kind.kind != "f":
            raise FileError(f"{path}: has no NaN, its samples are {kind}. Give a mask as a picture.")
        return lambda samples: np.asarray(~np.isfinite(samples).all(0))

    def _filled(
        self, where: Where, spacing: tuple[float, ...] | None, share: float, transparent: int | None = None
    ) -> tuple[Sequence[Stage], dict[str, Any]]:
        record = {"model": self.model, "filled": share}
        how = {"model": self.model, "spacing": spacing, **self.numbers}
        work = _Fill(where, transparent, how, record)
        return (Stage(work, 0, whole=True, finish=work.finish),), record


@dataclass(frozen=True)
class _Fill:
    """Filling in as a stage, which notes in the record how far it got. Channels from ``transparent`` on are alpha."""

    where: Where
    transparent: int | None
    how: dict[str, Any]
    record: dict[str, Any]

    def __call__(self, u: Tensor) -> Tensor:
        return self.watched(u, lambda share: None)

    def watched(self, u: Tensor, tell: Callable[[float], None]) -> Tensor:
        """The filled image. How much is done is told by the logarithm of the distance that is still left."""
        known = ~torch.from_numpy(self.where(u[0].cpu().numpy()))[None, None]
        told: list[float] = [0.0]
        distances: list[float] = []

        def report(distance: float) -> None:
            distances.append(max(distance, 1e-30))
            share = min(max(math.log10(distances[0] / distances[-1]) / 3, told[-1]), 0.9)
            tell(share - told[-1])
            told.append(share)

        found = steady(u, known, report=report, **self.how) if not bool(known.all()) else None
        tell(1 - told[-1])
        self.record["distance"] = max(self.record.get("distance", 0.0), found.distance if found else 0.0)
        return u if found is None else found.image

    def finish(self, before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
        """Known samples as they stood in the file; what was transparent is so no longer."""
        gaps = self.where(before)
        result: NDArray[Any] = np.where(gaps, after, before)
        if self.transparent is not None:
            alpha = before[self.transparent :]
            result[self.transparent :] = np.where(gaps, alpha.max(), alpha)
        return result


def _marked(mask: str, values: NDArray[Any], channels: int) -> Gaps:
    """Where a mask is white; ``channels`` is the axis of its channels."""
    found = np.unique(values)
    if len(found) > 2:
        raise FileError(
            f"{mask}: a mask is black and white, this one has {len(found)} values from {found[0]} to {found[-1]}. "
            "Apply a threshold first."
        )
    return np.asarray(values.any(channels))


def _colour(mask: str, kind: np.dtype[Any], channels: int) -> NDArray[Any]:
    """The samples of a colour written like ``#ff00ff``, in the type of the picture."""
    digits = mask[1:]
    if len(digits) != 6 or not all(d in "0123456789abcdefABCDEF" for d in digits):
        raise FileError(f"{mask}: a colour is written with six digits, like '#ff00ff'.")
    values = np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)])
    if kind.kind not in "ui":
        raise FileError(f"{mask}: colours are known for pictures of integers, this one has {kind}. Give a mask.")
    if channels == 1 and len(set(values.tolist())) == 1:
        values = values[:1]
    if len(values) != channels:
        raise FileError(f"{mask}: the picture has {channels} colour channel(s). Give a mask as a picture.")
    return (values * (np.iinfo(kind).max // 255)).astype(kind)
