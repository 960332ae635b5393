"""Ways to fill in, of whorl and of others, and the gaps they fill: the same for clocks and for quality.

A method takes a picture (grey or with three channels last, float32 in [0, 255]) and a mask, True where to fill. What
stands under the mask is set to zero before it is called.
"""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers import Image

__all__ = ["DENSITIES", "METHODS", "Mask", "Way", "installed", "masks", "random_pixels"]

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Fill = Callable[[Image, Mask], Image]

DENSITIES = (0.01, 0.02, 0.05, 0.1, 0.2)
RADIUS = 5.0
"""The neighbourhood of OpenCV's methods, in pixels; larger ones take longer and blur more."""


class Way(NamedTuple):
    """A method by name, the distribution it comes from, and the function."""

    name: str
    distribution: str
    module: str
    fill: Fill
    slow: bool = False

    def facts(self) -> dict[str, Any]:
        return {"method": self.name, "library": self.distribution, "version": _version(self.distribution)}


def _ours(model: str, image: Image, mask: Mask) -> Image:
    import whorl

    filled: Image = whorl.inpaint(image, mask, model, channel_axis=-1 if image.ndim == 3 else None)
    return filled


def _opencv(flag: str, image: Image, mask: Mask) -> Image:
    """8 bits are all it takes in colour."""
    import cv2

    whole = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    return cv2.inpaint(whole, mask.astype(np.uint8), RADIUS, getattr(cv2, flag)).astype(np.float32)


def _fsr(image: Image, mask: Mask) -> Image:
    """Frequency selective reconstruction, its fast variant; its mask says what is known, and its colours are BGR."""
    import cv2

    whole = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    whole = np.ascontiguousarray(whole[..., ::-1]) if image.ndim == 3 else whole
    filled = np.zeros_like(whole)
    cv2.xphoto.inpaint(whole, 255 * (~mask).astype(np.uint8), filled, cv2.xphoto.INPAINT_FSR_FAST)
    return (filled[..., ::-1] if image.ndim == 3 else filled).astype(np.float32)


def _skimage(image: Image, mask: Mask) -> Image:
    """Of floats as they are; the range is that of the picture."""
    from skimage.restoration import inpaint_biharmonic

    filled = inpaint_biharmonic(image / 255, mask, channel_axis=-1 if image.ndim == 3 else None)
    return (255 * filled).astype(np.float32)


METHODS = (
    Way("whorl-eed", "whorl", "whorl", partial(_ours, "eed")),
    Way("whorl-diffusion-shock", "whorl", "whorl", partial(_ours, "diffusion-shock")),
    Way("whorl-homogeneous", "whorl", "whorl", partial(_ours, "homogeneous")),
    Way("whorl-biharmonic", "whorl", "whorl", partial(_ours, "biharmonic")),
    Way("opencv-telea", "opencv-contrib-python-headless", "cv2", partial(_opencv, "INPAINT_TELEA")),
    Way("opencv-navier-stokes", "opencv-contrib-python-headless", "cv2", partial(_opencv, "INPAINT_NS")),
    Way("opencv-fsr-fast", "opencv-contrib-python-headless", "cv2", _fsr),
    Way("skimage-biharmonic", "scikit-image", "skimage", _skimage, slow=True),
)


def installed() -> list[Way]:
    return [way for way in METHODS if find_spec(way.module) is not None]


def random_pixels(shape: tuple[int, ...], density: float, seed: int) -> Mask:
    """All but so large a share of the pixels, drawn at random."""
    return np.random.default_rng(seed).random(shape[:2]) >= density


def scratches(shape: tuple[int, ...], seed: int) -> Mask:
    """Twelve straight scratches, one to three pixels wide, from border to border."""
    draw = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    mask = np.zeros(shape[:2], bool)
    for width in (1, 2, 3) * 4:
        angle, at = draw.uniform(0, np.pi), draw.uniform(0.1, 0.9, 2) * shape[:2]
        mask |= np.abs(np.cos(angle) * (x - at[1]) + np.sin(angle) * (y - at[0])) < width / 2
    return mask


def text(shape: tuple[int, ...], seed: int) -> Mask:
    """Lines of text over the whole picture."""
    from PIL import Image as Pictures
    from PIL import ImageDraw

    page = Pictures.new("1", shape[1::-1])
    pen, words = ImageDraw.Draw(page), "the quick brown fox jumps over the lazy dog "
    for line in range(0, shape[0], 24):
        start = (seed + line) % len(words)
        pen.text((0, line), (words[start:] + 8 * words)[: shape[1] // 4], fill=1, font_size=15)
    return np.array(page)


def masks() -> dict[str, Callable[[tuple[int, ...], int], Mask]]:
    """Every kind of gap by name."""
    sparse = {
        f"{100 * density:g} % of pixels": lambda shape, seed, share=density: random_pixels(shape, share, seed)
        for density in DENSITIES
    }
    return {**sparse, "scratches": scratches, "text": text}


def _version(distribution: str) -> str:
    if distribution == "whorl":
        import whorl

        return whorl.__version__
    return version(distribution)
