"""The formats that Pillow decodes (JPEG, WebP, BMP, and the samples of most PNG files), and JPEG written by it."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import MAX_PIXELS, Reader, WholePage, WholeWriter, check_size
from whorl.files.layout import Colour, Layout, Metadata
from whorl.files.tiff_directory import exif_of, exif_tags, orientation_in

EXIF_PREFIX = b"Exif\0\0"
IPTC = 0x0404  # in what Photoshop adds

# What Pillow's modes become: the mode to convert to, the colours, all channels, and those that are no colours.
MODES: dict[str, tuple[str, Colour, int, int]] = {
    "1": ("L", "grey", 1, 0),
    "L": ("L", "grey", 1, 0),
    "P": ("RGB", "rgb", 3, 0),
    "RGB": ("RGB", "rgb", 3, 0),
    "RGBA": ("RGBA", "rgb", 4, 1),
    "CMYK": ("CMYK", "cmyk", 4, 0),
}

# Pixels that a byte can stand for at most. JPEG spends two bits on a block of 8 x 8 pixels (its rarer codings less),
# BMP two bytes on a run of 255 pixels. WebP knows no bound, so its pictures are bounded themselves.
PIXELS_PER_BYTE = {"JPEG": 4096, "BMP": 128, "WEBP": MAX_PIXELS}
LARGEST = {"JPEG": MAX_PIXELS, "BMP": MAX_PIXELS, "WEBP": 2**26}


class PillowReader(Reader):
    """A file with one 8-bit picture, decoded whole: ``kind`` is JPEG, WEBP or BMP."""

    def __init__(self, path: Path, max_pixels: int, kind: str) -> None:
        self.pages = (_PillowPage(path, min(max_pixels, LARGEST[kind]), kind),)


class _PillowPage(WholePage):
    def __init__(self, path: Path, max_pixels: int, kind: str) -> None:
        self.path, self.kind = path, kind
        with opened(path, kind) as picture:
            check_size(path, picture.width, picture.height, max_pixels)
            size = path.stat().st_size
            if picture.width * picture.height > PIXELS_PER_BYTE[kind] * size:
                raise FileError(
                    f"{path}: truncated: {picture.width} x {picture.height} pixels do not fit its {size} bytes."
                )
            if getattr(picture, "n_frames", 1) > 1 and kind != "JPEG":
                raise FileError(f"{path}: an animation. Save its frames as single pictures or as a multi-page TIFF.")
            if picture.mode not in MODES:
                raise FileError(f"{path}: a {kind} in mode {picture.mode}; only grey, RGB and CMYK can be read.")
            self.mode, colour, channels, kept = MODES[picture.mode]
            self.layout = Layout(picture.height, picture.width, channels, np.dtype(np.uint8), colour, kept)
            self.metadata = _metadata(picture.info)

    def _decode(self) -> NDArray[Any]:
        return decoded(self.path, self.kind, self.mode)


def opened(path: Path, kind: str) -> Any:
    """The lazily opened picture of format ``kind``; only its header has been read.

    The class of the format is called itself, since ``Image.open`` refuses large pictures by a limit of its own.
    """
    from PIL import BmpImagePlugin, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

    plugins: dict[str, Any] = {
        "PNG": PngImagePlugin.PngImageFile,
        "JPEG": JpegImagePlugin.JpegImageFile,
        "WEBP": WebPImagePlugin.WebPImageFile,
        "BMP": BmpImagePlugin.BmpImageFile,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no warning about doubtful metadata where the picture can be read
        return plugins[kind](path)


def decoded(path: Path, kind: str, mode: str | None) -> NDArray[Any]:
    """Samples of the picture, converted to Pillow's ``mode`` where one is given."""
    with opened(path, kind) as picture:
        picture.load()
        return np.asarray(picture if mode is None else picture.convert(mode))


def _metadata(info: dict[str, Any]) -> Metadata:
    exif = info.get("exif")
    exif = exif.removeprefix(EXIF_PREFIX) if exif else None
    try:
        across, down = (float(value) for value in info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        across = down = 0.0
    resolution = (across, down) if 0 < across < 1e9 and 0 < down < 1e9 else None
    density = resolution or info.get("jfif_density", (0, 0))  # which may be a ratio without unit
    spacing = (1 / density[1], 1 / density[0]) if min(density) > 0 else None
    return Metadata(
        resolution, spacing, orientation_in(exif_tags(exif)), icc=info.get("icc_profile"), exif=exif,
        xmp=info.get("xmp"), iptc=(info.get("photoshop") or {}).get(IPTC), comment=info.get("comment"),
    )  # fmt: skip


COLOURS: dict[str, tuple[Colour, int]] = {"L": ("grey", 1), "RGB": ("rgb", 3), "CMYK": ("cmyk", 4)}
MAX_DENSITY = 65535  # pixels per inch that the header can hold


class JpegWriter(WholeWriter):
    """Writes 8-bit grey, RGB or CMYK. JPEG loses a little of every picture: here with quality 95 and full chroma."""

    holds = ("icc", "exif", "xmp", "iptc", "comment")
    longest = 65000  # a marker ends at 65533 bytes, its name among them
    quality = 95

    def check(self, layout: Layout, name: str) -> None:
        if layout.dtype != np.uint8:
            raise FileError(f"{name}: JPEG holds 8 bit, not {layout.dtype}. Write .png or .tif, which keep the type.")
        if layout.kept or (layout.colour, layout.channels) not in COLOURS.values():
            raise FileError(f"{name}: JPEG holds grey, RGB or CMYK without alpha. Write .png or .tif.")
        if max(layout.height, layout.width) > 65535:
            raise FileError(
                f"{name}: JPEG ends at 65535 pixels a side, not {layout.width} x {layout.height}. Write .tif."
            )

    def finish(self) -> None:
        from PIL import Image

        samples, metadata, layout = self.canvas.samples, self.canvas.metadata, self.canvas.layout
        mode = next(mode for mode, kind in COLOURS.items() if kind == (layout.colour, layout.channels))
        picture = Image.fromarray(samples[..., 0] if samples.shape[2] == 1 else samples, mode)
        options: dict[str, Any] = {"quality": self.quality, "subsampling": 0}
        blocks = {"exif": exif_of(metadata), "xmp": metadata.xmp, "extra": metadata.iptc, "comment": metadata.comment}
        wrapped = {"exif": EXIF_PREFIX.__add__, "extra": _photoshop}
        for name, block in blocks.items():
            if block is not None and len(block) <= self.longest:
                options[name] = wrapped.get(name, bytes)(block)
        if metadata.icc is not None:
            options["icc_profile"] = metadata.icc
        if metadata.resolution is not None and all(0.5 < value <= MAX_DENSITY for value in metadata.resolution):
            options["dpi"] = tuple(round(value) for value in metadata.resolution)
        picture.save(self.stream, "JPEG", **options)


def _photoshop(iptc: bytes) -> bytes:
    """The marker in which JPEG files hold IPTC: a resource of Photoshop."""
    resource = b"8BIM" + IPTC.to_bytes(2, "big") + bytes(2) + len(iptc).to_bytes(4, "big") + iptc + bytes(len(iptc) % 2)
    body = b"Photoshop 3.0\0" + resource
    return b"\xff\xed" + (len(body) + 2).to_bytes(2, "big") + body
