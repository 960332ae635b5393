"""photo-8k beside a network of group convolutions by escnn, of the same size and after as many equal steps.

    PYTHONPATH=src:. python experiments/photo/group_convolutions.py TRAIN TEST --steps 500

Both are trained from random weights on the same patches of grey pictures with noise 25 (four of 40 x 40 pixels a step,
the settings of the shipped networks), and measured on squares of pictures of TEST: PSNR, and the error under the turns
by 36.9 and 22.6 degrees on noisy pictures up to 0.35 cycles per pixel. The other network is a residual one: fields that
carry the regular representation of eight turns by 45 degrees, stencils of 5 x 5 pixels, two convolutions with a ReLU
in between, applied six times. Needs escnn; results go to experiments/photo/results/group_convolutions.json.
"""

import argparse
import json
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import torch
from benchmarks.machine import origin
from torch import Tensor, nn

from whorl.data.photographs import photographs, set_aside
from whorl.evaluation.angles import denoised_psnr, noisy_picture
from whorl.foundations.provenance import versions
from whorl.invariance.coincidence import noisy_turn_error
from whorl.networks import named
from whorl.training import train
from whorl.training.pairs import NoisyPatches
from whorl.training.recipe import PHOTO_TRAINING

RESULT = Path(__file__).resolve().parent / "results" / "group_convolutions.json"
NOISE, FIELDS, TIMES = 25.0, 7, 6


class GroupConvolutions(nn.Module):
    """Six applications of one residual block between a lift and a projection, for grey pictures from 0 to 255."""

    def __init__(self) -> None:
        from escnn import gspaces
        from escnn import nn as enn

        super().__init__()
        space = gspaces.rot2dOnR2(8)
        scalars = enn.FieldType(space, [space.trivial_repr])
        fields = enn.FieldType(space, FIELDS * [space.regular_repr])
        self.typed = lambda u: enn.GeometricTensor(u, scalars)
        self.lift = enn.R2Conv(scalars, fields, 5)
        self.first, self.second = (enn.R2Conv(fields, fields, 5) for _ in range(2))
        self.relu = enn.ReLU(fields)
        self.last = enn.R2Conv(fields, scalars, 5)
        with torch.no_grad():
            self.second.weights.mul_(0.1), self.last.weights.mul_(0.1)

    def forward(self, picture: Tensor, noise: object = None) -> Tensor:
        """The denoised picture."""
        f = picture / 255 - 0.5
        u = self.lift(self._mirrored(self.typed(f)))
        for _ in range(TIMES):
            u = u + self.second(self._mirrored(self.relu(self.first(self._mirrored(u)))))
        return 255 * (f - self.last(self._mirrored(u)).tensor + 0.5)

    @staticmethod
    def _mirrored(u):
        return type(u)(torch.nn.functional.pad(u.tensor, (2, 2, 2, 2), mode="reflect"), u.type)


def measured(network: nn.Module, pictures, steps: int, test) -> dict[str, float]:
    """Train, and tell what was reached."""
    config = replace(PHOTO_TRAINING, batch=4, epochs=-(-steps // 250), precision="float32")
    patches = NoisyPatches(list(pictures.values()), (NOISE, NOISE), size=40, count=250 * 4)
    begun = time.process_time()
    history = train(network, patches, config)
    spent = time.process_time() - begun
    network.eval()
    found = denoised_psnr(lambda u: network(u), test, NOISE)
    squares = [noisy_picture(u, n, NOISE)[0] for n, u in enumerate(test.values())]
    with torch.no_grad():
        errors = noisy_turn_error(lambda u: network(u), squares, size=127, margin=24, dtype=torch.float32)
    return {
        "parameters": sum(p.numel() for p in network.parameters() if p.requires_grad),
        "steps": 250 * config.epochs,
        "psnr": sum(found.values()) / len(found),
        "last training psnr": history.last.psnr,
        "turns": [each.relative for each in errors],
        "processor seconds": round(spent),
    }


def main() -> None:
    """Both networks, and what they reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--steps", type=int, default=500)
    given = parser.parse_args()
    pictures, _ = set_aside(photographs(given.train, 1))
    every = list(photographs(given.test, 1).items())[::7]
    test = {name: u[:, 32 : 32 + 192, 32 : 32 + 192] for name, u in every}
    kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name, build in (("photo-8k", lambda: named("photo-8k").build()), ("escnn", GroupConvolutions)):
        torch.manual_seed(0)
        kept[f"{name}, {given.steps} steps"] = found = measured(build(), pictures, given.steps, test)
        print(name, found, flush=True)
        kept["command"] = f"experiments/photo/group_convolutions.py {given.train.name} {given.test.name}"
        kept["versions"] = {"escnn": version("escnn"), **versions()}
        kept |= origin()
        RESULT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
