"""Pictures of other libraries come back as they came, with the numbers that the array in them has."""

import numpy as np
import pytest
import torch
from PIL import Image

import whorl
from whorl.errors import ShapeError

GREY = np.random.default_rng(0).normal(100, 10, (20, 24)).astype(np.float32)
COLOUR = np.random.default_rng(1).integers(40, 200, (20, 24, 3), np.uint8)
VOLUME = np.random.default_rng(2).normal(100, 10, (6, 9, 12)).astype(np.float32)
SETTINGS = {"contrast": 30.0, "time": 1.0}


class Held:
    """An array of somebody else, known by its protocol alone."""

    def __init__(self, array, protocol):
        self.array = array
        setattr(type(self), protocol, lambda self, *given, **named: getattr(self.array, protocol)(*given, **named))


@pytest.mark.parametrize("protocol", ["__array__", "__dlpack__"])
def test_the_protocol_is_enough(protocol):
    class Mine(Held):
        if protocol == "__dlpack__":

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

    expected = whorl.diffuse(GREY, **SETTINGS)
    found = whorl.diffuse(Mine(GREY, protocol), **SETTINGS)
    assert isinstance(found, np.ndarray if protocol == "__array__" else torch.Tensor)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_memory_that_may_not_be_written_is_read():
    fixed = GREY.copy()
    fixed.flags.writeable = False

    class Mine(Held):
        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    np.testing.assert_array_equal(
        np.asarray(whorl.diffuse(Mine(fixed, "__dlpack__"), **SETTINGS)), whorl.diffuse(GREY, **SETTINGS)
    )
    np.testing.assert_array_equal(fixed, GREY)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this is about machines without")
def test_an_array_on_a_device_that_is_not_here_is_refused_in_words():
    class OnDevice:
        @property
        def __cuda_array_interface__(self):
            return {"shape": (4, 4), "typestr": "<f4", "data": (1 << 20, False), "version": 3}

    with pytest.raises(ShapeError, match="OnDevice lies on a CUDA device, and PyTorch finds none here"):
        whorl.diffuse(OnDevice(), **SETTINGS)


def test_an_array_of_the_standard_comes_back_as_one():
    strict = pytest.importorskip("array_api_strict")
    found = whorl.diffuse(strict.asarray(GREY), **SETTINGS)
    assert type(found) is type(strict.asarray(GREY))
    np.testing.assert_array_equal(np.from_dlpack(found), whorl.diffuse(GREY, **SETTINGS))


def test_zarr_is_read(tmp_path):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(tmp_path / "grey.zarr", shape=GREY.shape, dtype=GREY.dtype, chunks=(8, 8))
    stored[:] = GREY
    np.testing.assert_array_equal(whorl.diffuse(stored, **SETTINGS), whorl.diffuse(GREY, **SETTINGS))
    np.testing.assert_array_equal(whorl.denoise(stored, 10.0), whorl.denoise(GREY, 10.0))


@pytest.mark.parametrize("values", [GREY.tolist(), "picture.png", 5, {"image": GREY}, None], ids=type)
def test_what_is_no_array_is_refused(values):
    with pytest.raises(ShapeError, match=rf"got {type(values).__name__}"):
        whorl.diffuse(values)


PILLOW = {
    "L": COLOUR[..., 0],
    "RGB": COLOUR,
    "I;16": COLOUR[..., 0].astype(np.uint16) * 200,
    "I": COLOUR[..., 0].astype(np.int32) * 70000,
    "F": GREY,
}


@pytest.mark.parametrize(("mode", "values"), PILLOW.items(), ids=PILLOW)
def test_pictures_of_pillow_come_back_with_mode_and_information(mode, values):
    image = Image.fromarray(values)
    assert image.mode == mode
    image.info["dpi"] = (300, 300)
    settings = {"contrast": 0.2 * float(values.max()), "time": 1.0}
    found = whorl.diffuse(image, **settings)
    assert (found.mode, found.size, found.info) == (mode, image.size, {"dpi": (300, 300)})
    axis = -1 if mode == "RGB" else None
    np.testing.assert_array_equal(np.asarray(found), whorl.diffuse(values, channel_axis=axis, **settings))


@pytest.mark.parametrize("mode", ["P", "1", "RGBA", "LA", "HSV", "CMYK"])
def test_modes_that_are_no_brightness_are_refused_and_the_remedy_works(mode):
    image = Image.fromarray(COLOUR).convert("L" if mode in ("1", "LA") else "RGB").convert(mode)
    with pytest.raises(ShapeError, match=rf"mode {mode} .* Take image.convert\('(L|RGB)'\)") as error:
        whorl.diffuse(image)
    assert (
        whorl.diffuse(image.convert(str(error.value).split("convert('")[1].split("'")[0]), **SETTINGS).size
        == image.size
    )


def test_everything_for_people_takes_pictures_of_pillow():
    image, mask = Image.fromarray(COLOUR), np.zeros(COLOUR.shape[:2], bool)
    mask[4:8, 5:9] = True
    assert whorl.noise(image) == whorl.noise(COLOUR, channel_axis=-1)
    filled = whorl.inpaint(image, Image.fromarray(mask), "homogeneous")
    np.testing.assert_array_equal(np.asarray(filled), whorl.inpaint(COLOUR, mask, "homogeneous", channel_axis=-1))
    network = whorl.load("photo-8k")
    np.testing.assert_array_equal(
        np.asarray(network(image, 25.0)), network.denoise(COLOUR, 25.0, channel_axis=-1)
    )  # fmt: skip


