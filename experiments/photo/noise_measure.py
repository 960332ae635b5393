"""Fit the measure of the noise: which level and correlation belong to the traces that a picture shows.

    PYTHONPATH=src python experiments/photo/noise_measure.py gather DATA --channels 3 --count 3000
    PYTHONPATH=src python experiments/photo/noise_measure.py fit
    PYTHONPATH=src python experiments/photo/noise_measure.py curves
    PYTHONPATH=src python experiments/photo/noise_measure.py removed DATA --first 3

DATA holds the folder CTrain400. Its pictures, parts of them, smaller and softer ones, and drawings get noise of many
kinds, or none. ``gather`` keeps their traces (:mod:`whorl.automatic.traces`) in the folder ``runs``. ``fit`` learns
from nine tenths of the pictures and writes the file of the package, ``curves`` prints how right it is on the rest.
``removed`` prints what ``whorl.denoise`` gains with nothing told: settings are chosen with ``--first`` 1 to 9, and
reported with 0, the pictures that were held back.
"""

import argparse
import io
import math
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import real_noise
import torch
from PIL import Image
from real_noise import LEVELS, RealNoise, correlation
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import whorl
from whorl.automatic.traces import traces
from whorl.data.photographs import photographs

RUNS = Path("runs")
OUT = Path(__file__).parents[2] / "src" / "whorl" / "automatic" / "measure.safetensors"
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
FLOOR = 0.2  # grey values: weaker noise than this is none
HELD = 10  # every tenth picture is kept for the curves
KINDS = ("none", "white", "filtered", "waves", "camera", "photons")


class Pictures:
    """Pictures with noise of a kind, and what is true of it."""

    def __init__(self, data: Path, channels: int, seed: int) -> None:
        self.pictures = list(photographs(data / "CTrain400", channels, 176).values())
        self.channels, self.random = channels, np.random.default_rng(seed)
        self.noise = RealNoise([np.zeros((channels, 64, 64), np.uint8)], LEVELS)
        self.noise.draw = torch.Generator().manual_seed(seed)

    def clean(self, number: int) -> Tensor:
        """A picture ``(1, c, y, x)`` with sides of multiples of 16."""
        draw = self.random
        u = torch.from_numpy(self.pictures[number].copy())[None].float()[..., :176, :176]
        how = draw.random()
        if how < 0.12:
            u = drawing(draw, self.channels)
        elif how < 0.24:  # softer, as through a microscope
            u = soft(u, draw.uniform(0.6, 2.0))
        elif how < 0.34:  # four pictures side by side: larger ones have more windows
            others = [
                torch.from_numpy(self.pictures[(number + HELD * k) % len(self.pictures)].copy()) for k in (1, 2, 3)
            ]
            parts = [u[0], *(other.float()[..., :176, :176] for other in others)]
            u = torch.cat([torch.cat(parts[:2], -1), torch.cat(parts[2:], -1)], -2)[None]
        elif how < 0.5:
            side = int(draw.choice([96, 128]))
            top, left = draw.integers(0, 176 - side, 2)
            u = u[..., top : top + side, left : left + side]
        if draw.random() < 0.4:
            u = 255 * (u / 255).clamp(0) ** draw.uniform(1, 2.5) * draw.uniform(0.15, 1)
        return u.clamp(0, 255)

    def __call__(self, number: int) -> tuple[Tensor, float, float, str]:
        """A picture, the standard deviation and the correlation of its noise, and its kind."""
        u, draw = self.clean(number), self.random
        kind = str(draw.choice(KINDS, p=(0.22, 0.2, 0.12, 0.12, 0.26, 0.08)))
        level = float(0.3 * (60 / 0.3) ** draw.random())
        if draw.random() < 0.35:  # clean pictures are JPEG, more often than not
            u = jpeg(u, torch.full((1, 1, 1, 1), draw.uniform(70, 100)))
        if kind == "camera":
            noisy, wanted, *_ = self.noise.camera(u)
        elif kind == "photons":
            most = float(4 * 250 ** draw.random())
            wanted, noisy = u, torch.poisson(u / 255 * most, generator=self.noise.draw) * (255 / most)
        else:
            noise = {
                "none": lambda: torch.zeros_like(u),
                "white": lambda: self.noise._normal(u.shape),
                "filtered": lambda: self.noise._filtered(u.shape, torch.full((1, 1, 1, 1), draw.uniform(0.25, 1.3))),
                "waves": lambda: waves(self.noise._normal(u.shape), draw.uniform(0.28, 0.6)),
            }[kind]()
            wanted, noisy = u, u + level * noise
        change = noisy - wanted
        if draw.random() < 0.65:
            noisy = noisy.round().clamp(0, 255)
        deviation = float(change.double().square().mean().sqrt())
        found = float(correlation(change)) if deviation > 0 else 0.0
        return noisy, deviation, found, kind


