"""The runs of the study, side by side by the clock: ``python -m experiments.lines.train DRIVE SECONDS OUT``.

All runs get the same time; the rate falls with it. Weights are a running mean of those of every fourth step.
``--only NAME ...`` takes some of the runs; ``--further`` goes on from the weights of earlier runs. Steps go along the
principal directions of gradients, unless ``--optimiser adam`` is given. Patches have an even and an odd side, for
levels of either are reached in other ways. The state is written every minute: the same command with the same OUT takes
up a run that was broken off, and its clock runs on.
"""

import argparse
import json
import math
import time
from pathlib import Path
from statistics import fmean

import torch
from experiments.lines.networks import FOLDS, drive, made, trained
from safetensors.torch import load_file, save_file
from torch import Tensor

import whorl
from whorl.operators import local_contrast
from whorl.training.whitened import WhitenedAdam

MARGIN, KEPT = 8, 60
ALL, TWO = list(range(20)), [1, 11]
RUNS = {
    "vessels-5k": ALL,
    **{f"{kind}fold{f}": [k for k in ALL if k not in held] for kind in ("", "fields-") for f, held in enumerate(FOLDS)},
    **{f"{kind}-fold0": [k for k in ALL if k not in FOLDS[0]] for kind in ("scalar", "plain")},
    **dict.fromkeys(("two", "plain-two", "fields-first2", "plain-first2"), TWO),
}
"""Pictures to learn from, counted from 0. What a name begins with is the kind of network."""


class Run:
    """One network, its optimiser and the mean of its weights."""

    def __init__(self, name: str, data: Tensor, told: argparse.Namespace) -> None:
        self.peak, self.warmup = told.peak, told.warmup
        self.path = told.out / f"{name}.safetensors"
        torch.manual_seed(0)
        self.network = made(name).to(data.device)
        if told.further:
            earlier = whorl.load(name) if name == "vessels-5k" else trained(name)
            self.network.load_state_dict(earlier.state_dict())
        self.mean = {key: value.detach().clone() for key, value in self.network.named_parameters()}
        self.optimiser: torch.optim.Optimizer = torch.optim.Adam(self.network.parameters(), betas=(0.9, 0.99))
        if told.optimiser == "whitened":
            self.optimiser = WhitenedAdam(self.network.parameters(), self.peak)
        self.data, self.size, self.batch = data[RUNS[name]], tuple(told.size), told.batch
        self.least, self.memory = told.inside, told.memory
        self.count, self.used, self.recent, self.log = 0, 0.0, [], []
        self.inner = torch.zeros(1, 1, *self.size, device=data.device)
        self.inner[..., MARGIN:-MARGIN, MARGIN:-MARGIN] = 1

    def patches(self) -> tuple[Tensor, Tensor, Tensor]:
        """Input, vessels and field of view, in one of the eight symmetries, with other gain, offset and noise."""
        each: list[Tensor] = []
        while len(each) < self.batch:
            k, crossed = int(torch.randint(len(self.data), ())), bool(torch.rand(()) < 0.5)
            size = self.size[::-1] if crossed else self.size
            top, left = (int(torch.randint(n - m + 1, ())) for n, m in zip(self.data.shape[2:], size, strict=True))
            patch = self.data[k, :, top : top + size[0], left : left + size[1]]
            if patch[4].mean() < self.least:
                continue
            patch = patch.transpose(1, 2) if crossed else patch
            each.append(patch.flip([axis for axis in (1, 2) if torch.rand(()) < 0.5]))
        found = torch.stack(each)
        u, vessels, inside = found[:, :3], found[:, 3:4], found[:, 4:]
        gain = torch.exp(0.25 * torch.randn(self.batch, 3, 1, 1, device=u.device))
        noise = 0.1 * torch.rand(self.batch, 1, 1, 1, device=u.device) * torch.randn_like(u)
        offset = 0.15 * torch.randn(self.batch, 3, 1, 1, device=u.device)
        return inside * (gain * u + offset + noise), vessels, inside

    def step(self, progress: float) -> None:
        """One step of Adam on the cross entropy."""
        u, vessels, inside = self.patches()
        rate = (
            self.peak
            * min(1.0, (self.count + 1) / self.warmup)
            * (0.02 + 0.49 * (1 + math.cos(math.pi * min(1.0, progress))))
        )
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast(u.device.type, torch.bfloat16, enabled=u.is_cuda):
            odds = self.network(u)
        weight = inside * self.inner
        loss = torch.nn.functional.binary_cross_entropy_with_logits(odds.float(), vessels, reduction="none")
        loss = (loss * weight).sum() / weight.sum().clamp(min=1)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
        self.optimiser.step()
        self.count += 1
        if self.count % 4 == 0:
            share = 1 - min(1 - 1 / self.memory, self.count / (self.count + 40))
            for key, value in self.network.named_parameters():
                self.mean[key].lerp_(value.detach(), share)
        self.recent.append(float(loss.detach()))
        if len(self.recent) == 100:
            self.log.append([self.count, round(fmean(self.recent), 5)])
            self.recent = []

    def save(self) -> None:
        """Mean weights, and beside them all that a run needs to be taken up again."""
        save_file({key: value.cpu().contiguous() for key, value in self.mean.items()}, self.path)
        state = {f"mean/{key}": value for key, value in self.mean.items()}
        for key, value in self.network.named_parameters():
            state[f"last/{key}"] = value.detach()
            state |= {f"{part}/{key}": number for part, number in self.optimiser.state[value].items()}
        save_file({key: value.cpu().contiguous() for key, value in state.items()}, self.path.with_suffix(".state"))
        told = {"steps": self.count, "seconds": round(self.used, 1), "log": self.log}
        self.path.with_suffix(".json").write_text(json.dumps(told))

    def take_up(self) -> None:
        """Go on where this run was broken off."""
        state, told = load_file(self.path.with_suffix(".state")), json.loads(self.path.with_suffix(".json").read_text())
        self.count, self.used, self.log = told["steps"], told["seconds"], told["log"]
        torch.manual_seed(self.count)
        with torch.no_grad():
            for key, value in self.network.named_parameters():
                value.copy_(state[f"last/{key}"])
                self.mean[key].copy_(state[f"mean/{key}"])
                parts = ("step", "exp_avg", "exp_avg_sq", "covariance", "basis")
                self.optimiser.state[value] = {
                    part: state[f"{part}/{key}"].to("cpu" if part == "step" else value.device)
                    for part in parts
                    if f"{part}/{key}" in state
                }


