"""Every model on volumes: energy, mean, constants, symmetries, limits, schemes, and the plane as a special case."""

from itertools import permutations

import pytest
import torch

import whorl
from catalogue import SPATIAL_MODELS, noise
from whorl.errors import ShapeError
from whorl.invariance import equal_sphere_error, solid_turn_error, symmetry_error
from whorl.models import build

everyone = pytest.mark.parametrize("model", SPATIAL_MODELS.values(), ids=SPATIAL_MODELS)
ENERGETIC = {name: model for name, model in SPATIAL_MODELS.items() if not model.no_energy()}
energetic = pytest.mark.parametrize("model", ENERGETIC.values(), ids=ENERGETIC)
FREE = {name: model for name, model in SPATIAL_MODELS.items() if model.operator.dimension is None}
COUPLED = {name: model for name, model in FREE.items() if "uncoupled" not in name}


def flow(model, time=0.3):
    return lambda u: model(u, time, engine="reference")


@energetic
def test_rhs_is_minus_the_gradient_of_the_energy(model, rng):
    u = noise(rng, 1, 2, 4, 5, 3).requires_grad_()
    (gradient,) = torch.autograd.grad(model.energy(u), u)
    with torch.no_grad():
        assert torch.allclose(model.rhs(u), -gradient, rtol=0, atol=1e-11 * gradient.abs().max().item())


@energetic
def test_energy_gradient_against_difference_quotients(model, rng):
    u, direction = noise(rng, 1, 1, 3, 4, 5), noise(rng, 1, 1, 3, 4, 5, scale=1.0)
    step = 1e-4
    with torch.no_grad():
        quotient = (model.energy(u + step * direction) - model.energy(u - step * direction)) / (2 * step)
        slope = -(model.rhs(u) * direction).sum()
    assert quotient.item() == pytest.approx(slope.item(), rel=1e-6, abs=1e-7)


@everyone
def test_the_mean_is_conserved(model, dtype, rng):
    u = 100 + noise(rng, 1, 2, 5, 6, 4, dtype=dtype)
    before, after = u.mean(), model(u, 20 * model.automatic_step(3), engine="reference").mean()
    assert (after - before).abs() <= 40 * torch.finfo(dtype).eps * u.abs().max()


@everyone
@pytest.mark.parametrize("size", [(1, 1, 1), (1, 3, 2), (4, 3, 5)], ids=str)
def test_constants_stay_to_the_last_bit(model, dtype, size):
    u = torch.full((1, 2, *size), 0.1, dtype=dtype)
    for scheme in whorl.schemes.SCHEMES:
        assert torch.equal(model(u, 2.0, scheme=scheme, engine="reference"), u)


@pytest.mark.parametrize("model", FREE.values(), ids=FREE)
def test_all_48_symmetries_of_the_cube(model):
    """Exact but for the order in which the twelve channels, the scales and the taps of Gaussians are summed up."""
    assert symmetry_error(flow(model, 2 * model.automatic_step(3)), dimension=3).ulp <= 128


@pytest.mark.parametrize("name", [name for name in COUPLED if name != "ced"])  # a sphere has no lines to follow
def test_equal_radii(name):
    # The weights of the scales sum up to 9.9 inside g: the contrast of the same slope is the root of that larger.
    model = build(name, contrast=40.0, scales=3) if name.startswith("multiscale") else COUPLED[name]
    assert equal_sphere_error(flow(model, 1.0)).relative <= 6e-3


def test_without_coupling_radii_differ():
    assert equal_sphere_error(flow(build("uncoupled", contrast=12.0), 1.0)).relative >= 0.1


@pytest.mark.parametrize("name", ["perona-malik", "weickert-brox", "eed", "ced"])
def test_turned_volumes(name):
    errors = solid_turn_error(flow(build(name, contrast=12.0, spacing=(1.0, 1.0, 1.0)), 1.0), size=41)
    assert max(error.relative for error in errors) <= 0.02


# Edge-continuing diffusion compares with the direction of least change, which is then z instead of the edge.
SLICED = {name: model for name, model in FREE.items() if name != "edge-continuing"}


@pytest.mark.parametrize("model", SLICED.values(), ids=SLICED)
def test_a_volume_that_does_not_change_along_z_is_filtered_like_its_slice(model, rng):
    u = noise(rng, 1, 2, 7, 6)
    volume = u[:, :, None].expand(1, 2, 3, 7, 6).contiguous()
    planar, spatial = model.rhs(u), model.rhs(volume)
    for z in range(3):
        assert torch.allclose(spatial[:, :, z], planar, rtol=0, atol=1e-12 * planar.abs().max().item())


@everyone
def test_no_step_up_to_the_limit_raises_norm_or_energy(model, rng):
    u = noise(rng, 1, 2, 5, 4, 6)
    for _ in range(5):
        v = model.step(u, model.step_limit(3), engine="reference")
        assert v.norm() <= u.norm() * (1 + 1e-12)
        if not model.no_energy():
            assert model.energy(v) <= model.energy(u) * (1 + 1e-12)
        u = v


def test_steps_up_to_the_max_min_limit_never_widen_the_range(rng):
    for alpha, spacing in ((0.0, 1.0), (0.2, 1.0), (1 / 3, 1.0), (0.1, (1.5, 1.0, 1.0))):
        model = build("perona-malik", contrast=12.0, alpha=alpha, spacing=spacing)
        limit = model.max_min_limit(3)
        assert limit is not None
        u = noise(rng, 1, 1, 6, 5, 7)
        for _ in range(5):
            v = model.step(u, min(limit, model.step_limit(3)), engine="reference")
            assert v.max() <= u.max() + 1e-12
            assert v.min() >= u.min() - 1e-12
            u = v


