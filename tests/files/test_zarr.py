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


def ome_group(
    path, version: int, shape=(2, 3, 90, 70), axes="tcyx", factors=((1, 1, 1, 1), (1, 1, 2, 2), (1, 1, 2, 2))
):
    """An image in three sizes, with pixels four times as high as wide, in version 0.4 (zarr 2) or 0.5 (zarr 3)."""
    samples, sets = noise(1, 1, int(np.prod(shape)), "u2").reshape(shape), []
    group = zarr.open_group(path, mode="w", zarr_format=version)
    style = (
        {"chunk_key_encoding": {"name": "v2", "separator": "/"}} if version == 2 else {"dimension_names": tuple(axes)}
    )
    level, scale = samples, np.array([{"y": 2.0, "x": 0.5}.get(axis, 1.0) for axis in axes])
    for number, factor in enumerate(factors):
        level, scale = level[tuple(slice(None, None, step) for step in factor)], scale * factor
        array = group.create_array(
            str(number), shape=level.shape, chunks=tuple(min(32, size) for size in level.shape), dtype="u2", **style
        )
        array[...] = level
        sets.append({"path": str(number), "coordinateTransformations": [{"type": "scale", "scale": scale.tolist()}]})
    image = {"axes": [{"name": axis, "unit": "micrometer"} for axis in axes], "datasets": sets, "name": "cells"}
    if version == 2:
        group.attrs["multiscales"] = [image | {"version": "0.4"}]
    else:
        group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}
    group.attrs["omero"] = {"channels": []}
    return samples


@pytest.mark.parametrize("version", [2, 3])
def test_ome_groups_are_read_and_written_as_groups(tmp_path, version):
    samples = ome_group(tmp_path / "a.zarr", version)
    pages = files.read_pages(tmp_path / "a.zarr")
    assert [page.samples.shape for page in pages] == [(90, 70, 3)] * 2
    assert np.array_equal([page.samples for page in pages], samples.transpose(0, 2, 3, 1))
    assert (pages[0].layout.colour, pages[0].layout.kept) == ("channels", 0)
    assert pages[0].metadata.aspect == (4.0, 1.0)
    files.write(tmp_path / "b.zarr", [page.with_colours(65535.0 - page.samples) for page in pages])
    before, after = (zarr.open_group(tmp_path / name, mode="r") for name in ("a.zarr", "b.zarr"))
    assert after.metadata.zarr_format == version
    assert dict(after.attrs) == dict(before.attrs)
    assert np.array_equal(after["0"][...], 65535 - samples)
    for name in ("0", "1", "2"):
        assert (after[name].shape, after[name].chunks) == (before[name].shape, before[name].chunks)
    for finer, coarser in (("0", "1"), ("1", "2")):
        fine = after[finer][...].astype(float)
        fine = np.pad(fine, [(0, 0), (0, 0), *((0, size % 2) for size in fine.shape[2:])], mode="edge")
        mean = (fine[..., ::2, ::2] + fine[..., 1::2, ::2] + fine[..., ::2, 1::2] + fine[..., 1::2, 1::2]) / 4
        assert np.array_equal(after[coarser][...], np.rint(mean))
    assert np.array_equal(
        [page.samples for page in files.read_pages(tmp_path / "b.zarr")], [65535 - p.samples for p in pages]
    )


def test_ome_groups_of_volumes_shrink_along_every_axis(tmp_path):
    samples = ome_group(tmp_path / "a.zarr", 3, (8, 40, 44), "zyx", ((1, 1, 1), (2, 4, 4)))
    files.write(tmp_path / "b.zarr", files.read_pages(tmp_path / "a.zarr"))
    mean = samples.astype(float).reshape(4, 2, 10, 4, 11, 4).mean((1, 3, 5))
    assert np.array_equal(zarr.open_group(tmp_path / "b.zarr", mode="r")["1"][...], np.rint(mean))


def test_ome_groups_become_tiffs_and_damaged_ones_are_refused(tmp_path):
    ome_group(tmp_path / "a.zarr", 3)
    with pytest.warns(UserWarning, match=r"a\.tif: not kept: attributes"):
        files.write(tmp_path / "a.tif", files.read_pages(tmp_path / "a.zarr"))
    assert files.read_pages(tmp_path / "a.tif")[0].metadata.aspect == (4.0, 1.0)
    group = zarr.open_group(tmp_path / "a.zarr", mode="r+")
    del group["1"]
    with pytest.raises(FileError, match=r"a\.zarr: a zarr group without an OME-Zarr image.*there: 0, 2"):
        files.read(tmp_path / "a.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_the_scale_of_a_whole_ome_image_counts_too(tmp_path, version):
    """Pixels of 2.0 x 0.5, and then the image as a whole stretched by 1 along y and 8 along x."""
    from whorl.files.volume import open_volume

    ome_group(tmp_path / "a.zarr", version, (4, 40, 44), "zyx", ((1, 1, 1), (1, 2, 2)))
    group = zarr.open_group(tmp_path / "a.zarr", mode="r+")
    key = "ome" if version == 3 else "multiscales"
    about = dict(group.attrs)[key]
    image = (about["multiscales"] if version == 3 else about)[0]
    image["coordinateTransformations"] = [{"type": "scale", "scale": [3.0, 1.0, 8.0]}]
    group.attrs[key] = about
    assert files.read_pages(tmp_path / "a.zarr")[0].metadata.spacing == (2.0, 4.0)
    with open_volume(tmp_path / "a.zarr") as volume:
        assert volume.spacing == (3.0, 2.0, 4.0)