def main() -> None:
    """Train the runs by turns until the time is over, and write their weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", default=list(RUNS), choices=list(RUNS))
    parser.add_argument("--size", type=int, nargs=2, default=(96, 93))
    parser.add_argument("--batch", type=int, default=3)
    parser.add_argument("--peak", type=float, default=0.006)
    parser.add_argument("--warmup", type=int, default=40)
    parser.add_argument("--further", action="store_true")
    parser.add_argument("--optimiser", choices=("adam", "whitened"), default="whitened")
    parser.add_argument("--inside", type=float, default=0.5, help="least share of a patch in the field of view")
    parser.add_argument("--memory", type=float, default=40.0, help="of the mean of weights, in fours of steps")
    told = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pictures = [drive(told.folder, k) for k in range(20)]
    data = torch.cat([torch.cat([local_contrast(u, view, 20.0), y, view], 1) for u, y, view in pictures]).to(device)
    told.out.mkdir(parents=True, exist_ok=True)
    clock = told.out / "begun.json"
    if not clock.exists():
        clock.write_text(json.dumps(time.time()))
    start, kept = json.loads(clock.read_text()), time.time()
    runs = {name: Run(name, data, told) for name in told.only}
    for run in runs.values():
        if run.path.with_suffix(".state").exists():
            run.take_up()
    while (now := time.time() - start) < told.seconds:
        run = min(runs.values(), key=lambda run: run.used)
        begun = time.process_time()
        run.step(now / told.seconds)
        run.used += time.process_time() - begun
        if time.time() - kept > KEPT:
            kept = time.time()
            for each in runs.values():
                each.save()
    for name, run in runs.items():
        run.save()
        print(name, run.count, run.log[-1:], flush=True)


if __name__ == "__main__":
    main()
