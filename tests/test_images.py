"""The function for people: type, dtype and shape are kept; bad input gets a clear error."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whorl
from whorl.errors import ShapeError, StabilityError

DTYPES = [
    np.uint8,
    np.int8,
    np.uint16,
    np.int16,
    np.uint32,
    np.int32,
    np.uint64,
    np.int64,
    np.float16,
    np.float32,
    np.float64,
]
PICTURE = np.random.default_rng(3).integers(0, 120, (12, 10, 3))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_type_dtype_and_shape_are_kept(dtype, kind):
    image = PICTURE.astype(dtype)
    image = torch.from_numpy(image) if kind == "torch" else image
    result = whorl.diffuse(image, "weickert-brox", contrast=12.0, time=2.0, channel_axis=-1)
    assert type(result) is type(image)
    assert result.dtype == image.dtype
    assert result.shape == image.shape
    assert abs(float(result.astype(float).mean() if kind == "numpy" else result.double().mean()) - PICTURE.mean()) < 0.2


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_channels_may_lie_on_any_axis(axis):
    moved = np.moveaxis(PICTURE.astype(np.float64), -1, axis)
    expected = whorl.diffuse(PICTURE.astype(np.float64), "gerig", contrast=12.0, time=2.0, channel_axis=-1)
    result = whorl.diffuse(moved, "gerig", contrast=12.0, time=2.0, channel_axis=axis)
    assert np.array_equal(np.moveaxis(result, axis, -1), expected)


def test_integers_are_rounded_half_to_even_within_their_range():
    image = np.zeros((9, 9), np.uint8)
    image[4, 4] = 255
    result = whorl.diffuse(image, "you-kaveh", contrast=1000.0, time=0.05)
    floats = whorl.diffuse(image.astype(np.float32), "you-kaveh", contrast=1000.0, time=0.05)
    assert floats.min() < -0.5  # a fourth order filter overshoots, and an unsigned type cannot say so
    assert np.array_equal(result, np.clip(np.rint(floats), 0, 255).astype(np.uint8))
    half = whorl.images.from_tensor(torch.tensor([[[[0.5, 1.5, 2.5, 300.0, -1.0]]]]), np.zeros((1, 5), np.uint8))
    assert half.tolist() == [[0, 2, 2, 255, 0]]


def test_largest_integers_do_not_wrap():
    for dtype in (np.int64, np.uint64, np.int32, np.uint32):
        top = np.iinfo(dtype).max
        image = np.full((3, 3), top, dtype)
        result = whorl.diffuse(image, "perona-malik", contrast=1.0, time=1.0)
        assert (result >= top * 0.999).all()


def test_contiguity_and_read_only_input_do_not_matter():
    image = PICTURE.astype(np.float32)[::-1, ::2, 0]
    image.flags.writeable = False
    result = whorl.diffuse(image, "perona-malik", contrast=5.0, time=1.0)
    assert np.array_equal(result, whorl.diffuse(np.ascontiguousarray(image), "perona-malik", contrast=5.0, time=1.0))


def test_a_built_model_may_be_given():
    model = whorl.models.build("perona-malik", contrast=5.0)
    image = PICTURE[..., 0].astype(np.float64)
    assert np.array_equal(
        whorl.diffuse(image, model, time=1.0), whorl.diffuse(image, "perona-malik", contrast=5.0, time=1.0)
    )
    with pytest.raises(ValueError, match="built already"):
        whorl.diffuse(image, model, time=1.0, contrast=3.0)


def test_progress_is_told():
    seen = []
    whorl.diffuse(PICTURE[..., 0], "perona-malik", contrast=5.0, time=2.0, progress=lambda i, n: seen.append((i, n)))
    assert seen == [(i, 5) for i in range(1, 6)]


GREY = PICTURE[..., 0].astype(np.float64)
BAD = {
    "nan": (dict(image=np.full((3, 3), np.nan)), "NaN"),
    "infinite": (dict(image=np.array([[1.0, np.inf]])), "infinite"),
    "empty": (dict(image=np.zeros((0, 4))), r"shape \(0, 4\)"),
    "colour as grey": (dict(image=PICTURE), "channel_axis"),
    "grey as colour": (dict(image=GREY, channel_axis=-1), "leave channel_axis out"),
    "channel axis": (dict(image=PICTURE, channel_axis=5), "channel_axis"),
    "list": (dict(image=[[1.0, 2.0]]), "numpy.asarray"),
    "complex": (dict(image=GREY.astype(complex)), "complex"),
    "boolean": (dict(image=GREY > 3), "bool"),
    "object": (dict(image=GREY.astype(object)), "object"),
    "noise beside contrast": (dict(noise=3.0), "no effect beside a contrast"),
    "negative contrast": (dict(contrast=-1.0), "contrast"),
    "zero contrast": (dict(contrast=0.0), "contrast"),
    "negative time": (dict(time=-0.5), "time"),
    "nan time": (dict(time=float("nan")), "time"),
    "alpha": (dict(alpha=0.6), r"alpha .*\[0, 0.5\], got 0.6"),
    "gamma": (dict(model="weickert-brox", gamma=1.5), r"gamma .*\[0, 1\], got 1.5"),
    "gamma without tensor": (dict(gamma=0.5), "gamma = 0.5 has no meaning"),
    "unknown model": (dict(model="perona-malick"), "did you mean 'perona-malik'"),
    "unknown diffusivity": (dict(diffusivity="exponental"), "did you mean 'exponential'"),
    "tau": (dict(tau=0.7), "insist=True"),
    "zero tau": (dict(tau=0.0), "tau"),
    "spacing": (dict(spacing=(1.0, -2.0)), "spacing"),
    "spacing of a volume": (dict(spacing=(1.0, 1.0, 1.0)), "spacing has 3 sizes, and the image 2 axes of space"),
    "spacing length": (dict(spacing=(1.0, 1.0, 1.0, 1.0)), r"\(h_z, h_y, h_x\)"),
    "spacing of an image": (dict(image=np.zeros((5, 6, 7)), spacing=(1.0, 1.0)), "has 2 sizes, and the image 3 axes"),
    "channels first": (dict(image=np.zeros((3, 6, 7))), "may be colour or a thin volume"),
    "five axes": (dict(image=np.zeros((5, 5, 5, 5, 5))), "2 or 3 non-empty axes"),
    "too wide a Gaussian": (dict(model="eed", sigma=1e9), "Lower sigma"),
    "overflow": (dict(image=np.full((3, 3), 1e30, np.float32)), "Rescale"),
    "endless": (dict(diffusivity="tv", contrast=1e-9), "steps"),
    "several contrasts": (dict(contrast=[1.0, 2.0]), "one number"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_gets_a_clear_error(arguments, message):
    whole = dict(image=GREY, model="perona-malik", contrast=5.0, time=1.0) | arguments
    with pytest.raises(ValueError, match=message):
        whorl.diffuse(whole.pop("image"), whole.pop("model"), **whole)


@pytest.mark.parametrize("five", [np.float32(5), np.int64(5), np.array(5.0), torch.tensor(5.0)], ids=repr)
def test_numbers_of_other_libraries_are_numbers(five):
    expected = whorl.diffuse(GREY, "perona-malik", contrast=5.0, time=1.0, spacing=5.0)
    assert np.array_equal(whorl.diffuse(GREY, "perona-malik", contrast=five, time=1.0, spacing=five), expected)
    assert np.array_equal(whorl.diffuse(GREY, "perona-malik", contrast=five, time=1.0, spacing=(five, 5)), expected)


@pytest.mark.parametrize("extra", [dict(diffusivity="tv"), dict(spacing=(1.0, 2.0)), dict(gamma=0.0), dict(alpha=0.1)])
def test_what_a_built_model_cannot_take_is_refused(extra):
    model = whorl.models.build("perona-malik", contrast=5.0)
    with pytest.raises(ValueError, match=f"built already. Give {next(iter(extra))} to"):
        whorl.diffuse(GREY, model, time=1.0, **extra)


def test_a_built_model_stays_where_it_is():
    """A copy goes to the other device, here one without memory; the caller's model is not touched."""
    model = whorl.models.build("multiscale-isotropic", contrast=5.0, scales=2)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(Exception, match=r"meta|aten"):
        whorl.diffuse(GREY, model, time=1.0, device="meta", engine="reference")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert {value.device.type for value in model.state_dict().values()} == {"cpu"}


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_every_axis_but_that_of_the_channels_is_space(kind):
    """A volume of equal slices is filtered like the slice, with channels at any place, in any type."""
    same = {"contrast": 20.0, "time": 2.0, "alpha": 0.41}  # the default alpha in space is another one
    slices = np.random.default_rng(5).integers(0, 200, (6, 7, 2)).astype(np.uint8)
    plain = whorl.diffuse(slices, "gerig", **same, channel_axis=-1, engine="reference")
    volume = np.broadcast_to(slices, (5, 6, 7, 2)).copy()
    for axis in (-1, 0, 2):
        moved = np.ascontiguousarray(np.moveaxis(volume, -1, axis))
        found = whorl.diffuse(kind(moved), "gerig", **same, channel_axis=axis, engine="reference")
        assert type(found) is type(kind(moved))
        assert np.array_equal(np.moveaxis(np.asarray(found), axis, -1), np.broadcast_to(plain, volume.shape))
    grey = np.ascontiguousarray(volume[..., 0])
    found = whorl.diffuse(kind(grey), "gerig", **same, engine="reference")
    assert np.array_equal(np.asarray(found)[2], whorl.diffuse(slices[..., 0], "gerig", **same))


