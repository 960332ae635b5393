"""JPEG written: 8-bit grey, RGB and CMYK, encoded by Pillow."""

from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from whorl.errors import FileError
from whorl.files.base import Frame, WholeCanvas, Writer
from whorl.files.layout import Colour, Layout
from whorl.files.pillow import EXIF_PREFIX, IPTC
from whorl.files.tiff_directory import exif_of

__all__ = ["JpegWriter"]

COLOURS: dict[str, tuple[Colour, int]] = {"L": ("grey", 1), "RGB": ("rgb", 3), "CMYK": ("cmyk", 4)}
MAX_DENSITY = 65535  # pixels per inch that the header can hold


class JpegWriter(Writer):
    """Writes 8-bit grey, RGB or CMYK. JPEG loses a little of every picture: ``quality`` 95, full chroma, by default."""

    holds = ("icc", "exif", "xmp", "iptc", "comment")
    longest = 65000  # a marker ends at 65533 bytes, its name among them

    def __init__(self, stream: BinaryIO, name: str, frames: Sequence[Frame], quality: int = 95) -> None:
        self.stream, self.quality = stream, quality
        if len(frames) != 1:
            raise FileError(f"{name}: a JPEG holds one image, not {len(frames)}. Write .tif or .zarr.")
        layout, metadata = frames[0]
        if layout.dtype != np.uint8:
            raise FileError(f"{name}: JPEG holds 8 bit, not {layout.dtype}. Write .png or .tif, which keep the type.")
        if layout.kept or (layout.colour, layout.channels) not in COLOURS.values():
            raise FileError(f"{name}: JPEG holds grey, RGB or CMYK without alpha. Write .png or .tif.")
        if max(layout.height, layout.width) > 65535:
            raise FileError(
                f"{name}: JPEG ends at 65535 pixels a side, not {layout.width} x {layout.height}. Write .tif."
            )
        self.canvas = WholeCanvas(layout, metadata)
        self.canvases = (self.canvas,)

    def finish(self) -> None:
        """Compress and write the image."""
        from PIL import Image

        samples, metadata = self.canvas.samples, self.canvas.metadata
        picture = Image.fromarray(samples[..., 0] if samples.shape[2] == 1 else samples, _mode(self.canvas.layout))
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


def _mode(layout: Layout) -> str:
    return next(mode for mode, kind in COLOURS.items() if kind == (layout.colour, layout.channels))
