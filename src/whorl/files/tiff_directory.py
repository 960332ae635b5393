"""Directories of TIFF files, and of EXIF blocks, which are small TIFF files: tags read and written as raw bytes."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from whorl.errors import FileError
from whorl.files.base import MAX_PAGES
from whorl.files.layout import Metadata, Tag

# bytes of one value, by the data types of TIFF; the last three are those of BigTIFF
KIND_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
MOST_TAGS = 4096  # of one directory; real ones have some dozens
MAX_TAG = 2**26  # bytes of one tag; the longest real ones hold the places of millions of strips
ORIENTATION, IPTC = 274, 33723
INSIDE = (34665, 34853, 40965)  # tags that point to another directory: EXIF, GPS, interoperability
LONG, LONG8 = 4, 16


@dataclass(frozen=True)
class Directories:
    """A file of directories: where they begin, and how it writes numbers."""

    file: Any
    order: Literal["little", "big"]
    big: bool
    first: int

    @classmethod
    def of(cls, file: Any) -> "Directories":
        """As the header of an open file says."""
        file.seek(0)
        head = file.read(16)
        order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
        big = int.from_bytes(head[2:4], order) == 43
        return cls(file, order, big, int.from_bytes(head[8:16] if big else head[4:8], order))

    def entries(self, offset: int) -> tuple[list[tuple[int, int, int, int]], int]:
        """Code, data type, count and place of the values of every tag; then where the next directory lies.

        Raises ValueError for what no real directory has.
        """
        wide, counter, length = (8, 8, 20) if self.big else (4, 2, 12)
        self.file.seek(offset)
        count = int.from_bytes(self.file.read(counter), self.order)
        data = self.file.read(count * length + wide) if 0 < count <= MOST_TAGS else b""
        if not data or len(data) < count * length + wide:
            raise ValueError("is damaged or cut off")
        found = []
        for at in range(0, count * length, length):
            code, kind, number = (
                int.from_bytes(data[at + a : at + b], self.order) for a, b in ((0, 2), (2, 4), (4, 4 + wide))
            )
            size, place = KIND_SIZES.get(kind, 1) * number, offset + counter + at + 4 + wide
            if size > MAX_TAG:
                raise ValueError(f"has a tag {code} of {size} bytes, above the limit of {MAX_TAG}")
            if size > wide:
                place = int.from_bytes(data[at + 4 + wide : at + length], self.order)
            found.append((code, kind, number, place))
        return found, int.from_bytes(data[-wide:], self.order)

    def tags(self, offset: int, wanted: Iterable[int] | None = None, depth: int = 0) -> Iterator[Tag]:
        """The tags of a directory, of these codes only where some are ``wanted``, turned to little-endian."""
        for code, kind, count, place in self.entries(offset)[0]:
            if kind not in KIND_SIZES or (wanted is not None and code not in wanted):
                continue
            size = KIND_SIZES[kind]
            self.file.seek(place)
            data = bytes(self.file.read(size * count))
            part = 4 if kind in (5, 10) else size  # a fraction is two numbers
            if self.order == "big" and part > 1 and code != IPTC and len(data) == size * count:
                data = np.frombuffer(data, f">u{part}").astype(f"<u{part}").tobytes()
            inside: tuple[Tag, ...] = ()
            if code in INSIDE:
                if depth == len(INSIDE):  # directories that hold each other
                    continue
                inside = tuple(self.tags(int.from_bytes(data, "little"), None, depth + 1))
            yield Tag(code, kind, count, data, inside)


def directories(path: Path) -> int:
    """The number of directories (pages and previews) in a chain, followed before any page is looked at.

    Refuses a chain that returns to a directory it has passed, leads out of the file, or is longer than any stack.
    """
    passed: set[int] = set()
    with path.open("rb") as file:
        chain = Directories.of(file)
        offset = chain.first
        while offset:
            if offset in passed:
                raise FileError(f"{path}: its directory {len(passed)} points back to an earlier one; damaged.")
            if len(passed) == MAX_PAGES:
                raise FileError(f"{path}: holds more than {MAX_PAGES} pages. Split it into several files.")
            passed.add(offset)
            try:
                offset = chain.entries(offset)[1]
            except ValueError as error:
                raise FileError(f"{path}: directory {len(passed)} {error}. Get the file again.") from None
    if not passed:
        raise FileError(f"{path}: a TIFF file without any page. Get the file again.")
    return len(passed)


def packed(tags: Iterable[Tag], start: int, big: bool = False) -> tuple[bytes, int]:
    """The bytes of a directory that will lie at ``start``, and the place of its link to the next."""
    wide, counter = (8, 8) if big else (4, 2)
    ordered = sorted(tags, key=lambda tag: tag.code)
    entries, rest = bytearray(), bytearray()
    behind = start + counter + len(ordered) * (4 + 2 * wide) + wide
    for tag in ordered:
        tag = tag if big else _classic(tag)
        if tag.inside:
            place = behind + len(rest)
            inner = packed(tag.inside, place, big)[0]
            rest += inner + bytes(len(inner) % 2)
            tag = Tag(tag.code, LONG, 1, place.to_bytes(4, "little")) if place < 2**32 else tag
        value = tag.data.ljust(wide, b"\0")
        if len(value) > wide:
            value = (behind + len(rest)).to_bytes(wide, "little")
            rest += tag.data + bytes(len(tag.data) % 2)
        entries += tag.code.to_bytes(2, "little") + tag.kind.to_bytes(2, "little")
        entries += tag.count.to_bytes(wide, "little") + value
    return len(ordered).to_bytes(counter, "little") + entries + bytes(wide) + rest, behind - wide


def exif_tags(block: bytes | None) -> tuple[Tag, ...]:
    """The tags of an EXIF block; none of a block that nobody can read."""
    try:
        chain = Directories.of(io.BytesIO(block or b""))
        return tuple(chain.tags(chain.first))
    except ValueError:
        return ()


def exif_block(tags: Iterable[Tag]) -> bytes:
    """An EXIF block that holds these tags."""
    return b"II*\0\x08\0\0\0" + packed(tags, 8)[0]


def exif_of(metadata: Metadata) -> bytes | None:
    """The EXIF block, or the smallest one that holds the orientation where there is no block but a turn."""
    if metadata.exif is not None or metadata.orientation == 1:
        return metadata.exif
    return exif_block([Tag(ORIENTATION, 3, 1, bytes([metadata.orientation, 0]))])


def orientation_in(tags: Iterable[Tag]) -> int:
    """The orientation 1 to 8 that one of the tags tells; 1 where there is none, or none that makes sense."""
    found = next((int.from_bytes(tag.data, "little") for tag in tags if tag.code == ORIENTATION), 1)
    return found if 1 <= found <= 8 else 1


def upright_exif(block: bytes | None) -> bytes | None:
    """The block of a picture that was turned upright: nobody shall turn it once more."""
    if block is None or all(tag.code != ORIENTATION for tag in exif_tags(block)):
        return block
    chain = Directories.of(io.BytesIO(block))
    place = next(entry[3] for entry in chain.entries(chain.first)[0] if entry[0] == ORIENTATION)
    return block[:place] + (1).to_bytes(2, chain.order) + block[place + 2 :]


def _classic(tag: Tag) -> Tag:
    """The tag with 4-byte offsets, which suffice below 4 GiB and are all that classic TIFF knows."""
    if tag.kind != LONG8:
        return tag
    return replace(tag, kind=LONG, data=np.frombuffer(tag.data, "<u8").astype("<u4").tobytes())