def test_a_thin_volume_is_one_by_its_spacing():
    thin = np.random.default_rng(5).normal(size=(6, 7, 3))
    assert whorl.diffuse(thin, "perona-malik", contrast=1.0, time=0.5, spacing=(1.0, 1.0, 1.0)).shape == thin.shape
    model = whorl.models.build("perona-malik", contrast=1.0, spacing=(1.0, 1.0, 1.0))
    assert whorl.diffuse(thin, model, time=0.5).shape == thin.shape
    with pytest.raises(ShapeError, match="may be colour or a thin volume"):
        whorl.diffuse(thin, whorl.models.build("perona-malik", contrast=1.0), time=0.5)


def test_modules_take_floats_only():
    model = whorl.models.build("perona-malik", contrast=5.0)
    for bad, message in [
        (torch.zeros(1, 1, 4, 4, dtype=torch.int32), "int32"),
        (torch.zeros(4, 4), r"u\[None, None\]"),
        (torch.zeros(1, 1, 0, 4), "empty"),
        (np.zeros((1, 1, 4, 4)), "whorl.diffuse"),
    ]:
        for call in (model.rhs, model.energy, model.step, lambda u: model(u, time=1.0)):
            with pytest.raises(ShapeError, match=message):
                call(bad)


def test_mixed_devices_are_refused():
    model = whorl.models.build("multiscale-isotropic", contrast=5.0)
    with pytest.raises(ValueError, match="model is on cpu, the image on meta"):
        model.step(torch.zeros(1, 1, 4, 4, device="meta"))


