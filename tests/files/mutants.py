"""Damaged files of every format, always the same ones: small good files, each changed in a few places by a seed."""

import io
import random
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import mrcfile
import nibabel
import nrrd
import numpy as np
import tifffile
import zarr
from PIL import Image

from files.samples import exif, noise, profile

NUMBERS = (0, 1, 2, 255, 256, 65535, 2**24, 2**31 - 1, 2**31, 2**32 - 1)


def _saved(image: np.ndarray, kind: str, mode: str | None = None, **how: object) -> bytes:
    stream = io.BytesIO()
    picture = Image.fromarray(image)
    (picture if mode is None else picture.convert(mode)).save(stream, kind, **how)
    return stream.getvalue()


def _tiff(image: np.ndarray, **how: object) -> bytes:
    stream = io.BytesIO()
    tifffile.imwrite(stream, image, **how)
    return stream.getvalue()


def _png16() -> bytes:
    import imagecodecs

    return imagecodecs.png_encode(noise(20, 30, 4, "u2"))


def _pyramid() -> bytes:
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream) as file:
        file.write(noise(64, 64, 1, "u2")[..., 0], tile=(16, 16), subifds=1, compression="zlib")
        file.write(noise(32, 32, 1, "u2")[..., 0], tile=(16, 16), subfiletype=1)
    return stream.getvalue()


def _volume(name: str) -> bytes:
    """A small volume, as the library of its format writes it."""
    data = noise(5, 6, 7, "u2").astype(np.int16)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if name.endswith(".mrc"):
            with mrcfile.new(path) as file:
                file.set_data(data)
                file.voxel_size = (2.0, 3.0, 4.0)
        elif name.endswith(".nrrd"):
            nrrd.write(str(path), data, {"spacings": [4.0, 3.0, 2.0], "encoding": "gzip"})
        else:
            nibabel.save(nibabel.Nifti1Image(data.T, np.diag([2.0, 3.0, 4.0, 1.0])), path)
        return path.read_bytes()


GREY, RGB, RGBA = noise(20, 30, 1, "u1")[..., 0], noise(20, 30, 3, "u1"), noise(20, 30, 4, "u1")
MANY = {"dpi": (300, 150), "exif": b"Exif\0\0" + exif(6), "icc_profile": profile()}
COLOURS = np.random.default_rng(0).integers(0, 65536, (3, 256), np.uint16)
SMOOTH = np.add.outer(np.arange(20), np.arange(30)).astype(np.uint8)

FILES: dict[str, Callable[[], bytes]] = {
    "grey.png": lambda: _saved(GREY, "PNG"),
    "described.png": lambda: _saved(RGB, "PNG", **MANY),
    "alpha.png": lambda: _saved(RGBA, "PNG"),
    "palette.png": lambda: _saved(RGB, "PNG", "P"),
    "one.png": lambda: _saved(GREY, "PNG", "1"),
    "sixteen.png": _png16,
    "grey.jpg": lambda: _saved(SMOOTH, "JPEG"),
    "described.jpg": lambda: _saved(RGB, "JPEG", **MANY),
    "progressive.jpg": lambda: _saved(RGB, "JPEG", progressive=True),
    "cmyk.jpg": lambda: _saved(RGB, "JPEG", "CMYK"),
    "lossy.webp": lambda: _saved(RGB, "WEBP"),
    "lossless.webp": lambda: _saved(RGBA, "WEBP", lossless=True),
    "rgb.bmp": lambda: _saved(RGB, "BMP"),
    "palette.bmp": lambda: _saved(RGB, "BMP", "P"),
    "one.bmp": lambda: _saved(GREY, "BMP", "1"),
    "plain.tif": lambda: _tiff(GREY),
    "strips.tif": lambda: _tiff(RGB, photometric="rgb", rowsperstrip=4, compression="zlib", predictor=True),
    "tiles.tif": lambda: _tiff(noise(40, 40, 3, "u2"), photometric="rgb", tile=(16, 16), compression="lzw"),
    "float.tif": lambda: _tiff(noise(20, 30, 1, "f4")[..., 0], compression="zstd"),
    "planes.tif": lambda: _tiff(RGB.transpose(2, 0, 1).copy(), photometric="rgb", planarconfig="separate"),
    "palette.tif": lambda: _tiff(GREY, photometric="palette", colormap=COLOURS),
    "bits.tif": lambda: _tiff(GREY > 99, compression="packbits"),
    "jpeg.tif": lambda: _tiff(noise(32, 32, 3, "u1"), photometric="rgb", tile=(16, 16), compression="jpeg"),
    "big.tif": lambda: _tiff(noise(20, 30, 1, "u2")[..., 0], bigtiff=True, compression="zlib"),
    "pages.tif": lambda: _tiff(noise(3, 20, 30, "u1"), photometric="minisblack"),
    "imagej.tif": lambda: _tiff(noise(3, 20, 30, "u2"), imagej=True, resolution=(2.0, 0.5)),
    "ome.tif": lambda: _tiff(noise(3, 20, 30, "u2"), ome=True, metadata={"axes": "ZYX", "PhysicalSizeX": 0.5}),
    "pyramid.tif": _pyramid,
    **{name: partial(_volume, name) for name in ("volume.mrc", "volume.nii", "volume.nii.gz", "volume.nrrd")},
}


