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
from whorl.cli.treatments import Spaced, Treatment
from whorl.errors import FileError
from whorl.files import Page
from whorl.files.formats import is_zarr
from whorl.files.layout import plain_samples
from whorl.files.volume import VolumeFile, open_volume
from whorl.inpainting.images import steady
from whorl.inpainting.masks import MOST, Colour, Gaps, check_share, drawn, grown, is_colour
from whorl.large import Stage

Where = Callable[[NDArray[Any]], Gaps]
"""Where to fill, ``(y, x)`` or ``(z, y, x)``, told from samples with one more axis in front, or known without them."""


class ByFilling(Spaced, Treatment):
    """Filling in by a model, where a mask says so: a file, a folder of files, ``alpha``, ``nan`` or a colour.

    A mask with one page serves every page of a picture; one with several belongs to a picture with as many. Gaps are
    ``grow`` pixels wider than the mask, and no larger share of a page than ``most``; NaN are never too many.
    """

    volumes, lossless = True, True
    doing = "filling in"

    def __init__(
        self,
        mask: str,
        model: str,
        device: torch.device,
        *,
        grow: int = 0,
        fuzz: float = 0.0,
        most: float | None = None,
        spacing: tuple[float, ...] | None = None,
        **numbers: float | None,
    ) -> None:
        self.mask, self.model, self.device, self.spacing, self.numbers = mask, model, device, spacing, numbers
        self.grow, self.fuzz = grow, fuzz
        self.most = (1.0 if mask == "nan" else MOST) if most is None else most

    def _measured(self, pages: Sequence[Page]) -> dict[int, Gaps | None]:
        """The gaps of every page, as far as the mask is a file."""
        masks: Sequence[Gaps | None] = [None]
        if not self._in_samples:
            shown = files.read_pages(self._file(pages[0].path))
            plain = [plain_samples(one.samples, one.layout, one.metadata) for one in shown]
            masks = [drawn(values, -1, one.layout.kept) for values, one in zip(plain, shown, strict=True)]
        if len(masks) not in (1, len(pages)):
            raise FileError(f"{self.mask}: has {len(masks)} pages, the picture {len(pages)}. Give one, or as many.")
        return {id(page): masks[number % len(masks)] for number, page in enumerate(pages)}

    def _stages(self, page: Page, measured: dict[int, Gaps | None]) -> tuple[Sequence[Stage], dict[str, Any]]:
        height, width, colours = page.layout.height, page.layout.width, page.layout.filtered
        gaps, rim = measured[id(page)], 0
        if gaps is None:
            samples = page.read(0, height, 0, width).transpose(2, 0, 1)
            if self.mask == "alpha":
                if not page.layout.kept:
                    raise FileError(f"{page.path}: has no alpha channel. Give a mask as a picture, or a colour.")
                gaps = (samples[colours:] == 0).any(0)
            else:
                seen = self._seen(page.path, page.layout.dtype, colours)
                gaps = seen(samples[:colours])
                rim = seen.rim(samples[:colours], grown(gaps, self.grow)) if isinstance(seen, Colour) else 0
        if gaps.shape != (height, width):
            raise FileError(
                f"{self.mask}: the mask has {gaps.shape[1]} x {gaps.shape[0]} pixels, the picture {width} x {height}. "
                "Make them equal."
            )
        wide = grown(gaps, self.grow)
        if not wide.any() and len(measured) > 1:
            return (), {"model": self.model, "filled": 0.0, "distance": 0.0}
        check_share(float(wide.mean()), self.most)
        aspect = self.pixel(page)
        alpha = colours if self.mask == "alpha" else None
        square = None if {*aspect} == {1.0} else aspect
        stages, record = self._filled(lambda samples: wide, square, float(wide.mean()), alpha)
        if rim:
            record["doubt"] = f"around it are pixels mixed with this colour; --grow {self.grow + rim} fills them, too"
        return stages, record

    def volume(self, file: VolumeFile) -> tuple[Sequence[Stage], dict[str, Any]]:
        """Filling in three dimensions, with the file's size of a voxel; one mask serves all volumes of the file."""
        aspect = self.voxel(file)
        if self.mask == "alpha":
            raise FileError(f"{file.path}: a volume has no alpha channel. Give a mask as a volume, or nan.")
        if self._in_samples:
            seen = self._seen(file.path, file.dtype, file.channels)
            shares = [self._wide(seen)(file.read(n, file.whole())).mean() for n in range(file.count)]
            check_share(float(np.mean(shares)), self.most)
            return self._filled(self._wide(seen), aspect, float(np.mean(shares)))
        mask = open_volume(self._file(file.path), asked=True)
        if mask is None or mask.count != 1 or mask.shape != file.shape:
            sizes = " x ".join(map(str, file.shape[::-1]))
            raise FileError(f"{self.mask}: expected one volume of {sizes} voxels, like {file.path}.")
        with mask:
            gaps = grown(drawn(mask.read(0, mask.whole()), 0), self.grow)
        check_share(float(gaps.mean()), self.most)
        return self._filled(lambda samples: gaps, aspect, float(gaps.mean()))

    def _wide(self, seen: Where) -> Where:
        return lambda samples: grown(seen(samples), self.grow)

    @property
    def _in_samples(self) -> bool:
        return self.mask in ("alpha", "nan") or (is_colour(self.mask) and not Path(self.mask).exists())

    def _file(self, source: Path) -> Path:
        """The mask of a picture: the file told, or the one of the same name in the folder told."""
        told = Path(self.mask)
        if not told.is_dir() or is_zarr(told):
            if not told.exists() and not told.suffix:
                raise FileError(f"{told}: no such file, and no colour. Give a mask, alpha, nan, or a colour like red.")
            return told
        found = [told / name for name in (source.name, f"{source.stem}.png") if (told / name).exists()]
        if not found:
            raise FileError(f"{told}: holds no mask for {source}. Give it the name of the picture.")
        return found[0]

    def _seen(self, path: Path, kind: np.dtype[Any], channels: int) -> Where:
        """Where samples are NaN, or have the colour."""
        if self.mask != "nan":
            return Colour(self.mask, kind, channels, self.fuzz)
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
        """Known samples as they stood in the file; filled pixels are no longer transparent."""
        gaps = self.where(before)
        result: NDArray[Any] = np.where(gaps, after, before)
        if self.transparent is not None:
            alpha = before[self.transparent :]
            result[self.transparent :] = np.where(gaps, alpha.max(), alpha)
        return result
