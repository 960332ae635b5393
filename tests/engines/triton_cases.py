"""The CUDA kernels beside the reference, as a program of its own: prints relative errors by case as JSON.

Triton decides at its import whether kernels are interpreted, and for the whole process. Without a CUDA device the
environment must set TRITON_INTERPRET=1.
"""

import json
import math

import torch
from torch import Tensor
from triton import CompilationError

from whorl.activations import Activation, Anisotropic, Isotropic, Uncoupled
from whorl.blocks import DiffusionBlock
from whorl.diffusivities import by_name
from whorl.engines.base import Steps
from whorl.engines.cuda.engine import TritonEngine
from whorl.engines.cuda.plane.launches import Launches, Tiling
from whorl.engines.reference import ReferenceEngine
from whorl.inpainting.images import method
from whorl.models import build
from whorl.networks import NetworkSpec, build_network
from whorl.operators import CellGradient, ScaleStack, sample_scales
from whorl.steps import Numbers

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
NEAR, FAR = sample_scales(2, 0.3, 1.6), sample_scales(2, 0.7, 4.0)  # radii of 2 and 3, and of 3 and 7 pixels
BETA = [0.6, 1.2]
LAWS: dict[str, type[Activation]] = {"uncoupled": Uncoupled, "isotropic": Isotropic, "anisotropic": Anisotropic}


class Small(Tiling):
    """Tiles that end inside and beyond a small image. (The interpreter pays per program: few, large tiles.)"""

    down = (1, 8, 4, 1)
    across = (1, 16, 4, 1)
    gather = (2, 4, 8, 1)
    cells = (1, 2, 64, 1)
    strips = (1, 4, 8, 1)
    strips_adjoint = (2, 8, 4, 1)
    step = (1, 5, 4, 1)
    wide = (1, 5, 8, 1)


def relative(found: Tensor, exact: Tensor) -> float:
    error = float((found.double() - exact).norm() / exact.norm().clamp(min=1e-30))
    return error if math.isfinite(error) else 1e30


def errors(block: DiffusionBlock, size: tuple[int, int], channels: int) -> dict[str, float]:
    """Errors of change, pull-back and all derivatives by numbers of one step, against the reference in float64."""
    generator = torch.Generator().manual_seed(1)
    u = (50 + 12 * torch.randn(1, channels, *size, generator=generator)).to(DEVICE)
    w = torch.randn(1, channels, *size, generator=generator).to(DEVICE)
    chosen = {name: p for name, p in block.to(DEVICE).named_parameters() if p.requires_grad}
    found = {}
    for engine, dtype in (("triton", torch.float32), ("reference", torch.float64)):
        block.engine = engine
        x = u.detach().clone().to(dtype).requires_grad_(bool(chosen))
        after = block(x)
        parts = [after.detach() - x.detach()]
        if chosen:
            by_image, *rest = torch.autograd.grad((after * w.to(dtype)).sum(), [x, *chosen.values()])
            assert all(one.device == p.device for one, p in zip(rest, chosen.values(), strict=True))
            parts += [by_image - w, *rest]
        found[engine] = parts
    names = ["change", "pulled", *chosen]
    pairs = zip(names, found["triton"], found["reference"], strict=False)
    return {name: relative(one, two) for name, one, two in pairs}


def cell_cases() -> dict[str, dict[str, float]]:
    found = {}
    for law, kind, gamma, spacing, size, channels, tiling in (
        ("isotropic", "exponential", 0.0, (1.0, 1.0), (10, 12), 1, Small),
        ("isotropic", "tv", 0.0, (1.5, 0.8), (7, 9), 1, Tiling),
        ("anisotropic", "tukey", 0.2, (1.0, 1.0), (7, 9), 2, Tiling),
        ("uncoupled", "rational", 0.0, (1.0, 1.0), (9, 11), 1, Tiling),
        ("anisotropic", "exponential", 0.0, (1.0, 1.0), (9, 11), 1, Tiling),
        ("anisotropic", "weickert", 0.7, (1.5, 0.8), (9, 11), 1, Tiling),
        ("anisotropic", "charbonnier", 0.3, (1.0, 1.0), (9, 12), 3, Tiling),
        ("isotropic", "charbonnier", 0.0, (1.0, 1.0), (9, 12), 3, Small),
    ):
        Launches.tiling = tiling
        extra = {"gamma": gamma} if gamma else {}
        phi = LAWS[law](by_name(kind, 9.0, trainable=True), ("channels",), **extra)
        block = DiffusionBlock(CellGradient(0.3, spacing), phi, 0.07, trainable_tau=True)
        found[f"{law} {kind} {channels} channels"] = errors(block, size, channels)
    return found