def jpeg(u: Tensor, quality: Tensor) -> Tensor:
    """The picture as a file of JPEG gives it back; traces are finer than the simulation of the training."""
    pixels = u[0].round().clamp(0, 255).byte().permute(1, 2, 0).numpy()
    kept = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(
        kept, "JPEG", quality=round(float(quality))
    )
    found = torch.from_numpy(np.array(Image.open(kept))).float()
    return (found[None] if found.dim() == 2 else found.permute(2, 0, 1))[None]


real_noise.jpeg = jpeg


def waves(noise: Tensor, cutoff: float) -> Tensor:
    """Noise that has waves up to so many cycles per pixel, equally in all directions, of variance 1."""
    y, x = (torch.fft.fftfreq(size) for size in noise.shape[-2:])
    kept = torch.fft.ifft2(torch.fft.fft2(noise) * (torch.hypot(y[:, None], x) <= cutoff)).real
    return kept / kept.square().mean().sqrt()


def soft(u: Tensor, width: float) -> Tensor:
    """The picture after a Gaussian."""
    y, x = (torch.fft.fftfreq(2 * size) for size in u.shape[-2:])
    mirrored = torch.cat([torch.cat([u, u.flip(-1)], -1), torch.cat([u, u.flip(-1)], -1).flip(-2)], -2)
    passed = torch.exp(-2 * (math.pi * width) ** 2 * (y[:, None] ** 2 + x**2))
    return torch.fft.ifft2(torch.fft.fft2(mirrored) * passed).real[..., : u.shape[-2], : u.shape[-1]]


def drawing(draw: np.random.Generator, channels: int) -> Tensor:
    """Discs and bars with edges of about a pixel on a ramp."""
    side = int(draw.choice([128, 176, 208]))
    y, x = torch.meshgrid(*[torch.arange(float(side))] * 2, indexing="ij")
    slopes = torch.from_numpy(draw.uniform(-0.3, 0.3, (2, channels, 1, 1)))
    u = (
        torch.from_numpy(draw.uniform(30, 220, (channels, 1, 1)))
        + slopes[0] * (x - side / 2)
        + slopes[1] * (y - side / 2)
    )
    for _ in range(draw.integers(2, 9)):
        where, angle, edge = draw.uniform(0, side, 2), draw.uniform(0, math.pi), draw.uniform(0.4, 2)
        along = (x - where[0]) * math.cos(angle) + (y - where[1]) * math.sin(angle)
        across = (y - where[1]) * math.cos(angle) - (x - where[0]) * math.sin(angle)
        length, breadth = draw.uniform(5, side / 2), draw.uniform(2, 30)
        distance = breadth - torch.hypot(along, across) if draw.random() < 0.5 else breadth - across.abs()
        shape = torch.sigmoid(2 * distance / edge) * torch.sigmoid(2 * (length - along.abs()) / edge)
        u = u + torch.from_numpy(draw.uniform(-100, 100, (channels, 1, 1))) * shape
    return u.clamp(0, 255)[None].float()


