"""Train the networks that `whorl.denoise` takes on with noise as it is, for a given time.

    PYTHONPATH=src python experiments/photo/real_noise.py photo-grey --train CTrain400 --out DIR --device cuda
        --seconds 180

White noise stays a third of what a network sees; the rest is filtered, went through a camera, or counts photons. The
network is told the standard deviation of the noise and, as one more number, the correlation between neighbours. Both
are told as well as they can be measured: not quite right, and sometimes for a picture that has no noise at all. So the
network learns to look for itself. Weights that an earlier network lacks begin with zeros, so that white noise begins
with the quality there was. The rate falls by the clock,
so that the training is complete when the time is over. OUT receives the card NAME.safetensors, brought up to date
every half minute.
"""

import argparse
import dataclasses
import math
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from whorl.data.photographs import photographs, set_aside
from whorl.evaluation.angles import noisy_picture
from whorl.invariance.coincidence import noisy_turn_error
from whorl.metrics import psnr
from whorl.networks import ModelCard, PhotoNetwork, load_card
from whorl.training.adam import AdamMethod
from whorl.training.config import TrainingConfig
from whorl.training.distributed import Team
from whorl.training.pairs import LevelInput, NoisyPatches

LEVELS = (0.5, 60.0)
WARMUP = 3.0  # seconds in which the rate rises
EPOCH = 25  # steps between two looks at the clock and the loss
KEPT = 30.0  # seconds between two cards
AVERAGED = 0.998  # weight of the past in the mean of the weights over the steps
SHARES = {
    1: {"white": 6 / 16, "photons": 3 / 16, "filtered": 4 / 16, "camera": 2 / 16, "spotless": 1 / 16},
    3: {"white": 5 / 16, "photons": 1 / 16, "filtered": 2 / 16, "camera": 7 / 16, "spotless": 1 / 16},
}
"""Kinds of noise in a batch, by the channels of a picture."""

LUMINANCE = """16 11 10 16 24 40 51 61 12 12 14 19 26 58 60 55 14 13 16 24 40 57 69 56 14 17 22 29 51 87 80 62 18 22 37
56 68 109 103 77 24 35 55 64 81 104 113 92 49 64 78 87 103 121 120 101 72 92 95 98 112 100 103 99"""
CHROMINANCE = (
    """17 18 24 47 99 99 99 99 18 21 26 66 99 99 99 99 24 26 56 99 99 99 99 99 47 66 99 99 99 99 99 99""" + " 99" * 32
)
"""The steps of JPEG at quality 50, as its standard prints them."""