def multiscale_cases() -> dict[str, dict[str, float]]:
    found = {}
    for law, gamma, spacing, size, sampling, inside, tiling in (
        ("isotropic", 0.0, (1.0, 1.0), (16, 32), NEAR, False, Small),
        ("anisotropic", 0.4, (1.5, 0.8), (5, 7), FAR, True, Tiling),
        ("uncoupled", 0.0, (1.0, 1.0), (6, 8), FAR, False, Tiling),
    ):
        Launches.tiling = tiling
        extra = {"gamma": gamma} if gamma else {}
        phi = LAWS[law](
            by_name("exponential", 9.0, trainable=True),
            ("channels", "scales"),
            scale_weights=sampling.omega if inside else None,
            **extra,
        )
        stack = ScaleStack(CellGradient(0.41, spacing), sampling, BETA, trainable=True)
        found[f"multiscale {law}"] = errors(DiffusionBlock(stack, phi, 0.07, trainable_tau=True), size, 1)
    own = ScaleStack(CellGradient(0.3), NEAR, [0.9, 0.4], trainable=True)
    stack = ScaleStack(CellGradient(0.3), NEAR, BETA, trainable=True)
    phi = Anisotropic(by_name("rational", 9.0, trainable=True), ("channels", "scales"))
    found["multiscale, own weights"] = errors(
        DiffusionBlock(stack, phi, 0.1, structure=own, trainable_tau=True), (6, 8), 2
    )
    return found


def model_cases() -> dict[str, dict[str, float]]:
    """Two steps of each; of two laws cycles with mixed iterates and with a diffusion tensor that stays."""
    u = (50 + 12 * torch.randn(1, 2, 6, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64)).to(DEVICE)
    found = {}
    # Noise has little coherence: at the contrast of the others CED would do next to nothing, and rounding would count.
    models = [build(name, contrast=9.0) for name in ("perona-malik", "weickert-brox", "eed")]
    for model in (*models, build("ced", contrast=1.0), method("eed", contrast=9.0)):
        name = model.to(DEVICE).name
        for scheme in ("explicit", "fed", "fsi") if name in ("perona-malik", "eed") else ("explicit",):
            time = 2 * model.automatic_step() if scheme == "explicit" else 1.5
            with torch.no_grad():
                mine = model(u.float(), time, scheme=scheme, engine="triton")
                exact = model(u, time, scheme=scheme, engine="reference")
            found[f"model {name}, {scheme}"] = {"change": relative(mine - u, exact - u)}
    return found


def wide_cases() -> dict[str, dict[str, float]]:
    """Cells of 4x4 pixels: channels alone and coupled, other images that steer, tensors that stay, narrow images."""
    found = {}
    for name, settings, shape, steps, tiling in (
        ("weickert-brox", {"gamma": 0.5, "spacing": (1.5, 0.8)}, (1, 2, 7, 9), 1, Small),
        ("uncoupled", {"alpha": 0.2}, (2, 1, 2, 3), 1, Tiling),
        ("perona-malik", {"sigma": 0.6}, (1, 1, 7, 35), 1, Tiling),
        ("eed", {"gamma": 0.3}, (1, 1, 8, 11), 2, Tiling),
        ("gerig", {"sigma": 0.6}, (1, 2, 6, 7), 2, Tiling),
    ):
        Launches.tiling = tiling
        u = (50 + 12 * torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)).to(DEVICE)
        model = build(name, contrast=9.0, cell="wide", **settings).to(DEVICE)  # type: ignore[arg-type]
        given, found_by = Steps(model.description, [Numbers(0.1)] * steps, frozen=steps > 1), []
        for engine, each in ((TritonEngine(), u.float()), (ReferenceEngine(), u)):
            found_by.append(engine.advance(given, each))
        mine, exact = found_by
        found[f"wide {name} {shape}"] = {"change": relative(mine - u, exact - u)}
    constant = torch.full((1, 2, 9, 8), 0.1, device=DEVICE)
    model = build("weickert-brox", contrast=0.5, cell="wide").to(DEVICE)
    found["wide constant"] = {"change": float((model.step(constant, engine="triton") - constant).abs().max())}
    return found