def gather(data: Path, channels: int, count: int, seed: int) -> None:
    """Traces of so many pictures, into the folder ``runs``."""
    pictures, rows = Pictures(data, channels, seed), []
    torch.set_num_threads(1)
    for index in range(count):
        number = (index * 7 + seed) % len(pictures.pictures)
        noisy, deviation, neighbours, kind = pictures(number)
        if (found := traces([noisy])) is None:
            continue
        numbers, reference = found
        rows.append([number, KINDS.index(kind), deviation, neighbours, reference, *numbers.tolist()])
        if index % 250 == 249:
            print(index + 1, flush=True)
            np.save(RUNS / f"traces-{channels}-{seed}.npy", np.array(rows, np.float64))
    np.save(RUNS / f"traces-{channels}-{seed}.npy", np.array(rows, np.float64))


class Measure(nn.Module):
    """From the traces to quantiles of the deviation's logarithm, less the reference, and the correlation."""

    def __init__(self, mean: Tensor, deviation: Tensor, width: int = 48) -> None:
        super().__init__()
        self.mean, self.deviation = nn.Parameter(mean, False), nn.Parameter(deviation, False)
        sizes = (len(mean), width, width, len(QUANTILES) + 1)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))

    def forward(self, numbers: Tensor, noise: float = 0.0) -> Tensor:
        u = ((numbers - self.mean) / self.deviation).clamp(-3, 3)
        u = u + noise * torch.randn_like(u)
        for layer in self.layers[:-1]:
            u = nn.functional.silu(layer(u))
        found = self.layers[-1](u)
        steps = torch.cat([found[:, :1], nn.functional.softplus(found[:, 1:-1])], 1).cumsum(1)
        return torch.cat([steps, found[:, -1:]], 1)


def loaded(channels: int) -> tuple[Tensor, ...]:
    """Numbers, what is to be told from them, kinds and numbers of the pictures."""
    rows = torch.from_numpy(np.concatenate([np.load(p) for p in sorted(RUNS.glob(f"traces-{channels}-?.npy"))]))
    deviation = (rows[:, 2].square() + FLOOR**2).sqrt()
    wanted = torch.stack([deviation.log() - 0.5 * rows[:, 4], rows[:, 3]], 1)
    return rows[:, 5:].float(), wanted.float(), rows[:, 1].long(), rows[:, 0].long(), rows


def fit(steps: int = 4000, blur: float = 0.2, decay: float = 0.1, width: int = 32) -> None:
    """Learn from nine tenths of the pictures and write the file of the package."""
    torch.set_num_threads(1)
    file = {}
    for channels in (1, 3):
        numbers, wanted, _, picture, _ = loaded(channels)
        learned = picture % HELD != 0
        x, y = numbers[learned], wanted[learned]
        torch.manual_seed(0)
        measure = Measure(x.mean(0), x.std(0).clamp_min(1e-3), width)
        method = torch.optim.AdamW([p for p in measure.parameters() if p.requires_grad], 3e-3, weight_decay=decay)
        plan = torch.optim.lr_scheduler.OneCycleLR(method, 4e-3, steps)
        at, best = torch.tensor(QUANTILES), 0.0
        for step in range(steps):
            chosen = torch.randint(len(x), (256,))
            found = measure(x[chosen], blur)
            off = y[chosen, :1] - found[:, :-1]
            pinball = torch.maximum(at * off, (at - 1) * off).mean()
            known = (y[chosen, 0] > math.log(0.3)).float()
            apart = ((found[:, -1] - y[chosen, 1]).abs() * known).mean()
            loss = pinball + 0.3 * apart
            method.zero_grad()
            loss.backward()
            method.step()
            plan.step()
            best += (float(loss.detach()) - best) * 0.01
            if step % 1000 == 999:
                print(channels, step + 1, round(best, 4), flush=True)
        file |= {f"{channels}.{name}": value.detach().contiguous() for name, value in measure.state_dict().items()}
    save_file(file, OUT)
    curves()


