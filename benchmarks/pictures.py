"""The pictures everyone filters: two photographs of scikit-image with seeded noise, and a larger mosaic for clocks."""

from functools import cache

import numpy as np

from benchmarks.peers import Image

__all__ = ["NOISE", "SEED", "clean", "mosaic", "noisy", "psnr"]

NOISE = 30.0
SEED = 30


@cache
def clean(name: str) -> Image:
    """``camera``: grey, mirrored to 1024 x 1024; ``astronaut``: 512 x 512 x 3. Grey values in [0, 255], read-only."""
    from skimage import data

    if name == "camera":
        picture = np.pad(data.camera(), ((0, 512), (0, 512)), mode="symmetric").astype(np.float32)
    elif name == "astronaut":
        picture = data.astronaut().astype(np.float32)
    else:
        raise ValueError(f"clean({name!r}): only 'camera' and 'astronaut' are known.")
    picture.flags.writeable = False
    return picture


@cache
def noisy(name: str) -> Image:
    """The picture plus Gaussian noise of standard deviation 30, not clipped, the same in every run."""
    picture = clean(name)
    noise = np.random.default_rng(SEED).standard_normal(picture.shape)
    out = (picture + NOISE * noise).astype(np.float32)
    out.flags.writeable = False
    return out


@cache
def mosaic(size: int, channels: int = 1) -> Image:
    """A noisy picture of ``size`` x ``size`` pixels, mirrored on: for timing, where only the range of values counts."""
    source = noisy("camera") if channels == 1 else noisy("astronaut")
    grow = [(0, max(0, size - n)) for n in source.shape[:2]] + [(0, 0)] * (source.ndim - 2)
    picture = np.ascontiguousarray(np.pad(source, grow, mode="symmetric")[:size, :size])
    if channels > 3:
        picture = np.ascontiguousarray(np.resize(picture, (size, size, channels)))
    picture.flags.writeable = False
    return picture


def psnr(estimate: Image, reference: Image) -> float:
    """DB with the peak 255, nothing clipped."""
    error = np.mean((estimate.astype(np.float64) - reference) ** 2)
    return float(10 * np.log10(255.0**2 / error))
