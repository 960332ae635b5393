"""Which TIFF tags describe the picture and must survive, and how they are read as raw bytes."""

from typing import Any
from xml.etree import ElementTree

import numpy as np

from whorl.files.layout import Tag

__all__ = ["KIND_SIZES", "carried_tags", "ome_pixels", "orientation", "profile", "resolution", "spacing"]

# bytes of one value, by the data types of classic TIFF
KIND_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}

DESCRIPTION = (269, 270, 271, 272, 285, 305, 306, 315, 316, 33432)  # names, dates, devices, OME-XML
DISPLAY = (262, 274, 282, 283, 286, 287, 296, 297, 301, 318, 319, 332, 338, 34675)  # how to show: resolution, ICC, ink
GEOGRAPHY = (33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113)  # GeoTIFF and GDAL
INCHES = {2: 1.0, 3: 2.54}  # per ResolutionUnit


def carried_tags(page: Any, palette: bool = False) -> tuple[Tag, ...]:
    """The describing tags of a page. Colours that were decoded to RGB (palette, YCbCr) are described as RGB."""
    rgb = Tag(262, 3, 1, (2).to_bytes(2, "little"))
    decoded_to_rgb = palette or int(page.photometric) == 6
    tags = [rgb] if decoded_to_rgb else []
    for tag in page.tags:
        wanted = tag.code in DESCRIPTION + DISPLAY + GEOGRAPHY and int(tag.dtype) in KIND_SIZES
        if wanted and not (decoded_to_rgb and tag.code in (262, 301)):
            carried = Tag(int(tag.code), int(tag.dtype), int(tag.count), _raw(page, tag))
            # tifffile notes how it arranged the pages; that stays true where the samples are the same, and is only
            # wanted where it names the axes.
            if not carried.data.startswith(b'{"shape":') or (b'"axes":' in carried.data and not decoded_to_rgb):
                tags.append(carried)
    return tuple(sorted(tags, key=lambda tag: tag.code))


def resolution(page: Any) -> tuple[float, float] | None:
    """Pixels per inch along x and y, where the page states them with a unit."""
    values = [page.tags.get(code) for code in (282, 283)]
    unit = page.tags.get(296)
    scale = INCHES.get(2 if unit is None else int(unit.value))
    if scale is None or any(value is None or not value.value[1] or not value.value[0] for value in values):
        return None
    across, down = (value.value[0] / value.value[1] * scale for value in values)
    return across, down


def spacing(page: Any) -> tuple[float, float] | None:
    """Height and width of a pixel in any unit: from the OME description of the file, or from the resolution."""
    named = _ome_spacing(page.parent.pages.first.description)
    if named is not None:
        return named
    values = [page.tags.get(code) for code in (283, 282)]
    if any(value is None or not value.value[0] or not value.value[1] for value in values):
        return None
    height, width = (value.value[1] / value.value[0] for value in values)
    return height, width


def ome_pixels(description: str) -> ElementTree.Element | None:
    """What OME-XML says of the pixels; texts with entity declarations, which could swell, are left alone."""
    if "<OME" not in description or "<!" in description.replace("<!--", ""):
        return None
    try:
        root = ElementTree.fromstring(description.rstrip("\0 \n"))
    except (ElementTree.ParseError, ValueError):
        return None
    return next((node for node in root.iter() if node.tag.endswith("Pixels")), None)


def _ome_spacing(description: str) -> tuple[float, float] | None:
    pixels = ome_pixels(description)
    if pixels is None:
        return None
    try:
        height, width = (float(pixels.attrib[f"PhysicalSize{axis}"]) for axis in "YX")
    except (KeyError, ValueError):
        return None
    units = {pixels.attrib.get(f"PhysicalSize{axis}Unit") for axis in "YX"}
    return (height, width) if len(units) == 1 else None


def orientation(page: Any) -> int:
    """The orientation 1 to 8; 1 where the page does not say."""
    tag = page.tags.get(274)
    return int(tag.value) if tag is not None and 1 <= int(tag.value) <= 8 else 1


def profile(page: Any) -> bytes | None:
    """The ICC profile."""
    tag = page.tags.get(34675)
    return None if tag is None else bytes(tag.value)


def _raw(page: Any, tag: Any) -> bytes:
    """The tag's values as they stand in the file, turned to little-endian."""
    size = KIND_SIZES[int(tag.dtype)]
    file = page.parent.filehandle
    file.seek(tag.valueoffset)
    data = bytes(file.read(size * int(tag.count)))
    part = 4 if int(tag.dtype) in (5, 10) else size  # a fraction is two numbers
    if page.parent.byteorder == "<" or part == 1:
        return data
    return np.frombuffer(data, f">u{part}").astype(f"<u{part}").tobytes()
