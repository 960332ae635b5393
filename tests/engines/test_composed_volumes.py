"""Compiled steps in space that are made of simpler parts: equal to the plain operators up to rounding."""

import pytest
import torch

import catalogue
from whorl.diffusivities import by_name, names
from whorl.models import build

pytest.importorskip("numba")

NAMES = ("you-kaveh", "lysaker", "multiscale-isotropic", "multiscale-anisotropic")
ULPS = 8  # of the largest grey value: a difference from the volume for each Laplacian, or each scale


def assert_agreement(model, u, tau=None):
    with torch.no_grad():
        found, wanted = (model.step(u, tau, engine=engine) for engine in ("numba", "reference"))
    assert (wanted - u).abs().max() > 1000 * torch.finfo(u.dtype).eps * u.abs().max()
    assert (found - wanted).abs().max() <= ULPS * torch.finfo(u.dtype).eps * u.abs().max()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [(1, 2, 3), (9, 5, 3), (12, 14, 16)], ids=str)
@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.0, 1.0, 0.7)], ids=str)
def test_volumes_of_any_size_agree(name, size, spacing, dtype, rng):
    model = build(name, contrast=12.0, spacing=spacing).to(dtype)
    assert_agreement(model, catalogue.noise(rng, 2, 2, *size, dtype=dtype), model.automatic_step(3))


@pytest.mark.parametrize("name", NAMES[:3])  # the laws of a tensor are those of one scale
@pytest.mark.parametrize("diffusivity", [kind for kind in names() if by_name(kind, 12.0).closed_form])
def test_every_diffusivity_agrees(name, diffusivity, rng):
    model = build(name, contrast=12.0, diffusivity=diffusivity)
    assert_agreement(model, catalogue.noise(rng, 1, 1, 6, 7, 8, dtype=torch.float32))


@pytest.mark.parametrize("size", [1e-12, 1e12])
@pytest.mark.parametrize("name", NAMES)
def test_volumes_of_any_magnitude_agree(name, size, rng):
    u = catalogue.noise(rng, 1, 1, 6, 7, 8, dtype=torch.float32)
    assert_agreement(build(name, contrast=12.0 * size), size * u)


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("side", [1e-3, 1e3])
def test_voxels_of_any_size_agree(name, side, rng):
    model = build(name, contrast=12.0 / side**2, spacing=side)
    assert_agreement(model, catalogue.noise(rng, 1, 1, 6, 7, 8, dtype=torch.float32), model.automatic_step(3))


@pytest.mark.parametrize("name", NAMES)
def test_constants_stay_and_a_model_takes_its_steps(name, rng):
    model, u = build(name, contrast=12.0), catalogue.noise(rng, 1, 2, 6, 7, 8, dtype=torch.float64)
    same = torch.full_like(u, 0.1)
    assert torch.equal(model.step(same, engine="numba"), same)
    time = 3 * model.automatic_step(3)
    for scheme in ("explicit", "fed"):
        found, wanted = (model(u, time, scheme=scheme, engine=engine) for engine in ("numba", "reference"))
        assert (found - wanted).abs().max() <= 4 * ULPS * torch.finfo(u.dtype).eps * u.abs().max()


def test_a_scale_that_steers_nothing_is_left_to_the_reference(rng):
    model, u = build("multiscale-isotropic", contrast=12.0), catalogue.noise(rng, 1, 1, 6, 7, 8, dtype=torch.float64)
    model.operator.beta.data[2] = 0.0
    assert torch.equal(model.step(u, engine="numba"), model.step(u, engine="reference"))
