"""A run of every kind of compiled kernel: prints how often Numba compiled something for each."""

import json

import numpy as np
import torch
from numba.core import event

from whorl import blocks, inpainting, load, models
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock
from whorl.engines.cpu.learned.compiled_energy import CompiledEnergy
from whorl.operators import Smoothing, SteerableMap


def step(name, *shape, **options):
    return models.build(name, contrast=3.0, **options).step(torch.rand(1, 1, *shape), engine="numba")


def filled():
    holes = np.zeros((8, 9), bool)
    holes[3:5, 3:5] = True
    return inpainting.inpaint(np.full((8, 9), 0.5, np.float32), holes, "biharmonic")


def learned():
    maps = [SteerableMap(2, (2, 2, 2)) for _ in range(2)]
    return GatedBlock(*maps, Gated(maps[0].orders)).eval()(torch.rand(1, 2, 8, 9))


def trained():
    return blocks.diffusion_block(9.0, 0.2, trainable=True)(torch.rand(1, 1, 8, 9)).sum().backward()


KINDS = {
    "plane": lambda: step("perona-malik", 8, 9),
    "wide": lambda: step("perona-malik", 8, 9, cell="wide"),
    "fourth order": lambda: step("you-kaveh", 8, 9),
    "strip": lambda: step("multiscale-isotropic", 8, 9, scales=2),
    "smoothing": lambda: Smoothing(1.0)(torch.rand(1, 1, 256, 256)),
    "space": lambda: step("perona-malik", 4, 5, 6, spacing=(2.0, 1.0, 1.0)),
    "wide in space": lambda: step("perona-malik", 4, 5, 6, spacing=(1.0, 1.0, 1.0), cell="wide"),
    "fourth order in space": lambda: step("you-kaveh", 4, 5, 6),
    "Hessians in space": lambda: step("lysaker", 4, 5, 6),
    "filling in": filled,
    "training": trained,
    "learned": learned,
    "learned, training": lambda: learned().sum().backward(),
    "learned, in space": lambda: load("volume-5k")(torch.rand(1, 1, 6, 7, 8), 20.0),
    "learned energy": lambda: CompiledEnergy(load("energy-convex").energy.at(25.0)).gradient(torch.rand(1, 1, 8, 9)),
}


def compilations():
    for name, run in KINDS.items():
        with event.install_recorder("numba:compile") as seen, torch.set_grad_enabled("training" in name):
            run()
        yield name, len(seen.buffer)


if __name__ == "__main__":
    print(json.dumps(dict(compilations())))
