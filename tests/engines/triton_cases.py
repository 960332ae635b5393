"""The CUDA kernels beside the reference, as a program of its own: prints relative errors by case as JSON.

Triton decides at its import whether kernels are interpreted, and for the whole process. Without a CUDA device the
environment must set TRITON_INTERPRET=1.
"""

import json
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from whorl.activations import Anisotropic, Isotropic
from whorl.blocks import DiffusionBlock
from whorl.diffusivities import Rational, RegularisedTV
from whorl.engines.cuda.diffusivity import ANISOTROPIC, ISOTROPIC, UNCOUPLED
from whorl.engines.cuda.launches import Design, Launches, Tiling
from whorl.engines.cuda.trainer import MultiscaleTrainer
from whorl.models import Model, build, uncoupled_twin
from whorl.operators import CellGradient, ScaleSampling, ScaleStack, sample_scales
from whorl.operators.smoothing import gaussian_weights

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
KINDS = ("homogeneous", "exponential", "rational", "charbonnier", "weickert")
NEAR, FAR = sample_scales(2, 0.3, 1.6), sample_scales(2, 0.7, 4.0)  # radii of 2 and 3, and of 3 and 7 pixels
BETA = [0.6, 1.2]
# The interpreter pays per program: few, large tiles. Two sizes, so that tiles end inside and beyond the image.
WHOLE = Tiling(
    down=(2, 8, 32, 1), across=(16, 8, 1), gather=(2, 8, 32, 1), cells=(64, 1, 2), cells_adjoint=(64, 1, 2),
    strips=(2, 8, 8), strips_adjoint=(2, 8, 8), step=(16, 8, 4), fixed=True,
)  # fmt: skip
PARTS = Tiling(
    down=(1, 8, 16, 1), across=(16, 4, 1), gather=(2, 4, 32, 1), cells=(64, 1, 1), cells_adjoint=(64, 1, 1),
    strips=(1, 4, 8), strips_adjoint=(2, 8, 4), step=(5, 4, 1), unroll=2,
)  # fmt: skip


def taps(sampling: ScaleSampling) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(gaussian_weights(sigma)) for sigma in sampling.sigma)


def relative(found: Tensor, exact: Tensor) -> float:
    error = float((found.double() - exact).norm() / exact.norm().clamp(min=1e-30))
    return error if math.isfinite(error) else 1e30