def labelled(values, dims, coords):
    return pytest.importorskip("xarray").DataArray(values, coords, dims, "mine", {"unit": "K"})


def test_labelled_arrays_keep_dims_coordinates_and_attributes():
    steps = {"z": np.arange(6) * 3e-6, "y": np.arange(9)[::-1] * 1e-6, "x": np.arange(12) * 1e-6 + 5}
    image = labelled(VOLUME, ("z", "y", "x"), steps).assign_coords(depth=("z", np.arange(6)))
    found = whorl.diffuse(image, **SETTINGS)
    assert found.identical(image.copy(data=found.data))
    np.testing.assert_array_equal(found.data, whorl.diffuse(VOLUME, spacing=(3.0, 1.0, 1.0), **SETTINGS))
    told = whorl.diffuse(image, spacing=(1.0, 1.0, 1.0), **SETTINGS)
    np.testing.assert_array_equal(told.data, whorl.diffuse(VOLUME, **SETTINGS))


def test_networks_take_the_size_of_voxels_from_labelled_volumes():
    noisy = (VOLUME + 10 * np.random.default_rng(3).standard_normal(VOLUME.shape)).astype(np.float32)
    image = labelled(noisy, ("z", "y", "x"), {"z": np.arange(6) * 3.0, "y": np.arange(9), "x": np.arange(12)})
    found = whorl.denoise(image, 10.0).data
    np.testing.assert_array_equal(found, whorl.denoise(noisy, 10.0, spacing=(3.0, 1.0, 1.0)))
    assert not np.array_equal(found, whorl.denoise(noisy, 10.0))


def test_labelled_arrays_are_not_smoothed_along_what_is_no_space():
    bands = labelled(np.stack([GREY] * 12), ("band", "y", "x"), {"band": np.arange(12) * 10.0})
    with pytest.raises(ShapeError, match="axis 'band' is no axis of space. Name it as channel_axis=0"):
        whorl.diffuse(bands)
    assert whorl.diffuse(bands, channel_axis=0, **SETTINGS).dims == bands.dims
    days = labelled(np.stack([GREY] * 12), ("day", "y", "x"), {"day": np.arange(12).astype("datetime64[D]")})
    with pytest.raises(ShapeError, match="axis 'day' is no axis of space"):
        whorl.diffuse(days)
    coords = {name: np.arange(size) for name, size in zip("yxz", COLOUR.shape, strict=True)}
    thin = labelled(COLOUR.astype(np.float32), ("y", "x", "z"), coords)
    with pytest.raises(ShapeError, match="may be colour or a thin volume"):
        whorl.diffuse(thin)


def test_uneven_and_missing_coordinates_are_refused_where_the_size_of_pixels_counts():
    uneven = labelled(GREY, ("y", "x"), {"y": np.arange(20) ** 2, "x": np.arange(24)})
    with pytest.raises(ShapeError, match="the coordinate 'y' has steps from 1 to 37"):
        whorl.diffuse(uneven)
    assert whorl.diffuse(uneven, spacing=1.0, **SETTINGS).identical(uneven.copy(data=whorl.diffuse(GREY, **SETTINGS)))
    assert whorl.denoise(uneven, 10.0).dims == ("y", "x")
    with pytest.raises(ShapeError, match="of the axes y, x only some have coordinates"):
        whorl.diffuse(labelled(GREY, ("y", "x"), {"x": np.arange(24) / 3}))


quietly = pytest.mark.filterwarnings("ignore")  # the modules of ITK cannot be loaded where a warning is an error


@pytest.fixture(params=["SimpleITK", "itk"])
def medical(request):
    return pytest.importorskip(request.param)


@quietly
def test_medical_images_keep_spacing_direction_and_origin(medical):
    image = medical.GetImageFromArray(VOLUME)
    image.SetSpacing([0.5, 0.5, 2.0])
    image.SetOrigin([1.0, -2.0, 3.5])
    turned = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    image.SetDirection(turned.ravel().tolist() if medical.__name__ == "SimpleITK" else turned)
    found = whorl.diffuse(image, **SETTINGS)
    assert type(found) is type(image)
    for name in ("GetSpacing", "GetOrigin"):
        assert list(getattr(found, name)()) == list(getattr(image, name)())
    assert np.array_equal(np.array(found.GetDirection()).ravel(), turned.ravel())
    expected = whorl.diffuse(VOLUME, spacing=(4.0, 1.0, 1.0), **SETTINGS)
    np.testing.assert_array_equal(medical.GetArrayFromImage(found), expected)


@quietly
def test_medical_colours_are_channels(medical):
    image = medical.GetImageFromArray(COLOUR, True)
    found = whorl.diffuse(image, **SETTINGS)
    assert type(found) is type(image)
    np.testing.assert_array_equal(medical.GetArrayFromImage(found), whorl.diffuse(COLOUR, channel_axis=-1, **SETTINGS))


def test_medical_headers_come_back():
    sitk = pytest.importorskip("SimpleITK")
    image = sitk.GetImageFromArray(GREY)
    image.SetMetaData("0010|0010", "somebody")
    assert whorl.denoise(image, 10.0).GetMetaData("0010|0010") == "somebody"
