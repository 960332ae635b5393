"""The compiled engine agrees with the plain PyTorch operators, for every model, and in its derivatives."""

import pytest
import torch

import catalogue
from whorl.activations import Anisotropic, CoherenceEnhancing, Isotropic, Uncoupled
from whorl.activations.tensors import eigenvalues
from whorl.blocks import DiffusionBlock
from whorl.diffusivities import by_name
from whorl.engines import REGISTRY
from whorl.models import Model
from whorl.operators import CellGradient, Composed, ScaleStack, Smoothing, sample_scales

pytest.importorskip("numba")

# Three steps differ by roundings of the same sums: a few units in the last place of the largest grey value, more where
# eight smoothed fields are added up.
ULPS = 8
COMPILED = {name: m for name, m in catalogue.MODELS.items() if not REGISTRY["numba"].lacks(m.description.form())}
PLAIN = {name: model for name, model in catalogue.MODELS.items() if name not in COMPILED}


def gap(found, exact, scale=None):
    """The largest difference in units of the last place of the largest value."""
    scale = exact.abs().max() if scale is None else scale
    return float(((found - exact).abs().max() / scale.clamp(min=1e-30)).detach()) / torch.finfo(exact.dtype).eps


def both(model, u, time, **options):
    with torch.no_grad():
        return model(u, time, engine="numba", **options), model(u, time, engine="reference", **options)


def test_the_papers_models_have_a_compiled_form():
    named = {"perona-malik", "gerig", "weickert-brox", "multiscale-isotropic", "multiscale-anisotropic", "uncoupled"}
    assert named | {"eed", "you-kaveh", "lysaker"} <= set(COMPILED)


# Every law and diffusivity is compiled in double precision below; each variant of a model needs it in one of them.
BOTH = [
    pytest.param(name, dtype, marks=[pytest.mark.slow] * ("," in name and dtype == torch.float64), id=f"{name}-{dtype}")
    for name in COMPILED
    for dtype in (torch.float32, torch.float64)
]


@pytest.mark.parametrize(("name", "dtype"), BOTH)
def test_steps_agree(name, dtype, rng):
    model = COMPILED[name]
    u = catalogue.noise(rng, 2, 3, 37, 22, dtype=dtype) + 100
    found, exact = both(model, u, 3 * model.automatic_step())
    assert found.dtype == dtype
    assert gap(found, exact) <= ULPS * (
        1 + amplification(model, u) * float((exact - u).abs().max() / exact.abs().max())
    )


def amplification(model, u):
    """What coherence-enhancing diffusion makes of roundings in the change of an image; 0 for all other laws.

    The entries of the structure tensor are rounded to eps times their trace, and so is the coherence k, the difference
    of its eigenvalues. The diffusivity along lines contains exp(-z) with z = (contrast² / k)²: it changes by the
    relative rounding of k times 2 z exp(-z).
    """
    if not isinstance(model.activation.law, CoherenceEnhancing):
        return 0.0
    mu = eigenvalues(model.activation.structure_tensor(model.description.steering(u.double())))
    coherence = (mu[0] - mu[-1]).clamp_min(1e-30)
    z = ((model.activation.law.contrast**2 / coherence) ** 2).clamp_max(1e3)
    return float((2 * z * torch.exp(-z) * sum(mu) / coherence).max())


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 2, 1, 9), (1, 1, 8, 1), (3, 1, 2, 3), (1, 1, 3, 1100)], ids=str)
@pytest.mark.parametrize("name", ["gerig", "eed", "multiscale-anisotropic"])
def test_any_size_will_do(name, shape, rng):
    model = COMPILED[name]
    found, exact = both(model, catalogue.noise(rng, *shape), 2 * model.automatic_step())
    assert gap(found, exact) <= ULPS


@pytest.mark.parametrize("g", [name for name in catalogue.DIFFUSIVITIES if name not in ("free-form", "rescaled")])
def test_every_diffusivity_agrees(g, rng):
    u = catalogue.noise(rng, 1, 2, 20, 21)
    for activation in (Isotropic(by_name(g, 9.0)), Anisotropic(by_name(g, 9.0), ("channels",), gamma=0.4)):
        model = Model(CellGradient(0.3, (1.0, 0.8)), activation)
        assert gap(*both(model, u, model.automatic_step())) <= ULPS


SCALES = sample_scales(3, 0.4, 2.0)
COUPLINGS = {
    "scales alone": (ScaleStack(CellGradient(), SCALES), Isotropic(by_name("rational", 9.0), ("scales",)), None),
    "channels alone": (ScaleStack(CellGradient(), SCALES), Anisotropic(by_name("tv", 9.0), ("channels",)), None),
    "uncoupled scales": (
        ScaleStack(CellGradient(), SCALES, [0.5, -1.0, 2.0]),
        Uncoupled(by_name("exponential", 9.0), ("scales",), scale_weights=SCALES.omega),
        None,
    ),
    "smoothed": (Composed(CellGradient(), Smoothing(0.8)), Isotropic(by_name("weickert", 9.0)), None),
    "own weights in the structure": (
        ScaleStack(CellGradient(), SCALES, [0.5, -1.0, 2.0]),
        Anisotropic(by_name("exponential", 9.0), ("scales",), scale_weights=SCALES.omega),
        ScaleStack(CellGradient(0.5), SCALES, [1.5, 0.7, 0.3]),
    ),
    "own scales in the structure": (
        CellGradient(),
        Isotropic(by_name("exponential", 9.0), ("channels", "scales")),
        ScaleStack(CellGradient(), SCALES, [1.5, 0.7, 0.3]),
    ),
    "scale by scale": (
        ScaleStack(CellGradient(), SCALES),
        Isotropic(by_name("exponential", 9.0)),
        ScaleStack(CellGradient(0.5), sample_scales(3, 1.0, 4.0)),
    ),
    "structure for all scales": (
        ScaleStack(CellGradient(0.2), SCALES),
        Anisotropic(by_name("charbonnier", 9.0), ("channels", "scales"), gamma=0.5),
        Composed(CellGradient(0.5), Smoothing(1.2)),
    ),
}


