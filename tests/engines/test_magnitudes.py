"""Engines agree whatever the magnitude of the image, and wherever it holds NaN."""

import pytest
import torch

import catalogue
from whorl.diffusivities import CLASSICAL
from whorl.engines.selection import select
from whorl.models import Model, build

pytest.importorskip("numba")


@pytest.mark.parametrize("scale", [1e-14, 1e-10, 1e10, 1e14])
@pytest.mark.parametrize("name", ["weickert-brox", "gerig", "multiscale-anisotropic"])
def test_single_precision_follows_the_reference_at_any_magnitude(name, scale, rng):
    """The structure tensor is of the size of the squared image; squared once more it would leave single precision."""
    u = scale * torch.rand(1, 2, 12, 13, generator=rng)
    model = build(name, contrast=0.3 * scale, **({"scales": 2} if name.startswith("multiscale") else {}))
    with torch.no_grad():
        found, exact = (model(u, 2.0, engine=engine) for engine in ("numba", "reference"))
    assert (found - exact).abs().max() <= 16 * torch.finfo(u.dtype).eps * u.abs().max()


VOLUMES = {
    "weickert-brox": {"diffusivity": "rational"},
    "eed": {"diffusivity": "weickert"},
    "ced": {"rho": 1.0},
}


@pytest.mark.parametrize("scale", [1e-12, 1e-10, 1e9, 1e10, 1e12])
@pytest.mark.parametrize("name", VOLUMES)
def test_volumes_of_any_magnitude_have_one_answer(name, scale, dtype):
    """In both engines, the answer of double precision for volumes of size 1.

    The kernels in single precision are those of test_volumes.py; double precision has room for the squares.
    """
    u = torch.rand(1, 2, 6, 7, 18, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    exact = build(name, contrast=0.3, spacing=(1.6, 1.0, 1.2), **VOLUMES[name])(u, 1.0, engine="reference")
    model = build(name, contrast=0.3 * scale, spacing=(1.6, 1.0, 1.2), **VOLUMES[name])
    with torch.no_grad():
        for engine in ("numba", "reference") if dtype == torch.float32 else ("reference",):
            found = model((scale * u).to(dtype), 1.0, engine=engine).double() / scale
            # Near-equal eigenvalues blow rounding up by the inverse of their relative distance, at most a thousandfold.
            assert (found - exact).abs().max() <= 1000 * torch.finfo(dtype).eps, engine


@pytest.mark.parametrize("width", [4.5, 2.0])
@pytest.mark.parametrize("name", ["weickert-brox", "eed", "ced"])
def test_a_blob_that_fades_away_has_the_gradients_of_double_precision(name, width):
    """Far from its middle the volume is nearly, but not exactly, flat: squared slopes leave the normal numbers."""
    r2 = sum(axis**2 for axis in torch.meshgrid(*[torch.arange(16, dtype=torch.float64) - 7.5] * 3, indexing="ij"))
    weights = torch.rand(r2.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    found, settings = [], {"rho": 1.0} if name == "ced" else {}
    for dtype in (torch.float32, torch.float64):
        model = build(name, contrast=0.05, spacing=(1.0, 1.0, 1.0), trainable=True, **settings)
        u = torch.exp(-r2 / width).to(dtype)[None, None].requires_grad_()
        result = model.step(u)
        gradients = torch.autograd.grad((weights.to(dtype) * result).sum(), (u, *model.parameters()))
        found.append([each.double() for each in (result, *gradients)])
    for single, double in zip(*found, strict=True):
        assert torch.isfinite(single).all()
        assert (single - double).abs().max() <= 1000 * torch.finfo(torch.float32).eps * double.abs().max()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_so_do_derivatives(scale, rng):
    model = build("weickert-brox", contrast=0.3 * scale)
    found = []
    for engine in ("numba", "reference"):
        u = (scale * torch.rand(1, 2, 9, 8, generator=torch.Generator().manual_seed(1))).requires_grad_()
        w = torch.rand(1, 2, 9, 8, generator=torch.Generator().manual_seed(2))
        found += torch.autograd.grad((model.step(u, engine=engine) * w).sum(), u)
    assert (found[0] - found[1]).abs().max() <= 64 * torch.finfo(torch.float32).eps * found[1].abs().max()


# Every law of the tensor is asked below: here one with channels alone and one with all of them, for each diffusivity.
@pytest.mark.parametrize("kind", [kind.name for kind in CLASSICAL])
@pytest.mark.parametrize("name", ["weickert-brox", "perona-malik"])
def test_a_step_spreads_nan_in_every_engine_alike(name, kind, rng):
    """Coupled channels share their fate: where one is unknown, so is the tensor that all of them flow under."""
    u = catalogue.noise(rng, 1, 3, 9, 11, dtype=torch.float32)
    u[0, 1, 4, 5] = torch.nan
    model = build(name, contrast=9.0, diffusivity=kind)
    found, exact = (model.step(u, engine=engine).isnan() for engine in ("numba", "reference"))
    assert torch.equal(found, exact)


def compiled(models: dict[str, Model], shape: tuple[int, ...]) -> list[str]:
    u = torch.zeros(shape)
    return [name for name, model in models.items() if select(model.description, u).name == "numba"]


PLANE, SPACE = (1, 2, 20, 22), (1, 2, 8, 9, 10)
CASES = [pytest.param(catalogue.MODELS[name], PLANE, id=name) for name in compiled(catalogue.MODELS, PLANE)]
# Of those in space tests/engines/test_volumes.py has one for each law, which it has compiled anyway.
CASES += [
    pytest.param(catalogue.SPATIAL_MODELS[name], SPACE, id=f"{name}, volume", marks=pytest.mark.slow)
    for name in compiled(catalogue.SPATIAL_MODELS, SPACE)
]


@pytest.mark.parametrize("value", [torch.nan, torch.inf], ids=["nan", "infinity"])
@pytest.mark.parametrize(("model", "shape"), CASES)
def test_one_rule_for_what_is_not_finite(model, shape, value, rng):
    """A step spreads it by its arithmetic, to the same pixels in every engine; a whole flow refuses it."""
    u = catalogue.noise(rng, *shape, dtype=torch.float32)
    u[(0, 1, *(size // 2 for size in shape[2:]))] = value
    with torch.no_grad():
        found, exact = (model.step(u, engine=engine).isfinite() for engine in ("numba", "reference"))
    assert torch.equal(found, exact)
    assert not exact.all()
    for engine in ("numba", "reference"):
        with pytest.raises(ValueError, match="1 NaN or infinite"):
            model(u, 1.0, engine=engine)


@pytest.mark.parametrize("name", catalogue.MODELS)
def test_a_whole_flow_refuses_what_is_not_finite_in_every_model(name):
    u = torch.zeros(1, 2, 6, 7)
    u[0, 0, 3, 3] = torch.nan
    for scheme in ("explicit", "fed", "fsi"):
        with pytest.raises(ValueError, match="1 NaN or infinite"):
            catalogue.MODELS[name](u, 1.0, scheme=scheme)
