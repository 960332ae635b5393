"""TIFF stacks, OME-TIFF, ImageJ and OME-Zarr as volumes: written by their own libraries, filtered, compared."""

import json
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr

import whorl
from files.volumes import read_volume, write_volume
from whorl.errors import FileError
from whorl.files.volume import open_volume

SHAPE = (6, 17, 23)
SETTINGS = {"contrast": 900.0, "time": 0.5}


def samples(shape=SHAPE, kind="uint16", seed=0):
    return (1000 * np.random.default_rng(seed).random(shape)).astype(kind)


@pytest.fixture
def filtered(whorl_command):
    """Filter a file by the command and give what it reports."""

    def call(source: Path, target: Path, *more: str) -> dict:
        settings = ["--contrast", "900", "--time", "0.5", "--model", "eed"]
        answer = whorl_command("filter", "--json", *settings, *more, source, target)
        assert answer.code == 0, answer.err + answer.out
        return json.loads(answer.out)["files"][0]

    return call


def whole(data, spacing=(1.0, 1.0, 1.0), **more):
    return whorl.diffuse(data, "eed", spacing=spacing, **SETTINGS, **more)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32"])
def test_ome_tiff(tmp_path, filtered, kind):
    data = samples(kind=kind)
    metadata = {"axes": "ZYX", "PhysicalSizeX": 100.0, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.1}
    metadata |= {"PhysicalSizeYUnit": "µm", "PhysicalSizeZ": 0.4, "PhysicalSizeZUnit": "µm"}
    tifffile.imwrite(tmp_path / "in.ome.tif", data, ome=True, metadata=metadata)
    record = filtered(tmp_path / "in.ome.tif", tmp_path / "out.ome.tif")
    assert record["pages"][0]["spacing"] == [4.0, 1.0, 1.0]
    assert record["pages"][0]["depth"] == 6
    with tifffile.TiffFile(tmp_path / "in.ome.tif") as old, tifffile.TiffFile(tmp_path / "out.ome.tif") as new:
        assert new.is_ome
        assert new.ome_metadata == old.ome_metadata
        assert new.series[0].axes == "ZYX"
        result = new.asarray()
    assert result.dtype == data.dtype
    assert np.array_equal(result, whole(data, (4.0, 1.0, 1.0)))


def test_imagej_stack(tmp_path, filtered):
    data = samples(kind="uint16")
    metadata = {"axes": "ZYX", "spacing": 3.0, "unit": "um", "Labels": ["a"] * 6}
    tifffile.imwrite(tmp_path / "in.tif", data, imagej=True, resolution=(1.0, 1.0), metadata=metadata)
    record = filtered(tmp_path / "in.tif", tmp_path / "out.tif")
    assert record["pages"][0]["spacing"] == [3.0, 1.0, 1.0]
    with tifffile.TiffFile(tmp_path / "out.tif") as new:
        assert new.is_imagej
        assert new.imagej_metadata["spacing"] == 3.0
        assert new.imagej_metadata["unit"] == "um"
        assert new.series[0].axes == "ZYX"
        assert np.array_equal(new.asarray(), whole(data, (3.0, 1.0, 1.0)))


def test_axes_that_tifffile_names(tmp_path, filtered):
    data = samples()
    tifffile.imwrite(tmp_path / "in.tif", data, metadata={"axes": "ZYX"}, photometric="minisblack")
    filtered(tmp_path / "in.tif", tmp_path / "out.tif")
    with tifffile.TiffFile(tmp_path / "out.tif") as new:
        assert new.series[0].axes == "ZYX"
        assert np.array_equal(new.asarray(), whole(data))


def test_a_stack_without_names_is_pictures_unless_asked(tmp_path, filtered):
    data = samples()
    tifffile.imwrite(tmp_path / "in.tif", data, photometric="minisblack")
    assert open_volume(tmp_path / "in.tif") is None
    record = filtered(tmp_path / "in.tif", tmp_path / "pages.tif")
    assert "--volume" in record["hint"]
    assert len(record["pages"]) == 6
    planes = np.stack([whorl.diffuse(plane, "eed", **SETTINGS) for plane in data])
    assert np.array_equal(tifffile.imread(tmp_path / "pages.tif"), planes)
    record = filtered(tmp_path / "in.tif", tmp_path / "volume.tif", "--volume", "--spacing", "2,1,1")
    assert "hint" not in record
    assert np.array_equal(tifffile.imread(tmp_path / "volume.tif"), whole(data, (2.0, 1.0, 1.0)))


