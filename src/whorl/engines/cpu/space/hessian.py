r"""A step of fourth order in space by the Hessian, :math:`u - \tau\, K^* g(|K u|^2)\, K u`, axis after axis.

Beyond its border a volume is mirrored; what was differenced over two voxels once along an axis has the opposite sign
there. So the transposed operator takes the same differences, and needs no special case.
"""

import math
from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

from torch import Tensor

from whorl.engines.cpu.arithmetic import at, put, two
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.diffusivities import KINDS, amplitude, rate, value
from whorl.engines.cpu.threads import run, split
from whorl.engines.cpu.workspace import flat, fresh
from whorl.steps import Form, Numbers

AXES = (0, 1, 2)


def by_hessian(form: Form, u: Tensor, numbers: Numbers) -> Tensor:
    """The volume after one step, channel by channel."""
    tau, contrast, (beta,), (seen,) = numbers
    h, real = form.flux.spacing, flat(u).dtype.type
    entries = [_pure(u, i).mul_(h[i] ** -2) for i in AXES]
    entries += [_mixed(u, i, j, 1).mul_(1 / (4 * h[i] * h[j])) for i, j in combinations(AXES, 2)]
    # Derivatives are measured in units of the contrast, so that their squares keep in range.
    unit = real(abs(seen) * math.sqrt(form.inside[0]) / contrast)
    kernel, inside, arrays = (
        weaken(KINDS[form.diffusivity]),
        real(rate(form.diffusivity, 1.0)),
        tuple(map(flat, entries)),
    )
    run(lambda first, last: kernel(arrays, unit, inside, first, last), split(u.numel(), 2**16, 16))
    front = -tau * amplitude(form.diffusivity, contrast)[0] * form.omega[0] * beta**2
    after = u.clone()
    for i in AXES:
        after.add_(_pure(entries[i], i), alpha=front * h[i] ** -2)
    for (i, j), entry in zip(combinations(AXES, 2), entries[3:], strict=True):
        after.add_(_mixed(entry, i, j, -1), alpha=front / (2 * h[i] * h[j]))
    return after


def _pure(u: Tensor, i: int) -> Tensor:
    """Second differences along an axis, with a twelfth of their bends along the others."""
    bent = u.clone()
    for k in AXES:
        if k != i:
            difference(u, k, bent, 1 / 12)
    return difference(bent, i)


def _mixed(u: Tensor, i: int, j: int, sign: int) -> Tensor:
    """Differences over two voxels along two axes, with twelfths of their bends; ``sign`` is that of mirror images."""
    m = difference(difference(u, i, sign=sign, over=2), j, sign=sign, over=2) if sign > 0 else u
    bent = m.clone()
    for k in AXES:
        difference(m, k, bent, -1 / 12 if k in (i, j) else 1 / 12, sign=-1 if k in (i, j) else 1)
    return bent if sign > 0 else difference(difference(bent, i, sign=-1, over=2), j, sign=-1, over=2)


def difference(
    u: Tensor, axis: int, onto: Tensor | None = None, weight: float = 1.0, *, sign: int = 1, over: int = 1
) -> Tensor:
    """Second differences along an axis, or first ones ``over`` two voxels; ``weight`` times them is added ``onto``."""
    out = fresh(u) if onto is None else onto
    length, inner = u.shape[2 + axis], math.prod(u.shape[3 + axis :])
    x, result = flat(u), flat(out)
    kernel, real = along(over, onto is not None), x.dtype.type
    groups = split(u.numel() // (length * inner), max(1, 2**16 // (length * inner)), 1)
    run(lambda a, b: kernel(x, result, a, b, length, inner, real(sign), real(weight)), groups)
    return out


@compiled(inside=True)
def one(over: int, more: bool, x: Any, out: Any, j: int, before: float, after: float, weight: float) -> None:
    """The difference at one voxel between its neighbours."""
    found = weight * (after - before if over == 2 else (after - at(x, j)) - (at(x, j) - before))
    put(out, j, at(out, j) + found if more else found)


@cache
def along(over: int, more: bool) -> Callable[..., int]:
    """The kernel for differences along an axis; voxels that are neighbours along it are ``inner`` places apart."""
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(x: Any, out: Any, a: int, b: int, length: int, inner: int, sign: float, weight: float) -> int:
        for group in range(a, b):
            first, last = group * length * inner, (group + 1) * length * inner
            for j in range(first, first + inner):
                after = at(x, j + inner) if length > 1 else sign * at(x, j)
                one(over, more, x, out, j, sign * at(x, j), after, weight)
            for j in range(first + inner, last - inner):
                one(over, more, x, out, j, at(x, j - inner), at(x, j + inner), weight)
            if length > 1:
                for j in range(last - inner, last):
                    one(over, more, x, out, j, at(x, j - inner), sign * at(x, j), weight)
        return stamp

    return kernel


@cache
def weaken(kind: int) -> Callable[..., int]:
    """The kernel that multiplies the six entries of the Hessian by the diffusivity of its squared norm."""
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(entries: Any, unit: float, rate: float, first: int, last: int) -> int:
        a, b, c, d, e, f = entries
        for j in range(first, last):
            p, q, r, s, t, v = at(a, j), at(b, j), at(c, j), at(d, j), at(e, j), at(f, j)
            pure = (p * unit) * (p * unit) + (q * unit) * (q * unit) + (r * unit) * (r * unit)
            mixed = (s * unit) * (s * unit) + (t * unit) * (t * unit) + (v * unit) * (v * unit)
            g = value(kind, pure + two(unit) * mixed, rate)
            put(a, j, g * p)
            put(b, j, g * q)
            put(c, j, g * r)
            put(d, j, g * s)
            put(e, j, g * t)
            put(f, j, g * v)
        return stamp

    return kernel
