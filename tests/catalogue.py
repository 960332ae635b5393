"""Every public instance, with an id. Tests are statements of mathematics run over these lists."""

import torch

import whorl
from whorl.activations import Anisotropic, CoherenceEnhancing, EdgeContinuing, EdgeEnhancing, Isotropic, Uncoupled
from whorl.blocks.guided import SteppedMap
from whorl.diffusivities import Exponential, FreeForm, Rational, Rescaled, by_name, names
from whorl.inpainting.images import method
from whorl.operators import (
    CellGradient,
    Composed,
    Dictionary,
    DirectionalDerivatives,
    FieldMap,
    Hessian,
    JoinedMap,
    Laplacian,
    LaplacianPower,
    Mixed,
    ProfileMap,
    ScaleStack,
    Smoothing,
    Stacked,
    SteerableMap,
    sample_scales,
)

OPERATORS = {
    "cell gradient": CellGradient(),
    "cell gradient, five-point": CellGradient(0.0),
    "cell gradient, no detail": CellGradient(0.5),
    "cell gradient, spacing": CellGradient(0.2, (2.0, 0.5)),
    "wide cell": CellGradient(cell="wide"),
    "wide cell, most detail": CellGradient(0.0, cell="wide"),
    "wide cell, no detail": CellGradient(0.5, cell="wide"),
    "wide cell, spacing": CellGradient(0.2, (2.0, 0.5), cell="wide"),
    "laplacian": Laplacian(),
    "laplacian, spacing": Laplacian(0.1, (1.0, 2.0)),
    "laplacian, wide cell": Laplacian(cell="wide"),
    "hessian": Hessian(),
    "hessian, spacing": Hessian((1.0, 3.0)),
    "directions": DirectionalDerivatives(8),
    "directions, odd, spacing": DirectionalDerivatives(5, (1.0, 1.5)),
    "smoothed gradient": Composed(CellGradient(), Smoothing(1.5)),
    "scales": ScaleStack(CellGradient()),
    "scales, wide cell": ScaleStack(CellGradient(cell="wide"), sample_scales(3, 0.5, 4.0), beta=[0.5, -1.0, 2.0]),
    "scales, weighted": ScaleStack(CellGradient(0.3), sample_scales(3, 0.5, 4.0), beta=[0.5, -1.0, 2.0]),
    "scales of Hessians": ScaleStack(Hessian(), sample_scales(2, 0.5, 2.0)),
    "dictionary": Dictionary(CellGradient(), [Smoothing(0.5), Smoothing(2.0), LaplacianPower(1.0, 2)], features=2),
    "scaled": -3.0 * Hessian(),
    "stacked": Stacked([Laplacian(), Hessian()]),
}

SPATIAL_OPERATORS = {
    "cell gradient": CellGradient(),
    "cell gradient, seven-point": CellGradient(0.0),
    "cell gradient, no detail": CellGradient(0.5),
    "cell gradient, spacing": CellGradient(0.2, (3.0, 0.5, 2.0)),
    "wide cell": CellGradient(cell="wide"),
    "wide cell, most detail": CellGradient(0.0, cell="wide"),
    "wide cell, no detail": CellGradient(0.5, cell="wide"),
    "wide cell, spacing": CellGradient(0.2, (3.0, 0.5, 2.0), cell="wide"),
    "laplacian": Laplacian(),
    "laplacian, spacing": Laplacian(0.1, (1.0, 2.0, 3.0)),
    "hessian": Hessian(),
    "hessian, spacing": Hessian((1.0, 3.0, 2.0)),
    "smoothed gradient": Composed(CellGradient(), Smoothing(0.7)),
    "smoothed gradient, wide cell": Composed(CellGradient(cell="wide"), Smoothing(0.7)),
    "smoothed gradient, spacing": Composed(CellGradient(0.3, (2.0, 1.0, 1.0)), Smoothing(1.0, spacing=(2.0, 1.0, 1.0))),
    "scales, weighted": ScaleStack(CellGradient(0.3), sample_scales(3, 0.3, 1.5), beta=[0.5, -1.0, 2.0]),
    "scales, spacing": ScaleStack(CellGradient(0.3, (2.0, 1.0, 1.5)), sample_scales(2, 0.5, 1.5)),
    "dictionary": Dictionary(CellGradient(), [Smoothing(0.4), Smoothing(0.8), LaplacianPower(0.4, 1)], features=2),
    "scaled": -3.0 * Hessian(),
    "stacked": Stacked([Laplacian(), Hessian()]),
}

