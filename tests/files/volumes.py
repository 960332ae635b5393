"""Whole volumes in memory, for tests: read, changed, written in the format they came from."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whorl.files.volume import VolumeFile, check_format, open_volume
from whorl.foundations.atomic import beside
from whorl.foundations.samples import rounded


@dataclass(frozen=True)
class Volume:
    """Samples ``(z, y, x)``, the size of a voxel along these axes where it is known, and the file they came from."""

    samples: np.ndarray
    spacing: tuple[float, ...] | None
    file: VolumeFile

    def with_samples(self, values: np.ndarray) -> "Volume":
        assert values.shape == self.samples.shape
        return replace(self, samples=rounded(values, self.samples.dtype))


def read_volume(path: Path) -> Volume:
    """The only volume in a file, whole; a stack of pictures is taken for one."""
    with open_volume(path, asked=True) as file:
        assert (file.count, file.channels) == (1, 1)
        return Volume(file.read(0, file.whole())[0], file.spacing, file)


def write_volume(path: Path, volume: Volume) -> None:
    check_format(path, volume.file)
    with beside(path, folder=volume.file.kind == "zarr") as part:
        volume.file.write(part, path.name, lambda number, place: volume.samples[place][None])
