r"""One application of a learned block to volumes, :math:`u - \tau K_2^*\, \Phi(K_1 u)`, box by box.

As in the plane the operators are carried out in two factors: few fixed stencils, the same for all channels, and a
mixing of their responses in every voxel. Convolutions with all fields take seven times as many multiplications. The
channels of a voxel lie side by side, so that a stencil adds up rows of numbers that are shifted by whole voxels; mixing
is one matrix product for all voxels of a box. Components of a field lie in rows of their own.

Beyond its border the volume is mirrored once, and all boxes are computed alike.
"""

from itertools import pairwise, product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.engines.cpu.arithmetic import at, fma, put, zero
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.threads import alone, run, split
from whorl.operators.boundary import mirror
from whorl.steps import GatedForm, GatedNumbers, GatedStep

Array = NDArray[np.float32]

BOX = (16, 32, 32)
"""Voxels of a box along z, y and x, at most; larger ones are no faster, and take more memory in each thread."""


def applied_in_space(step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
    """The stream after one application of a block that the engine has accepted."""
    form, gate = step.form, step.gate
    assert isinstance(form, GatedForm)
    with torch.no_grad():
        reach, tau = 2 + form.rho, np.float32(1.0 if numbers.tau is None else float(numbers.tau))
        wide = _voxels(mirror(u.detach(), reach))
        result = np.empty((len(u), *u.shape[2:], u.shape[1]), np.float32)
        scales = step.scales().float() * 0.25 ** (3 * form.rho)
        offsets, matrix = step.offsets(numbers.bias).float(), gate.matrix.detach().T.contiguous()

    def box(image: int, *edges: tuple[int, int]) -> None:
        place: Any = (image, *(slice(a, b + 2 * reach) for a, b in edges))
        far = wide[place]
        own = scales[image % len(scales)], offsets[image % len(offsets)], matrix
        with torch.no_grad():  # this holds for one thread alone
            taken = _change(form, np.ascontiguousarray(far), gate.scalars, *own)
        inner: Any = tuple(slice(reach, size - reach) for size in far.shape[:3])
        target: Any = (image, *(slice(a, b) for a, b in edges))
        result[target] = far[inner] - tau * taken

    parts = product(*(split(size, side, 1) for size, side in zip(u.shape[2:], BOX, strict=True)))
    with alone():
        run(box, [(image, *edges) for edges in parts for image in range(len(u))])
    return torch.from_numpy(result).movedim(-1, 1)


def _voxels(u: Tensor) -> Array:
    """The numbers of a volume with the channels of a voxel side by side."""
    return u.movedim(1, -1).contiguous().numpy()


def _change(form: GatedForm, far: Array, scalars: int, scale: Tensor, offset: Tensor, matrix: Tensor) -> Array:
    """What a box loses: its voxels come with all on which they depend."""
    C, rho = far.shape[-1], form.rho
    fields = []
    for mixing, taps in _orders(form.analysis):
        each = [_responses(far, stencils) for stencils in taps]
        mixed = sum(torch.from_numpy(r).view(-1, C) @ mixing[..., p].T for p, r in enumerate(each))
        fields.append(mixed.view(*each[0].shape[:-1], -1))  # type: ignore[union-attr]
    invariants = torch.cat([fields[0][:, :, 0], *(v.square().sum(2) for v in fields[1:])], -1)
    for axis in (0, 1, 2) * (2 * rho):  # a binomial filter is sums of neighbours, of neighbours ...
        size = invariants.shape[axis] - 1
        invariants = invariants.narrow(axis, 0, size) + invariants.narrow(axis, 1, size)
    invariants = invariants * scale
    invariants[..., scalars:].log1p_()
    gates = torch.addmm(offset, invariants.flatten(0, 2), matrix).sigmoid_().view_as(invariants)
    total = np.zeros((*(size - 2 for size in gates.shape[:3]), C), np.float32)
    own = [slice(rho, size - rho) for size in fields[0][:, :, 0].shape[:3]]
    parts = gates.split(form.fields, -1)
    for (mixing, taps), v, opened in zip(_orders(form.synthesis), fields, parts, strict=True):
        flux = opened.unsqueeze(2) * v[own[0], own[1], :, own[2]]
        for p, stencils in enumerate(taps):
            _transposed((flux.flatten(0, 3) @ mixing[..., p]).view(*flux.shape[:-1], C).numpy(), stencils, total)
    return total


def _orders(operator: Any) -> list[tuple[Tensor, list[Array]]]:
    """The mixing of every order, and for each of its profiles the stencils of all components."""
    found, start = [], 0
    for order, mixing in enumerate(operator.mixing):
        count = 2 * order + 1
        ends = [start + count * p for p in range(mixing.shape[2] + 1)]
        found.append((mixing, [operator.taps[a:b] for a, b in pairwise(ends)]))
        start = ends[-1]
    return found


def _responses(u: Array, taps: Array) -> Array:
    """The responses ``(z, y, k, x, channels)`` of all stencils at voxels whose neighbours are there."""
    Z, Y, X, C = u.shape
    out = np.empty((Z - 2, Y - 2, len(taps), X - 2, C), np.float32)
    respond(u.reshape(-1), Z - 2, Y - 2, len(taps), X - 2, C, taps.reshape(-1), out.reshape(-1))
    return out


def _transposed(v: Array, taps: Array, total: Array) -> None:
    """Add what the transposed stencils make of ``v``, which has the shape of responses, at the inner voxels."""
    Z, Y, X, C = total.shape
    mirrored = np.ascontiguousarray(taps[:, ::-1, ::-1, ::-1])  # kernels know no strides
    transpose(v.reshape(-1), Z, Y, len(taps), X, C, mirrored.reshape(-1), total.reshape(-1))


@compiled(cache=True)
def respond(u: Any, Z: int, Y: int, K: int, X: int, C: int, taps: Any, out: Any) -> None:
    """Rows of K stencils of 3x3x3 voxels: every row is a sum of nine rows of voxels, each at three places."""
    size = X * C
    for z in range(Z):
        for y in range(Y):
            for k in range(K):
                here = ((z * Y + y) * K + k) * size
                for i in range(size):
                    put(out, here + i, zero(at(u, i)))
                for row in range(9):
                    a, b, c = _three(taps, 9 * k + row)
                    if a != 0 or b != 0 or c != 0:
                        _add(u, ((z + row // 3) * (Y + 2) + y + row % 3) * (X + 2) * C, a, b, c, C, out, here, size)


@compiled(cache=True)
def transpose(v: Any, Z: int, Y: int, K: int, X: int, C: int, taps: Any, out: Any) -> None:
    """Add to every row of voxels what K mirrored stencils make of their own rows in the neighbourhood."""
    size = X * C
    for z in range(Z):
        for y in range(Y):
            here = (z * Y + y) * size
            for k in range(K):
                for row in range(9):
                    a, b, c = _three(taps, 9 * k + row)
                    if a != 0 or b != 0 or c != 0:
                        line = ((z + row // 3) * (Y + 2) + y + row % 3) * K + k
                        _add(v, line * (X + 2) * C, a, b, c, C, out, here, size)


@compiled(inside=True)
def _three(taps: Any, row: int) -> tuple[float, float, float]:
    """The taps of one row of a stencil."""
    return at(taps, 3 * row), at(taps, 3 * row + 1), at(taps, 3 * row + 2)


@compiled(inside=True)
def _add(u: Any, start: int, a: float, b: float, c: float, C: int, out: Any, here: int, size: int) -> None:
    """Add a row at three places, one voxel apart."""
    for i in range(size):
        j = start + i
        put(out, here + i, fma(a, at(u, j), fma(b, at(u, j + C), fma(c, at(u, j + 2 * C), at(out, here + i)))))
