"""What a header declares is checked before anything of that size is allocated."""

import json
import struct
import zlib

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

from files.samples import listing, noise, picture
from peak import GIGABYTE, run_alone
from whorl import files
from whorl.errors import FileError
from whorl.files import base

READ = "import sys; from whorl import files\nfiles.read_pages(sys.argv[1])"


def refused(path, says: str, peak: int = GIGABYTE // 2) -> None:
    """A process of its own refuses the file with one line, in little memory and time."""
    ran = run_alone(READ, path, limit=4 * GIGABYTE, timeout=30)
    assert ran.code == 1
    last = ran.err.strip().splitlines()[-1]
    assert last.startswith("whorl.errors.FileError"), ran.err
    assert says in last
    assert str(path) in last
    assert ran.peak < peak


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"".join(
        len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big") for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("big", [False, True])
def test_a_directory_that_points_to_itself(tmp_path, big):
    tifffile.imwrite(tmp_path / "a.tif", noise(8, 8, 1, "u1")[..., 0], bigtiff=big)
    data = bytearray((tmp_path / "a.tif").read_bytes())
    count, link = ("<Q", "<Q") if big else ("<H", "<I")
    start = struct.unpack_from(link, data, 8 if big else 4)[0]
    tags = struct.unpack_from(count, data, start)[0]
    end = start + struct.calcsize(count) + tags * (20 if big else 12)
    struct.pack_into(link, data, end, start)
    (tmp_path / "a.tif").write_bytes(data)
    refused(tmp_path / "a.tif", "points back")


def test_a_chain_of_directories_that_never_ends(tmp_path, monkeypatch):
    tifffile.imwrite(tmp_path / "a.tif", noise(9, 8, 8, "u1")[..., :8].transpose(2, 0, 1), photometric="minisblack")
    monkeypatch.setattr("whorl.files.tiff_directory.MAX_PAGES", 7)
    with pytest.raises(FileError, match="more than 7 pages"):
        files.read_pages(tmp_path / "a.tif")


def test_a_colour_profile_that_inflates(tmp_path):
    header = (8).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    pixels = zlib.compress(bytes(9 * 8))
    deflate, count = zlib.compressobj(9), 192
    first, again = (deflate.compress(bytes(2**24)) + deflate.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    checksum = (count * 2**24 % 65521 << 16 | 1).to_bytes(4, "big")  # Adler's, of zeros
    bomb = first + again * (count - 1) + deflate.flush()[:-4] + checksum  # three gigabytes
    (tmp_path / "a.png").write_bytes(
        png((b"IHDR", header), (b"iCCP", b"x\0\0" + bomb), (b"IDAT", pixels), (b"IEND", b""))
    )
    refused(tmp_path / "a.png", "a.png")


def declared(path, shape, **how) -> None:
    zarr.create_array(path, shape=shape, chunks=how.pop("chunks", (1,) * len(shape)), dtype="u1", **how)


def test_zarr_that_declares_millions_of_pages(tmp_path):
    declared(tmp_path / "a.zarr", (2_000_000, 8, 8), chunks=(1, 8, 8))
    refused(tmp_path / "a.zarr", "2000000 pages")


def test_zarr_that_declares_no_page(tmp_path):
    declared(tmp_path / "a.zarr", (0, 8, 8), chunks=(1, 8, 8))
    with pytest.raises(FileError, match="holds no picture"):
        files.open_reader(tmp_path / "a.zarr")


def test_zarr_with_giant_or_countless_or_empty_chunks(tmp_path):
    declared(tmp_path / "giant.zarr", (10**6, 10**6), chunks=(10**6, 10**6))
    refused(tmp_path / "giant.zarr", "one chunk of 1000000 x 1000000 pixels")
    declared(tmp_path / "many.zarr", (10**6, 10**6))
    refused(tmp_path / "many.zarr", "chunks of 1 x 1 pixels")
    declared(tmp_path / "empty.zarr", (8, 8), chunks=(8, 8))
    about = json.loads((tmp_path / "empty.zarr" / "zarr.json").read_text())
    about["chunk_grid"]["configuration"]["chunk_shape"] = [0, 8]
    (tmp_path / "empty.zarr" / "zarr.json").write_text(json.dumps(about))
    with pytest.raises(FileError, match=r"empty\.zarr"):
        files.read(tmp_path / "empty.zarr")


def test_a_writer_without_pages_is_refused(tmp_path):
    for name in ("a.tif", "a.zarr", "a.png"):
        with pytest.raises(FileError, match="no page to write"):
            files.write(tmp_path / name, [])
    assert listing(tmp_path) == []


@pytest.mark.parametrize("name", ["a.jpg", "a.bmp"])
def test_sizes_that_the_bytes_cannot_hold(tmp_path, name):
    Image.fromarray(noise(16, 16, 3, "u1")).save(tmp_path / name)
    data = bytearray((tmp_path / name).read_bytes())
    if name == "a.jpg":
        place = data.index(b"\xff\xc0") + 5
        struct.pack_into(">HH", data, place, 20_000, 20_000)
    else:
        struct.pack_into("<ii", data, 18, 20_000, 20_000)
    (tmp_path / name).write_bytes(data)
    refused(tmp_path / name, "truncated")


def test_a_short_palette_is_refused(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        colours = np.zeros((3, 256), np.uint16)
        file.write(noise(8, 8, 1, "u1")[..., 0], photometric="palette", colormap=colours)
    with tifffile.TiffFile(tmp_path / "a.tif", mode="r+b") as file:
        file.pages[0].tags["ColorMap"].overwrite(np.zeros(3 * 4, np.uint16).tolist())
    with pytest.raises(FileError, match=r"a\.tif.*palette"):
        files.read(tmp_path / "a.tif")


@pytest.mark.parametrize("codec", ["zstd", "blosc"])
def test_a_corrupt_chunk_names_the_file(tmp_path, codec):
    compressors = {"zstd": zarr.codecs.ZstdCodec(), "blosc": zarr.codecs.BloscCodec(cname="lz4")}
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=(64, 64), chunks=(64, 64), dtype="u1", compressors=compressors[codec]
    )
    array[...] = noise(64, 64, 1, "u1")[..., 0]
    chunk = next(path for path in (tmp_path / "a.zarr" / "c").rglob("*") if path.is_file())
    chunk.write_bytes(bytes([255]) * chunk.stat().st_size)
    with pytest.raises(FileError, match=r"a\.zarr: damaged"):
        files.read(tmp_path / "a.zarr")


def test_large_eight_bit_pictures_are_read(tmp_path):
    """Up to 2**29 pixels; other limits of the decoders do not count."""
    side = 13_400  # above the limit of Pillow, 179 megapixels
    flat = np.broadcast_to(np.uint8(7), (side, side, 1))
    made = files.Picture(flat, files.Layout(side, side, 1, np.dtype("u1"), "grey"))
    files.write(tmp_path / "a.png", made)
    with files.open_reader(tmp_path / "a.png") as reader:
        assert reader.pages[0].layout == made.layout
        assert (reader.pages[0].read(0, side, 0, side) == 7).all()
    assert base.MAX_PIXELS == 2**29


@pytest.mark.parametrize("name", ["b.tif", "b.jpg", "b.png"])
def test_any_pixel_size_can_be_written(tmp_path, name):
    for resolution in ((508_000.0, 508_000.0), (1e12, 1e12), (1e-6, 1e-6)):
        made = picture("rgb", 3, metadata=files.Metadata(resolution=resolution))
        files.write(tmp_path / name, made, force=True)
        seen = files.read(tmp_path / name).metadata.resolution
        if name != "b.jpg" and resolution[0] == 508_000.0:  # 50 nm; JPEG ends at 65535 pixels per inch
            assert seen == pytest.approx(resolution, rel=1e-5)
