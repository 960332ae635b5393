"""Networks for volumes: the 48 symmetries, norms, boxes and windows, and what they do to noise."""

import warnings
from itertools import permutations, product

import numpy as np
import pytest
import torch

import whorl
from whorl.data.tomogram import tomogram
from whorl.engines import reference
from whorl.errors import ShapeError
from whorl.networks import PhotoSpec, volume_networks
from whorl.operators import SteerableMap, steerable_stencils
from whorl.operators.solid_harmonics import cube_symmetries

SMALL = PhotoSpec(width=4, fields=(4, 3, 2), blocks=1, repetitions=2, size=3, rho=1, noise=(2.0, 60.0), dimension=3)


def _psnr(u, clean):
    return 10 * np.log10(255**2 / np.square(u - clean).mean())


def _images():
    for order, flips in product(permutations((2, 3, 4)), product((False, True), repeat=3)):
        axes = [axis for axis, flip in zip((2, 3, 4), flips, strict=True) if flip]
        yield lambda v, order=order, axes=axes: v.permute(0, 1, *order).flip(axes)


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("size", [3, 5])
def test_stencils_are_carried_over_by_all_symmetries_of_the_cube(order, size):
    taps = steerable_stencils(order, size, dimension=3).taps
    steps = torch.arange(size, dtype=torch.float64) - size // 2
    places = torch.cartesian_prod(steps, steps, steps)
    for turn, mixed in cube_symmetries(order):
        z, y, x = ((places @ turn.mT).round().long() + size // 2).unbind(1)
        torch.testing.assert_close(taps[:, :, z, y, x], torch.einsum("jk,pks->pjs", mixed, taps.flatten(2)))


def test_errors_of_the_stencils_are_those_that_were_counted():
    found = [steerable_stencils(order, 3, dimension=3).errors for order in range(3)]
    assert [len(errors) for errors in found] == [2, 1, 1]
    assert [errors[-1] < bound for errors, bound in zip(found, (0.005, 0.011, 0.048), strict=True)] == [True] * 3


def test_orders_that_do_not_exist_in_space_are_refused():
    with pytest.raises(ValueError, match="orders 0, 1, 2 in 3"):
        steerable_stencils(3, dimension=3)


def test_adjoint_and_norm_bound_in_space():
    torch.manual_seed(0)
    K = SteerableMap(2, (2, 2, 1), 3, dimension=3).double()
    u = torch.randn(1, 2, 5, 6, 4, dtype=torch.float64)
    v = torch.randn_like(K(u))
    torch.testing.assert_close((K(u) * v).sum(), (u * K.adjoint(v)).sum())
    assert K(u).square().sum() <= K.squared_norm_bound() * u.square().sum()


def test_a_stable_network_never_lets_the_norm_grow():
    torch.manual_seed(1)
    network = PhotoSpec(
        width=3, fields=(3, 2, 1), blocks=1, repetitions=2, size=3, stable=True, noise=(2.0, 60.0), dimension=3
    ).build()
    block, u = network.eval().each()[0], torch.randn(1, 3, 6, 5, 7)
    with torch.no_grad():
        assert block(u, 0, torch.zeros(1, 1, 1, 1, 1)).norm() <= u.norm()


def test_the_48_symmetries_carry_over_up_to_rounding():
    torch.manual_seed(2)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of the stencils' taps, too
    try:
        network, u = SMALL.build().eval(), 255 * torch.rand(1, 1, 6, 7, 5)
    finally:
        torch.set_default_dtype(before)
    with torch.no_grad():
        plain = network(u, 20.0)
        assert float((plain - u).abs().max()) > 1
        for image in _images():
            torch.testing.assert_close(network(image(u), 20.0), image(plain), rtol=1e-12, atol=1e-9)


def test_boxes_are_the_whole(monkeypatch):
    torch.manual_seed(3)
    network, u = SMALL.build().eval(), 255 * torch.rand(1, 1, 9, 11, 13)
    with torch.no_grad():
        whole = network(u, 20.0)
        monkeypatch.setattr(reference, "BOX", (4, 5, 6))
        torch.testing.assert_close(network(u, 20.0), whole, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("name", volume_networks())
def test_noise_of_a_drawn_tomogram_is_removed_better_than_by_a_filter(name):
    drawn = tomogram(24, noise=20.0)
    clean, noisy = drawn.clean[0, 0].numpy(), drawn.noisy[0, 0].numpy()
    found = whorl.denoise(noisy, 20.0, network=name)
    filtered = whorl.diffuse(noisy, model="eed", noise=20.0)
    assert _psnr(found, clean) > _psnr(filtered, clean) + 0.5
    assert (found.shape, found.dtype) == (noisy.shape, noisy.dtype)


def test_with_nothing_told_the_noise_is_measured():
    drawn = tomogram(24, noise=20.0)
    clean, noisy = drawn.clean[0, 0].numpy(), drawn.noisy[0, 0].numpy()
    told, untold = whorl.denoise(noisy, 20.0), whorl.denoise(noisy)
    assert abs(_psnr(told, clean) - _psnr(untold, clean)) < 0.5


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((1, 16, 16), "page_axis"),
        ((2, 2, 2), "at least 5 voxels"),
        ((16, 16, 3), "channel_axis"),
        ((4, 8, 8, 8), "page_axis of pictures or volumes"),
    ],
)
def test_shapes_that_are_no_volume_get_the_remedy(shape, words):
    with pytest.raises(ShapeError, match=words):
        whorl.denoise(np.random.default_rng(0).normal(100, 10, shape).astype(np.float32))


