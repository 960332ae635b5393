"""Pictures with simulated noise of many kinds, to see what `whorl.denoise` makes of them with nothing told.

Nothing here is shared with what networks and measures were trained on (real_noise.py, noise_measure.py).
"""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
from PIL import Image
from scipy import ndimage

Draw = np.random.Generator
Picture = np.ndarray
WHITE = (0, 0.5, 1, 2, 3, 5, 10, 15, 25, 50, 75)


def eight(u: Picture) -> Picture:
    """As a file of 8 bits holds it."""
    return u.round().clip(0, 255).astype(np.uint8)


def jpeg(u: Picture, quality: int) -> Picture:
    """As a file of JPEG holds it."""
    kept = io.BytesIO()
    Image.fromarray(eight(u)).save(kept, "JPEG", quality=quality)
    return np.array(Image.open(kept))


def white(level: float) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """Gaussian noise, each pixel for itself, in 8 bits."""
    return lambda draw, u: (eight(u + level * draw.normal(size=u.shape)), u)


def filtered(width: float, level: float) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """The same after a Gaussian."""

    def made(draw: Draw, u: Picture) -> tuple[Picture, Picture]:
        noise = ndimage.gaussian_filter(draw.normal(size=u.shape), (width, width, 0)[: u.ndim], mode="wrap")
        return eight(u + level * noise / noise.std()), u

    return made


def sharpened(level: float) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """Picture and noise after unsharp masking."""

    def sharp(u: Picture) -> Picture:
        return u + 0.7 * (u - ndimage.gaussian_filter(u, (1, 1, 0)[: u.ndim]))

    return lambda draw, u: (eight(sharp(u + level * draw.normal(size=u.shape))), eight(sharp(u)).astype(float))


def photons(peak: float) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """Poisson's law with so many photons at white, as floats that nothing cuts off."""
    return lambda draw, u: ((draw.poisson(u / 255 * peak) * 255 / peak).astype(np.float32), u)


def shared(level: float, correlation: float) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """White noise that colours have in common, in part."""

    def made(draw: Draw, u: Picture) -> tuple[Picture, Picture]:
        one = draw.normal(size=(*u.shape[:2], *([1] * (u.ndim - 2))))
        own = draw.normal(size=u.shape)
        return eight(u + level * (np.sqrt(correlation) * one + np.sqrt(1 - correlation) * own)), u

    return made


def camera(photons_at_white: float, quality: int) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """A sensor with a mosaic of colours, white balance, interpolation, a tone curve, JPEG; grey is its brightness."""

    def made(draw: Draw, u: Picture) -> tuple[Picture, Picture]:
        colours = u if u.ndim == 3 else np.stack([u] * 3, -1)
        light = (colours / 255) ** 2.2 / np.array([2.0, 1.0, 1.6])  # the sensor sees more green
        rows, columns = np.indices(light.shape[:2])
        masks = [(rows % 2 == 0) & (columns % 2 == 0), (rows + columns) % 2 == 1, (rows % 2 == 1) & (columns % 2 == 1)]
        mosaic = sum(light[..., k] * mask for k, mask in enumerate(masks))
        seen = draw.poisson(mosaic * photons_at_white) / photons_at_white
        seen = seen + draw.normal(size=seen.shape) * 2 / photons_at_white
        found = []
        for sensor in (seen, mosaic):
            linear = np.stack([_interpolated(sensor, mask) for mask in masks], -1) * np.array([2.0, 1.0, 1.6])
            toned = 255 * linear.clip(0, 1) ** (1 / 2.2)
            found.append(jpeg(toned if u.ndim == 3 else toned.mean(-1), quality))
        return found[0], found[1].astype(float)

    return made


def _interpolated(sensor: Picture, mask: Picture) -> Picture:
    """The mean of the nearest pixels that see this colour, where another one is seen."""
    tent = np.outer([1, 2, 1], [1, 2, 1]) / 4
    near = ndimage.convolve(sensor * mask, tent, mode="mirror") / ndimage.convolve(mask * 1.0, tent, mode="mirror")
    return np.where(mask, sensor, near)


def pressed(level: float, quality: int) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """JPEG of a picture with white noise; of a clean one where the level is 0, and that file is then what is wanted."""

    def made(draw: Draw, u: Picture) -> tuple[Picture, Picture]:
        wanted = jpeg(u, quality)
        return jpeg(u + level * draw.normal(size=u.shape), quality) if level else wanted, wanted.astype(float)

    return made


def floats(level: float) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """White noise, values from 0 to 1 that nothing cuts off."""
    return lambda draw, u: (((u + level * draw.normal(size=u.shape)) / 255).astype(np.float32), u / 255)


