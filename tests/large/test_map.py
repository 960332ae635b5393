"""Windows give the bits of the whole image: for every model, type and size of window."""

import numpy as np
import pytest
import torch
import zarr

import whorl
from whorl import large, models
from whorl.errors import ShapeError
from whorl.images import from_tensor, to_tensor
from whorl.networks import NetworkSpec, build_network

CHEAP = [name for name in models.names() if "multiscale" not in name]


def picture(shape, dtype="u2", seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (1000 * rng.random(shape)).astype(kind)
    return rng.integers(0, min(np.iinfo(kind).max, 60000), shape, kind)


def whole_image(image, model, time, engine):
    u = to_tensor(image, -1)
    with torch.no_grad():
        return from_tensor(model(u, time, engine=engine), image, -1)


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("tile", [11, 32])
@pytest.mark.parametrize("name", CHEAP)
def test_bits_of_the_whole(name, tile, engine):
    image = picture((61, 83, 3))
    model = models.build(name, contrast=3000.0)
    whole = whole_image(image, model, 0.5, engine)
    assert np.array_equal(large.map(image, model, time=0.5, channel_axis=-1, tile=tile, engine=engine), whole)


@pytest.mark.parametrize("name", ["weickert-brox", "eed"])
def test_bits_do_not_depend_on_threads(name):
    image = picture((230, 311))  # large enough to be shared among threads
    model = models.build(name, contrast=3000.0)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        whole = whorl.diffuse(image, model, time=0.5)
        torch.set_num_threads(1)
        assert np.array_equal(large.map(image, model, time=0.5, tile=100), whole)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("name", ["multiscale-isotropic", "multiscale-anisotropic"])
def test_bits_of_the_whole_on_many_scales(name, engine):
    image = picture((130, 151, 1), "f4")
    model = models.build(name, contrast=300.0)
    whole = whole_image(image, model, 1.0, engine)
    assert len(large.plan((130, 151), large.stages(model, 1.0), tile=40).passes) > 1  # through a scratch file
    assert np.array_equal(large.map(image, model, time=1.0, tile=40, channel_axis=-1, engine=engine), whole)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["perona-malik", "weickert-brox", "eed", "uncoupled"])
def test_bits_of_many_steps_and_odd_windows(name, dtype):
    image = picture((203, 317), dtype)
    model = models.build(name, contrast=100.0)
    whole = whorl.diffuse(image, model, time=6.0)
    for tile in (50, 77):
        assert np.array_equal(large.map(image, model, time=6.0, tile=tile), whole)


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("scheme", ["fsi", "fed"])
@pytest.mark.parametrize("name", ["weickert-brox", "eed"])
def test_bits_of_fast_schemes(name, scheme, engine):
    image = picture((103, 117, 1), "f4")
    model = models.build(name, contrast=100.0)
    with torch.no_grad():
        whole = from_tensor(model(to_tensor(image, -1), 4.0, scheme=scheme, engine=engine), image, -1)
    windowed = large.map(image, model, time=4.0, tile=40, channel_axis=-1, scheme=scheme, engine=engine)
    assert np.array_equal(windowed, whole)


@pytest.mark.parametrize("scheme", ["fsi", "fed"])
def test_halo_of_fast_schemes_is_enough(scheme):
    model = models.build("perona-malik", contrast=9.0)
    (stage,) = large.stages(model, 3.0, scheme=scheme)
    size = 2 * stage.reach + 3
    u = 20 * torch.rand(1, 1, size, size, dtype=torch.float64)
    changed = u.clone()
    changed[..., 0, :] += 5
    changed[..., :, 0] += 5
    centre = size // 2
    assert stage.apply(u)[..., centre, centre] == stage.apply(changed)[..., centre, centre]


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i4", "f2", "f4", "f8"])
def test_types_are_kept_and_rounded_once(dtype):
    image = picture((50, 60), dtype)
    whole = whorl.diffuse(image, "eed", contrast=40.0, time=3.0)
    windowed = large.map(image, "eed", contrast=40.0, time=3.0, tile=16)  # three passes, no rounding in between
    assert windowed.dtype == image.dtype
    assert np.array_equal(windowed, whole)


