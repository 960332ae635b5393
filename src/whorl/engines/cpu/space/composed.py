r"""Steps in space that are made of others: of fourth order, and on many scales.

A step of size :math:`t` of homogeneous diffusion adds :math:`t \Delta u`, and one whose tensor all smoothed volumes
share adds :math:`-t\, K^* D K G_\ell u` to each. Both are taken with a :math:`t` near the square of a voxel's side,
where few digits cancel, and then weighed.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from whorl.engines.cpu.arithmetic import at, put
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.diffusivities import KINDS, amplitude, rate, value
from whorl.engines.cpu.plane.smoothing import smoothed
from whorl.engines.cpu.space.volumes import advance_volume
from whorl.engines.cpu.threads import run, split
from whorl.engines.cpu.workspace import flat
from whorl.operators.derivative import Taps
from whorl.steps import Form, Numbers


def by_laplacians(form: Form, u: Tensor, numbers: Numbers) -> Tensor:
    r"""The volume :math:`u - \tau \Delta\, g((\Delta u)^2)\, \Delta u`."""
    tau, contrast, (beta,), (seen,) = numbers
    cells, t = replace(form.flux, name="cells"), min(form.flux.spacing) ** 2
    even = replace(form, diffusivity="homogeneous", flux=cells, structure=cells)
    flux = advance_volume(even, u, [(t, 1.0)])
    L, given, real = flat(flux), flat(u), flat(u).dtype.type
    # Measured in units of the contrast, so that squares keep in range.
    unit = real(abs(seen) * math.sqrt(form.inside[0]) / (t * contrast))
    kernel, inside = weaken(KINDS[form.diffusivity]), real(rate(form.diffusivity, 1.0))
    run(lambda i, j: kernel(L, given, unit, inside, i, j), split(L.size, 2**16, 16))
    front = tau * amplitude(form.diffusivity, contrast)[0] * form.omega[0] * beta**2
    return torch.add(u, advance_volume(even, flux, [(t, 1.0)]).sub_(flux), alpha=-front / t**2)


@cache
def weaken(kind: int) -> Callable[..., int]:
    """The kernel that takes one volume off another and multiplies what is left by the diffusivity of its square."""
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(x: Any, u: Any, unit: float, rate: float, first: int, last: int) -> int:
        for j in range(first, last):
            L = at(x, j) - at(u, j)
            s = L * unit
            put(x, j, value(kind, s * s, rate) * L)
        return stamp

    return kernel


def by_scales(form: Form, u: Tensor, numbers: Numbers) -> Tensor:
    r"""The volume :math:`u - \tau \sum_\ell \omega_\ell \beta_\ell^2\, G_\ell K^* D K G_\ell u`; all scales share D."""
    tau, contrast, beta, seen = numbers
    taps, t = form.flux.taps, min(form.flux.spacing) ** 2 / 4
    plain = replace(form.flux, taps=(), omega=(1.0,))
    one = replace(form, flux=plain, structure=plain, inside=(1.0,), couple_channels=True, couple_scales=False)
    weights = [abs(b) * math.sqrt(w) for b, w in zip(seen, form.inside, strict=True)]
    fields = torch.stack([w * smoothed_volume(u, each) for w, each in zip(weights, taps, strict=True)], 2)
    members = fields.flatten(1, 2) if form.couple_channels else fields.flatten(0, 1)
    change = advance_volume(one, members, [(t, contrast)]).view(fields.shape).sub_(fields)
    after = u.clone()
    for scale, (omega, b, w) in enumerate(zip(form.omega, beta, weights, strict=True)):
        after.add_(smoothed_volume(change[:, :, scale], taps[scale]), alpha=tau / t * omega * b**2 / w)
    return after


def smoothed_volume(u: Tensor, taps: tuple[Taps, ...]) -> Tensor:
    """A volume ``(n, c, z, y, x)`` smoothed along each of its axes."""
    n, C, D, H, W = u.shape
    along_z = smoothed(u.reshape(1, n * C, D, H * W), taps[0], (1.0,))
    return smoothed(along_z.view(1, n * C * D, H, W), taps[1], taps[2]).view(u.shape)
