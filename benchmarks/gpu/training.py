"""Training of the paper's experiment: gradient, epoch, memory, and the five models of its figure."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor
from whorl.engines.cuda.trainer import MultiscaleTrainer

from benchmarks.gpu.clock import COUPLINGS, DEVICE, IMAGES, SIZE, TAPS, distance, timed
from whorl.data import ANGLES, RectangleSet
from whorl.engines.cuda.launches import Design, Tiling
from whorl.models import build, uncoupled_twin
from whorl.operators import sample_scales

__all__ = ["epoch", "five_models", "gradient", "memory", "plain_epoch", "steps"]

Rows = list[dict[str, Any]]
Tilings = dict[str, Tiling]


@cache
def pictures() -> tuple[Tensor, Tensor]:
    """The 100 training pictures, clean and noisy."""
    clean, noisy = RectangleSet(count=100, split="train").pairs(30)
    return clean.to(DEVICE), noisy.to(DEVICE)


def trainer(coupling: str, alpha: float = 0.41, **settings: Any) -> MultiscaleTrainer:
    clean, noisy = pictures()
    design = Design(COUPLINGS[coupling], 1, alpha, taps=TAPS)
    return MultiscaleTrainer(design, noisy, clean, omega=sample_scales().omega, chi=[1.0] * 8, **settings)


def gradient(tilings: Tilings) -> Rows:
    """The trainer's first gradient beside float64 autograd through ten steps of the reference."""
    clean, noisy = pictures()
    rows = []
    for coupling in COUPLINGS:
        fit = trainer(coupling, tiling=tilings[coupling])
        fit.step()
        name = "multiscale-anisotropic" if coupling == "anisotropic" else "multiscale-isotropic"
        model = build(name, contrast=60.0, trainable=True, omega_inside=False)
        model = (uncoupled_twin(model) if coupling == "uncoupled" else model).to(DEVICE)
        log_tau = torch.tensor(math.log(0.05), dtype=torch.float64, device=DEVICE, requires_grad=True)
        chosen = {k: p for k, p in model.named_parameters() if p.requires_grad}
        found = torch.zeros(10, dtype=torch.float64, device=DEVICE)
        for i in range(0, 10, 5):  # a batch in two parts: the reference keeps all intermediate fields
            u = noisy[i : i + 5].double()
            for _ in range(10):
                u = u - log_tau.exp() * model.operator.adjoint(model.activation(model.operator(u)))
            loss = (u - clean[i : i + 5]).square().mean() / 2
            grads = torch.autograd.grad(loss, [log_tau, *chosen.values()])
            parts = dict(zip(chosen, grads[1:], strict=True))
            contrast, beta = (next(v for k, v in parts.items() if word in k) for word in ("log", "beta"))
            found += torch.cat([grads[0].view(1), contrast.view(1), beta])
        error = distance(fit.gradient, found)
        rows.append({"method": coupling, "error": error})
        print(f"   {coupling:11s} relative error {error:.1e}")
    return rows


def steps(tilings: Tilings) -> Rows:
    """One step forward and backward, and a whole batch, in the order of the training."""
    rows = []
    every = {**tilings, "isotropic, any size": replace(tilings["isotropic"], fixed=False)}
    for name, tiling in every.items():
        fit = trainer(name.split(",")[0], tiling=tiling)
        f = fit.history[0]
        torch.index_select(fit.noisy, 0, fit.index, out=f[0])
        spare = torch.empty_like(f[0])
        forward, _ = timed(lambda fit=fit, f=f: fit.launches.step(f[0], f[1], fit.coefficients))
        backward, _ = timed(
            lambda fit=fit, f=f, spare=spare: fit.launches.step_adjoint(f[:2], spare, fit.sums[0], fit.coefficients)
        )
        batch, _ = timed(fit.step, calls=1)
        rows.append({"method": name, "forward_s": forward, "backward_s": backward, "batch_s": batch})
        times = f"forward {1e6 * forward:.1f} us, backward {1e6 * backward:.1f} us, batch {1e3 * batch:.2f} ms"
        print(f"   {name:20s} {times}")
    return rows