def test_pages_stay_separate_where_wanted(tmp_path, filtered):
    data = samples()
    tifffile.imwrite(tmp_path / "in.ome.tif", data, ome=True, metadata={"axes": "ZYX"})
    record = filtered(tmp_path / "in.ome.tif", tmp_path / "out.ome.tif", "--pages", "separate")
    assert len(record["pages"]) == 6
    planes = np.stack([whorl.diffuse(plane, "eed", **SETTINGS) for plane in data])
    assert np.array_equal(tifffile.imread(tmp_path / "out.ome.tif"), planes)


@pytest.mark.parametrize("axes", ["TZCYX", "CZYX", "TZYX"])
def test_time_and_channels_of_ome_tiff(tmp_path, filtered, axes):
    sizes = {"T": 2, "Z": 5, "C": 3, "Y": 11, "X": 12}
    data = samples(tuple(sizes[axis] for axis in axes), "float32")
    tifffile.imwrite(tmp_path / "in.ome.tif", data, ome=True, metadata={"axes": axes}, photometric="minisblack")
    filtered(tmp_path / "in.ome.tif", tmp_path / "out.ome.tif", "--model", "weickert-brox")
    moments = data if "T" in axes else data[None]
    channel = axes.replace("T", "").find("C")
    results = [
        whorl.diffuse(
            moment, "weickert-brox", spacing=(1.0, 1.0, 1.0), channel_axis=channel if channel >= 0 else None, **SETTINGS
        )
        for moment in moments
    ]
    expected = np.stack(results) if "T" in axes else results[0]
    assert np.array_equal(tifffile.imread(tmp_path / "out.ome.tif"), expected)


@pytest.mark.parametrize("compression", ["zlib", None])
def test_windows_of_compressed_strips(tmp_path, filtered, compression):
    data = samples((9, 40, 44))
    tifffile.imwrite(tmp_path / "in.ome.tif", data, ome=True, metadata={"axes": "ZYX"}, compression=compression)
    record = filtered(tmp_path / "in.ome.tif", tmp_path / "out.ome.tif", "--tile", "16")
    assert record["pages"][0]["windows"] == 9
    assert np.array_equal(tifffile.imread(tmp_path / "out.ome.tif"), whole(data))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.ome.tif", "out.ome.tif"]


def multiscales(levels, version, names="zyx"):
    units = {"z": "micrometer", "y": "nanometer", "x": "nanometer"}
    sizes = {"z": 0.3, "y": 100.0, "x": 100.0, "t": 1.0, "c": 1.0}
    axes = [{"name": n, "type": {"t": "time", "c": "channel"}.get(n, "space")} for n in names]
    for axis in axes:
        if axis["name"] in units:
            axis["unit"] = units[axis["name"]]
    steps = [
        {"type": "scale", "scale": [sizes[n] * (2**level if n in "yx" else 1) for n in names]}
        for level in range(levels)
    ]
    datasets = [{"path": str(level), "coordinateTransformations": [steps[level]]} for level in range(levels)]
    image = [{"axes": axes, "datasets": datasets, "name": "cells"}]
    if version == "0.5":
        return {"ome": {"version": "0.5", "multiscales": image}, "mine": 3}
    return {"multiscales": [{**image[0], "version": "0.4"}], "mine": 3}