def reference(model: Model, u: Tensor, tau: float, w: Tensor) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
    """One step in float64 and its transposed derivative applied to w, by autograd."""
    u = u.double().requires_grad_()
    t = torch.tensor(tau, dtype=torch.float64, device=DEVICE, requires_grad=True)
    out = u - t * model.operator.adjoint(model.activation(model.operator(u)))
    chosen = {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = torch.autograd.grad(out, [u, t, *chosen.values()], w.double(), materialize_grads=True, allow_unused=True)
    named = {"contrast" if "contrast" in name else "beta": g for name, g in zip(chosen, found[2:], strict=True)}
    return out.detach() - u.detach(), found[0] - w.double(), found[1], named


def step(
    model: Model, design: Design, size: tuple[int, int], omega: Sequence[float], chi: Sequence[float], tiling: Tiling
) -> dict[str, float]:
    """Errors of change, pull-back and all parameter derivatives of one step."""
    model, contrast, tau = model.to(DEVICE), 9.0, 0.07
    generator = torch.Generator().manual_seed(1)
    u = 50 + 12 * torch.randn(1, design.channels, *size, generator=generator).to(DEVICE)
    w = torch.randn(1, design.channels, *size, generator=generator).to(DEVICE)
    change, pulled, by_tau, named = reference(model, u, tau, w)
    beta = BETA if design.taps else [1.0]
    b, om, ch = (torch.tensor(v, dtype=torch.float64, device=DEVICE) for v in (beta, omega, chi))
    X = design.unit
    numbers = torch.cat([torch.tensor([tau * X, X / contrast**2], device=DEVICE).double(), om * b * b, ch * b * b])
    launches = Launches(design, 1, *size, DEVICE, tiling)
    out, back, sums = torch.full_like(u, math.nan), torch.full_like(u, math.nan), launches.new_sums()
    launches.step(u, out, numbers.float())
    launches.step_adjoint(torch.stack([u, w]), back, sums, numbers.float())
    Q, P = sums.double().sum((0, 3))
    errors = {
        "change": relative(out - u, change),
        "pulled": relative(back - w, pulled),
        "tau": relative(-X * (om * b * b * Q).sum(), by_tau),
    }
    if design.kind:
        errors["contrast"] = relative(2 * X * tau * (ch * b * b * P).sum(), named["contrast"])
    if "beta" in named:
        errors["beta"] = relative(-2 * X * tau * b * (om * Q + ch * P), named["beta"])
    return errors


def cell_cases() -> dict[str, dict[str, float]]:
    found = {}
    for name, coupling, kind, gamma, spacing, size, channels, tiling in (
        ("perona-malik", ISOTROPIC, "exponential", 0.0, (1.0, 1.0), (10, 12), 1, PARTS),
        ("perona-malik", ISOTROPIC, "homogeneous", 0.0, (1.5, 0.8), (7, 9), 1, WHOLE),
        ("uncoupled", UNCOUPLED, "rational", 0.0, (1.0, 1.0), (9, 11), 1, WHOLE),
        ("weickert-brox", ANISOTROPIC, "exponential", 0.0, (1.0, 1.0), (9, 11), 1, WHOLE),
        ("weickert-brox", ANISOTROPIC, "weickert", 0.7, (1.5, 0.8), (9, 11), 1, WHOLE),
        ("weickert-brox", ANISOTROPIC, "charbonnier", 0.3, (1.0, 1.0), (9, 12), 3, WHOLE),
        ("gerig", ISOTROPIC, "charbonnier", 0.0, (1.0, 1.0), (9, 12), 3, PARTS),
    ):
        extra = {"gamma": gamma} if gamma else {}
        model = build(name, contrast=9.0, alpha=0.3, spacing=spacing, diffusivity=kind, trainable=True, **extra)
        design = Design(coupling, KINDS.index(kind), 0.3, gamma, spacing, channels=channels)
        found[f"{name} {kind} {channels} channels"] = step(model, design, size, [1.0], [1.0], tiling)
    return found


def multiscale_cases() -> dict[str, dict[str, float]]:
    found = {}
    for coupling, gamma, spacing, size, sampling, inside, tiling in (
        (ISOTROPIC, 0.0, (1.0, 1.0), (16, 32), NEAR, False, PARTS),
        (ANISOTROPIC, 0.4, (1.5, 0.8), (5, 7), FAR, True, WHOLE),
        (UNCOUPLED, 0.0, (1.0, 1.0), (6, 8), FAR, False, WHOLE),
    ):
        name = "multiscale-anisotropic" if coupling == ANISOTROPIC else "multiscale-isotropic"
        settings = {"scales": sampling, "beta": BETA, "omega_inside": inside, **({"gamma": gamma} if gamma else {})}
        model = build(name, contrast=9.0, alpha=0.41, spacing=spacing, trainable=True, **settings)
        model = uncoupled_twin(model) if coupling == UNCOUPLED else model
        design = Design(coupling, KINDS.index("exponential"), 0.41, gamma, spacing, taps(sampling))
        chi = sampling.omega if inside else [1.0, 1.0]
        found[f"multiscale, coupling {coupling}"] = step(model, design, size, sampling.omega, chi, tiling)
    return found


def through(engine: str, block: DiffusionBlock, u: Tensor, w: Tensor, parameters: list[Tensor]) -> list[Tensor]:
    """One step and, where there are parameters, the derivatives of its product with w."""
    block.engine = engine
    if not parameters:
        with torch.no_grad():
            return [block(u) - u]
    u = u.clone().requires_grad_()
    out = block(u)
    found = torch.autograd.grad((out * w).sum(), [u, *parameters])
    return [out.detach() - u.detach(), found[0] - w, *found[1:]]


def engine_cases() -> dict[str, dict[str, float]]:
    """Blocks by the engine's name beside the reference in float64: plans, parts, and every parameter."""
    tv, rational = RegularisedTV(9.0, trainable=True), Rational(9.0, trainable=True)
    stack = ScaleStack(CellGradient(0.3), NEAR, BETA, trainable=True)
    own = ScaleStack(CellGradient(0.3), NEAR, [0.9, 0.4], trainable=True)
    eed = build("eed", contrast=9.0, sigma=0.5)
    blocks = {
        "total variation": DiffusionBlock(CellGradient(0.3), Isotropic(tv), 0.4, trainable_tau=True),
        "own weights": DiffusionBlock(
            stack, Anisotropic(rational, ("channels", "scales")), 0.1, structure=own, trainable_tau=True
        ),
        "eed": DiffusionBlock(eed.operator, eed.activation, 0.2, structure=eed.structure),
    }
    generator = torch.Generator().manual_seed(3)
    u, w = (torch.randn(1, 2, 6, 8, generator=generator, dtype=torch.float64).to(DEVICE) for _ in range(2))
    u = 12 * u + 50
    found = {}
    for name, block in blocks.items():
        parameters = [p for p in block.to(DEVICE).parameters() if p.requires_grad]
        exact = through("reference", block, u, w, parameters)
        mine = through("triton", block, u.float(), w.float(), parameters)
        assert all(one.device == p.device for one, p in zip(mine[2:], parameters, strict=False))
        names = ["change", "pulled", *(str(i) for i in range(len(parameters)))]
        pairs = zip(names, mine, exact, strict=False)
        found[f"engine, {name}"] = {part: relative(one, two.double()) for part, one, two in pairs}
    long = build("perona-malik", contrast=9.0)
    with torch.no_grad():
        both = [long(u.to(t), 1.0, tau=0.2, engine=e) for t, e in ((torch.float32, "triton"), (u.dtype, "reference"))]
    found["engine, five steps"] = {"change": relative(both[0] - u, both[1] - u)}
    return found


def training_case() -> dict[str, dict[str, float]]:
    """Two steps over two chunks: loss and gradient of the whole chain, and Adam's first step."""
    generator = torch.Generator().manual_seed(2)
    clean = 255 * torch.rand(2, 1, 5, 8, generator=generator).to(DEVICE)
    noisy = clean + 30 * torch.randn(2, 1, 5, 8, generator=generator).to(DEVICE)
    fit = MultiscaleTrainer(
        Design(ISOTROPIC, 1, 0.41, taps=taps(NEAR)), noisy, clean, omega=NEAR.omega, chi=[1.0, 1.0], beta=BETA,
        steps=2, batch=2, chunk=1, rate=0.01, tiling=WHOLE,
    )  # fmt: skip
    before = fit.parameters.clone()
    filtered = fit.filtered(noisy)
    fit.step()
    settings = {"scales": NEAR, "beta": BETA, "omega_inside": False, "trainable": True}
    model = build("multiscale-isotropic", contrast=60.0, **settings).to(DEVICE)
    log_tau = torch.tensor(math.log(0.05), dtype=torch.float64, device=DEVICE, requires_grad=True)
    u = noisy.double()
    for _ in range(2):
        u = u - log_tau.exp() * model.operator.adjoint(model.activation(model.operator(u)))
    loss = (u - clean).square().mean()
    chosen = {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = torch.autograd.grad(loss, [log_tau, *chosen.values()])
    named = {"contrast" if "contrast" in name else "beta": g for name, g in zip(chosen, found[1:], strict=True)}
    gradient = torch.cat([found[0].view(1), named["contrast"].view(1), named["beta"]])
    moved = before.double() - 0.01 * gradient.sign()
    errors = {
        "filtered": relative(filtered, u.detach()),
        "loss": relative(fit.loss, loss.detach()),
        "gradient": relative(fit.gradient, gradient),
        "adam": relative(fit.parameters, moved),
        "coefficients": relative(fit.coefficients[0], fit.design.unit * fit.parameters[0].double().exp()),
    }
    return {"training": errors}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({**cell_cases(), **multiscale_cases(), **engine_cases(), **training_case()}))
