"""One Gaussian, the same for everyone: sampled, normalised, cut at four standard deviations, mirrored at the border.

whorl's multiscale models spend their time here. kornia offers no half-sample mirror and reflects about the last pixel;
its result differs near the border, its cost does not. ``gap`` is the largest distance to SciPy's result in grey values.
"""

from collections.abc import Callable
from importlib.util import find_spec
from math import ceil

import numpy as np

from benchmarks.peers import Image
from benchmarks.pictures import mosaic
from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads
from benchmarks.timing import interleave

__all__ = ["SMOOTHERS", "SUITE"]

_SIZE = 1024
_TRUNCATE = 4.0
Smoother = Callable[[Image], Image]


def _whorl(sigma: float) -> Smoother:
    import torch

    from whorl.operators import Smoothing

    smooth = Smoothing(sigma, truncate=_TRUNCATE)

    def run(image: Image) -> Image:
        with torch.no_grad():
            return smooth(torch.from_numpy(image)[None, None])[0, 0].numpy()

    return run


def _scipy(sigma: float) -> Smoother:
    from scipy.ndimage import gaussian_filter

    return lambda image: gaussian_filter(image, sigma, mode="reflect", radius=ceil(_TRUNCATE * sigma))


def _opencv(sigma: float) -> Smoother:
    import cv2

    side = 2 * ceil(_TRUNCATE * sigma) + 1
    return lambda image: cv2.GaussianBlur(image, (side, side), sigma, borderType=cv2.BORDER_REFLECT)


def _kornia(sigma: float) -> Smoother:
    import torch
    from kornia.filters import gaussian_blur2d

    side = 2 * ceil(_TRUNCATE * sigma) + 1

    def run(image: Image) -> Image:
        return gaussian_blur2d(torch.from_numpy(image)[None, None], side, (sigma, sigma))[0, 0].numpy()

    return run


SMOOTHERS = {
    "whorl": ("whorl", _whorl),
    "scipy": ("scipy", _scipy),
    "opencv": ("cv2", _opencv),
    "kornia": ("kornia", _kornia),
}


def cases() -> dict[str, Case]:
    return {
        f"sigma {sigma:g}, {threads} threads": lambda s=sigma, n=threads: _case(s, n)
        for sigma in (0.56, 1.78, 5.62)  # three of the paper's eight scales
        for threads in (2, 1)
    }


def _case(sigma: float, threads: int) -> Rows:
    image = np.array(mosaic(_SIZE))
    calls = {name: make(sigma) for name, (library, make) in SMOOTHERS.items() if find_spec(library)}
    use_threads(threads)
    timings = interleave({name: (lambda c=call: c(image)) for name, call in calls.items()}, repeats=9, budget_s=2)
    use_threads(1)
    reference = calls["scipy"](image)
    return [
        {
            "method": name,
            "sigma": sigma,
            "threads": threads,
            "size": _SIZE,
            "gap": float(np.max(np.abs(calls[name](image) - reference))),
            "ms_per_mpix": 1e3 * timing.best / (_SIZE**2 / 1e6),
            **timing.as_row(),
        }
        for name, timing in timings.items()
    ]


SUITE = Suite("speed_smoothing", "One Gaussian smoothing, 1024²", cases)