def epoch(tilings: Tilings, name: str) -> Rows:
    """Seconds of an epoch: 100 pictures of 256 x 256, 10 steps, 8 scales, forward, backward and Adam."""
    order = torch.arange(100, device=DEVICE)
    rows = []
    for coupling in COUPLINGS:
        begin = time.perf_counter()
        fit = trainer(coupling, tiling=tilings[coupling])
        losses = fit.epoch(order).tolist()
        fit.epoch(order)
        torch.cuda.synchronize()
        first = time.perf_counter() - begin
        seconds = []
        for _ in range(15):
            begin = time.perf_counter()
            fit.epoch(order)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
        seconds.sort()
        rows.append({
            "method": coupling, "tiling": name, "best_s": seconds[0], "median_s": seconds[7],
            "spread": seconds[-1] / seconds[0] - 1, "first_s": first, "loss": losses[0],
        })  # fmt: skip
        times = f"{1e3 * seconds[0]:6.2f} ms an epoch (median {1e3 * seconds[7]:.2f}), first two {first:.1f} s"
        print(f"   {coupling:11s} {name:8s} {times}, loss {losses[0]:.2f} -> {fit.losses[-1].item():.2f}")
    return rows


def plain_epoch() -> Rows:
    """The reference in float32 with autograd, for the ratio; two batches, counted five times."""
    clean, noisy = pictures()
    model = build("multiscale-isotropic", contrast=60.0, trainable=True, omega_inside=False).to(DEVICE)

    def batch() -> None:
        u = noisy[:10]
        for _ in range(10):
            u = u - 0.05 * model.operator.adjoint(model.activation(model.operator(u))).to(torch.float32)
        (u - clean[:10]).square().mean().backward()

    batch()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(2):
        batch()
    torch.cuda.synchronize()
    seconds = 5 * (time.perf_counter() - begin)
    print(f"   plain torch, isotropic: {1e3 * seconds:.0f} ms an epoch")
    return [{"method": "torch, isotropic", "best_s": seconds}]


def memory() -> Rows:
    """Peak memory of training over the number of steps, in fields of one batch."""
    field = IMAGES * SIZE * SIZE * 4
    rows = []
    for number in (5, 10, 20, 40):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        fit = trainer("anisotropic", steps=number)
        fit.step()
        rows.append({
            "method": "whorl, anisotropic", "x": number,
            "fields": (torch.cuda.max_memory_allocated() - before) / field,
        })  # fmt: skip
        del fit
    print("   fields of a batch at the peak, by steps:", {row["x"]: round(row["fields"], 1) for row in rows})
    return rows


def five_models(tilings: Tilings) -> Rows:
    """The experiment's five models: 250 epochs each, then 17 angles with 50 pictures each."""
    begin = time.perf_counter()
    with ThreadPoolExecutor() as pool:
        tests = list(pool.map(RectangleSet(count=50, split="test").pairs, ANGLES))
    clean, noisy = (torch.cat([t[i] for t in tests]).to(DEVICE) for i in (0, 1))
    pictures()
    drawn = time.perf_counter() - begin
    rows: Rows = []
    every = (("uncoupled", 0.41), ("isotropic", 0.41), ("anisotropic", 0.41), ("isotropic", 0.5), ("anisotropic", 0.5))
    begin = time.perf_counter()
    for coupling, alpha in every:
        fit = trainer(coupling, alpha, tiling=tilings[coupling])
        generator = torch.Generator().manual_seed(0)
        for _ in range(250):
            fit.epoch(torch.randperm(100, generator=generator))
        psnr = 10 * torch.log10(255**2 / (fit.filtered(noisy) - clean).square().mean((1, 2, 3)).double())
        psnr = psnr.view(len(ANGLES), -1).mean(1)
        rows.append({
            "method": f"{coupling}-{alpha}", "psnr": psnr[8].item(), "variance": psnr.var().item(),
            "loss": fit.losses.mean().item(), "tau": fit.tau, "contrast": fit.contrast, "beta": fit.beta,
        })  # fmt: skip
        print(f"   {coupling:11s} {alpha}: {psnr[8]:.2f} dB at 45 degrees, variance {psnr.var():.4f}")
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    rows.append({"method": "all five, trained and evaluated", "best_s": seconds, "drawing_s": drawn})
    print(f"   trained and evaluated in {seconds:.1f} s (drawing the pictures: {drawn:.1f} s)")
    return rows
