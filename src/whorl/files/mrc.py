"""MRC files by mrcfile: tomograms and maps. The header and what follows it come along byte for byte."""

from pathlib import Path

import numpy as np

from whorl.errors import FileError
from whorl.files.raw_volume import RawVolume, read_head
from whorl.files.volume import Result, known_spacing

STATISTICS = ("dmin", "dmax", "dmean", "rms")
HEADER = 1024
IMOD_STAMP, STAMP_AT, FLAGS_AT = 1146047817, 152, 156
"""IMOD marks its files, and whether their bytes have a sign, in a part of the header that is free for such use."""


class MrcFile(RawVolume):
    """A tomogram or map; only the statistics in its header change."""

    kind = "mrc"

    def __init__(self, path: Path, asked: bool = False) -> None:
        import mrcfile.utils

        self.path = path
        header = self.fields = _fields(read_head(path, HEADER))
        columns, rows, sections = int(header.nx), int(header.ny), int(header.nz)
        if min(columns, rows, sections) < 0 or int(header.nsymbt) < 0:
            raise FileError(f"{path}: declares {columns} x {rows} x {sections} voxels; its header is damaged.")
        self.shape = (sections, rows, columns)
        self._check_sections(asked)
        native = np.dtype(mrcfile.utils.dtype_from_mode(int(header.mode)))
        if native == np.int8 and _unsigned_bytes(header):
            native = np.dtype(np.uint8)
        self.dtype = native
        self.stored = native.newbyteorder(header.mode.dtype.byteorder)
        self.head = read_head(path, HEADER + int(header.nsymbt))
        self.place(path, len(self.head))
        cells = {1: (header.cella.x, header.mx), 2: (header.cella.y, header.my), 3: (header.cella.z, header.mz)}
        axes = [cells.get(int(axis), (0.0, 1)) for axis in (header.maps, header.mapr, header.mapc)]
        self.spacing = known_spacing([length / max(int(count), 1) for length, count in axes])

    def _check_sections(self, asked: bool) -> None:
        """Tell one volume from a stack of images or of volumes, by the space group and the size of the cell."""
        header, sections = self.fields, self.shape[0]
        if int(header.ispg) == 0 and int(header.mz) == 1 and sections > 1 and not asked:
            raise FileError(
                f"{self.path}: its header says that the {sections} sections are separate images (mz = 1), as in a "
                "tilt series. Give --volume to filter them as one volume."
            )
        if int(header.ispg) > 400:
            each = max(int(header.mz), 1)
            if sections % each:
                raise FileError(f"{self.path}: {sections} sections in volumes of {each} each; its header is damaged.")
            self.count, self.shape = sections // each, (each, *self.shape[1:])

    def header(self, result: Result) -> bytes:
        """The header with the statistics of the new samples, the extended header as it is."""
        smallest, largest, total, squares, count = np.inf, -np.inf, 0.0, 0.0, 0
        for number in range(self.count):
            for place in self.slabs():
                values = result(number, place).astype(np.float64)
                smallest, largest = min(smallest, float(values.min())), max(largest, float(values.max()))
                total, squares, count = total + values.sum(), squares + np.square(values).sum(), count + values.size
        mean = total / count
        fields = self.fields.copy()
        numbers = smallest, largest, mean, np.sqrt(max(squares / count - mean * mean, 0.0))
        for name, value in zip(STATISTICS, numbers, strict=True):
            fields[name] = value
        return bytes(fields.tobytes()) + self.head[HEADER:]


def _fields(head: bytes) -> np.recarray:
    """The fields of a header, in the byte order that its stamp names."""
    from mrcfile.constants import MAP_ID
    from mrcfile.dtypes import HEADER_DTYPE
    from mrcfile.utils import byte_order_from_machine_stamp

    (fields,) = np.frombuffer(head, HEADER_DTYPE)
    if bytes(fields["map"])[:3] != MAP_ID[:3]:
        raise ValueError("the mark MAP is missing from its header")
    kind = HEADER_DTYPE.newbyteorder(byte_order_from_machine_stamp(fields["machst"]))
    return np.frombuffer(head, kind).reshape(()).copy().view(np.recarray)


def _unsigned_bytes(header: np.recarray) -> bool:
    order = "little" if header.mode.dtype.newbyteorder("=") == header.mode.dtype else "big"
    raw = header.tobytes()
    stamp, flags = (int.from_bytes(raw[at : at + 4], order) for at in (STAMP_AT, FLAGS_AT))  # type: ignore[arg-type]
    return stamp == IMOD_STAMP and not flags & 1
