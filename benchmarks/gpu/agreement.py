"""The kernels beside the reference in float64: steps, their transposed derivatives, and those of all parameters."""

import math
import traceback
from itertools import product
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.clock import COUPLINGS, DEVICE, IMAGES, KINDS, SIZE, TAPS, coefficients, distance
from whorl.blocks import DiffusionBlock
from whorl.engines.cuda.launches import Design, Launches, Tiling
from whorl.models import Model, build, uncoupled_twin
from whorl.operators import sample_scales

__all__ = ["cases", "run"]

Row = dict[str, Any]
Case = tuple[Any, ...]
LIMITS = {"out": 2e-6, "back": 4e-6}
SUMS = 3e-4  # sums over all pixels that cancel in part


def reference(model: Model, u: Tensor, tau: float, seed: Tensor) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
    """One step in float64 and its derivatives by u, tau and the trainable parameters."""
    u = u.double().requires_grad_()
    t = torch.tensor(tau, dtype=torch.float64, device=DEVICE, requires_grad=True)
    out = u - t * model.operator.adjoint(model.activation(model.operator(u)))
    chosen = {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = torch.autograd.grad(out, [u, t, *chosen.values()], seed.double(), allow_unused=True)
    named = {name: g for name, g in zip(chosen, found[2:], strict=True) if g is not None}
    return out.detach(), found[0], found[1], named


def check(
    label: str, model: Model, design: Design, shape: tuple[int, int], numbers: tuple[float, float], beta: list[float],
    omega: list[float], chi: list[float], tiling: Tiling | None = None, images: int = 3,
) -> Row:  # fmt: skip
    model, (tau, contrast) = model.to(DEVICE), numbers
    u = 60 * torch.randn(images, design.channels, *shape, device=DEVICE) + 150
    seed = torch.randn_like(u)
    exact, pulled, by_tau, rest = reference(model, u, tau, seed)
    launches = Launches(design, images, *shape, DEVICE, tiling)
    b, om, ch = (torch.tensor(v, dtype=torch.float64, device=DEVICE) for v in (beta, omega, chi))
    c = coefficients(design, tau, contrast, (om * b * b).tolist(), (ch * b * b).tolist())
    out, back = torch.full_like(u, math.nan), torch.full_like(u, math.nan)
    launches.step(u, out, c)
    sums = launches.new_sums()
    launches.step_adjoint(torch.stack([u, seed]), back, sums, c)
    Q, P = sums.double().sum((0, 3))
    X = design.unit
    errors = {
        "out": distance(out, exact),
        "back": distance(back, pulled),
        "tau": distance(-X * (om * b * b * Q).sum(), by_tau),
    }
    for name, value in rest.items():
        mine = 2 * X * tau * (ch * b * b * P).sum() if "log" in name else -2 * X * tau * b * (om * Q + ch * P)
        errors["contrast" if "log" in name else "beta"] = distance(mine, value)
    return verdict(label, errors)


def verdict(label: str, errors: dict[str, float]) -> Row:
    worst = max(errors[k] / LIMITS.get(k, SUMS) for k in errors)
    return {"method": label, "ok": worst <= 1, **errors}


def cases(thorough: bool = False) -> list[Case]:
    """Every coupling and diffusivity, aligned and odd sizes, square and other pixels, all scales; a third of the cell
    steps unless thorough.
    """
    every = product(COUPLINGS, KINDS, ((1.0, 1.0), (1.5, 0.8)), ((256, 256), (77, 131)), (1, 3))
    found: list[Case] = [
        ("cells", *case) for i, case in enumerate(every)
        if not (case[0] == "uncoupled" and case[4] == 3) and (thorough or i % 3 == 0)
    ]  # fmt: skip
    for coupling in COUPLINGS:
        found.append(("scales", coupling, (SIZE, SIZE), False, True, 32, IMAGES))
        found += [("scales", coupling, shape, True, False, 0, 3) for shape in ((77, 131), (19, 24))]
    found.append(("scales", "isotropic", (SIZE, SIZE), False, False, 32, IMAGES))
    return [*found, *(("engine", name) for name in ("perona-malik", "gerig", "eed", "multiscale-anisotropic"))]


def run(case: Case) -> Row:
    """The row of one case; a failure is one, too."""
    torch.manual_seed(20220131)
    kind, *rest = case
    try:
        return {"cells": _cells, "scales": _scales, "engine": _engine}[kind](*rest)
    except Exception as error:
        traceback.print_exc(limit=4)
        return {"method": str(case), "ok": False, "note": repr(error)[:300]}


def _cells(coupling: str, kind: str, spacing: tuple[float, float], shape: tuple[int, int], channels: int) -> Row:
    names = {"uncoupled": "uncoupled", "isotropic": "perona-malik", "anisotropic": "weickert-brox"}
    colour = {"isotropic": "gerig", "anisotropic": "weickert-brox"}
    gamma = 0.6 if coupling == "anisotropic" and shape[0] % 2 else 0.0
    name = (colour if channels == 3 else names)[coupling]
    settings: dict[str, Any] = {"alpha": 0.3, "spacing": spacing, "diffusivity": kind, "trainable": True}
    model = build(name, contrast=40.0, **settings, **({"gamma": gamma} if gamma else {}))
    design = Design(COUPLINGS[coupling], KINDS.index(kind), 0.3, gamma, spacing, channels=channels)
    label = f"{coupling} {kind} {spacing} {shape} x{channels} gamma {gamma}"
    return check(label, model, design, shape, (0.2, 40.0), [1.0], [1.0], [1.0])


def _scales(coupling: str, shape: tuple[int, int], inside: bool, fixed: bool, unroll: int, images: int) -> Row:
    omega, beta = list(sample_scales().omega), torch.linspace(0.5, 1.4, 8).tolist()
    gamma = 0.6 if coupling == "anisotropic" and inside else 0.0
    name = "multiscale-anisotropic" if coupling == "anisotropic" else "multiscale-isotropic"
    settings: dict[str, Any] = {"alpha": 0.41, "trainable": True, "beta": beta, "omega_inside": inside}
    model = build(name, contrast=60.0, **settings, **({"gamma": gamma} if gamma else {}))
    model = uncoupled_twin(model) if coupling == "uncoupled" else model
    design = Design(COUPLINGS[coupling], 1, 0.41, gamma, taps=TAPS)
    label = f"multiscale {coupling} {shape}, unrolled to {unroll}" + ", sizes compiled in" * fixed
    tiling = Tiling.of(design, fixed=fixed, unroll=unroll)
    chi = omega if inside else [1.0] * 8
    return check(label, model, design, shape, (0.05, 60.0), beta, omega, chi, tiling, images)


def _engine(name: str) -> Row:
    """Three steps by name, and the gradient of a block where there is one."""
    model = build(name, contrast=30.0).to(DEVICE)
    u = 60 * torch.randn(2, 3, 90, 132, device=DEVICE) + 150
    time = 3 * model.automatic_step()
    with torch.no_grad():
        errors = {"out": distance(model(u, time, engine="triton"), model(u.double(), time, engine="reference"))}
    if name != "eed":
        trained = build(name, contrast=30.0, trainable=True)
        block = DiffusionBlock(trained.operator, trained.activation, 0.05, trainable_tau=True).to(DEVICE)
        chosen = [p for p in block.parameters() if p.requires_grad]
        w, found = torch.randn_like(u), []
        for engine, v in (("triton", u), ("reference", u.double())):
            block.engine = engine
            found.append(torch.autograd.grad((block(v) * w).sum(), chosen))
        errors["gradient"] = max(distance(one, two) for one, two in zip(*found, strict=True))
    return verdict(f"engine, {name}", errors)