def test_energy_is_refused_where_there_is_none():
    u = torch.zeros(1, 1, 4, 4)
    for name, options, reason in [
        ("eed", {}, "presmoothed"),
        ("weickert-integration", {}, "presmoothed"),
        ("weickert-brox", {"gamma": 0.5}, "gamma"),
        ("multiscale-isotropic", {"omega_inside": False}, "omega inside g"),
        ("multiscale-anisotropic", {"contrast": [1.0] * 8}, "contrasts of their own"),
    ]:
        with pytest.raises(ValueError, match=reason):
            whorl.models.build(name, **({"contrast": 5.0} | options)).energy(u)


SHAPES = st.tuples(st.integers(0, 5), st.integers(1, 6))
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -1.0, 1e-30, 1e-8, 0.1, 0.41, 0.5, 1.0, 7.0, 1e9, 1e40]),
)


@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shape=SHAPES,
    channels=st.sampled_from([None, 1, 3]),
    dtype=st.sampled_from([*DTYPES, np.complex64, bool]),
    value=NUMBERS,
    scale=NUMBERS,
    model=st.sampled_from([*whorl.models.names(), "heat"]),
    contrast=NUMBERS,
    time=st.one_of(st.sampled_from([0.0, 0.01, 0.2, -1.0, float("nan")])),
    alpha=st.one_of(st.none(), NUMBERS),
    gamma=st.sampled_from([0.0, 0.0, 0.0, 0.5, 1.0, 2.0, float("nan")]),
    diffusivity=st.sampled_from([None, *whorl.diffusivities.names(), "linear"]),
    seed=st.integers(0, 3),
)
def test_only_documented_errors_and_never_a_nan(
    shape, channels, dtype, value, scale, model, contrast, time, alpha, gamma, diffusivity, seed
):
    size = shape if channels is None else (*shape, channels)
    if diffusivity == "tv":
        contrast = max(
            contrast, 1e-2
        )  # total variation takes steps in proportion to its contrast: thousands below this
    with np.errstate(all="ignore"):
        image = (value + scale * np.random.default_rng(seed).standard_normal(size)).astype(dtype)
    try:
        result = whorl.diffuse(
            image,
            model,
            contrast=contrast,
            time=time,
            alpha=alpha,
            gamma=gamma,
            diffusivity=diffusivity,
            channel_axis=None if channels is None else -1,
        )
    except ValueError as error:
        assert len(str(error)) > 20
        assert not isinstance(error, StabilityError)
    else:
        assert result.shape == image.shape
        assert result.dtype == image.dtype
        assert np.isfinite(result).all()


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_pages_of_a_stack_are_filtered_each_for_itself_with_one_contrast(colour, axis):
    rng = np.random.default_rng(0)
    pages = [rng.normal(100, noise, (24, 30, 3) if colour else (24, 30)) for noise in (3.0, 9.0, 6.0)]
    stack = np.stack(pages, axis)
    # The channels of a page are last; in the stack the pages may come after them.
    channels = (stack.ndim - 2 if axis == -1 else -1) if colour else None
    each = dict(channel_axis=-1 if colour else None, contrast=8.0, time=1.0)
    found = whorl.diffuse(stack, "gerig", page_axis=axis, channel_axis=channels, contrast=8.0, time=1.0)
    for number, page in enumerate(pages):
        np.testing.assert_array_equal(np.take(found, number, axis), whorl.diffuse(page, "gerig", **each))
    automatic = whorl.diffuse(stack, "gerig", page_axis=axis, channel_axis=channels)
    together = torch.cat([whorl.images.to_tensor(page, -1 if colour else None) for page in pages])
    chosen = whorl.automatic.automatic_settings("gerig", [together])
    each |= dict(contrast=chosen.contrast, time=chosen.time, **chosen.options)
    for number, page in enumerate(pages):
        np.testing.assert_array_equal(np.take(automatic, number, axis), whorl.diffuse(page, "gerig", **each))
    with pytest.raises(ShapeError, match="both|leave channel_axis or page_axis out"):
        whorl.diffuse(stack, "gerig", page_axis=axis, channel_axis=axis)