class RealNoise(NoisyPatches):
    """Patches with noise of several kinds; level and correlation come behind the channels of the picture.

    A batch holds a fixed number of patches of each kind. Half of the patches are darkened, as micrographs and
    photographs by night are.
    """

    def batch(self, indices: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
        """Noisy and clean patches."""
        self.draw = self.drawn(indices, epoch)
        clean = self._darkened(self.clean(len(indices), self.draw))
        parts, begin = [], 0
        shares = SHARES[clean.shape[1]]
        for position, (kind, share) in enumerate(shares.items()):
            last = position == len(shares) - 1
            count = len(clean) - begin if last else min(round(share * len(clean)), len(clean) - begin)
            if count:
                parts.append(getattr(self, kind)(clean[begin : begin + count]))
            begin += count
        noisy, clean, level, correlation = (torch.cat(each) for each in zip(*parts, strict=True))
        told = torch.cat([level, correlation], 1).expand(-1, -1, self.size, self.size)
        return torch.cat([noisy, told], 1), clean

    def white(self, u: Tensor) -> tuple[Tensor, ...]:
        """Gaussian noise, every pixel for itself."""
        level = self._levels(len(u))
        return u + level * self._normal(u.shape), u, level, torch.zeros_like(level)

    def filtered(self, u: Tensor) -> tuple[Tensor, ...]:
        """The same after a Gaussian filter, partly common to the channels of colour."""
        level = self._levels(len(u))
        noise = self._filtered(u.shape, 0.2 + 1.3 * self._uniform(len(u)))
        return u + level * noise, u, *self._as_measured(level, correlation(noise))

    def camera(self, u: Tensor) -> tuple[Tensor, ...]:
        """Noise of a sensor, smoothed and sharpened by the camera, then JPEG; wanted is its JPEG without noise.

        The strength follows the grey value, upwards or downwards, as sensor and tone curve make it.
        """
        local = ((u.clamp(min=0) + 8) / 128).pow(1.2 * self._uniform(len(u)) - 0.6)
        noise = self._mosaic(local) if u.shape[1] == 3 else local * self._filtered(u.shape, self._uniform(len(u)))
        strength = 25.0 ** self._uniform(len(u))
        usual = (self._uniform(len(u)) < 0.4).to(u)  # programs write 75 when nobody says how much to compress
        quality = usual * (73 + 4 * self._uniform(len(u))) + (1 - usual) * (70 + 30 * self._uniform(len(u)))
        wanted = jpeg(u.clamp(0, 255), quality)
        broken = jpeg((u + strength * noise).clamp(0, 255), quality)
        change = broken - wanted
        level = change.square().mean((1, 2, 3), keepdim=True).sqrt().clamp(*LEVELS)
        return broken, wanted, *self._as_measured(level, correlation(change))

    def spotless(self, u: Tensor) -> tuple[Tensor, ...]:
        """No noise at all, though texture was measured as noise; half of them JPEG."""
        pressed = jpeg(u.clamp(0, 255), 70 + 30 * self._uniform(len(u)))
        clean = torch.where(self._uniform(len(u)) < 0.5, pressed, u)
        return clean, clean, LEVELS[0] * 16.0 ** self._uniform(len(u)), 0.8 * self._uniform(len(u))

    def photons(self, u: Tensor) -> tuple[Tensor, ...]:
        """Few photons, Poisson's law, after Anscombe's transform: white, nearly of one level, but skew in the dark."""
        most = 4.0 * 50.0 ** self._uniform(len(u))
        intensity = u.clamp(min=0) / 255 * most
        seen = 2 * (torch.poisson(intensity, generator=self.draw) + 0.375).sqrt()
        table = expected_root(u.device)
        place = (intensity * PER_UNIT).clamp(max=len(table) - 1.001)
        low = place.long()
        wanted = table[low] + (place - low) * (table[low + 1] - table[low])
        zero = 2 * math.sqrt(0.375)
        unit = (255 / (2 * (most + 0.375).sqrt() - zero)).clamp(*LEVELS)  # of the transform, in grey values
        return unit * (seen - zero), unit * (wanted - zero), unit, torch.zeros_like(unit)

    def _as_measured(self, level: Tensor, correlation: Tensor) -> tuple[Tensor, Tensor]:
        """Level and correlation with the errors of a measure."""
        wrong = (0.3 * self._normal(level.shape)).exp()
        return (level * wrong).clamp(*LEVELS), correlation + 0.08 * self._normal(level.shape)

    def _darkened(self, u: Tensor) -> Tensor:
        half = (self._uniform(len(u)) < 0.5).to(u)
        power = 1 + 1.5 * half * self._uniform(len(u))
        return 255 * (u / 255).pow(power) * (1 - half * 0.85 * self._uniform(len(u)))

    def _levels(self, count: int) -> Tensor:
        """Three quarters are spread evenly from 5 on, a quarter by ratio below."""
        low, middle, high = LEVELS[0], 5.0, LEVELS[1]
        even, ratio = middle + (high - middle) * self._uniform(count), low * (middle / low) ** self._uniform(count)
        return torch.where(self._uniform(count) < 0.75, even, ratio)

    def _uniform(self, count: int) -> Tensor:
        return torch.rand(count, 1, 1, 1, generator=self.draw, device=self.device)

    def _normal(self, shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, generator=self.draw, device=self.device)

    def _filtered(self, shape: tuple[int, ...], width: Tensor, radius: int = 5) -> Tensor:
        """Noise of variance 1 after Gaussian filters of a width for each patch, in colour partly the same."""
        n, c, *size = shape
        steps = torch.arange(-radius, radius + 1, device=self.device, dtype=torch.float32)
        kernel = (-0.5 * (steps / width.view(n, 1)).square()).exp()
        kernel = (kernel / kernel.square().sum(1, keepdim=True).sqrt()).repeat_interleave(c, 0)[:, None]
        noise = self._normal((1, n * c, *(side + 2 * radius for side in size)))
        noise = functional.conv2d(noise, kernel[:, :, None], groups=n * c)
        noise = functional.conv2d(noise, kernel[:, :, :, None], groups=n * c).view(shape)
        if c == 1:
            return noise
        share = self._uniform(n) * (self._uniform(n) < 0.6).to(noise)  # of the variance, in common
        common = self._filtered((n, 1, *size), width)
        mixed = share.sqrt() * common + (1 - share).sqrt() * noise
        return mixed / mixed.square().mean((1, 2, 3), keepdim=True).sqrt()

    def _mosaic(self, local: Tensor) -> Tensor:
        """Noise of a sensor that sees one colour in each pixel, of this local strength.

        Green is interpolated from neighbours, the differences of colour more smoothly. The camera smooths or sharpens
        brightness; of colour it leaves blotches.
        """
        n, _, rows, columns = local.shape
        y, x = torch.meshgrid(*(torch.arange(side, device=self.device) for side in (rows, columns)), indexing="ij")
        masks = torch.stack([(y % 2 == 0) & (x % 2 == 0), (y + x) % 2 == 1, (y % 2 == 1) & (x % 2 == 1)]).float()
        gains = torch.cat([1 + self._uniform(n), torch.ones_like(self._uniform(n)), 1 + self._uniform(n)], 1)
        sensor = gains * masks * local * self._normal((n, 1, rows, columns))
        green = interpolated(sensor[:, 1:2], masks[1], CROSS)
        others = [green + interpolated(sensor[:, k : k + 1] - green * masks[k], masks[k], TENT) for k in (0, 2)]
        mixed = torch.cat([others[0], green, others[1]], 1)
        bright = (mixed * torch.tensor([0.299, 0.587, 0.114], device=self.device).view(1, 3, 1, 1)).sum(1, keepdim=True)
        colours = mixed - bright
        smooth, blotchy = blurred(bright, 2), blurred(colours, 4)
        bright = bright + (1.4 * self._uniform(n) - 0.4) * (smooth - bright)
        colours = colours + self._uniform(n) * (blotchy - colours)
        blotches = self._filtered((n, 3, rows, columns), 1 + 2 * self._uniform(n))
        return bright + colours + 0.5 * self._uniform(n).square() * local * (blotches - blotches.mean(1, keepdim=True))


CROSS = torch.tensor([[0.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 0.0]])[None, None] / 4
TENT = torch.tensor([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]])[None, None] / 4
BINOMIAL = torch.tensor([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]])[None, None] / 16
PER_UNIT = 8