def unknown_cases() -> dict[str, dict[str, float]]:
    """The share of pixels that one step of the kernels spoils and the reference does not, or the other way round."""
    u = torch.rand(1, 2, 9, 11, generator=torch.Generator().manual_seed(4)).to(DEVICE)
    found = {}
    for name in ("perona-malik", "weickert-brox", "eed", "ced"):
        model = build(name, contrast=0.3).to(DEVICE)
        for title, value in (("nan", math.nan), ("infinity", math.inf)):
            u[0, 1, 4, 5] = value
            with torch.no_grad():
                mine, exact = (model.step(u, engine=engine).isfinite() for engine in ("triton", "reference"))
            found[f"unknown {name}, {title}"] = {"differ": float((mine != exact).double().mean())}
    return found


def network_cases() -> dict[str, dict[str, float]]:
    draw = torch.Generator().manual_seed(0)
    u, target = (255 * torch.rand(1, 1, 5, 7, generator=draw).to(DEVICE) for _ in range(2))
    found = {}
    for title, spec in {
        "own steps": NetworkSpec("isotropic", own_steps=True, alpha=0.5, omega_inside=True, steps=2, scales=2),
        "own structure": NetworkSpec(own_structure=True, gamma=0.5, steps=2, scales=2),
        "scheduled": NetworkSpec("uncoupled", scheduled=True, diffusivity="weickert", steps=2, scales=2),
    }.items():
        network = build_network(spec).to(DEVICE)
        with torch.no_grad():
            for p in network.parameters():
                if p.requires_grad:
                    p.add_(0.2 * torch.randn(p.shape, dtype=p.dtype, generator=draw).to(DEVICE))
        parts = {}
        for network.engine, dtype in (("triton", torch.float32), ("reference", torch.float64)):
            network.zero_grad()
            start = u.detach().clone().to(dtype).requires_grad_()
            result = network(start)
            (result - target).square().mean().backward()
            by_numbers = torch.cat([p.grad.flatten() for p in network.parameters() if p.requires_grad])
            parts[network.engine] = [result.detach() - start.detach(), start.grad, by_numbers]
        pairs = zip(("change", "pulled", "numbers"), *parts.values(), strict=True)
        found[f"network {title}"] = {name: relative(one, two) for name, one, two in pairs}
    return found


def check_cases() -> dict[str, dict[str, float]]:
    """Whether the engine trusts its kernels: as they are, one that forgets an axis, one that does not compile."""
    step, u = build("eed", contrast=9.0).to(DEVICE).description, torch.zeros(1, 1, 6, 8, device=DEVICE)
    found = {"trusted": float(TritonEngine().checked(step, u) == "")}
    healthy = Launches._along_x

    def forgetful(self: Launches, source: Tensor, target: Tensor, *rest: object) -> None:
        target.copy_(source)

    def unknown(self: Launches, source: Tensor, target: Tensor, *rest: object) -> None:
        raise CompilationError(None, None, "a word that this Triton does not know")

    try:
        for word, kernel, reason in (("broken", forgetful, "differ from"), ("unknown", unknown, "do not compile")):
            Launches._along_x = kernel  # type: ignore[method-assign]
            found[word] = float(reason in TritonEngine().checked(step, u))
    finally:
        Launches._along_x = healthy  # type: ignore[method-assign]
    return {"check": found}


def place_cases() -> dict[str, dict[str, float]]:
    """Two steps into a place of the caller's: beside the image, and onto it."""
    step, engine = build("perona-malik", contrast=9.0).to(DEVICE).description, TritonEngine()
    steps = Steps(step, [step.complete(Numbers(0.2))] * 2)
    u = 50 + 12 * torch.randn(1, 1, 6, 8, generator=torch.Generator().manual_seed(3)).to(DEVICE)
    plain, beside, onto = engine.advance(steps, u), torch.empty_like(u), u.clone()
    engine.advance(steps, u, beside)
    once = Steps(step, steps.numbers[:1])
    engine.advance(once, onto, onto)
    engine.advance(once, onto, onto)
    return {"place": {"beside": float((plain - beside).abs().max()), "onto": float((plain - onto).abs().max())}}


if __name__ == "__main__":
    torch.set_num_threads(1)
    cases = (
        cell_cases,
        multiscale_cases,
        model_cases,
        wide_cases,
        unknown_cases,
        network_cases,
        check_cases,
        place_cases,
    )
    print(json.dumps({name: found for kind in cases for name, found in kind().items()}))
