"""Which TIFF tags describe the picture and must survive; how they are read as raw bytes, and made if missing."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np

from whorl.files.layout import Layout, Metadata, Tag, in_one_unit
from whorl.files.tiff_directory import INSIDE, LONG, Directories, exif_block, exif_tags

DESCRIPTION = (269, 270, 271, 272, 285, 305, 306, 315, 316, 33432)  # names, dates, devices, OME-XML
FROM_EXIF = (270, 271, 272, 305, 306, 315, 33432, *INSIDE)  # what an EXIF block has, too
XMP, IPTC, PHOTOSHOP = 700, 33723, 34377
IMAGEJ = (50838, 50839)  # lengths of ImageJ's own records, and the records: ranges, LUTs, labels, notes
DISPLAY = (262, 274, 282, 283, 286, 287, 296, 297, 301, 318, 319, 332, 338, 34675)  # how to show: resolution, ICC, ink
GEOGRAPHY = (33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113)  # GeoTIFF and GDAL
CARRIED = {*DESCRIPTION, *DISPLAY, *GEOGRAPHY, *INSIDE, XMP, IPTC, PHOTOSHOP}
NOTES = (b"ImageJ=", b"<", b"{")  # how descriptions for programs begin
NAMES = (269, 285, 316)
PRIVATE, MOST = 32768, 5  # codes of single programs; how many of them are named
CODING = (*range(32995, 32999), 34665, 34853, 40965, *range(50674, 50676))  # depth and bits of samples, directories
ASCII, SHORT, RATIONAL, BYTES = 2, 3, 5, 7  # TIFF data types
INCHES = {2: 1.0, 3: 2.54}  # per ResolutionUnit
NO_UNIT = 1  # of the resolution: only the ratio counts
PHOTOMETRIC = {"grey": 1, "rgb": 2, "cmyk": 5, "channels": 1}


def carried_tags(page: Any, palette: bool = False) -> tuple[Tag, ...]:
    """The describing tags of a page. Colours that were decoded to RGB (palette, YCbCr) are described as RGB."""
    decoded_to_rgb = palette or int(page.photometric) == 6
    tags = [Tag(262, 3, 1, (2).to_bytes(2, "little"))] if decoded_to_rgb else []
    found = Directories.of(page.parent.filehandle).tags(page.offset, CARRIED)
    for tag in found:
        # tifffile's note on the arrangement of the pages is of use where it names the axes, and true where samples
        # were not decoded to other ones.
        if tag.data.startswith(b'{"shape":') and (b'"axes":' not in tag.data or decoded_to_rgb):
            continue
        if not (decoded_to_rgb and tag.code in (262, 301)):
            tags.append(replace(tag, kind=BYTES, count=len(tag.data)) if tag.code == IPTC else tag)
    return tuple(sorted((*tags, *_imagej(page)), key=lambda tag: tag.code))


def exif_in(tags: Iterable[Tag]) -> bytes | None:
    """The tags that belong into an EXIF block, packed; None where there are none. Notes for programs stay out."""
    taken = [
        tag for tag in tags if tag.code in (*FROM_EXIF, 274) and not (tag.code == 270 and tag.data.startswith(NOTES))
    ]
    return exif_block(taken) if any(tag.code != 274 for tag in taken) else None


def only_tiff(tags: Iterable[Tag]) -> tuple[str, ...]:
    """The tags that other formats lose, in words."""
    codes = {tag.code for tag in tags}
    notes = {tag.data[:7] for tag in tags if tag.code == 270}
    names = {
        "coordinates (GeoTIFF)": not codes.isdisjoint(GEOGRAPHY),
        "names of document, page or computer": not codes.isdisjoint(NAMES),
        "Photoshop's resources": PHOTOSHOP in codes,
        "ImageJ's settings": not codes.isdisjoint(IMAGEJ) or b"ImageJ=" in notes,
        "OME-XML": any(note.startswith(b"<") for note in notes),
    }
    return tuple(name for name, there in names.items() if there)


def other_tags(page: Any) -> tuple[str, ...]:
    """The tags of other programs, which may point to anything in their file and are not carried on, in words."""
    known = {*CARRIED, *IMAGEJ, *CODING}
    found = [str(tag.code) for tag in page.tags if tag.code >= PRIVATE and tag.code not in known]
    return (f"other tags ({', '.join(found[:MOST])}{', ...' if len(found) > MOST else ''})",) if found else ()


def _imagej(page: Any) -> list[Tag]:
    """ImageJ's records, which tifffile has read into a dictionary, with the byte order of our files."""
    from tifffile.tifffile import imagej_metadata_tag

    records = page.tags.get(IMAGEJ[1])
    if records is None or not isinstance(records.value, dict):
        return []
    return [
        Tag(code, kind, count, bytes(data)) for code, kind, count, data, _ in imagej_metadata_tag(records.value, "<")
    ]


