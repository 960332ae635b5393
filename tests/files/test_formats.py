import sys

import numpy as np
import pytest
import tifffile

from files.samples import picture
from whorl import files
from whorl.errors import FileError, ShapeError


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif"])
def test_contents_count_not_the_name(tmp_path, name):
    files.write(tmp_path / name, picture(size=(8, 8)))
    (tmp_path / name).rename(tmp_path / "a.picture")
    assert files.read(tmp_path / "a.picture").layout.height == 8


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        (b"", "is empty"),
        (b"just some text\n", "not a picture"),
        (b"\x89PNG\r\n\x1a\n", "not a PNG"),
        (b"II*\0\0\0\0\0", "TIFF"),
    ],
)
def test_no_picture_is_one_clear_error(tmp_path, contents, text):
    (tmp_path / "a.png").write_bytes(contents)
    with pytest.raises(FileError, match=text) as error:
        files.read(tmp_path / "a.png")
    assert "\n" not in str(error.value)


def test_missing_folder_and_unreadable(tmp_path):
    with pytest.raises(FileError, match="No such file"):
        files.read(tmp_path / "missing.png")
    with pytest.raises(FileError, match="not a picture"):
        files.read(tmp_path)


def test_unreadable(unprivileged):
    (unprivileged / "closed.png").touch(mode=0)
    with pytest.raises(FileError, match="Permission denied"):
        files.read(unprivileged / "closed.png")


def test_unknown_suffix_names_the_known(tmp_path):
    with pytest.raises(FileError, match=r"'.bmp'.*\.png, \.jpg"):
        files.write(tmp_path / "a.bmp", picture())


@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "u4", "i4"])
def test_rounding_is_half_to_even_and_never_wraps(dtype):
    layout = picture(dtype=dtype).layout
    limits = np.iinfo(dtype)
    values = np.array([0.5, 1.5, 2.5, limits.max + 0.4, limits.max * 2.0, limits.min - 100.0])
    assert layout.round(values).tolist() == [0, 2, 2, limits.max, limits.max, limits.min]


def test_alpha_stays_when_colours_change():
    made = picture("rgb", 4, 1)
    changed = made.with_colours(np.zeros((37, 53, 3)))
    assert not changed.colours.any()
    np.testing.assert_array_equal(changed.samples[..., 3], made.samples[..., 3])
    with pytest.raises(ShapeError, match="do not fit"):
        made.with_colours(np.zeros((37, 53, 4)))


@pytest.mark.parametrize(
    ("name", "missing", "dtype"),
    [("a.tif", "tifffile", "u2"), ("a.zarr", "zarr", "u1"), ("a.png", "imagecodecs", "u2")],
)
def test_missing_package_is_named_with_its_remedy(tmp_path, monkeypatch, name, missing, dtype):
    files.write(tmp_path / name, picture("rgb", 3, dtype=dtype))
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(FileError, match=rf"{missing}.*pip install .*{missing}"):
        files.read(tmp_path / name)


def test_what_needs_no_extra_works_without(tmp_path, monkeypatch):
    for missing in ("tifffile", "zarr", "imagecodecs"):
        monkeypatch.setitem(sys.modules, missing, None)
    for name, dtype in (("a.png", "u1"), ("b.jpg", "u1"), ("c.png", "u1")):
        files.write(tmp_path / name, picture("rgb", 3, dtype=dtype))
        assert files.read(tmp_path / name).layout.channels == 3
    files.write(tmp_path / "grey.png", picture(dtype="u2"))
    assert np.array_equal(files.read(tmp_path / "grey.png").samples, picture(dtype="u2").samples)
    files.write(tmp_path / "d.tif", picture("rgb", 3, dtype="u2"))  # writing needs nothing, reading does
    monkeypatch.undo()
    assert np.array_equal(files.read(tmp_path / "d.tif").samples, picture("rgb", 3, dtype="u2").samples)


@pytest.mark.parametrize("content", [b"RIFF\x24\0\0\0WAVEfmt ", b"RIFX\x24\0\0\0WEBPVP8 "])
def test_other_files_of_the_family_of_webp_are_no_pictures(tmp_path, content):
    (tmp_path / "a.webp").write_bytes(content)
    with pytest.raises(FileError, match="not a picture"):
        files.read(tmp_path / "a.webp")


def test_samples_are_plain_unless_told_otherwise(tmp_path):
    """Black is zero, and colours are not multiplied by their alpha."""
    for name, channels, kept, colour in (("grey", 1, 0, "grey"), ("rgba", 4, 1, "rgb")):
        layout = files.Layout(5, 4, channels, np.dtype("u1"), colour, kept)
        samples = np.arange(20 * channels, dtype=np.uint8).reshape(5, 4, -1)
        files.write(tmp_path / f"{name}.tif", files.Picture(samples, layout))
    with tifffile.TiffFile(tmp_path / "grey.tif") as file:
        assert file.pages[0].photometric == tifffile.PHOTOMETRIC.MINISBLACK
    with tifffile.TiffFile(tmp_path / "rgba.tif") as file:
        assert file.pages[0].extrasamples == (tifffile.EXTRASAMPLE.UNASSALPHA,)
