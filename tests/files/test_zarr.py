import numpy as np
import pytest
import zarr

from files.samples import KINDS, noise, picture
from whorl import files
from whorl.errors import FileError


@pytest.mark.parametrize(("colour", "channels", "kept"), [KINDS[0], *KINDS[2:]])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_pictures_survive(tmp_path, colour, channels, kept, dtype):
    made = picture(colour, channels, kept, dtype, size=(601, 520))
    files.write(tmp_path / "a.zarr", made)
    again = files.read(tmp_path / "a.zarr")
    assert again.layout == made.layout
    np.testing.assert_array_equal(again.samples, made.samples)


@pytest.mark.parametrize(
    ("shape", "names", "pages", "page_shape"),
    [
        ((40, 50), None, 1, (40, 50, 1)),
        ((40, 50, 3), None, 1, (40, 50, 3)),
        ((2, 3, 40, 50), None, 6, (40, 50, 1)),
        ((3, 40, 50), ("c", "y", "x"), 1, (40, 50, 3)),
        ((2, 40, 3, 50), ("t", "x", "c", "y"), 2, (50, 40, 3)),
    ],
)
@pytest.mark.parametrize("version", [2, 3])
def test_axes_chunks_and_attributes_survive(tmp_path, shape, names, pages, page_shape, version):
    if version == 2 and names:
        pytest.skip("version 2 has no names of axes")
    samples = noise(1, 1, int(np.prod(shape)), "u2").reshape(shape)
    chunks = tuple(min(size, 16) for size in shape)
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=shape, chunks=chunks, dtype="u2", dimension_names=names, zarr_format=version,
        attributes={"unit": "nm"},
    )  # fmt: skip
    array[...] = samples
    read = files.read_pages(tmp_path / "a.zarr")
    assert [page.samples.shape for page in read] == [page_shape] * pages
    files.write(tmp_path / "b.zarr", read)
    again = zarr.open(tmp_path / "b.zarr", mode="r")
    np.testing.assert_array_equal(again[...], samples)
    assert (again.chunks, dict(again.attrs)) == (chunks, {"unit": "nm"})
    assert getattr(again.metadata, "dimension_names", None) == names


def test_pages_of_a_tiff_become_an_axis(tmp_path):
    pages = [picture(dtype="u2"), picture(dtype="u2")]
    files.write(tmp_path / "a.zarr", pages)
    assert zarr.open(tmp_path / "a.zarr", mode="r").shape == (2, 37, 53)
    with pytest.raises(FileError, match="different size"):
        files.write(tmp_path / "b.zarr", [picture(), picture(dtype="u2")])


def test_groups_and_foreign_samples_are_refused(tmp_path):
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("0", shape=(8, 8), dtype="u1")
    group.create_array("c", shape=(8, 8), dtype="c8")
    with pytest.raises(FileError, match=r"there: 0, c"):
        files.read(tmp_path / "g.zarr")
    assert files.read(tmp_path / "g.zarr" / "0").layout.height == 8
    with pytest.raises(FileError, match="complex64"):
        files.read(tmp_path / "g.zarr" / "c")
    group.create_array("line", shape=(8,), dtype="u1")
    with pytest.raises(FileError, match="no picture"):
        files.read(tmp_path / "g.zarr" / "line")