# Operators with a number of image channels of their own, and responses that are not zero on constants.
CHANNEL_OPERATORS = {
    "profiles": ProfileMap((2, 2, 1)),
    "steerable": SteerableMap(3, fields=(4, 3, 2)),
    "fields": FieldMap((1, 1), fields=(4, 3, 2)),
    "joined": JoinedMap(SteerableMap(1, fields=(2, 1, 1)), SteerableMap(3, fields=(3, 0, 2)), channels=3),
    "stepped": SteppedMap(SteerableMap(1, fields=(2, 1, 1)), SteerableMap(2, fields=(3, 0, 2)), channels=3).eval(),
    "mixed": Mixed(CellGradient(), torch.tensor([[1.0, 0.5, -2.0], [0.0, 1.0, 0.3]], dtype=torch.float64)),
}

DIFFUSIVITIES = {name: by_name(name, contrast=2.5) for name in names()}
DIFFUSIVITIES["rescaled"] = Rescaled(Rational(2.5), 4.0)

_OMEGA = sample_scales(3, 0.5, 4.0).omega
ACTIVATIONS = {
    "uncoupled": Uncoupled(Exponential(2.0)),
    "isotropic": Isotropic(Exponential(2.0)),
    "anisotropic": Anisotropic(Exponential(2.0)),
    "isotropic channels": Isotropic(Rational(2.0), ("channels",)),
    "anisotropic channels": Anisotropic(Rational(2.0), ("channels",)),
    "isotropic scales": Isotropic(Exponential(2.0), ("scales",), scale_weights=_OMEGA),
    "anisotropic scales": Anisotropic(Exponential(2.0), ("scales",), scale_weights=_OMEGA),
    "uncoupled scales": Uncoupled(Exponential(2.0), ("scales",)),
    "anisotropic everything": Anisotropic(Exponential(2.0), ("channels", "scales")),
    "anisotropic gamma": Anisotropic(Exponential(2.0), ("channels",), gamma=0.7),
    "anisotropic free form": Anisotropic(FreeForm(2.0)),
    "anisotropic weickert": Anisotropic(by_name("weickert", 2.0), ("channels",)),
    "anisotropic charbonnier": Anisotropic(by_name("charbonnier", 2.0), ("channels",)),
    "anisotropic tv": Anisotropic(by_name("tv", 2.0), ("channels",)),
    "anisotropic homogeneous": Anisotropic(by_name("homogeneous"), ("channels",)),
    "edge-enhancing": Anisotropic(EdgeEnhancing(Exponential(2.0))),
    "edge-enhancing channels": Anisotropic(EdgeEnhancing(Rational(2.0)), ("channels",), gamma=0.3),
    "coherence-enhancing": Anisotropic(CoherenceEnhancing(2.0), ("channels",)),
    "coherence-enhancing, smoothed": Anisotropic(CoherenceEnhancing(2.0), ("channels",), rho=1.0),
    "edge-continuing": Anisotropic(EdgeContinuing(2.0), ("channels",)),
    "edge-continuing, smoothed": Anisotropic(EdgeContinuing(2.0), ("channels",), rho=1.0),
    "contrast per channel": Isotropic(Exponential([[1.0], [3.0]])),
    "contrast per channel and scale": Anisotropic(Rational([[1.0, 2.0, 3.0], [4.0, 3.0, 2.0]])),
    "contrast per channel, coupled": Anisotropic(Exponential([[1.0], [3.0]]), ("channels",)),
    "scale-adaptive": Anisotropic(Exponential([1.0, 2.0, 3.0]), ("scales",)),
}

