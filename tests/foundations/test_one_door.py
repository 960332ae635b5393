"""Every function for people refuses the same arrays in the same words, whatever else it was told."""

import numpy as np
import pytest
import torch

import whorl
from whorl import large

GREY = np.random.default_rng(0).normal(100, 10, (24, 30)).astype(np.float32)
MASK = np.zeros(GREY.shape, bool)
MASK[3:6, 4:9] = True
CALLS = {
    "diffuse": ("diffuse", whorl.diffuse),
    "diffuse with numbers": ("diffuse", lambda u: whorl.diffuse(u, "gerig", contrast=9.0, time=1.0)),
    "diffuse with noise": ("diffuse", lambda u: whorl.diffuse(u, "gerig", noise=9.0)),
    "diffuse by a built model": ("diffuse", lambda u: whorl.diffuse(u, whorl.models.build("gerig", contrast=9.0))),
    "diffuse by a network": ("denoise", lambda u: whorl.diffuse(u, whorl.load("photo-8k"))),
    "denoise": ("denoise", whorl.denoise),
    "denoise with noise": ("denoise", lambda u: whorl.denoise(u, 15.0)),
    "denoise by the paper's network": ("denoise", lambda u: whorl.denoise(u, 15.0, network="isotropic-0.41")),
    "network": ("denoise", lambda u: whorl.load("photo-8k")(u, 15.0)),
    "inpaint": ("inpaint", lambda u: whorl.inpaint(u, MASK)),
    "inpaint with numbers": ("inpaint", lambda u: whorl.inpaint(u, MASK, contrast=2.0, tolerance=1.0)),
}
everywhere = pytest.mark.parametrize(("caller", "call"), CALLS.values(), ids=CALLS)


@everywhere
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_nan_and_infinity_are_refused(caller, call, value, dtype):
    broken = GREY.astype(dtype)
    broken[10, 12] = broken[23, 0] = value
    with pytest.raises(ValueError, match=rf"^{caller}: the image holds 2 NaN or infinite value\(s\)"):
        call(broken)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "network"])
def test_tensors_go_through_the_same_door(name):
    caller, call = CALLS[name]
    broken = torch.from_numpy(GREY.copy())
    broken[10, 12] = torch.nan
    with pytest.raises(ValueError, match=rf"^{caller}: the image holds 1 NaN or infinite value\(s\)"):
        call(broken)


@everywhere
@pytest.mark.parametrize("masked", [False, True], ids=["mask of nothing", "mask"])
def test_masked_arrays_are_refused_before_their_mask_is_lost(caller, call, masked):
    with pytest.raises(ValueError, match=rf"^{caller}: the image is a masked array.*image.filled"):
        call(np.ma.masked_array(GREY, MASK & masked))


@pytest.mark.parametrize("axis", [1.5, "x", 3, -4])
@pytest.mark.parametrize("name", ["channel_axis", "page_axis"])
def test_an_axis_is_one_of_those_of_the_image(name, axis):
    for function in (whorl.diffuse, whorl.denoise, whorl.noise):
        with pytest.raises(ValueError, match=rf"{name} must be one of -3..2, got {axis!r}"):
            function(np.stack([GREY] * 3, -1), **{name: axis})


WINDOWS = {
    "large.map": lambda u: large.map(u, "gerig", contrast=9.0, time=1.0, tile=12),
    "large.map with noise": lambda u: large.map(u, "gerig", noise=9.0, tile=12),
    "large.map by a network": lambda u: large.map(u, whorl.load("photo-8k"), noise=15.0, tile=12),
    "large.map of dask": lambda u: large.map(
        pytest.importorskip("dask.array").from_array(u, chunks=12), "gerig", contrast=9.0, time=1.0
    ).compute(),
    "network.remove": lambda u: whorl.load("photo-8k").remove(torch.from_numpy(u)[None, None], 15.0),
    "network on a tensor": lambda u: whorl.load("photo-8k")(torch.from_numpy(u)[None, None].float()),
    "network of the paper on a tensor": lambda u: whorl.load("isotropic-0.41")(torch.from_numpy(u)[None, None]),
    "learned energy on a tensor": lambda u: whorl.load("energy-convex")(torch.from_numpy(u)[None, None].float(), 15.0),
    "lines on a tensor": lambda u: whorl.load("vessels-5k")(torch.from_numpy(u)[None, None].expand(1, 3, -1, -1)),
    "remove of the paper": lambda u: whorl.load("isotropic-0.41").remove(torch.from_numpy(u)[None, None], 15.0),
}


@pytest.mark.parametrize("call", WINDOWS.values(), ids=WINDOWS)
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_nan_and_infinity_are_refused_in_windows_and_in_tensors(call, value):
    """Wherever they lie: here in the last window."""
    broken = GREY.copy()
    broken[23, 29] = value
    with pytest.raises(ValueError, match=r"the image holds \d NaN or infinite value\(s\)"):
        call(broken)


def test_masked_arrays_are_refused_in_windows_and_as_masks():
    with pytest.raises(ValueError, match="large.map: the image is a masked array"):
        large.map(np.ma.masked_array(GREY, MASK), "gerig", contrast=9.0)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="large.map: the image is a masked array"):
        large.map(dask.from_array(np.ma.masked_array(GREY, MASK), chunks=12), "gerig", contrast=9.0)
    with pytest.raises(ValueError, match="inpaint: the mask is a masked array"):
        whorl.inpaint(GREY, np.ma.masked_array(MASK, ~MASK))


def test_what_is_masked_can_be_filled_as_the_message_says():
    image = np.ma.masked_array(np.where(MASK, np.nan, GREY), MASK)
    assert np.isfinite(whorl.inpaint(image.data, image.mask)).all()