def interpolated(values: Tensor, mask: Tensor, kernel: Tensor) -> Tensor:
    """What a mosaic shows at the pixels of its mask, and between them the mean of the nearest."""
    around = functional.conv2d(functional.pad(values, (1, 1, 1, 1), "reflect"), kernel.to(values))
    weight = functional.conv2d(functional.pad(mask[None, None], (1, 1, 1, 1), "reflect"), kernel.to(values))
    return torch.where(mask > 0, values, around / weight)


def blurred(u: Tensor, times: int) -> Tensor:
    """After so many binomial filters of 3 x 3 pixels, every channel for itself."""
    flat = u.flatten(0, 1)[:, None]
    for _ in range(times):
        flat = functional.conv2d(functional.pad(flat, (1, 1, 1, 1), "reflect"), BINOMIAL.to(u))
    return flat.view_as(u)


def correlation(noise: Tensor) -> Tensor:
    """The mean correlation of neighbours, ``(n, 1, 1, 1)``."""
    centred = noise - noise.mean((2, 3), keepdim=True)
    down = (centred[:, :, 1:] * centred[:, :, :-1]).mean((1, 2, 3), keepdim=True)
    across = (centred[..., 1:] * centred[..., :-1]).mean((1, 2, 3), keepdim=True)
    return 0.5 * (down + across) / centred.square().mean((1, 2, 3), keepdim=True).clamp(min=1e-6)


def jpeg(u: Tensor, quality: Tensor) -> Tensor:
    """The picture after compression, ``(n, c, y, x)`` with sides that are multiples of 16; colours at half the size."""
    scale = (200 - 2 * quality) / 100
    if u.shape[1] == 1:
        return quantised(u - 128, LUMINANCE, scale).add(128).round().clamp(0, 255)
    red, green, blue = u.split(1, 1)
    bright = 0.299 * red + 0.587 * green + 0.114 * blue
    colours = torch.cat([0.564 * (blue - bright), 0.713 * (red - bright)], 1)
    small = quantised(functional.avg_pool2d(colours, 2), CHROMINANCE, scale)
    cb, cr = functional.interpolate(small, scale_factor=2, mode="bilinear").split(1, 1)
    bright = quantised(bright - 128, LUMINANCE, scale) + 128
    red, blue = bright + cr / 0.713, bright + cb / 0.564
    green = (bright - 0.299 * red - 0.114 * blue) / 0.587
    return torch.cat([red, green, blue], 1).round().clamp(0, 255)


