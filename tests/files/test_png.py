import zlib

import imagecodecs
import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from files.samples import KINDS, exif, noise, picture, profile
from whorl import files
from whorl.errors import FileError
from whorl.files.layout import Metadata


@pytest.mark.parametrize("size", [(37, 53), (1, 1), (1, 5000), (5000, 1)])
@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize(("colour", "channels", "kept"), KINDS)
def test_samples_survive_and_other_decoders_agree(tmp_path, colour, channels, kept, dtype, size):
    made = picture(colour, channels, kept, dtype, size)
    files.write(tmp_path / "a.png", made)
    again = files.read(tmp_path / "a.png")
    assert again.layout == made.layout
    np.testing.assert_array_equal(again.samples, made.samples)
    theirs = imagecodecs.png_decode((tmp_path / "a.png").read_bytes())
    np.testing.assert_array_equal(theirs.reshape(made.samples.shape), made.samples)


def test_sixteen_bit_colour_of_another_encoder(tmp_path):
    samples = noise(20, 30, 3, "u2")
    (tmp_path / "a.png").write_bytes(imagecodecs.png_encode(samples))
    np.testing.assert_array_equal(files.read(tmp_path / "a.png").samples, samples)


def test_compression_is_close_to_other_encoders(tmp_path):
    ramp = np.add.outer(np.arange(300), 2 * np.arange(400)).astype(np.uint8)
    smooth = files.Picture(ramp[..., None], files.Layout(300, 400, 1, np.dtype("u1"), "grey"))
    files.write(tmp_path / "a.png", smooth)
    assert (tmp_path / "a.png").stat().st_size < 1.5 * len(imagecodecs.png_encode(ramp))


def test_palette_becomes_its_colours(tmp_path):
    indices = Image.fromarray(noise(9, 8, 1, "u1")[..., 0] % 4, "P")
    indices.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9])
    indices.save(tmp_path / "opaque.png")
    indices.save(tmp_path / "clear.png", transparency=2)
    opaque, clear = files.read(tmp_path / "opaque.png"), files.read(tmp_path / "clear.png")
    np.testing.assert_array_equal(opaque.samples, np.asarray(indices.convert("RGB")))
    assert (opaque.layout.channels, opaque.layout.kept) == (3, 0)
    assert (clear.layout.channels, clear.layout.kept) == (4, 1)
    np.testing.assert_array_equal(clear.samples[..., 3], np.where(np.asarray(indices) == 2, 0, 255))


