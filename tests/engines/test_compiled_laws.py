"""Edge- and coherence-enhancing diffusion in the compiled engine: the law of the reference, at every magnitude."""

import pytest
import torch

import catalogue
from whorl import engines
from whorl.inpainting.images import method
from whorl.models import build
from whorl.steps import Numbers

pytest.importorskip("numba")


def edge(high: float, dtype: torch.dtype) -> torch.Tensor:
    """A slanted edge of a 16-bit picture, with little noise."""
    y, x = torch.meshgrid(torch.arange(24.0), torch.arange(30.0), indexing="ij")
    noise = torch.randn(24, 30, generator=torch.Generator().manual_seed(0))
    return (high * (x > 11 + 0.3 * y) + 5 * noise).to(dtype)[None, None]


@pytest.mark.parametrize("contrast", [20.0, 5.0])
@pytest.mark.parametrize("engine", ["numba", "reference"])
def test_strong_edges_lose_nothing_to_rounding(engine, contrast):
    """The small eigenvalue of a single gradient is 0; computed as a difference it was off by 330 grey values."""
    model = build("eed", contrast=contrast)
    with torch.no_grad():
        found = model(edge(45000.0, torch.float32), 8.0, engine=engine)
        exact = model(edge(45000.0, torch.float32).double(), 8.0, engine="reference")
    # Twenty steps of fluxes of the size of the edge, each rounded a few times.
    assert (found - exact).abs().max() <= 20 * 8 * torch.finfo(torch.float32).eps * 45000


@pytest.mark.parametrize(
    "options",
    [{"contrast": 6.0}, {"contrast": 3.0, "sigma": 0.7, "rho": 3.0}, {"contrast": 6.0, "spacing": (1.0, 1.5)}],
    ids=str,
)
@pytest.mark.parametrize("shape", [(2, 1, 20, 33), (1, 3, 9, 7), (1, 1, 1, 5), (1, 2, 2, 3)], ids=str)
def test_coherence_enhancing_diffusion_agrees(options, shape, dtype, rng):
    model, u = build("ced", **options), catalogue.noise(rng, *shape, dtype=dtype)
    with torch.no_grad():
        found, exact = (model(u, 2.0, engine=engine) for engine in ("numba", "reference"))
    assert (found - exact).abs().max() <= 16 * torch.finfo(dtype).eps * u.abs().max()


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", ["edge-continuing", "ced"])
@pytest.mark.parametrize("shape", [(2, 1, 150, 33), (1, 3, 9, 7), (1, 1, 1, 5), (1, 2, 2, 3)], ids=str)
def test_smoothed_structure_tensors_steer_alike(name, shape, frozen, dtype, rng):
    """Computed in every step, or once for all of them where they are kept."""
    model = method("eed", contrast=6.0) if name == "edge-continuing" else build("ced", contrast=3.0, rho=2.0)
    u, steps = catalogue.noise(rng, *shape, dtype=dtype), [Numbers(model.step_limit())] * 5
    found, exact = (
        engines.advance(model.description, u, steps, engine, frozen=frozen) for engine in ("numba", "reference")
    )
    assert (found - exact).abs().max() <= 16 * torch.finfo(dtype).eps * u.abs().max()


@pytest.mark.parametrize("threads", [1, 3])
def test_bands_give_the_bits_of_the_whole(threads, rng):
    model, u = build("ced", contrast=6.0, rho=2.0), catalogue.noise(rng, 1, 1, 160, 20, dtype=torch.float32)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        whole = model.step(u, engine="numba")
        torch.set_num_threads(threads)
        assert torch.equal(model.step(u, engine="numba"), whole)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["eed", "multiscale-isotropic"])
def test_gaussians_on_unequal_pixels_agree(name, dtype, rng):
    options = {"scales": 3} if name.startswith("multiscale") else {"sigma": 1.2}
    model, u = build(name, contrast=9.0, spacing=(0.7, 1.6), **options), catalogue.noise(rng, 1, 2, 17, 19, dtype=dtype)
    with torch.no_grad():
        found, exact = (model(u, 3 * model.automatic_step(), engine=engine) for engine in ("numba", "reference"))
    assert (found - exact).abs().max() <= 16 * torch.finfo(dtype).eps * u.abs().max()