@pytest.mark.parametrize("name", COUPLINGS)
def test_every_coupling_agrees(name, rng):
    operator, activation, structure = COUPLINGS[name]
    model = Model(operator, activation, structure=structure)
    assert gap(*both(model, catalogue.noise(rng, 2, 2, 15, 17), 2 * model.automatic_step())) <= ULPS


def trained(name):
    if name in COUPLINGS:
        operator, activation, structure = COUPLINGS[name]
    else:
        model = COMPILED[name]
        operator, activation, structure = model.operator, model.activation, model.structure
    g = activation.diffusivity
    kind = type(g)(float(g.contrast), trainable=True)
    options = {"gamma": activation.gamma} if isinstance(activation, Anisotropic) else {}
    phi = type(activation)(kind, activation.couple, scale_weights=activation.inside, **options)
    K, structure = (
        ScaleStack(part.operator, part.sampling, part.beta.tolist(), trainable=True)
        if isinstance(part, ScaleStack)
        else part
        for part in (operator, structure)
    )
    limit = Model(K, phi).automatic_step()
    return DiffusionBlock(K, phi, limit, structure=structure, trainable_tau=True)


@pytest.mark.parametrize(
    "name",
    [*(n for n, m in COMPILED.items() if REGISTRY["numba"].gives(m.description.form()) == "all"), *COUPLINGS],
)
def test_derivatives_agree_with_autograd(name, rng):
    block = trained(name)
    parameters = [p for p in block.parameters() if p.requires_grad]
    u, w = catalogue.noise(rng, 2, 2, 14, 19).requires_grad_(), catalogue.noise(rng, 2, 2, 14, 19)
    found = {}
    for engine in ("numba", "reference"):
        block.engine = engine
        found[engine] = torch.autograd.grad((block(u) * w).sum(), [u, *parameters])
    for compiled, exact in zip(found["numba"], found["reference"], strict=True):
        # Sums over all cells cancel in part; rounding is relative to their terms.
        assert gap(compiled, exact, exact.abs().max().clamp(min=1.0)) <= 100 * ULPS


@pytest.mark.parametrize("name", ["gerig", "uncoupled", "weickert-brox, tv", "eed, gamma, spacing", *COUPLINGS])
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's forward mode uses what torch deprecates
def test_forward_mode_agrees_with_the_reference(name, rng):
    block = trained(name)
    parameters = {name: p for name, p in block.named_parameters() if p.requires_grad}
    u, v = catalogue.noise(rng, 2, 2, 9, 11), catalogue.noise(rng, 3, 2, 2, 9, 11)
    moves = {name: torch.randn(3, *p.shape, dtype=p.dtype, generator=rng) for name, p in parameters.items()}
    found = {}

    def along(direction, motion):
        call = lambda image, values: torch.func.functional_call(block, values, (image,))  # noqa: E731
        return torch.func.jvp(call, (u, parameters), (direction, motion))

    for engine in ("numba", "reference"):
        block.engine = engine
        found[engine] = torch.func.vmap(along, out_dims=(None, 0))(v, moves)
    for compiled, exact in zip(found["numba"], found["reference"], strict=True):
        assert gap(compiled, exact) <= 10 * ULPS


def test_derivatives_in_single_precision(rng):
    block = trained("multiscale-anisotropic")
    parameters = [p for p in block.parameters() if p.requires_grad]
    u, w = catalogue.noise(rng, 1, 1, 40, 30), catalogue.noise(rng, 1, 1, 40, 30)
    exact = torch.autograd.grad((block(u) * w).sum(), parameters)
    found = torch.autograd.grad((block(u.float()) * w).sum(), parameters)
    for one, two in zip(found, exact, strict=True):
        assert float((one - two).norm() / two.norm()) < 1e-5


def test_flat_images_have_finite_derivatives(dtype):
    block = trained("multiscale-anisotropic")
    u = torch.full((1, 1, 6, 6), 7.0, dtype=dtype, requires_grad=True)
    parts = torch.autograd.grad(block(u).square().sum(), [u, *(p for p in block.parameters() if p.requires_grad)])
    assert all(bool(torch.isfinite(part).all()) for part in parts)


def test_only_one_field_per_step_is_kept():
    block = trained("multiscale-anisotropic")
    kept = 0

    def pack(tensor):
        nonlocal kept
        kept += tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        v = u = torch.rand(2, 1, 32, 32, requires_grad=True)
        for _ in range(10):
            v = block(v)
    assert kept <= 10 * (u.numel() + 30)  # and the numbers of the step