@pytest.mark.parametrize("diffusivity", ["exponential", "charbonnier", "weickert", "rational", "tv", "free-form"])
def test_every_diffusivity(diffusivity):
    image = picture((41, 47, 4), "f4")
    model = models.build("weickert-brox", contrast=120.0, diffusivity=diffusivity)
    whole = whorl.diffuse(image, model, time=1.0, channel_axis=2)
    assert np.array_equal(large.map(image, model, time=1.0, channel_axis=2, tile=13), whole)


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (2, 3)])
def test_thin_images(shape):
    image = picture(shape)
    for name in ("perona-malik", "eed"):
        whole = whorl.diffuse(image, name, contrast=900.0, time=2.0)
        assert np.array_equal(large.map(image, name, contrast=900.0, time=2.0, tile=8), whole)


def test_channels_anywhere():
    image = picture((3, 40, 44))
    expected = whorl.diffuse(image, "gerig", contrast=900.0, time=1.0, channel_axis=0)
    for axis in range(3):
        turned = large.map(np.moveaxis(image, 0, axis), "gerig", contrast=900.0, time=1.0, channel_axis=axis, tile=16)
        assert np.array_equal(np.moveaxis(turned, axis, 0), expected)


def test_zarr_in_and_out(tmp_path):
    image = picture((100, 90))
    source = zarr.create_array(tmp_path / "in.zarr", shape=image.shape, chunks=(32, 32), dtype=image.dtype)
    source[...] = image
    target = zarr.create_array(tmp_path / "out.zarr", shape=image.shape, chunks=(32, 32), dtype=image.dtype)
    result = large.map(source, "perona-malik", contrast=900.0, time=1.0, tile=32, out=target)
    assert result is target
    assert np.array_equal(target[...], whorl.diffuse(image, "perona-malik", contrast=900.0, time=1.0))


@pytest.mark.parametrize("spec", [NetworkSpec("anisotropic", steps=3), NetworkSpec(scheduled=True, steps=3)], ids=str)
def test_networks_give_the_bits_of_the_whole(spec):
    network = build_network(spec)
    image = picture((210, 230), "f4")
    with torch.no_grad():
        whole = network(torch.from_numpy(image)[None, None])[0, 0].numpy()
    assert np.array_equal(large.map(image, network, tile=64), whole)
    with pytest.raises(ValueError, match="its own steps"):
        large.map(image, network, time=1.0)


@pytest.mark.parametrize("name", ["isotropic-0.41", "photo-8k"])
def test_trained_networks_do_what_denoise_does(name):
    image, network = picture((110, 120), "f4"), whorl.load(name)
    for noise in (None, 200.0):
        found = large.map(image, network, noise=noise, tile=96)
        expected = whorl.denoise(image, noise, network=network)
        # Convolutions of torch take their sums in another order for another size.
        assert np.abs(found - expected).max() <= (0 if name == "isotropic-0.41" else 1e-3)
    flat = np.full((40, 50), 3, np.uint8)
    assert np.array_equal(large.map(flat, network), flat)
    with pytest.raises(ValueError, match="Give the noise"):
        large.map(image, whorl.load("photo-8k"), factor=2.0)


def test_progress_sums_to_one():
    done = []
    large.map(picture((50, 50)), "eed", contrast=900.0, time=3.0, tile=16, advance=done.append)
    assert sum(done) == pytest.approx(1.0)
    assert len(done) >= 16


def test_time_zero_changes_nothing():
    image = picture((20, 30))
    assert np.array_equal(large.map(image, "eed", contrast=900.0, time=0.0, tile=8), image)


