"""Contrast and diffusion time from the noise, when nobody gave them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from whorl.automatic.between import common, measure_colours
from whorl.automatic.noise import noise_level, noise_present
from whorl.automatic.risk import least_risk
from whorl.automatic.weighed import weighed
from whorl.engines.cpu.threads import alone
from whorl.foundations import validation
from whorl.models import ROWS, Model, build, row
from whorl.models.catalogue import Rule

RULES: dict[str, Rule | None] = {entry.name: entry.rule for entry in ROWS}
"""None for models that do not remove noise: coherence-enhancing diffusion closes gaps in lines."""

DEFAULT_TIME = 5.0
"""The diffusion time of a model whose contrast is given and whose time is not."""

LONGEST = 20.0
"""The flow stops at this time, if it has removed less by then; for pixels whose smallest side is one."""


OWN = ("diffusivity", "alpha", "gamma", "sigma")
"""A user who gives one of these has chosen a flow, and gets the rule instead of the weighed settings."""


def rule(name: str) -> Rule:
    """The rule of a model, or an error that says what to give instead.

    >>> rule("weickert-brox")
    Rule(contrast=1.2, removed=0.95)
    """
    found = row(name).rule
    if found is None:
        raise ValueError(f"{name}: contrast and time do not follow from the noise. Give both.")
    return found


@dataclass(frozen=True)
class AutomaticSettings:
    """What a model is to be run with: the noise it is meant for, its contrast and its diffusion time.

    ``options`` are further ones that were chosen, for ``whorl.models.build``.

    >>> AutomaticSettings(noise=10.0, contrast=12.0, time=2.5).contrast
    12.0
    """

    noise: float
    contrast: float
    time: float
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)


@alone()
def automatic_settings(
    name: str,
    samples: Sequence[Tensor],
    *,
    noise: float | None = None,
    time: float | None = None,
    engine: str = "auto",
    **options: Any,
) -> AutomaticSettings:
    r"""Settings for the model of that name, from samples of the picture it is to filter.

    The contrast is a multiple of the noise that depends on the model (:data:`whorl.automatic.RULES`): what is weaker
    counts as noise, what is stronger as an edge. The time is that at which the model has removed most of the noise from
    the samples, in root mean square, so that a clean picture is hardly changed. Noise that was cut off at black and
    white is not there to be removed, and does not count. Neither depends on the unit of length.

    ``weickert-brox``, the default, ``perona-malik``, ``gerig`` and ``eed`` are given a law, a cell and a presmoothing
    as well, unless a diffusivity, an alpha, a gamma or a sigma was told: a well-posed flow whose contrast, presmoothing
    and time have the least estimated errors on this very picture (:mod:`whorl.automatic.weighed`). With
    ``diffusivity="exponential"`` the rule above applies to them, too.

    In space, where volumes differ more from each other than photographs do, that contrast is where a search begins: the
    contrast and the time are those with the least error on the samples, which can be estimated from the noise alone
    (:mod:`whorl.automatic.risk`).

    Parameters
    ----------
    name : str
        One of ``whorl.models.names()``.
    samples : sequence of Tensor
        Images ``(n, c, y, x)`` or volumes that stand for the picture; see :func:`whorl.automatic.samples_of`.
    noise, time : float, optional
        Values that are known; a value that is left out is measured.
    engine : str
        One of ``whorl.engines.ENGINES``.
    **options
        For ``whorl.models.build``.

    Examples
    --------
    >>> ramp = torch.arange(64.0).expand(1, 1, 64, 64)
    >>> noisy = ramp + 5 * torch.randn(1, 1, 64, 64, generator=torch.Generator().manual_seed(0))
    >>> chosen = automatic_settings("perona-malik", [noisy], noise=5.0, diffusivity="exponential")
    >>> chosen.contrast, 0.5 < chosen.time < 5
    (7.5, True)
    >>> sorted(automatic_settings("perona-malik", [noisy], noise=5.0).options)
    ['cell', 'diffusivity', 'sigma']
    """
    chosen, weighing = rule(name), samples[0].dim() == 4 and row(name).weighed and not {*OWN} & {*options}
    shared = common(samples) if weighing else 0.0
    traced = measure_colours(samples, shared)[0] if weighing else None
    if noise is not None:
        measured = validation.number(noise, "noise", name, 0.0)
    else:
        measured = noise_level(samples) if traced is None else traced.level
    if measured == 0:
        # Nothing is to be removed: any contrast will do, for no time at all.
        return AutomaticSettings(0.0, 1.0, 0.0 if time is None else time)
    steepness = _steepness(name, samples[0].dim() - 2, **options)
    contrast = chosen.contrast * measured * steepness
    # Where g has no largest value of 1, as in total variation, it sets the unit of time.
    longest = LONGEST / steepness**2 / build(name, contrast=contrast, **options).activation.law.maximum()
    if samples[0].dim() == 5:
        contrast, time = least_risk(
            name, samples, measured, contrast, time=time, longest=longest, engine=engine, **options
        )
    elif weighing:
        neighbours = 0.0 if traced is None else traced.correlation
        told: dict[str, Any] = {**options, "neighbours": neighbours, "shared": shared, "time": time}
        told |= {"longest": longest, "engine": engine}
        pixel = min(validation.spacing(options.get("spacing", 1.0), name))
        more, contrast, time = weighed(name, samples, measured, steepness=steepness, pixel=pixel, **told)
        return AutomaticSettings(measured, contrast, time, more)
    elif time is None:
        model = build(name, contrast=contrast, **options)
        time = _stopping_time(model, samples, chosen.removed * noise_present(samples, measured), longest, engine)
    return AutomaticSettings(measured, contrast, time)


def _steepness(name: str, dimension: int, **options: Any) -> float:
    """How many times larger the responses of the model are than with the smallest side of a pixel as unit of length."""
    sizes = validation.spacing(options.get("spacing", 1.0), name).along(dimension)
    if min(sizes) == 1:
        return 1.0
    unit = options | {"spacing": tuple(size / min(sizes) for size in sizes)}
    norms = [build(name, contrast=1.0, **each).operator.squared_norm_bound(dimension) for each in (options, unit)]
    return math.sqrt(norms[0] / norms[1])


@torch.no_grad()
def _stopping_time(model: Model, samples: Sequence[Tensor], wanted: float, longest: float, engine: str) -> float:
    """When the root mean square of what was removed from the samples reaches the wanted value."""
    tau, time, before = model.automatic_step() / 2, 0.0, 0.0
    states = list(samples)
    count = sum(part.numel() for part in states)
    while time < longest:
        states = [model.step(part, tau, engine=engine) for part in states]
        pairs = zip(states, samples, strict=True)
        removed = sum(float((after - part).double().square().sum()) for after, part in pairs) / count
        if removed >= wanted**2:
            # The square of what is removed grows by little in a step: a straight line is close enough.
            return time + tau * (wanted**2 - before) / (removed - before)
        time, before = time + tau, removed
    return longest
