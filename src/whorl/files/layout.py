"""What describes a picture besides its samples: size, type, colours, and the metadata that must survive."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from whorl.foundations.samples import rounded

MOST_OBLONG = 1000.0  # longer pixels than this are a mistake in the file

Colour = Literal["grey", "rgb", "cmyk", "channels"]


@dataclass(frozen=True)
class Layout:
    """Size, type and colours of one page of samples ``(y, x, channel)``.

    The last ``kept`` channels (alpha, or other extra samples) go from input to output untouched; the others are colours
    and are filtered. ``colour`` is ``"channels"`` where the file does not say what its channels mean.

    >>> Layout(480, 640, 4, np.dtype("u1"), "rgb", kept=1).filtered
    3
    """

    height: int
    width: int
    channels: int
    dtype: np.dtype[Any]
    colour: Colour
    kept: int = 0

    @property
    def filtered(self) -> int:
        """Number of channels that a filter changes."""
        return self.channels - self.kept

    @property
    def shape(self) -> tuple[int, int, int]:
        """``(y, x, channel)``."""
        return self.height, self.width, self.channels

    @property
    def nbytes(self) -> int:
        """Bytes of the samples in memory."""
        return self.height * self.width * self.channels * self.dtype.itemsize

    def round(self, values: NDArray[Any]) -> NDArray[Any]:
        """``values`` in the type of the file: integers are rounded half to even and clipped to their range.

        >>> Layout(1, 3, 1, np.dtype("u1"), "grey").round(np.array([-3.0, 2.5, 300.0]))
        array([  0,   2, 255], dtype=uint8)
        """
        return rounded(values, self.dtype)


@dataclass(frozen=True)
class Tag:
    """A TIFF tag as it stands in the file: its code, TIFF data type, count, and little-endian bytes.

    A tag that points to another directory holds its tags ``inside``.
    """

    code: int
    kind: int
    count: int
    data: bytes
    inside: tuple["Tag", ...] = ()


@dataclass(frozen=True)
class Metadata:
    """What tells a viewer how to show the picture. The filter passes it on as it is.

    ``resolution`` is in pixels per inch along x and y. ``spacing`` is the height and the width of a pixel, in any unit;
    a filter uses their ratio alone, :attr:`aspect`. ``orientation`` is the EXIF number; the samples are kept as
    stored, so the tag must be kept with them and nothing is turned. ``white_is_zero`` marks samples whose zero is
    white, ``premultiplied`` those whose colours were multiplied by alpha, as TIFF can hold them. ``exif`` is a raw EXIF
    block (a small TIFF) without its ``Exif`` prefix; ``xmp``, ``iptc`` and ``comment`` are raw, too. ``pyramid`` says
    that smaller copies lie beside the picture; where they are pages of a TIFF file, as in slides of Aperio, ``levels``
    has their heights and widths, and whether they lie in tiles. ``others`` are small pictures of something else in the
    same file, such as the label of a slide: samples, layout, metadata and the kind of page (tag 254) of each.
    ``compression`` says how a TIFF is compressed.
    ``chunks`` (PNG), ``tags`` (TIFF) and ``array`` (zarr) hold what only the same format can carry on; ``own``
    names the parts of these that other formats lose, ``lost`` what no format carries on.

    >>> Metadata(spacing=(4.0, 1.0)).aspect
    (4.0, 1.0)
    """

    resolution: tuple[float, float] | None = None
    spacing: tuple[float, float] | None = None
    orientation: int = 1
    white_is_zero: bool = False
    icc: bytes | None = field(default=None, repr=False)
    exif: bytes | None = field(default=None, repr=False)
    xmp: bytes | None = field(default=None, repr=False)
    iptc: bytes | None = field(default=None, repr=False)
    comment: bytes | None = field(default=None, repr=False)
    premultiplied: bool = False
    chunks: tuple[tuple[bytes, bytes], ...] = field(default=(), repr=False)
    tags: tuple[Tag, ...] = field(default=(), repr=False)
    pyramid: bool = False
    levels: tuple[tuple[int, int, bool], ...] = ()
    others: "tuple[tuple[NDArray[Any], Layout, Metadata, int], ...]" = field(default=(), repr=False)
    compression: str | None = None
    array: Mapping[str, Any] | None = field(default=None, repr=False)
    own: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def aspect(self) -> tuple[float, ...]:
        """Height and width of a pixel, the smaller of them one; square where the file says nothing that makes sense.

        >>> Metadata(spacing=(0.2, 0.05)).aspect, Metadata(spacing=(0.1, 0.10001)).aspect
        ((4.0, 1.0), (1.0, 1.0))
        """
        return pixel_aspect(self.spacing)


def pixel_aspect(spacing: tuple[float, ...] | None) -> tuple[float, ...]:
    """The sides of a pixel or voxel with the smallest of them one; less than a thousandth of difference is square.

    >>> pixel_aspect((0.9, 0.3, 0.3)), pixel_aspect(None)
    ((3.0, 1.0, 1.0), (1.0, 1.0))
    """
    if spacing is None:
        return 1.0, 1.0
    square = (1.0,) * len(spacing)
    if not all(0 < size < math.inf for size in spacing):
        return square
    sides = tuple(round(size / min(spacing), 6) for size in spacing)
    return sides if 1.001 < max(sides) <= MOST_OBLONG else square


def plain_samples(block: NDArray[Any], layout: Layout, metadata: Metadata) -> NDArray[Any]:
    """Samples as every format knows them: counted from black, and colours that were not multiplied by alpha.

    >>> samples = np.array([[[0, 7]]], np.uint8), Layout(1, 1, 2, np.dtype("u1"), "grey", kept=1)
    >>> plain_samples(*samples, Metadata(white_is_zero=True))
    array([[[255,   7]]], dtype=uint8)
    """
    if not (metadata.white_is_zero or metadata.premultiplied):
        return block
    colours, kept = np.split(block, [layout.filtered], axis=-1)
    if metadata.white_is_zero:
        colours = ~colours
    if metadata.premultiplied:
        full = 1.0 if layout.dtype.kind == "f" else float(np.iinfo(layout.dtype).max)
        alpha = kept[..., :1].astype(np.float64)
        colours = layout.round(np.where(alpha > 0, colours * (full / np.where(alpha > 0, alpha, 1)), 0))
    return np.concatenate((colours, kept), axis=-1)


# Units of length as microscopes write them, in metres.
PREFIXES = {"": 1.0, "m": 1e-3, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "n": 1e-9, "p": 1e-12}
METRES = {f"{prefix}m": size for prefix, size in PREFIXES.items()} | {
    "meter": 1.0,
    "millimeter": 1e-3,
    "micrometer": 1e-6,
    "micron": 1e-6,
    "nanometer": 1e-9,
    "picometer": 1e-12,
    "cm": 1e-2,
    "centimeter": 1e-2,
    "Å": 1e-10,
    "angstrom": 1e-10,
    "inch": 0.0254,
}


def metres(unit: str | None) -> float | None:
    """How many metres the unit has, micrometres where none is told; None for one we do not know.

    >>> metres("nm"), metres("pixel")
    (1e-09, None)
    """
    return METRES.get(unit or "µm", METRES.get((unit or "µm").lower()))


def in_one_unit(sizes: Sequence[float], units: Sequence[str | None]) -> tuple[float, ...] | None:
    """Positive sizes as they are where they have one unit, otherwise in micrometres; None where one is unknown.

    >>> in_one_unit((2.0, 0.5), ("nm", "nm")), in_one_unit((2.0, 500.0), ("mm", None)), in_one_unit((1, 2), ("px", "m"))
    ((2.0, 0.5), (2000.0, 500.0), None)
    """
    scales = [1e-6 if len({*units}) == 1 else metres(unit) for unit in units]
    found = [size * scale * 1e6 for size, scale in zip(sizes, scales, strict=True) if scale and 0 < size < math.inf]
    return tuple(found) if len(found) == len(sizes) else None