def quantised(u: Tensor, table: str, scale: Tensor) -> Tensor:
    """The cosine transform of squares of 8 pixels, rounded to multiples of the steps."""
    steps = torch.tensor([float(step) for step in table.split()], device=u.device).view(8, 8)
    k = torch.arange(8, device=u.device, dtype=torch.float32)
    cosines = ((2 * k + 1) * k[:, None] * math.pi / 16).cos() / 2
    cosines[0] /= math.sqrt(2)
    squares = u.unflatten(3, (-1, 8)).unflatten(2, (-1, 8)).transpose(3, 4)  # n, c, rows, columns, 8, 8
    step = (steps * scale[..., None, None]).clamp(min=1)
    waves = ((cosines @ squares @ cosines.mT) / step).round() * step
    return (cosines.mT @ waves @ cosines).transpose(3, 4).flatten(4, 5).flatten(2, 3)


_ROOTS: dict[torch.device, Tensor] = {}


def expected_root(device: torch.device) -> Tensor:
    """The mean of Anscombe's transform of Poisson's law, for intensities in steps of ``1 / PER_UNIT`` up to 205."""
    if device not in _ROOTS:
        intensity = torch.arange(205 * PER_UNIT, dtype=torch.float64)[:, None] / PER_UNIT
        count = torch.arange(512, dtype=torch.float64)
        logs = torch.special.xlogy(count, intensity) - intensity - torch.lgamma(count + 1)
        _ROOTS[device] = (logs.exp() * 2 * (count + 0.375).sqrt()).sum(1).float().to(device)
    return _ROOTS[device]


class ByTheClock(AdamMethod):
    """Adam whose rate falls to zero as the time runs out; a mean of the weights over the steps is kept beside."""

    def __init__(self, *given: object, ends: float, **more: bool) -> None:
        super().__init__(*given, **more)  # type: ignore[arg-type]
        self.began, self.ends, self.done = time.monotonic(), ends, 0
        self.mean = [p.detach().clone() for p in self.named.values()]

    def _set_rate(self, number: int, position: int, steps: int) -> None:
        if self.done:
            past = min(AVERAGED, self.done / (self.done + 10))
            torch._foreach_lerp_(self.mean, [p.detach() for p in self.named.values()], 1 - past)
        self.done += 1
        now = time.monotonic()
        passed = min(1.0, (now - self.began) / max(self.ends - self.began, 1e-6))
        rate = self.config.rate * 0.5 * (1 + math.cos(math.pi * passed)) * min(1.0, (now - self.began + 0.1) / WARMUP)
        for group in self.optimiser.param_groups:
            if self.on_gpu:
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate


