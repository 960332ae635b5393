"""Compiled steps of fourth order: equal to the plain operators up to rounding, and to themselves in every bit."""

import pytest
import torch

import catalogue
from whorl.activations import Isotropic
from whorl.diffusivities import by_name, names
from whorl.invariance import SYMMETRIES
from whorl.models import Model, build
from whorl.operators import Hessian

pytest.importorskip("numba")

NAMES = ("you-kaveh", "lysaker")
ULPS = 8  # of the largest grey value: differences of nine or of 25 pixels, twice


def assert_agreement(model, u, tau=None):
    with torch.no_grad():
        found, wanted = (model.step(u, tau, engine=engine) for engine in ("numba", "reference"))
    assert (found - wanted).abs().max() <= ULPS * torch.finfo(u.dtype).eps * u.abs().max()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 4), (37, 41), (9, 1100)], ids=str)
@pytest.mark.parametrize("spacing", [(1.0, 1.0), (0.7, 1.3)], ids=str)
def test_pictures_of_any_size_agree(name, size, spacing, dtype, rng):
    """Pictures that are mirrored more than once, and wide ones that are taken in strips."""
    model = build(name, contrast=12.0, spacing=spacing).to(dtype)
    assert_agreement(model, catalogue.noise(rng, 2, 2, *size, dtype=dtype), model.automatic_step(2))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("diffusivity", [kind for kind in names() if by_name(kind, 12.0).closed_form])
def test_every_diffusivity_agrees(name, diffusivity, rng):
    model = build(name, contrast=12.0, diffusivity=diffusivity)
    assert_agreement(model, catalogue.noise(rng, 1, 1, 21, 19, dtype=torch.float32))


def test_a_hessian_without_contrast_is_not_taken_for_two_laplacians(rng):
    model = Model(Hessian(), Isotropic(by_name("homogeneous", 1.0), axes=4), name="plate")
    assert_agreement(model, catalogue.noise(rng, 1, 1, 21, 19, dtype=torch.float32), 0.05)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("symmetry", SYMMETRIES)
def test_quarter_turns_and_mirror_images_are_exact(name, symmetry, rng):
    model, transform = build(name, contrast=12.0), SYMMETRIES[symmetry]
    u = catalogue.noise(rng, 1, 1, 33, 40, dtype=torch.float32)
    with torch.no_grad():
        here, there = model.step(u, engine="numba"), model.step(transform(u), engine="numba")
    assert torch.equal(there, transform(here))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_pictures_of_any_magnitude_agree(name, size, rng):
    model = build(name, contrast=12.0 * size)
    assert_agreement(model, size * catalogue.noise(rng, 1, 1, 21, 19, dtype=torch.float32))