def ome_zarr(path: Path, data, version, names="zyx", levels=2):
    style = 2 if version == "0.4" else 3
    group = zarr.create_group(store=str(path), attributes=multiscales(levels, version, names), zarr_format=style)
    for level in range(levels):
        part = data[..., :: 2**level, :: 2**level]
        chunks = tuple(min(8, size) for size in part.shape)
        more = (
            {"dimension_names": list(names)} if style == 3 else {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
        )
        array = group.create_array(str(level), shape=part.shape, chunks=chunks, dtype=part.dtype, **more)
        array[...] = part


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_ome_zarr_with_its_pyramid(tmp_path, filtered, version):
    data = samples((7, 20, 24))
    ome_zarr(tmp_path / "in.zarr", data, version)
    record = filtered(tmp_path / "in.zarr", tmp_path / "out.zarr", "--tile", "12")
    assert record["pages"][0]["spacing"] == [3.0, 1.0, 1.0]
    assert record["pages"][0]["windows"] == 4
    old, new = (zarr.open_group(tmp_path / name, mode="r") for name in ("in.zarr", "out.zarr"))
    assert dict(new.attrs) == dict(old.attrs)
    assert new.metadata.zarr_format == old.metadata.zarr_format
    expected = whole(data, (3.0, 1.0, 1.0))
    assert np.array_equal(new["0"][...], expected)
    assert (new["0"].chunks, new["0"].dtype) == (old["0"].chunks, old["0"].dtype)
    coarse = expected.astype(float).reshape(7, 10, 2, 12, 2).mean((2, 4))
    assert new["1"].shape == old["1"].shape
    assert np.abs(new["1"][...] - coarse).max() <= 0.5


def test_ome_zarr_with_time_and_channels(tmp_path, filtered):
    data = samples((2, 3, 5, 12, 14), "float32")
    ome_zarr(tmp_path / "in.zarr", data, "0.4", "tczyx")
    filtered(tmp_path / "in.zarr", tmp_path / "out.zarr", "--model", "weickert-brox")
    expected = [
        whorl.diffuse(moment, "weickert-brox", spacing=(3.0, 1.0, 1.0), channel_axis=0, **SETTINGS) for moment in data
    ]
    assert np.array_equal(zarr.open_group(tmp_path / "out.zarr", mode="r")["0"][...], np.stack(expected))


def test_a_plain_zarr_array(tmp_path, filtered):
    data = samples((10, 12, 14))
    zarr.create_array(str(tmp_path / "named.zarr"), data=data, chunks=(4, 5, 6), dimension_names=("z", "y", "x"))
    zarr.create_array(str(tmp_path / "bare.zarr"), data=data, chunks=(4, 5, 6), attributes={"made": "by us"})
    assert open_volume(tmp_path / "bare.zarr") is None
    for name, more in (("named", []), ("bare", ["--volume"])):
        filtered(tmp_path / f"{name}.zarr", tmp_path / f"{name}-out.zarr", *more)
        assert np.array_equal(zarr.open(tmp_path / f"{name}-out.zarr", mode="r")[...], whole(data))
    assert dict(zarr.open(tmp_path / "bare-out.zarr", mode="r").attrs) == {"made": "by us"}


def test_volumes_in_memory_keep_their_stack(tmp_path):
    data = samples()
    tifffile.imwrite(tmp_path / "in.ome.tif", data, ome=True, metadata={"axes": "ZYX"})
    volume = read_volume(tmp_path / "in.ome.tif")
    write_volume(tmp_path / "out.ome.tif", volume.with_samples(volume.samples.astype(float) + 1))
    assert np.array_equal(tifffile.imread(tmp_path / "out.ome.tif"), data + 1)
    with pytest.raises(FileError, match="own format, TIFF"):
        write_volume(tmp_path / "out.mrc", volume)


def test_contradictions_are_one_line(tmp_path):
    tifffile.imwrite(tmp_path / "one.tif", samples()[0])
    with pytest.raises(FileError, match="single page is no volume"):
        open_volume(tmp_path / "one.tif", asked=True)
    tifffile.imwrite(tmp_path / "film.ome.tif", samples(), ome=True, metadata={"axes": "TYX"})
    assert open_volume(tmp_path / "film.ome.tif") is None
    with pytest.raises(FileError, match="none of which is z"):
        open_volume(tmp_path / "film.ome.tif", asked=True)


def test_folders_of_volumes(tmp_path, whorl_command):
    mrcfile = pytest.importorskip("mrcfile")
    (tmp_path / "in").mkdir()
    for name in ("a.mrc", "b.mrc"):
        with mrcfile.new(tmp_path / "in" / name) as file:
            file.set_data(samples(kind="float32"))
            file.set_volume()
    answer = whorl_command(
        "filter", "--contrast", "900", "--time", "0.5", "-m", "eed", tmp_path / "in", tmp_path / "out"
    )
    assert answer.code == 0, answer.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.mrc", "b.mrc"]
    assert np.array_equal(mrcfile.read(tmp_path / "out" / "b.mrc"), whole(samples(kind="float32")))


def test_a_preview_shows_three_slices_before_and_after(tmp_path, whorl_command):
    from PIL import Image

    data = samples((20, 40, 44), "float32")
    metadata = {"axes": "ZYX", "PhysicalSizeX": 1.0, "PhysicalSizeY": 1.0, "PhysicalSizeZ": 2.0}
    tifffile.imwrite(tmp_path / "v.ome.tif", data, ome=True, metadata=metadata)
    settings = ["--contrast", "900", "--time", "0.5", "--model", "eed", "--preview", "16"]
    answer = whorl_command("filter", *settings, tmp_path / "v.ome.tif", tmp_path / "out.ome.tif")
    assert answer.code == 0, answer.err
    assert "to compute all of it takes about" in answer.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.preview.png", "v.ome.tif"]
    sheet = np.asarray(Image.open(tmp_path / "out.preview.png").convert("L"))
    panel = sheet[34:354, 12:332]  # the first slice, below its title
    middle = data[2:18, 12:28, 14:30][8]
    low, high = np.quantile(data[2:18, 12:28, 14:30], (0.005, 0.995))
    expected = (255 * np.clip((middle - low) / (high - low), 0, 1)).astype(np.uint8)
    seen = panel[10::20, 10::20].astype(int)
    assert np.abs(seen - expected).max() <= 1
    after = sheet[34 + 354 : 34 + 354 + 320, 12:332][10::20, 10::20].astype(float)
    assert after.std() < seen.std()