def main() -> None:
    """Train one network."""
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["photo-grey", "photo-colour", "photo-grey-real", "photo-colour-real"])
    parser.add_argument("--train", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--seconds", type=float, default=180.0, help="until the training ends, its preparation included"
    )
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--turn", type=float, default=10.0)
    parser.add_argument("--held", type=int, default=12, help="pictures held back to measure on")
    given = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.manual_seed(0)
    device = torch.device(given.device)
    earlier = load_card(given.name)
    spec = dataclasses.replace(earlier.network, noise=LEVELS, correlated=True)
    network = PhotoNetwork(spec)
    missing, unexpected = network.load_state_dict(earlier.run().weights, strict=False)
    assert not unexpected, unexpected
    assert all("correlation" in name for name in missing), missing
    network.to(device)
    network.engine = "reference"  # nothing is compiled for the few pictures it is measured on
    learned, held = set_aside(photographs(given.train, spec.channels, given.size))
    held = {name: held[name] for name in list(held)[: given.held]}
    patches = RealNoise(list(learned.values()), LEVELS, size=given.size, count=EPOCH * given.batch, device=device)
    say = f"{given.name}: {{:.0f}} s"

    def report(text: str) -> None:
        print(say.format(time.monotonic() - began), text, flush=True)

    before = measured(network, held, device)
    report(f"before {before}")
    config = TrainingConfig(
        batch=given.batch, rate=given.rate, loss="log", clip=0.1, turn=given.turn, precision="bfloat16"
    )
    network.low_precision = device.type == "cuda"
    learner = LevelInput(network, told=2)
    ends = began + given.seconds
    method = ByTheClock(learner, patches, config, Team(), ends=ends, capture=device.type == "cuda")
    start = {name: p.detach().clone() for name, p in method.named.items()}
    try:
        method.epoch(0)
    except Exception as error:  # whatever keeps the step from being recorded: the same steps, launched one by one
        if not method.capture:
            raise
        report(f"not recorded as a graph: {error}")
        torch.cuda.synchronize()
        with torch.no_grad():
            for name, p in method.named.items():
                p.copy_(start[name])
        method = ByTheClock(learner, patches, config, Team(), ends=ends)

    def keep(figures: dict[str, float]) -> None:
        """Write the card with the mean of the weights."""
        current = [p.detach().clone() for p in method.named.values()]
        with torch.no_grad():
            torch._foreach_copy_(list(method.named.values()), method.mean)
        call = {
            "call": "real noise",
            "steps": method.done,
            "seconds": round(time.monotonic() - began),
            **config.as_dict(),
        }
        training = {
            "calls": [*earlier.training["calls"], {**call, "batch": given.batch, "kinds": SHARES[spec.channels]}]
        }
        about = (
            f"{'Grey' if spec.channels == 1 else 'Colour'} photographs and micrographs with noise of any level from "
            "0.5 to 60, white or not; the level and the correlation of neighbours, 0 for white noise, are inputs."
        )
        card = ModelCard.of(given.name, network, figures, training=training, data=earlier.data, about=about)
        given.out.mkdir(parents=True, exist_ok=True)
        card.write(given.out / f"{given.name}.safetensors")
        with torch.no_grad():
            torch._foreach_copy_(list(method.named.values()), current)

    kept = said = time.monotonic()
    number, total, seen = 1, 0.0, 0
    while time.monotonic() < ends:
        found = method.epoch(number)
        number, total, seen = number + 1, total + found.psnr, seen + 1
        now = time.monotonic()
        if now - said > 5:
            report(f"{method.done} steps, {total / seen:.2f} dB")
            said, total, seen = now, 0.0, 0
        if now - kept > KEPT:
            keep({})
            kept = now
    keep({})
    report(f"{method.done} steps, written")
    with torch.no_grad():
        torch._foreach_copy_(list(method.named.values()), method.mean)
    network.low_precision = False
    network.eval()
    after = measured(network, held, device)
    report(f"after {after}; before {before}")


@torch.no_grad()
def measured(network: PhotoNetwork, held: dict, device: torch.device) -> dict[str, float]:
    """PSNR on crops held back: white noise, noise filtered by a Gaussian of width 0.8, pictures without noise.

    Of pictures out of the simulated camera the gain; and the error under turns.
    """
    network.eval()
    crops = {name: picture[:, :192, :192] for name, picture in held.items()}
    patches = RealNoise([torch.zeros(1, 64, 64, dtype=torch.uint8).numpy()], LEVELS, device=device)
    patches.draw = torch.Generator(device).manual_seed(1)
    found: dict[str, float] = {}
    whole = {
        number: torch.from_numpy(picture.copy())[None].float().to(device)
        for number, picture in enumerate(crops.values())
    }
    for label in ("camera", "spotless"):
        gains = []
        for clean in whole.values():
            sides = (slice(None), slice(None), *(slice(0, size // 16 * 16) for size in clean.shape[2:]))
            noisy, wanted, level, told = getattr(patches, label)(clean[sides])
            result = network(noisy, level, told).clamp(0, 255)
            gains.append(
                float(
                    psnr(result, wanted, value_range=255)
                    - (psnr(noisy, wanted, value_range=255) if label == "camera" else 0)
                )
            )
        found[label] = round(sum(gains) / len(gains), 3)
    for label, level in (("1", 1.0), ("5", 5.0), ("15", 15.0), ("25", 25.0), ("50", 50.0), ("filtered 25", 25.0)):
        total = 0.0
        for number, picture in enumerate(crops.values()):
            clean = whole[number]
            if label.startswith("filtered"):
                noise = patches._filtered((1, len(picture), 192, 192), torch.full((1, 1, 1, 1), 0.8, device=device))
                noisy, told = clean + level * noise, correlation(noise)
            else:
                noisy, told = noisy_picture(picture, number, level).to(device), torch.zeros(1, 1, 1, 1, device=device)
            result = network(noisy, level, told).clamp(0, 255)
            total += float(psnr(result, clean, value_range=255))
        found[label] = round(total / len(crops), 3)
    noisy = [noisy_picture(picture, number, 25.0)[0] for number, picture in enumerate(list(crops.values())[:2])]
    errors = noisy_turn_error(lambda u: network(u, 25.0), noisy, device=device)
    found["turned 25"] = round(max(error.relative for error in errors), 4)
    return found


if __name__ == "__main__":
    main()