def test_missing_voxels_labels_and_maps_get_a_clear_answer():
    volume = np.random.default_rng(0).normal(100, 10, (8, 8, 8)).astype(np.float32)
    with pytest.raises(ValueError, match="no map"):
        whorl.denoise(volume, np.full(volume.shape, 10.0))
    with pytest.raises(ValueError, match="for pictures"):
        whorl.denoise(volume, adapt=True)
    volume[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        whorl.denoise(volume)
    labels = np.repeat(np.arange(4, dtype=np.uint8), 4)[:, None, None] * np.ones((1, 16, 16), np.uint8)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert np.array_equal(whorl.denoise(labels), labels)
    assert any("labels" in str(one.message) for one in said)


def test_channels_and_time_points_are_volumes_of_their_own():
    drawn = tomogram(12, noise=20.0).noisy[0, 0].numpy()
    alone = whorl.denoise(drawn, 20.0, network="volume-5k")
    film = whorl.denoise(np.stack([drawn, drawn[::-1]]), 20.0, page_axis=0, network="volume-5k")
    dyes = whorl.denoise(np.stack([drawn, drawn[::-1]], -1), 20.0, channel_axis=-1)
    change = np.abs(alone - drawn).max()
    for found in (film[0], film[1][::-1], dyes[..., 0], dyes[..., 1][::-1]):  # the range of values has some freedom
        assert np.abs(found - alone).max() < 0.02 * change


def test_no_word_of_other_engines_is_said_to_who_denoises_a_volume(caplog, recwarn):
    whorl.denoise(tomogram(8, noise=20.0).noisy[0, 0].numpy(), 20.0)
    assert not [record for record in caplog.records if "engine" in record.message]
    assert not recwarn.list


def test_a_network_for_pictures_refuses_a_volume():
    with pytest.raises(ShapeError, match="expected a picture"):
        whorl.denoise(np.zeros((8, 8, 8), np.float32), 10.0, network="photo-grey")


@pytest.mark.parametrize("noise", [20.0, None], ids=["told", "untold"])
def test_where_voxels_are_no_cubes_slices_have_a_share(noise):
    """Across the long side neighbours tell little: with a share for slices less noise is left than without."""
    clean = tomogram(48, seed=3).clean[0, 0].numpy()[8:40].reshape(8, 4, 48, 48).mean(1)
    noisy = (clean + np.random.default_rng(0).normal(0, 20, clean.shape)).astype(np.float32)
    cubes = whorl.denoise(noisy, noise)
    flat, again = (whorl.denoise(noisy, noise, spacing=sides) for sides in ((4.0, 1.0, 1.0), (8, 2, 2)))
    assert _psnr(flat, clean) > _psnr(cubes, clean) + 0.1
    np.testing.assert_array_equal(flat, again)
    np.testing.assert_array_equal(whorl.denoise(noisy, noise, spacing=3.0), cubes)


def test_a_volume_with_long_voxels_turns_with_its_axes():
    noisy = tomogram(12, noise=20.0).noisy[0, 0].numpy()
    plain = whorl.denoise(noisy, 20.0, network="volume-5k", spacing=(3, 1, 1))
    turned = whorl.denoise(np.ascontiguousarray(noisy.transpose(2, 1, 0)), 20.0, network="volume-5k", spacing=(1, 1, 3))
    np.testing.assert_allclose(turned.transpose(2, 1, 0), plain, atol=1e-2)


def test_a_spacing_that_cannot_be_is_refused():
    noisy = tomogram(12, noise=20.0).noisy[0, 0].numpy()
    with pytest.raises(ShapeError, match="expected a volume"):
        whorl.denoise(noisy[0], 20.0, spacing=(2, 1))
    with pytest.raises(ValueError, match="spacing has 3 sizes, and the image 2 axes of space"):
        whorl.denoise(noisy[0], 20.0, spacing=(2, 1, 1))
    with pytest.raises(ValueError, match="is for pictures"):
        whorl.denoise(noisy, 20.0, network="photo-grey", spacing=(2, 1, 1))
    with pytest.raises(ValueError, match="spacing"):
        whorl.denoise(noisy, 20.0, spacing=(2, 0, 1))


@pytest.mark.parametrize("remove", [whorl.denoise, whorl.diffuse])
def test_a_spacing_with_too_few_sizes_is_refused(remove):
    volume = np.random.default_rng(0).normal(100, 10, (8, 9, 9)).astype(np.float32)
    with pytest.raises(ValueError, match="spacing has 2 sizes, and the image 3 axes of space"):
        remove(volume, spacing=(4.0, 1.0))


@pytest.mark.parametrize("name", volume_networks())
def test_compiled_loops_agree_with_the_convolutions(name):
    pytest.importorskip("numba")
    network, u = whorl.load(name), 255 * torch.rand(2, 1, 18, 34, 7, generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        found = []
        for engine in ("reference", "numba"):
            network.engine = engine
            found.append(network(u, 20.0))
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=2e-3)


def test_a_voxel_without_a_number_spoils_its_neighbours_alone():
    volumes = pytest.importorskip("whorl.engines.cpu.learned.volumes")
    u = np.zeros((5, 6, 7, 2), np.float32)
    u[0, 0, 0] = np.nan
    spoilt = np.isnan(volumes._responses(u, np.ones((1, 3, 3, 3), np.float32)))
    assert spoilt.sum() == 2  # one voxel in the corner, in two channels
