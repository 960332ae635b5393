"""Which TIFF tags describe the picture and must survive, and how they are read as raw bytes."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from whorl.files.layout import Tag, in_one_unit
from whorl.files.tiff_directory import INSIDE, Directories, exif_block

DESCRIPTION = (269, 270, 271, 272, 285, 305, 306, 315, 316, 33432)  # names, dates, devices, OME-XML
FROM_EXIF = (270, 271, 272, 305, 306, 315, 33432, *INSIDE)  # what an EXIF block has, too
XMP, IPTC, PHOTOSHOP = 700, 33723, 34377
IMAGEJ = (50838, 50839)  # lengths of ImageJ's own records, and the records: ranges, LUTs, labels, notes
DISPLAY = (262, 274, 282, 283, 286, 287, 296, 297, 301, 318, 319, 332, 338, 34675)  # how to show: resolution, ICC, ink
GEOGRAPHY = (33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113)  # GeoTIFF and GDAL
CARRIED = {*DESCRIPTION, *DISPLAY, *GEOGRAPHY, *INSIDE, XMP, IPTC, PHOTOSHOP}
NOTES = (b"ImageJ=", b"<", b"{")  # how descriptions for programs begin
BYTES = 7  # a TIFF data type
INCHES = {2: 1.0, 3: 2.54}  # per ResolutionUnit


def carried_tags(page: Any, palette: bool = False) -> tuple[Tag, ...]:
    """The describing tags of a page. Colours that were decoded to RGB (palette, YCbCr) are described as RGB."""
    decoded_to_rgb = palette or int(page.photometric) == 6
    tags = [Tag(262, 3, 1, (2).to_bytes(2, "little"))] if decoded_to_rgb else []
    found = Directories.of(page.parent.filehandle).tags(page.offset, CARRIED)
    for tag in found:
        # tifffile notes how it arranged the pages; that stays true where the samples are the same, and is only
        # wanted where it names the axes.
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
        "Photoshop's resources": PHOTOSHOP in codes,
        "ImageJ's settings": not codes.isdisjoint(IMAGEJ) or b"ImageJ=" in notes,
        "OME-XML": any(note.startswith(b"<") for note in notes),
    }
    return tuple(name for name, there in names.items() if there)


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