@torch.no_grad()
def curves() -> None:
    """How right the measure is on pictures that it has not seen: found over true, by kind and level."""
    file = load_file(OUT)
    for channels in (1, 3):
        numbers, wanted, kinds, picture, rows = loaded(channels)
        own = {name[2:]: value for name, value in file.items() if name.startswith(f"{channels}.")}
        measure = Measure(own["mean"], own["deviation"], len(own["layers.0.bias"]))
        measure.load_state_dict(own)
        kept = picture % HELD == 0
        found = measure(numbers[kept])
        deviation, kind = rows[kept, 2], kinds[kept]
        levels = (found[:, :-1].double() + 0.5 * rows[kept, 4:5]).exp()
        names = ["none"] + [f"{name} {low}-{high}" for name in KINDS[1:] for low, high in ((0.3, 2), (2, 6), (6, 60))]
        print(f"{channels} channel(s): of the level at quantiles {QUANTILES} the 10 %, 50 %, 90 % over true ones")
        for name in names:
            label, _, ends = name.partition(" ")
            low, high = map(float, ends.split("-")) if ends else (-1, 1e9)
            chosen = (kind == KINDS.index(label)) & (deviation >= low) & (deviation < high)
            if chosen.sum() < 5:
                continue
            ratio = levels[chosen] / (deviation[chosen, None] if ends else 1)
            ranks = [np.quantile(ratio[:, k].numpy(), (0.1, 0.5, 0.9)).round(2).tolist() for k in range(len(QUANTILES))]
            off = float((found[chosen, -1] - wanted[kept][chosen, 1]).abs().median())
            print(f"{name:18} {int(chosen.sum()):4}", *ranks, f"correlation off by {off:.2f}")


def removed(data: Path, first: int, every: int, levels: list[float]) -> None:
    """Decibels gained with nothing told, in the middle of grey pictures: every second one has 8 bits, others floats."""
    warnings.simplefilter("ignore")
    pictures = list(photographs(data / "CTrain400", 1, 200).values())[first::every]
    for level in levels:
        gains, same = [], 0
        for number, picture in enumerate(pictures):
            top, left = ((side - 200) // 2 for side in picture.shape[1:])
            clean = picture[0, top : top + 200, left : left + 200].astype(np.float32)
            noisy = clean + level * np.random.default_rng(number).standard_normal(clean.shape, np.float32)
            noisy = noisy.round().clip(0, 255).astype(np.uint8) if number % 2 == 0 else noisy
            found = whorl.denoise(noisy)
            same += np.array_equal(found, noisy)
            before, after = (float(np.square(u - clean).mean()) for u in (noisy, found))
            # Clean pictures have no gain: theirs is the PSNR of the result over 50 dB.
            gains.append(10 * math.log10((before if before else 255**2 * 1e-5) / max(after, 1e-9)))
        worst = np.sort(gains)[:4].round(2).tolist()
        bad = sum(gain < -0.05 for gain in gains)
        print(
            f"noise {level:4}: median {np.median(gains):6.2f} dB, {bad} of {len(gains)} worse, {same} same,",
            worst,
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("gather")
    one.add_argument("data", type=Path)
    one.add_argument("--channels", type=int, default=1)
    one.add_argument("--count", type=int, default=3000)
    one.add_argument("--seed", type=int, default=0)
    one.set_defaults(run=gather)
    two = commands.add_parser("fit")
    two.add_argument("--steps", type=int, default=4000)
    two.add_argument("--blur", type=float, default=0.2, help="noise added to the traces")
    two.add_argument("--decay", type=float, default=0.1)
    two.add_argument("--width", type=int, default=32)
    two.set_defaults(run=fit)
    commands.add_parser("curves").set_defaults(run=curves)
    three = commands.add_parser("removed")
    three.add_argument("data", type=Path)
    three.add_argument("--first", type=int, default=0)
    three.add_argument("--every", type=int, default=HELD)
    three.add_argument("--levels", type=float, nargs="+", default=[0.0, 0.5, 1.0, 2.0, 3.0, 10.0])
    three.set_defaults(run=removed)
    given = vars(parser.parse_args())
    given.pop("run")(**given)
