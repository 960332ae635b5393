r"""Error under turns of space: winding sheets drawn upright and turned, filtered, compared where voxels meet voxels.

Four turns by rational matrices (3-4-5 about z and about x, 1/3 about the diagonal of the cube, 1/9 about (1, 2, 2)) map
a sublattice of the voxels onto itself, so that nothing is interpolated. At the shared voxels p the changes d = F(u) - u
must agree:

    error = |d_R(Rp) - d(p)| / |d(p)|,     root mean squares over the shared voxels; the worst turn counts.

``change`` is the denominator in grey values: how much a filter does. ``sphere`` is the spread over the change at the
voxels of radius 15 around a soft ball. With noise, ``psnr`` compares the filtered volume with the sheets inside the
ball: a filter that leaves the noise alone turns well, too. Everyone filters up to the same time with the same contrast
in his own terms, at the step his documentation allows in three dimensions. Fibres are for filters that follow lines,
in a frame of 61 voxels: these filters look 16 voxels far, and a cubic border does not turn with the fibres.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import pi
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.peers import Run, method
from benchmarks.pictures import psnr
from benchmarks.suite import Case, Rows, Suite

__all__ = ["SUITE"]

TIME, CONTRAST = 2.0, 12.0
MODELS = ("perona-malik", "weickert-brox", "eed", "ced", "uncoupled")
SLOW_MODELS = ("multiscale-isotropic", "multiscale-anisotropic", "you-kaveh", "lysaker")
SLICED = WIDE = ("perona-malik", "weickert-brox", "eed")
PEERS = {  # the step each takes in space, and why
    "simpleitk-gradient": (0.0625, "ITK's limit in 3-D"),
    "simpleitk-curvature": (0.0625, "ITK's limit in 3-D"),
    "diplib-perona-malik": (0.125, "stable for six neighbours"),
    "diplib-gaussian": (0.125, "stable for six neighbours"),
    "diplib-coherence": (0.2, "fixed inside: ten steps"),
    "medpy": (0.125, "stable for six neighbours"),
}
QUICK = tuple(name for name in PEERS if name != "diplib-coherence")  # which takes a minute for a volume


@dataclass(frozen=True)
class Rough:
    """The sheets with noise: random waves within a ball of frequencies, so that every lattice samples one function."""

    deviation: float = 8.0
    cutoff: float = 0.4
    count: int = 160

    def __call__(self, x: Any, y: Any, z: Any) -> Any:
        from whorl.data.solids import Gyroid

        rng = np.random.default_rng(7)
        directions = rng.normal(size=(self.count, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        waves = 2 * pi * self.cutoff * rng.random((self.count, 1)) ** (1 / 3) * directions
        total = 0
        for (a, b, c), phase in zip(waves.tolist(), (2 * pi * rng.random(self.count)).tolist(), strict=True):
            total = total + (a * x + b * y + c * z + phase).cos()
        return Gyroid()(x, y, z) + self.deviation * (2 / self.count) ** 0.5 * total


@dataclass(frozen=True)
class Fibres:
    """A bundle of slightly bent fibres along (1, 2, 2), ten voxels apart, that fades into grey."""

    period: float = 10.0
    bend: float = 0.01

    def __call__(self, x: Any, y: Any, z: Any) -> Any:
        from whorl.data.synthetic import rise

        k, along = 2 * pi / self.period, (x + 2 * y + 2 * z) / 3
        across = k * ((2 * x + y - 2 * z) / 3 + self.bend * along * along), k * (2 * x - 2 * y + z) / 3
        inside = rise(18 - (x * x + y * y + z * z).sqrt(), 4.0)
        return 127.5 + 25 * inside * (across[0].cos() + across[1].cos())


def cases() -> dict[str, Case]:
    from whorl.data.solids import Gyroid

    lines: Any = {"models": ("eed", "ced"), "wide": ("eed", "ced")}
    return {
        "smooth sheets": partial(_case, Gyroid()),
        "sheets with noise 8 up to 0.4 cycles": partial(_case, Rough(), clean=Gyroid(), peers=QUICK),
        "fibres": partial(_case, Fibres(), **lines, sliced=("ced",), peers=("diplib-coherence",), frame=(61, 9)),
    }


def slow_cases() -> dict[str, Case]:
    from whorl.data.solids import Gyroid

    alone: Any = {"sliced": (), "wide": (), "peers": ()}
    return {f"smooth sheets, {name}": partial(_case, Gyroid(), models=(name,), **alone) for name in SLOW_MODELS}


def _case(
    solid: Any, *, clean: Any = None, models: Sequence[str] = MODELS, sliced: Sequence[str] = SLICED,
    wide: Sequence[str] = WIDE, peers: Sequence[str] = tuple(PEERS), frame: tuple[int, int] = (49, 3),
) -> Rows:  # fmt: skip
    ours = {f"whorl-{name}": _ours(name) for name in models}
    ours |= {f"whorl-{name}, wide cell": _ours(name, cell="wide") for name in wide}
    ours |= {f"whorl-{name}, slice by slice": _ours(name, sliced=True) for name in sliced}
    rows = [_row(name, filter, solid, clean, frame) for name, filter in ours.items()]
    for name in peers:
        peer, (tau, reason) = method(name), PEERS[name]
        if peer.installed():
            row = _row(name, _theirs(peer.load(), tau, name.startswith("simpleitk")), solid, clean, frame)
            rows.append({**row, "library": peer.library, "version": peer.version(), "note": f"tau {tau:g}: {reason}"})
    return rows


def _row(name: str, filter: Callable[[Any], Any], solid: Any, clean: Any, frame: tuple[int, int]) -> dict[str, Any]:
    import torch

    from whorl.data.solids import render_solid
    from whorl.invariance import equal_sphere_error, solid_turn_error

    begun = perf_counter()
    errors = solid_turn_error(filter, solid=solid, size=frame[0], margin=frame[1], dtype=torch.float32)
    keys = ("turn_z", "turn_x", "turn_diagonal", "turn_oblique")
    found = [error.relative for error in errors]
    row = {"method": name, "turn_error": max(found), **dict(zip(keys, found, strict=True)), "change": errors[0].change}
    if clean is not None:
        truth, noisy = (render_solid(each, 49).float() for each in (clean, solid))
        z, y, x = torch.meshgrid(*[torch.arange(-24, 25)] * 3, indexing="ij")
        ball = x * x + y * y + z * z <= 16**2
        row["psnr"] = psnr(filter(noisy)[0, 0][ball].numpy(), truth[0, 0][ball].numpy())
    row["sphere"] = equal_sphere_error(filter, dtype=torch.float32).relative
    print(f"{name}: {max(found):.4f} in {perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    return row


def _ours(name: str, *, sliced: bool = False, **options: Any) -> Callable[[Any], Any]:
    from whorl.models import build

    # The weights of the scales sum up to 9.9 inside g, and ced smooths along what lies above its contrast.
    contrast = {"ced": 1.0}.get(name, CONTRAST * (9.9**0.5 if name.startswith("multiscale") else 1.0))
    model = build(name, contrast=contrast, **options, **({} if sliced else {"spacing": (1.0, 1.0, 1.0)}))

    def run(u: Any) -> Any:
        n, c, z, y, x = u.shape
        if not sliced:
            return model(u, TIME)
        return model(u.transpose(1, 2).reshape(n * z, c, y, x), TIME).reshape(n, z, c, y, x).transpose(1, 2)

    return run


def _theirs(run: Run, tau: float, relative: bool) -> Callable[[Any], Any]:
    import torch

    def filter(u: Any) -> Any:
        volume = np.ascontiguousarray(u[0, 0].numpy())
        slope = np.sqrt(np.mean(sum(np.square(d) for d in np.gradient(volume)))) if relative else 1.0
        out = run(volume, CONTRAST / float(slope), round(TIME / tau), tau)
        return torch.from_numpy(np.array(out, np.float32))[None, None]

    return filter


SUITE = Suite(
    "quality_turn_volume", "Error under turns of space, at equal contrast and time", cases, slow_cases, standard=False
)