CONTRAST = 12.0
# Noise has little coherence once its structure tensor is smoothed.
CONTRASTS = {"ced": 2.0}
MODELS = {name: whorl.models.build(name, contrast=CONTRASTS.get(name, CONTRAST)) for name in whorl.models.names()}
MODELS |= {
    "weickert-brox, gamma": whorl.models.build("weickert-brox", contrast=CONTRAST, gamma=0.8),
    "eed, gamma, spacing": whorl.models.build("eed", contrast=CONTRAST, gamma=0.5, spacing=(1.0, 2.0), sigma=0.7),
    "eed, tv": whorl.models.build("eed", contrast=CONTRAST, diffusivity="tv"),
    "ced, spacing": whorl.models.build("ced", contrast=2.0, spacing=(1.0, 2.0), sigma=0.7, rho=2.0, gamma=0.4),
    "ced, no smoothing": whorl.models.build("ced", contrast=CONTRAST, sigma=0, rho=0),
    "edge-continuing": method("eed", contrast=CONTRAST),
    "integration, no presmoothing": whorl.models.build(
        "weickert-integration", contrast=CONTRAST, sigma=0, directions=6
    ),
    "perona-malik, spacing": whorl.models.build("perona-malik", contrast=CONTRAST, spacing=(0.5, 2.0), alpha=0.1),
    "perona-malik, wide cell, spacing": whorl.models.build(
        "perona-malik", contrast=CONTRAST, spacing=(0.5, 2.0), alpha=0.1, cell="wide"
    ),
    "weickert-brox, wide cell": whorl.models.build("weickert-brox", contrast=CONTRAST, cell="wide"),
    "multiscale-anisotropic, wide cell": whorl.models.build(
        "multiscale-anisotropic", contrast=CONTRAST, scales=3, cell="wide"
    ),
    "you-kaveh, wide cell": whorl.models.build("you-kaveh", contrast=CONTRAST, cell="wide"),
    "uncoupled, wide cell": whorl.models.build("uncoupled", contrast=CONTRAST, cell="wide"),
    "eed, gamma, wide cell": whorl.models.build("eed", contrast=CONTRAST, gamma=0.5, cell="wide"),
    "ced, wide cell": whorl.models.build("ced", contrast=2.0, cell="wide"),
    "perona-malik, presmoothed": whorl.models.build(
        "perona-malik", contrast=CONTRAST, sigma=0.8, diffusivity="rational"
    ),
    "weickert-brox, presmoothed, spacing": whorl.models.build(
        "weickert-brox", contrast=CONTRAST, sigma=0.9, spacing=(1.0, 1.5), gamma=0.4
    ),
    "gerig, presmoothed, wide cell": whorl.models.build("gerig", contrast=CONTRAST, sigma=0.7, cell="wide"),
    "uncoupled, presmoothed": whorl.models.build("uncoupled", contrast=CONTRAST, sigma=0.7),
    "you-kaveh, presmoothed": whorl.models.build("you-kaveh", contrast=CONTRAST, sigma=0.6),
    "lysaker, presmoothed": whorl.models.build("lysaker", contrast=CONTRAST, sigma=0.6),
    "multiscale-isotropic, presmoothed": whorl.models.build(
        "multiscale-isotropic", contrast=CONTRAST, scales=3, sigma=0.7
    ),
    "gerig, charbonnier": whorl.models.build("gerig", contrast=CONTRAST, diffusivity="charbonnier"),
    "weickert-brox, weickert": whorl.models.build("weickert-brox", contrast=CONTRAST, diffusivity="weickert"),
    "weickert-brox, tv": whorl.models.build("weickert-brox", contrast=CONTRAST, diffusivity="tv"),
    "lysaker, rational": whorl.models.build("lysaker", contrast=CONTRAST, diffusivity="rational"),
    "multiscale, printed flux": whorl.models.build(
        "multiscale-anisotropic", contrast=CONTRAST, scales=3, omega_inside=False
    ),
    "multiscale, scale-adaptive": whorl.models.build(
        "multiscale-isotropic", contrast=[12.0, 9.0, 6.0], scales=3, alpha=0.5
    ),
}
NETWORKS = {name: whorl.load(name) for name in whorl.networks.available()}
_IN_SPACE = {"multiscale-isotropic": {"scales": 3}, "multiscale-anisotropic": {"scales": 3}, "ced": {"gamma": 0.0}}
SPATIAL_MODELS = {
    name: whorl.models.build(name, contrast=CONTRAST, **_IN_SPACE.get(name, {}))
    for name in whorl.models.names()
    if name != "weickert-integration"  # exists in the plane alone
}
SPATIAL_MODELS |= {
    "perona-malik, spacing": whorl.models.build("perona-malik", contrast=CONTRAST, spacing=(2.0, 1.0, 0.7), alpha=0.1),
    "weickert-brox, spacing, charbonnier": whorl.models.build(
        "weickert-brox", contrast=CONTRAST, spacing=(2.0, 1.0, 1.0), diffusivity="charbonnier"
    ),
    "gerig, wide cell": whorl.models.build("gerig", contrast=CONTRAST, cell="wide"),
    "weickert-brox, wide cell, spacing": whorl.models.build(
        "weickert-brox", contrast=CONTRAST, spacing=(2.0, 1.0, 0.7), cell="wide"
    ),
    "eed, wide cell": whorl.models.build("eed", contrast=CONTRAST, cell="wide"),
    "perona-malik, presmoothed": whorl.models.build(
        "perona-malik", contrast=CONTRAST, sigma=0.8, diffusivity="rational"
    ),
    "weickert-brox, presmoothed, wide cell": whorl.models.build(
        "weickert-brox", contrast=CONTRAST, sigma=0.7, cell="wide"
    ),
    "lysaker, presmoothed": whorl.models.build("lysaker", contrast=CONTRAST, sigma=0.6),
    "ced, wide cell": whorl.models.build("ced", contrast=CONTRAST, gamma=0.0, cell="wide"),
    "edge-continuing": method("eed", 3, contrast=CONTRAST),
    "eed, spacing": whorl.models.build("eed", contrast=CONTRAST, spacing=(2.0, 1.0, 1.5), sigma=0.8),
    "ced, spacing": whorl.models.build("ced", contrast=CONTRAST, spacing=(2.0, 1.0, 1.0), rho=2.0),
    "you-kaveh, spacing": whorl.models.build("you-kaveh", contrast=CONTRAST, spacing=(2.0, 1.0, 1.0)),
}
ENERGETIC = {name: model for name, model in MODELS.items() if not model.no_energy()}


def noise(
    generator: torch.Generator, *shape: int, dtype: torch.dtype = torch.float64, scale: float = 20.0
) -> torch.Tensor:
    return scale * torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype)


def assert_adjoint(K, u, rng, norm=None):
    """``<K u, v> = <u, K* v>`` for an arbitrary v, up to rounding.

    On tiny images K u may vanish exactly while K* v only nearly does: there a norm of K stands for ``|K u| / |u|``.
    """
    Ku = K(u)
    v = torch.randn(Ku.shape, generator=rng, dtype=torch.float64).to(u.dtype)
    gap = K.inner(Ku, v) - (u * K.adjoint(v)).sum()
    size = K.inner(Ku, Ku).sqrt() * K.inner(v, v).sqrt() if norm is None else norm * u.norm() * v.norm()
    assert gap.abs() <= 8 * torch.finfo(u.dtype).eps * size


def assert_norm(K, u, steps, bound, share):
    """The power method never exceeds the proven bound, and reaches this share of it."""
    for _ in range(steps):
        u = K.adjoint(K(u / u.norm()))
    assert share * bound <= u.norm() <= bound