def sixteen(level: float) -> Callable[[Draw, Picture], tuple[Picture, Picture]]:
    """White noise in 16 bits, of which 12 are used."""
    return lambda draw, u: (
        (16 * (u + level * draw.normal(size=u.shape))).round().clip(0, 4095).astype(np.uint16),
        16.0 * u,
    )


KINDS: dict[str, Callable[[Draw, Picture], tuple[Picture, Picture]]] = {
    **{f"white {level}": white(level) for level in WHITE},
    **{f"filtered {width} at {level}": filtered(width, level) for width in (0.5, 0.9) for level in (3, 8, 20)},
    **{f"sharpened {level}": sharpened(level) for level in (2, 8)},
    **{f"photons {peak}": photons(peak) for peak in (20, 50, 400)},
    **{f"shared {part} at 15": shared(15, part) for part in (0.5, 0.9, 1.0)},
    **{f"camera {most}, JPEG {q}": camera(most, q) for most, q in ((4000, 95), (1000, 90), (250, 95), (120, 80))},
    **{f"JPEG {q} of {level}": pressed(level, q) for q in (70, 85, 95) for level in (0, 5, 15)},
    **{f"floats {level}": floats(level) for level in (0, 1, 10)},
    **{f"16 bits {level}": sixteen(level) for level in (0, 1, 10)},
}
"""How pictures of 8 bits get noise: the noisy picture as a file has it, and the wanted one in the same unit."""


def photographs(folder: Path, colour: bool, half: int) -> Iterator[tuple[str, Picture]]:
    """The middles of every second photograph, 240 pixels a side."""
    for path in sorted(folder.iterdir())[half::2]:
        picture = Image.open(path)
        u = np.asarray(picture.convert("RGB" if colour else "L"), float)
        top, left = (size // 2 - 120 for size in u.shape[:2])
        yield path.stem, u[top : top + 240, left : left + 240]


def drawn(colour: bool, seed: int) -> Iterator[tuple[str, Picture]]:
    """A drawing, a cartoon, a page of text, a flat picture, a scan on paper, a bright sky."""
    draw = np.random.default_rng(seed)
    y, x = np.mgrid[:240, :240].astype(float)
    tints = draw.uniform(20, 230, (40, 3))

    def discs(edge: float, shade: float) -> Picture:
        u = np.full((240, 240, 3), 200.0) + shade * (x + y)[..., None] / 10
        for tint, (row, column, radius) in zip(tints, draw.uniform((0, 0, 8), (240, 240, 60), (40, 3)), strict=True):
            share = np.clip((radius - np.hypot(y - row, x - column)) / edge, 0, 1)[..., None]
            u += share * (tint + shade * (x - column)[..., None] - u)
        return u.clip(0, 255)

    letters = np.full((240, 240, 3), 255.0)
    for top in range(8, 224, 17):
        for left in range(8, 226, 10):
            glyph = np.kron(draw.random((6, 4)) < 0.5, np.ones((2, 2)))
            letters[top : top + 12, left : left + 8] -= 230 * ndimage.gaussian_filter(glyph, 0.5)[..., None]
    scan = np.full((240, 240, 3), 255.0)
    scan[20:200, 30:190] = discs(3.0, 0.3)[20:200, 30:190]
    sky = np.stack([150 + 0.2 * y + 4 * np.sin(x / 40), 180 + 0.15 * y, 235 - 0.05 * y], -1)
    every = {
        "drawing": discs(1.5, 0.25),
        "cartoon": ndimage.gaussian_filter(discs(1e-3, 0.0), (0.4, 0.4, 0)),
        "text": letters,
        "flat": np.full((240, 240, 3), 90.0),
        "scan": scan,
        "sky": sky,
    }
    for name, u in every.items():
        yield name, np.round(u if colour else u.mean(-1))


def pictures(data: Path, half: int, every: int) -> Iterator[tuple[str, str, Picture, Picture]]:
    """Kind, name, noisy and wanted pictures: drawn ones, and photographs of one half of CTrain400."""
    for colour in (False, True):
        photos = list(photographs(data / "CTrain400", colour, half))
        for kind, made in KINDS.items():
            # Every kind has other photographs, so that few of each show much of the set.
            begin = crc32(kind.encode()) % every
            for name, u in [*photos[begin::every], *drawn(colour, half)]:
                noisy, wanted = made(np.random.default_rng(crc32(f"{kind} {name} {colour}".encode())), u)
                yield f"{kind}, {'colour' if colour else 'grey'}", name, noisy, wanted