def handmade(depth: int, kind: int, width: int, height: int, rows: bytes, *extra: tuple[bytes, bytes]) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([depth, kind, 0, 0, 0])
    parts = [(b"IHDR", header), *extra, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


@pytest.mark.parametrize(
    ("depth", "byte", "expected"), [(1, 0b10000000, [255, 0]), (2, 0b10010000, [170, 85]), (4, 0x1F, [17, 255])]
)
def test_few_bits_become_eight(tmp_path, depth, byte, expected):
    (tmp_path / "a.png").write_bytes(handmade(depth, 0, 2, 1, bytes([0, byte])))
    assert files.read(tmp_path / "a.png").samples[0, :, 0].tolist() == expected


@pytest.mark.parametrize(
    ("depth", "kind", "key", "rows", "alpha"),
    [
        (8, 0, b"\0\x05", bytes([0, 5, 6]), [0, 255]),
        (1, 0, b"\0\x01", bytes([0, 0b10000000]), [0, 255]),
        (16, 0, b"\1\5", bytes([0, 1, 5, 6, 5]), [0, 65535]),
        (8, 2, b"\0\1\0\2\0\3", bytes([0, 1, 2, 3, 1, 2, 4]), [0, 255]),
        (16, 2, b"\0\1\0\2\0\3", bytes([0, 0, 1, 0, 2, 0, 3, 0, 1, 0, 2, 0, 4]), [0, 65535]),
    ],
)
def test_transparent_colour_becomes_alpha(tmp_path, depth, kind, key, rows, alpha):
    (tmp_path / "a.png").write_bytes(handmade(depth, kind, 2, 1, rows, (b"tRNS", key)))
    read = files.read(tmp_path / "a.png")
    assert read.layout.kept == 1
    assert read.samples[0, :, -1].tolist() == alpha


@pytest.mark.parametrize(("channels", "dtype"), [(3, "u2"), (3, "u1"), (4, "u2")])
def test_describing_chunks_survive(tmp_path, channels, dtype):
    text = PngImagePlugin.PngInfo()
    text.add_text("Title", "whorl")
    text.add(b"gAMA", (45455).to_bytes(4, "big"))
    Image.fromarray(noise(5, 4, 3, "u1")).save(
        tmp_path / "first.png", icc_profile=profile(), dpi=(300, 150), exif=b"Exif\0\0" + exif(6), pnginfo=text
    )
    metadata = files.read(tmp_path / "first.png").metadata
    files.write(tmp_path / "second.png", picture("rgb", channels, channels - 3, dtype, metadata=metadata))
    with Image.open(tmp_path / "second.png") as seen:
        assert seen.info["icc_profile"] == profile()
        assert np.round(seen.info["dpi"]).tolist() == [300, 150]
        assert seen.getexif()[0x0112] == 6
        assert seen.getexif()[0x010F] == "Maker"
        assert seen.info["Title"] == "whorl"
        assert seen.info["gamma"] == 0.45455
    assert files.read(tmp_path / "second.png").metadata == metadata


def test_metadata_of_another_format_becomes_chunks(tmp_path):
    metadata = Metadata(resolution=(300.0, 150.0), orientation=8, icc=profile())
    files.write(tmp_path / "a.png", picture("rgb", 3, metadata=metadata))
    again = files.read(tmp_path / "a.png").metadata
    assert (again.orientation, again.icc) == (8, profile())
    assert again.resolution == pytest.approx((300, 150), rel=1e-3)  # whole pixels per metre


def test_bomb_is_refused_by_its_header(tmp_path):
    (tmp_path / "a.png").write_bytes(handmade(8, 0, 100_000, 100_000, b"\0" * 1000))
    with pytest.raises(FileError, match=r"declares 100000 x 100000 pixels.*tiled TIFF"):
        files.read(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(handmade(8, 0, 10_000, 10_000, b"\0" * 1000))  # below the limit, but a lie
    with pytest.raises(FileError, match="do not fit"):
        files.read(tmp_path / "b.png")


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_every_truncation_is_noticed(tmp_path, dtype):
    files.write(tmp_path / "a.png", picture("rgb", 3, dtype=dtype))
    whole = (tmp_path / "a.png").read_bytes()
    for length in [1, 7, 8, 20, 33, 60, len(whole) // 2, len(whole) - 13, len(whole) - 1]:
        (tmp_path / "a.png").write_bytes(whole[:length])
        with pytest.raises(FileError):
            files.read(tmp_path / "a.png")


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_damage_is_noticed(tmp_path, dtype):
    files.write(tmp_path / "a.png", picture("rgb", 3, dtype=dtype, size=(200, 200)))
    data = bytearray((tmp_path / "a.png").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(FileError, match=r"a\.png"):
        files.read(tmp_path / "a.png")


def test_animation_and_foreign_samples_are_refused(tmp_path):
    frame = Image.fromarray(noise(4, 4, 3, "u1"))
    frame.save(tmp_path / "a.png", save_all=True, append_images=[frame.rotate(90)])
    with pytest.raises(FileError, match="animated"):
        files.read(tmp_path / "a.png")
    with pytest.raises(FileError, match="float32"):
        files.write(tmp_path / "b.png", picture(dtype="f4"))
    with pytest.raises(FileError, match="cmyk"):
        files.write(tmp_path / "b.png", picture("cmyk", 4))
    with pytest.raises(FileError, match="one image"):
        files.write(tmp_path / "b.png", [picture(), picture()])
    assert not (tmp_path / "b.png").exists()


def test_an_inch_is_254_tenths_of_a_millimetre(tmp_path):
    """Resolutions agree with those that Pillow writes and reads, not only with our own."""
    Image.fromarray(noise(5, 4, 1, "u1")[..., 0]).save(tmp_path / "a.png", dpi=(300, 150))
    assert files.read(tmp_path / "a.png").metadata.resolution == pytest.approx((300, 150), rel=1e-4)
    files.write(tmp_path / "b.png", picture(metadata=files.Metadata(resolution=(300.0, 150.0))))
    with Image.open(tmp_path / "b.png") as seen:
        assert seen.info["dpi"] == pytest.approx((300, 150), rel=1e-4)
