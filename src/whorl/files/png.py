"""PNG: 1 to 16 bit, grey, colour, palette, alpha; the chunks that describe the picture are carried over by hand."""

import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import MAX_PIXELS, Reader, WholeCanvas, WholePage, WholeWriter, check_size, needed
from whorl.files.layout import Colour, Layout, Metadata
from whorl.files.pillow import decoded
from whorl.files.tiff_directory import exif_of, exif_tags, orientation_in

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}  # by colour type; a palette is read as its colours
TEXTS = (b"tEXt", b"zTXt", b"iTXt")
CARRIED = (b"cICP", b"iCCP", b"sRGB", b"gAMA", b"cHRM", b"pHYs", b"eXIf", *TEXTS)
SHADES = (b"cICP", b"gAMA", b"cHRM")  # how bright and which colours, where there is no profile
XMP = b"XML:com.adobe.xmp"  # the key of its text
KINDS = (("grey", 1, 0), ("grey", 2, 1), ("rgb", 3, 0), ("rgb", 4, 1))  # colours, channels, alpha
HEADER = 25  # bytes of the first chunk
MAX_CHUNK = 2**26  # bytes of the describing chunks together
MAX_PROFILE = 2**24  # bytes of a decompressed colour profile
INFLATION = 1032  # deflate cannot expand further, so a file's length bounds the picture in it
INCH = 0.0254  # metres
DEEP = "16-bit colour in PNG"


class PngReader(Reader):
    """A PNG file. 16-bit colour and alpha need ``imagecodecs``: other readers cut them to 8 bit without a word."""

    def __init__(self, path: Path, max_pixels: int = MAX_PIXELS) -> None:
        self.pages = (_PngPage(path, max_pixels),)


class PngWriter(WholeWriter):
    """Writes grey, RGB, and either with alpha, in 8 or 16 bit."""

    holds, carries = ("icc", "exif", "xmp", "comment"), "chunks"

    def check(self, layout: Layout, name: str) -> None:
        if layout.dtype not in (np.uint8, np.uint16):
            raise FileError(f"{name}: PNG holds 8- or 16-bit whole numbers, not {layout.dtype}. Write .tif or .zarr.")
        if (layout.colour, layout.channels, layout.kept) not in KINDS:
            raise FileError(
                f"{name}: PNG holds grey or RGB, not {layout.channels} channels of {layout.colour}. Write .tif."
            )
        if not _by_pillow(layout):
            needed("imagecodecs", name, DEEP)

    def finish(self) -> None:
        """Compress the image and write it, with the describing chunks between header and image."""
        encoded, start = memoryview(_encoded(self.canvas)), len(SIGNATURE) + HEADER
        self.stream.write(encoded[:start])
        for name, data in _description(self.canvas.metadata):
            checksum = zlib.crc32(name + data).to_bytes(4, "big")
            self.stream.write(len(data).to_bytes(4, "big") + name + data + checksum)
        self.stream.write(encoded[start:])


