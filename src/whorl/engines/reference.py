"""The reference engine: the mathematics as it is written, in plain PyTorch."""

from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from whorl.engines.base import Engine, Steps
from whorl.engines.capabilities import VOLUME
from whorl.engines.cpu.threads import split
from whorl.operators.boundary import mirror
from whorl.steps import GatedNumbers, GatedStep

BOX = (32, 48, 48)
"""Voxels of a box of a volume along z, y and x, at most. torch convolves slices of fewer than 36² voxels slowly, and
takes the memory of larger boxes from the system anew each time."""


class ReferenceEngine(Engine):
    """Any step on any device, in the words of the theory; what other engines must agree with.

    >>> ReferenceEngine().name
    'reference'
    """

    name = "reference"

    def chain(self, steps: Steps, u: Tensor) -> Tensor:
        step = steps.step
        seen = step.steering(u) if steps.frozen else None

        def one(u: Tensor, k: int) -> Tensor:
            numbers = steps.numbers[k]
            tau = numbers.tau.to(u.dtype) if isinstance(numbers.tau, Tensor) else numbers.tau
            return u - tau * step.at(numbers).gradient(u, seen)

        # The data term is part of the gradient here.
        return replace(steps, step=replace(step, fidelity=None)).one_by_one(u, one)

    def apply(self, step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
        if u.dim() == VOLUME and u.device.type == "cpu" and not step.learning(u, numbers) and not is_compiling():
            return in_boxes(step, u, numbers)
        return super().apply(step, u, numbers)


def in_boxes(step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
    """The same for a volume box by box: each with what its voxels depend on, so that responses stay in the caches.

    The fields of a mirrored volume are the mirrored fields. So the volume is mirrored once, all boxes are computed
    alike, and the result does not depend on the cuts. Channels of a voxel lie side by side: convolutions take half the
    time so.
    """
    K1, K2, phi, layout = step.analysis, step.synthesis, step.gate, torch.channels_last_3d
    reach = K1.radius + phi.rho + K2.radius
    u = u.contiguous(memory_format=layout)
    wide, level, out = mirror(u, reach).contiguous(memory_format=layout), step.level, torch.empty_like(u)
    told = mirror(level, K2.radius) if level is not None and level.dim() and max(level.shape[2:]) > 1 else None
    for box in product(*(split(size, side, 1) for size, side in zip(u.shape[2:], BOX, strict=True))):
        places: list[Any] = [(..., *(slice(a, b + 2 * more) for a, b in box)) for more in (0, K2.radius, reach)]
        here, near, far = places
        flux = phi.inside(K1.inside(wide[far]), numbers.bias, level if told is None else told[near])
        change = K2.adjoint_inside(flux)
        out[here] = u[here] - (change if numbers.tau is None else numbers.tau.to(u.dtype) * change)
    return out
