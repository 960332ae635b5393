"""How strips and tiles of a TIFF are compressed."""

import zlib
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.layout import Layout

COMPRESSIONS = {"none": 1, "deflate": 8, "lzw": 5, "zstd": 50000, "jpeg": 7}
JPEG_QUALITY = 95  # with full chroma, as JPEG files are written


def check_compression(told: str | None, layout: Layout, name: str) -> None:
    """Refuse a compression that does not exist, that the picture cannot have, or whose package is missing."""
    if told is not None and told not in COMPRESSIONS:
        raise FileError(f"{name}: compression {told!r} is unknown. Use one of {', '.join(COMPRESSIONS)}.")
    if told == "jpeg" and not jpeg_holds(layout):
        raise FileError(
            f"{name}: JPEG in TIFF holds 8-bit grey or RGB, not {layout.channels} channels of {layout.dtype}. "
            "Use --compression deflate."
        )
    if told in ("lzw", "zstd", "jpeg") and find_spec("imagecodecs") is None:
        raise FileError(f"{name}: {told} in TIFF needs imagecodecs. Install it with: pip install imagecodecs")


def jpeg_holds(layout: Layout) -> bool:
    """Whether JPEG in a TIFF can hold such samples."""
    return layout.dtype == np.uint8 and (layout.channels, layout.colour) in ((1, "grey"), (3, "rgb"))


def encoded(compression: str, part: NDArray[Any]) -> bytes:
    """The samples of a strip or tile as the file holds them."""
    if compression == "none":
        return part.tobytes()
    if compression == "deflate":
        return _deflated(part.tobytes())
    import imagecodecs

    if compression == "jpeg":
        plane = part[..., 0] if part.shape[-1] == 1 else part
        return bytes(imagecodecs.jpeg_encode(np.ascontiguousarray(plane), level=JPEG_QUALITY, subsampling="444"))
    encode = {"lzw": imagecodecs.lzw_encode, "zstd": imagecodecs.zstd_encode}[compression]
    return bytes(encode(part.tobytes()))


def decoded(compression: str, data: bytes) -> bytes:
    """The reverse."""
    if compression == "none":
        return data
    if compression == "deflate":
        return zlib.decompress(data)
    import imagecodecs

    if compression == "jpeg":
        samples: bytes = np.asarray(imagecodecs.jpeg_decode(data)).tobytes()
        return samples
    return bytes({"lzw": imagecodecs.lzw_decode, "zstd": imagecodecs.zstd_decode}[compression](data))


def _deflated(data: bytes) -> bytes:
    """The data in zlib format; by libdeflate where it is installed, which is three times as fast."""
    try:
        from imagecodecs import deflate_encode
    except ModuleNotFoundError:
        return zlib.compress(data, 4)
    packed = bytes(deflate_encode(data, 4))
    return packed