class _PngPage(WholePage):
    def __init__(self, path: Path, max_pixels: int) -> None:
        self.path = path
        chunks = _chunks(path)
        if not chunks or chunks[0][0] != b"IHDR" or len(chunks[0][1]) != 13:
            raise FileError(f"{path}: not a PNG file (no header). Check that it was saved or downloaded whole.")
        header = chunks[0][1]
        width, height = (int.from_bytes(header[i : i + 4], "big") for i in (0, 4))
        self.depth, self.kind = header[8], header[9]
        if self.kind not in CHANNELS or self.depth not in (1, 2, 4, 8, 16):
            raise FileError(
                f"{path}: PNG colour type {self.kind} with {self.depth} bit does not exist; the file is damaged."
            )
        check_size(path, width, height, max_pixels)
        table = dict(chunks)
        compressed = sum(int.from_bytes(data, "big") for name, data in chunks if name == b"IDAT")
        stored = height * ((width * (1 if self.kind == 3 else CHANNELS[self.kind]) * self.depth + 7) // 8)
        if b"IEND" not in table or stored > INFLATION * compressed + 64:
            raise FileError(
                f"{path}: truncated: {width} x {height} pixels do not fit its {compressed} bytes of image data."
            )
        if b"acTL" in table:
            raise FileError(f"{path}: an animated PNG. Save its frames as single pictures or as a multi-page TIFF.")
        self.transparent = b"tRNS" in table
        alpha = self.kind in (4, 6) or self.transparent
        colour: Colour = "grey" if self.kind in (0, 4) else "rgb"
        channels = (1 if colour == "grey" else 3) + alpha
        dtype = np.dtype(np.uint16 if self.depth == 16 else np.uint8)
        self.layout = Layout(height, width, channels, dtype, colour, kept=int(alpha))
        self.metadata = _metadata(chunks)

    def _decode(self) -> NDArray[Any]:
        if self.depth < 16 or (self.kind == 0 and not self.transparent):
            mode = {("grey", 0): "L", ("grey", 1): "LA", ("rgb", 0): "RGB", ("rgb", 1): "RGBA"}
            return decoded(self.path, "PNG", None if self.depth == 16 else mode[self.layout.colour, self.layout.kept])
        samples: NDArray[Any] = needed("imagecodecs", self.path, DEEP).png_decode(self.path.read_bytes())
        return samples


def _encoded(canvas: WholeCanvas) -> bytes:
    samples = canvas.samples[..., 0] if canvas.layout.channels == 1 else canvas.samples
    if not _by_pillow(canvas.layout):
        return bytes(needed("imagecodecs", "PNG", DEEP).png_encode(np.ascontiguousarray(samples)))
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(samples).save(stream, "PNG")
    return stream.getvalue()


def _by_pillow(layout: Layout) -> bool:
    """Whether Pillow handles such samples; it cuts 16-bit colours and alpha to 8 bit without a word."""
    return layout.dtype == np.uint8 or layout.channels == 1


def _chunks(path: Path) -> list[tuple[bytes, bytes]]:
    """Names and contents of the chunks; of image data (IDAT) the length only, as 4 bytes."""
    found: list[tuple[bytes, bytes]] = []
    room = MAX_CHUNK
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(len(SIGNATURE))
        while len(head := file.read(8)) == 8:
            length, name = int.from_bytes(head[:4], "big"), head[4:]
            if file.tell() + length + 4 > size:
                break  # cut off in the middle of this chunk
            if name == b"IDAT":
                file.seek(length, io.SEEK_CUR)
                found.append((name, length.to_bytes(4, "big")))
            elif (room := room - length) < 0:
                raise FileError(f"{path}: more than {MAX_CHUNK} bytes that describe the picture; damaged.")
            else:
                found.append((name, file.read(length)))
            file.seek(4, io.SEEK_CUR)
    return found


def _metadata(chunks: list[tuple[bytes, bytes]]) -> Metadata:
    table = dict(chunks)
    resolution = spacing = icc = None
    if len(physical := table.get(b"pHYs", b"")) == 9:
        across, down = (int.from_bytes(physical[i : i + 4], "big") for i in (0, 4))
        if across and down:  # pixels per unit: more pixels per unit are smaller ones
            spacing = (1 / down, 1 / across)
            resolution = (across * INCH, down * INCH) if physical[8] == 1 else None
    if (profile := table.get(b"iCCP")) is not None:
        icc = _inflated(profile.partition(b"\0")[2][1:])
    exif = table.get(b"eXIf")
    carried = tuple((name, data) for name, data in chunks if name in CARRIED)
    texts = [(name, *data.partition(b"\0")[::2]) for name, data in carried if name in TEXTS]
    xmp = next((_international(text) for _, key, text in texts if key == XMP), None)
    comment = next((text for name, key, text in texts if (name, key) == (b"tEXt", b"Comment")), None)
    own = ["texts"] if len(texts) > (xmp is not None) + (comment is not None) else []
    if icc is None and not {name for name, _ in carried}.isdisjoint(SHADES):
        own.append("gamma and primaries")
    return Metadata(
        resolution, spacing, orientation_in(exif_tags(exif)), icc=icc, exif=exif, xmp=xmp, comment=comment,
        chunks=carried, own=tuple(own),
    )  # fmt: skip


def _international(data: bytes) -> bytes | None:
    """The text of an iTXt chunk behind its key: flag and method of compression, language, key in that language."""
    text = data[2:].partition(b"\0")[2].partition(b"\0")[2]
    return _inflated(text) if data[:1] == b"\1" else text


def _inflated(data: bytes) -> bytes | None:
    """The decompressed profile; None for one that nobody can read, or that is larger than any profile."""
    inflate = zlib.decompressobj()
    try:
        found = inflate.decompress(data, MAX_PROFILE)
    except zlib.error:
        return None
    return found if inflate.eof else None


def _description(metadata: Metadata) -> tuple[tuple[bytes, bytes], ...]:
    """The chunks between header and image: those of the PNG read, or new ones from metadata of another format."""
    if metadata.chunks:
        return metadata.chunks
    made: list[tuple[bytes, bytes]] = []
    if metadata.icc is not None:
        made.append((b"iCCP", b"ICC profile\0\0" + zlib.compress(metadata.icc)))
    if metadata.resolution is not None:
        per_metre = [round(value / INCH) for value in metadata.resolution]
        if max(per_metre) < 2**31:  # what the format can hold
            made.append((b"pHYs", b"".join(value.to_bytes(4, "big") for value in per_metre) + b"\x01"))
    elif metadata.aspect != (1.0, 1.0):
        shares = [round(1000 * max(metadata.aspect) / size) for size in reversed(metadata.aspect)]
        made.append((b"pHYs", b"".join(value.to_bytes(4, "big") for value in shares) + b"\x00"))
    if (exif := exif_of(metadata)) is not None:
        made.append((b"eXIf", exif))
    if metadata.xmp is not None:
        made.append((b"iTXt", XMP + bytes(5) + metadata.xmp))
    if metadata.comment is not None:
        made.append((b"tEXt", b"Comment\0" + metadata.comment.replace(b"\0", b" ")))
    return tuple(made)
