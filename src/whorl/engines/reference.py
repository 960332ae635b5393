"""The reference engine: the mathematics as it is written, in plain PyTorch."""

from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from whorl.engines.base import Engine, Steps
from whorl.engines.capabilities import VOLUME
from whorl.steps import GatedNumbers, GatedStep

BOX = (24, 48, 96)
"""Voxels of a box of a volume along z, y and x."""


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

    A box ends where the volume ends or beyond the reach of its voxels, so that the result does not depend on the cuts.
    Channels of a voxel lie side by side: convolutions take half the time so.
    """
    u = u.contiguous(memory_format=torch.channels_last_3d)
    reach = step.analysis.radius + step.synthesis.radius + step.gate.rho
    out = torch.empty_like(u)
    for place in product(*(range(0, size, side) for size, side in zip(u.shape[2:], BOX, strict=True))):
        ends = [min(start + side, size) for start, side, size in zip(place, BOX, u.shape[2:], strict=True)]
        begins = [max(start - reach, 0) for start in place]
        wide: tuple[Any, ...] = (..., *(slice(a, b + reach) for a, b in zip(begins, ends, strict=True)))
        own: tuple[Any, ...] = (..., *(slice(a - b, e - b) for a, b, e in zip(place, begins, ends, strict=True)))
        level = step.level
        if level is not None and level.dim() and max(level.shape[2:]) > 1:
            level = level[wide]
        change = replace(step, level=level).gradient(u[wide], numbers.bias)[own]
        here: tuple[Any, ...] = (..., *(slice(a, e) for a, e in zip(place, ends, strict=True)))
        out[here] = u[here] - (change if numbers.tau is None else numbers.tau.to(u.dtype) * change)
    return out