def _zarr3(path: Path) -> None:
    array = zarr.create_array(path, shape=(2, 40, 30), chunks=(1, 16, 16), dtype="u2", dimension_names=("t", "y", "x"))
    array[...] = noise(2, 40, 30, "u2")


def _zarr2(path: Path) -> None:
    array = zarr.create_array(path, shape=(40, 30, 3), chunks=(16, 16, 3), dtype="u1", zarr_format=2)
    array[...] = noise(40, 30, 3, "u1")


def _ome_zarr(path: Path) -> None:
    group = zarr.open_group(path, mode="w")
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
    scales = [[{"type": "scale", "scale": [4.0 * step, 1.0 * step]}] for step in (1, 2)]
    sets = [{"path": str(n), "coordinateTransformations": scale} for n, scale in enumerate(scales)]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": sets}]}
    for name, step in (("0", 1), ("1", 2)):
        group.create_array(name, data=noise(40, 30, 1, "u1")[::step, ::step, 0].copy(), chunks=(16, 16))


def _ome_zarr_volume(path: Path) -> None:
    group = zarr.open_group(path, mode="w")
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
    sets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [3.0, 1.0, 1.0]}]}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": sets}]}
    group.create_array("0", data=noise(5, 12, 14, "u1"), chunks=(2, 8, 8))


FOLDERS: dict[str, Callable[[Path], None]] = {
    "three.zarr": _zarr3,
    "two.zarr": _zarr2,
    "ome.zarr": _ome_zarr,
    "volume.ome.zarr": _ome_zarr_volume,
}


def changed(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four changes: bits, bytes, numbers, pieces cut out, doubled, or filled with noise."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not found:
            break
        place, how = rng.randrange(len(found)), rng.random()
        if how < 0.4:
            found[place] ^= 1 << rng.randrange(8)
        elif how < 0.55:
            found[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif how < 0.7:
            number = struct.pack(rng.choice("<>") + "I", rng.choice(NUMBERS))[-rng.choice((2, 4)) :]
            found[place : place + len(number)] = number
        elif how < 0.78:
            del found[place : place + rng.randrange(1, 40)]
        elif how < 0.86:
            found[place:place] = found[place : place + rng.randrange(1, 40)]
        elif how < 0.93:
            found[place : place + 8] = rng.randbytes(8)
        else:
            del found[place:]
    return bytes(found)


def _with_right_checksums(data: bytes) -> bytes:
    """A PNG whose chunks have the checksums of what is in them, so that damage gets further than to the first check."""
    found, place = bytearray(data[:8]), 8
    while place + 12 <= len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        body = data[place + 4 : place + 8 + length]
        found += data[place : place + 4] + body + zlib.crc32(body).to_bytes(4, "big")
        place += 12 + length
    return bytes(found)


def originals(folder: Path) -> list[Path]:
    """Write all good files into the folder."""
    for name, make in FILES.items():
        (folder / name).write_bytes(make())
    for name, make_folder in FOLDERS.items():
        make_folder(folder / name)
    return sorted(folder.iterdir())


def mutants(good: list[Path], folder: Path, count: int, seed: int = 0) -> Iterator[Path]:
    """Write ``count`` damaged files into the folder, one after the other, in turn of every good one."""
    for number in range(count):
        original = good[number % len(good)]
        rng = random.Random(f"{seed} {number}")
        path = folder / f"{number:05d}-{original.name}"
        if original.is_dir():
            shutil.copytree(original, path)
            victim = rng.choice(sorted(part for part in path.rglob("*") if part.is_file()))
            victim.write_bytes(changed(victim.read_bytes(), rng))
        else:
            data = changed(original.read_bytes(), rng)
            repaired = path.suffix == ".png" and rng.random() < 0.5
            path.write_bytes(_with_right_checksums(data) if repaired else data)
        yield path
