"""Pictures in files: PNG, JPEG, TIFF, BigTIFF and zarr, with type, range and metadata kept.

:func:`read` and :func:`write` hold a picture in memory; :func:`open_reader` and :func:`open_writer` work by window.
Every output is written beside its place and moved there when it is complete.
"""

from whorl.files.base import Canvas, Page, Reader, Writer
from whorl.files.formats import SUFFIXES, Picture, open_reader, open_writer, read, read_pages, write
from whorl.files.layout import Layout, Metadata

__all__ = [
    "SUFFIXES", "Canvas", "Layout", "Metadata", "Page", "Picture", "Reader", "Writer", "open_reader", "open_writer",
    "read", "read_pages", "write",
]  # fmt: skip