@everyone
@pytest.mark.parametrize("scheme", ["fed", "fsi"])
def test_fast_schemes_follow_the_explicit_one(model, scheme, rng):
    u = noise(rng, 1, 1, 6, 7, 5, scale=4.0)
    time = 4 * model.step_limit(3)
    slow, fast = flow(model, time)(u), model(u, time, scheme=scheme, engine="reference")
    assert (fast - slow).norm() <= 0.2 * (slow - u).norm()


@everyone
def test_gradients_are_finite_on_flat_volumes(model, dtype):
    u = torch.full((1, 1, 3, 4, 3), 7.0, dtype=dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(model.step(u, engine="reference").square().sum(), u)
    assert torch.isfinite(gradient).all()


@everyone
@pytest.mark.parametrize("scale", [1e-43, 1e-30, 3e-21, 1e-20, 1e-19, 1e-5])
def test_steps_stay_finite_however_small_the_values(model, scale, rng):
    """Down to numbers whose squares vanish and whose reciprocals overflow in float32."""
    u = noise(rng, 1, 1, 4, 3, 5, scale=1.0).mul(scale).float()
    u[..., 1:] = 0  # a single edge: structure tensors of rank one
    assert torch.isfinite(model.step(u, engine="reference")).all()
    assert torch.isfinite(model.step(u * torch.rand(u.shape, generator=rng), engine="reference")).all()


@pytest.mark.parametrize("name", ["perona-malik", "weickert-brox", "eed", "multiscale-anisotropic", "lysaker"])
def test_spacing_goes_with_its_axis(name, rng):
    """Filtering with the axes exchanged, and their sizes with them, is filtering and exchanging the axes."""
    spacing, u = (2.0, 1.0, 0.7), noise(rng, 1, 1, 4, 5, 6)
    options = {"scales": 2} if name.startswith("multiscale") else {}
    result = flow(build(name, contrast=12.0, spacing=spacing, **options))(u)
    for order in permutations(range(3)):
        turned = build(name, contrast=12.0, spacing=tuple(spacing[i] for i in order), **options)
        axes = (0, 1, *(2 + i for i in order))
        gap = flow(turned)(u.permute(axes).contiguous()) - result.permute(axes)
        assert gap.abs().max() <= 1e-11


def test_default_lengths_are_pixels():
    """One pixel, whatever its size; on unequal pixels their geometric mean. Gaussians are as round as the units say."""
    assert build("eed", spacing=13.5).structure.smoothing.radii(3) == (4, 4, 4)
    assert build("eed", spacing=(4.0, 1.0)).structure.smoothing.sigma == pytest.approx(2.0)
    assert build("eed", spacing=(2.0, 1.0, 1.0), sigma=1.5).structure.smoothing.radii(3) == (3, 6, 6)
    smoothings = build("multiscale-isotropic", spacing=(2.0, 1.0, 1.0)).operator.smoothings
    assert all(G.radii(3)[0] <= -(-G.radii(3)[2] // 2) for G in smoothings)
    assert smoothings[-1].sigma == pytest.approx(5.6234 * 2 ** (1 / 3), rel=1e-4)


def test_eed_on_stretched_voxels_follows_the_solid(rng):
    """A ball drawn on voxels of half the height is filtered as on cubic ones, where both have a slice."""
    from whorl.data.solids import Ball, render_solid

    ball = Ball(7.0, 2.5, 60.0)
    cubic = render_solid(ball, 33)
    fine = render_solid(lambda x, y, z: ball(x, y, z / 2), (65, 33, 33))
    model = build("eed", contrast=6.0, spacing=(1.0, 1.0, 1.0))
    stretched = build("eed", contrast=6.0, spacing=(0.5, 1.0, 1.0), sigma=1.0)
    change = flow(model, 1.0)(cubic) - cubic
    fine_change = (flow(stretched, 1.0)(fine) - fine)[:, :, ::2]
    assert (fine_change - change).norm() <= 0.06 * change.norm()


def test_a_data_term_in_space(rng):
    u = noise(rng, 1, 1, 4, 5, 3)
    model = build("weickert-brox", contrast=12.0).with_data(u, 50.0)
    near = model(u, 1.0, engine="reference")
    free = build("weickert-brox", contrast=12.0)(u, 1.0, engine="reference")
    assert (near - u).norm() < 0.2 * (free - u).norm()


def test_a_model_for_images_refuses_volumes_and_the_other_way_round():
    image, volume = torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 4, 4, 4)
    with pytest.raises(ShapeError, match=r"expected an image"):
        build("perona-malik", spacing=(1.0, 2.0)).step(volume)
    with pytest.raises(ShapeError, match=r"expected a volume"):
        build("perona-malik", spacing=(2.0, 1.0, 1.0)).step(image)
    with pytest.raises(ValueError, match=r"image|plane"):
        build("weickert-integration").step(volume)


def test_defaults_in_space() -> None:
    """A spacing of three numbers chooses the stencil that turns best in space, and gives isotropic models a range."""
    model = build("perona-malik", contrast=12.0, spacing=(1.0, 1.0, 1.0))
    assert model.operator.alpha == 0.25
    assert model.step_limit() == pytest.approx(0.5)
    assert model.max_min_limit() == pytest.approx(1 / (6 * 0.75**2))
    assert build("perona-malik", contrast=12.0).operator.alpha == 0.41
    assert build("ced", contrast=12.0, spacing=(1.0, 1.0, 1.0)).operator.alpha == 0.45
    assert build("you-kaveh", contrast=12.0, spacing=(1.0, 1.0, 1.0)).operator.alpha == pytest.approx(1 / 6)
    assert build("eed", contrast=12.0, alpha=0.1, spacing=(1.0, 1.0, 1.0)).operator.alpha == 0.1