def test_wrong_requests_are_refused():
    image = picture((20, 30))
    with pytest.raises(ShapeError, match="channel_axis"):
        large.map(image[..., None], "eed", contrast=9.0, time=1.0)
    with pytest.raises(ShapeError, match="out has shape"):
        large.map(image, "eed", contrast=9.0, time=1.0, out=np.empty((3, 3)))
    with pytest.raises(ShapeError, match="complex"):
        large.map(image.astype(complex), "eed", contrast=9.0, time=1.0)
    with pytest.raises(ValueError, match="no effect beside a contrast"):
        large.map(image, "eed", contrast=9.0, noise=3.0)
    with pytest.raises(ValueError, match="built already"):
        large.map(image, models.build("eed", contrast=9.0), contrast=9.0, time=1.0)
    with pytest.raises(ShapeError, match="tile = 0"):
        large.map(image, "eed", contrast=9.0, time=1.0, tile=0)
    broken = image.astype("f4")
    broken[19, 29] = np.nan
    with pytest.raises(ValueError, match="1 NaN or infinite"):
        large.map(broken, "eed", contrast=9.0, time=1.0, tile=16)
    with pytest.raises(ValueError, match="overflow"):
        large.map(1e30 * image.astype("f4"), "eed", contrast=9.0, time=1.0, tile=16)
    held = models.build("eed", contrast=9.0).with_data(torch.zeros(1, 1, 20, 30), 0.1)
    with pytest.raises(ValueError, match="data term"):
        large.map(image, held, time=1.0)


@pytest.mark.parametrize("kind", ["array", "view", "shifted view", "memmap", "zarr", "zarr opened twice"])
def test_the_image_itself_may_be_the_output(tmp_path, kind, monkeypatch):
    """In one pass over several windows: there a window could be written before its neighbours have been read."""
    samples = picture((90, 70))
    how = dict(contrast=3000.0, time=0.3, tile=40)
    whole = whorl.diffuse(samples, "eed", contrast=3000.0, time=0.3)

    def filtered(number):
        image = out = samples.copy()
        if kind == "view":
            out = image[...]
        elif kind == "shifted view":
            both = np.zeros((95, 70), samples.dtype)
            image, out = both[:90], both[5:]
            image[...] = samples
        elif kind == "memmap":
            np.save(tmp_path / f"{number}.npy", samples)
            image, out = (np.load(tmp_path / f"{number}.npy", mmap_mode="r+") for _ in range(2))
        elif kind.startswith("zarr"):
            place = tmp_path / f"{number}.zarr"
            image = out = zarr.create_array(place, shape=samples.shape, chunks=(16, 16), dtype="u2")
            image[...] = samples
            if kind.endswith("twice"):
                out = zarr.open(place, mode="r+")
        large.map(image, "eed", out=out, **how)
        return np.asarray(out[...])

    assert np.array_equal(filtered(1), whole)
    # The case is one in which it matters: without the copy the result is another.
    monkeypatch.setattr(large.arrays, "_share", lambda image, out: False)
    assert not np.array_equal(filtered(2), whole)


def test_the_type_of_the_output_decides():
    image = np.array([[-20.0, 300.0], [0.5, 1.5]], np.float32)
    out = np.empty((2, 2), np.uint8)
    large.map(image, "perona-malik", contrast=1.0, time=0.0, out=out)
    assert out.tolist() == [[0, 255], [0, 2]]
    sharp = large.map(picture((20, 20)), "eed", contrast=9.0, time=1.0, out=np.empty((20, 20)))
    assert not np.array_equal(sharp, np.rint(sharp))


def test_without_settings_the_noise_decides_as_in_diffuse():
    image = picture((70, 60))
    assert np.array_equal(large.map(image, "eed", tile=32), whorl.diffuse(image, "eed"))
    assert np.array_equal(large.map(image, "eed", contrast="auto", time=1.0), whorl.diffuse(image, "eed", time=1.0))
    assert np.array_equal(large.map(image, "eed", contrast=900.0), whorl.diffuse(image, "eed", contrast=900.0))