def resolution(page: Any) -> tuple[float, float] | None:
    """Pixels per inch along x and y, where the page states them with a unit."""
    unit, density = page.tags.get(296), _density(page)
    scale = INCHES.get(2 if unit is None else int(unit.value))
    return None if scale is None or density is None else (density[0] * scale, density[1] * scale)


def spacing(page: Any) -> tuple[float, float] | None:
    """Height and width of a pixel in any unit: from the OME description of the file, or from the resolution."""
    if (named := ome_spacing(page.parent.pages.first.description, "YX")) is not None:
        return named[0], named[1]
    density = _density(page)
    return None if density is None else (1 / density[1], 1 / density[0])


def _density(page: Any) -> tuple[float, float] | None:
    """Pixels per unit along x and y, as the page says."""
    values = [tag.value for code in (282, 283) if (tag := page.tags.get(code)) is not None and all(tag.value)]
    return (values[0][0] / values[0][1], values[1][0] / values[1][1]) if len(values) == 2 else None


def ome_spacing(description: str, axes: str) -> tuple[float, ...] | None:
    """The size of a pixel along the axes, in one unit, where OME-XML tells it.

    Texts with entity declarations, which could swell, are left alone.
    """
    if "<OME" not in description or "<!" in description.replace("<!--", ""):
        return None
    try:
        root = ElementTree.fromstring(description.rstrip("\0 \n"))
        said = next(node for node in root.iter() if node.tag.endswith("Pixels")).attrib
        sizes = [float(said[f"PhysicalSize{axis}"]) for axis in axes]
    except (ElementTree.ParseError, StopIteration, KeyError, ValueError):
        return None
    return in_one_unit(sizes, [said.get(f"PhysicalSize{axis}Unit") for axis in axes])


def description(layout: Layout, metadata: Metadata) -> list[Tag]:
    """The describing tags: those of the TIFF that was read, or new ones from the metadata of another format."""
    if metadata.tags:
        return list(metadata.tags)
    tags = [numbers(262, SHORT, PHOTOMETRIC[layout.colour]), numbers(274, SHORT, metadata.orientation)]
    colours = {"rgb": 3, "cmyk": 4}.get(layout.colour, 1)
    if layout.channels > colours:
        unmarked = layout.channels - colours - layout.kept
        tags.append(numbers(338, SHORT, *[0] * unmarked, *[2] * layout.kept))
    for code, block in ((34675, metadata.icc), (XMP, metadata.xmp), (IPTC, metadata.iptc)):
        if block is not None:
            tags.append(Tag(code, BYTES, len(block), block))
    tags += [tag for tag in exif_tags(metadata.exif) if tag.code in FROM_EXIF]
    if metadata.comment is not None:
        said = b"".join(tag.data for tag in tags if tag.code == 270) + metadata.comment.rstrip(b"\0") + b"\0"
        tags = [*(tag for tag in tags if tag.code != 270), Tag(270, ASCII, len(said), said)]
    density, unit = metadata.resolution, next(unit for unit, scale in INCHES.items() if scale == 1.0)
    if density is None and metadata.aspect != (1.0, 1.0):
        density, unit = (1 / metadata.aspect[1], 1 / metadata.aspect[0]), NO_UNIT
    if density is not None:
        for code, value in zip((282, 283), density, strict=True):
            tags.append(Tag(code, RATIONAL, 1, np.array(_fraction(value), "<u4").tobytes()))
        tags.append(numbers(296, SHORT, unit))
    return tags


def _fraction(value: float) -> tuple[int, int]:
    """Numerator and denominator, below 2**32 each; four decimals where they fit.

    >>> _fraction(300.0), _fraction(508000.0), _fraction(1e12)
    ((3000000, 10000), (508000000, 1000), (4294967295, 1))
    """
    for denominator in (10000, 1000, 100, 10):
        if round(value * denominator) < 2**32:
            return round(value * denominator), denominator
    return min(round(value), 2**32 - 1), 1


def numbers(code: int, kind: int, *values: int) -> Tag:
    """A tag that holds whole numbers."""
    return Tag(code, kind, len(values), np.array(values, {SHORT: "<u2", LONG: "<u4"}[kind]).tobytes())
