r"""How each model is measured: its contrast, its time, and the filter it is compared with.

A measurement says something only where the nonlinearity is at work and the flow is well-posed. Both pictures have a
steepest slope of 12, so for models of the gradient :math:`\lambda = 12` lies on the very edge between smoothing and
sharpening. Sums over :math:`M` channels or over scales of total weight 9.9 grow by that factor, hence
:math:`\lambda = 12\sqrt{M}` and :math:`12\sqrt{9.9}`. The hill's largest second derivative is 0.86; fourth-order flows
are measured at :math:`\lambda = 2`, and on a paler whorl whose second derivatives are as large as the hill's.
Coherence-enhancing diffusion leaves a perfect whorl as it is, and is measured on one with smudges to remove.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from whorl.automatic import RULES, Filtering, samples_of
from whorl.data.noise import gaussian_noise
from whorl.data.synthetic import Faded, Scene, Smudged, Waves, Whorl, render
from whorl.invariance.filters import FINGERPRINT, Filter
from whorl.invariance.measure import RotationError, rotation_error
from whorl.invariance.symmetries import SymmetryError, symmetry_error
from whorl.models import Model, build, names, row, uncoupled_twin
from whorl.schemes import equal_steps

SMUDGED_FINGERPRINT = Faded(Smudged(Whorl(period=24.0), Waves(20.0, cutoff=0.1)), radius=52.0)
PALE_FINGERPRINT = Faded(Whorl(period=24.0), radius=52.0, strength=0.064)


@dataclass(frozen=True)
class Setting:
    """Contrast, diffusion time, number of image channels and turned scene of one model's measurement."""

    contrast: float
    time: float
    channels: int = 1
    scene: Scene = FINGERPRINT


SETTINGS: dict[str, Setting] = {name: Setting(12.0, 4.0) for name in names()} | {
    "you-kaveh": Setting(2.0, 4.0, scene=PALE_FINGERPRINT),
    "lysaker": Setting(2.0, 4.0, scene=PALE_FINGERPRINT),
    "gerig": Setting(12 * sqrt(3), 4.0, channels=3),
    "weickert-brox": Setting(12 * sqrt(3), 4.0, channels=3),
    "multiscale-isotropic": Setting(12 * sqrt(9.9), 0.8),
    "multiscale-anisotropic": Setting(12 * sqrt(9.9), 0.8),
    "ced": Setting(4.0, 4.0, scene=SMUDGED_FINGERPRINT),
}
"""How each of ``whorl.models.names()`` is measured unless told otherwise."""


@dataclass(frozen=True)
class Exhibit:
    """A filter under its name in tables and figures, and what was measured."""

    name: str
    filter: Filter
    error: RotationError
    setting: Setting
    coupled: bool = True
    device: str | torch.device = "cpu"
    defaults: SymmetryError | None = None
    """Quarter turns and mirror images of a noisy picture with nothing told; None where noise decides nothing."""


def examine(
    name: str,
    *,
    contrast: float | None = None,
    time: float | None = None,
    device: str | torch.device = "cpu",
    beside: bool = True,
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> tuple[Exhibit, Exhibit | None]:
    """Measure a model by name and, if ``beside``, the filter that lacks its coupling.

    Parameters
    ----------
    name : str
        One of ``whorl.models.names()``.
    contrast, time : float, optional
        Instead of those in :data:`SETTINGS`.
    device : str or torch.device
        Where to filter.
    beside : bool
        Whether to measure the :func:`counterpart` as well.
    progress : callable, optional
        Told the share of the work done since the last call; all shares sum to 1.
    **options
        For ``whorl.models.build``: ``alpha``, ``gamma``, ``sigma``, ``directions``, ...

    Returns
    -------
    (Exhibit, Exhibit or None)
        The model, and its counterpart where there is one.
    """
    told = {key: value for key, value in (("contrast", contrast), ("time", time)) if value is not None}
    setting = replace(SETTINGS[row(name).name], **told)  # type: ignore[arg-type]
    model = build(name, contrast=setting.contrast, **options).to(device)
    other = counterpart(model) if beside else None

    def exhibit(entry: Model, label: str) -> Exhibit:
        filter = flow(entry, setting.time)
        told = None if progress is None else lambda share: progress(share if other is None else share / 2)
        error = rotation_error(filter, scene=setting.scene, channels=setting.channels, device=device, progress=told)
        coupled = label not in ("uncoupled", "two directions")
        return Exhibit(label, filter, error, setting, coupled, device)

    untold = defaults_error(name, setting.channels, device, **options)
    return replace(exhibit(model, name), defaults=untold), None if other is None else exhibit(other, other.name)


def defaults_error(
    name: str, channels: int = 1, device: str | torch.device = "cpu", **options: Any
) -> SymmetryError | None:
    """A model on the symmetric copies of a noisy picture of odd size, with contrast and time measured on each copy.

    None for a model whose contrast and time do not follow from the noise.
    """
    if RULES[name] is None:
        return None
    policy = Filtering(name, options=options)

    def untold(u: Tensor) -> Tensor:
        model, chosen = policy.chosen(lambda: samples_of(u), policy.space(2))
        result: Tensor = model.to(u.device)(u, chosen.time)
        return result

    clean = render(FINGERPRINT, (97, 83), channels=channels)
    return symmetry_error(untold, picture=clean + gaussian_noise(1, (channels, 97, 83), 25.0), device=device)


def counterpart(model: Model) -> Model | None:
    """The model to compare with: the same without coupling between directions.

    The integration model couples nothing but takes many directions: it is compared with two. The uncoupled model is
    compared with its coupled form, Perona and Malik's. You and Kaveh's operator has a single channel, so there is
    nothing to leave uncoupled, and no counterpart.
    """
    if model.operator.axes == 1:
        return None
    if model.name == "uncoupled":
        return build("perona-malik", **model.settings).to(_device(model))
    if model.name == "weickert-integration":
        twin = build(model.name, **model.settings | {"directions": 2}).to(_device(model))
        twin.name = "two directions"
        return twin
    twin = uncoupled_twin(model)
    twin.name = "uncoupled"
    return twin


def flow(model: Model, time: float) -> Filter:
    """The model as a filter with a fixed diffusion time; its steps are worked out once, not for every picture."""
    return partial(model.advance, taus=equal_steps(time, model.automatic_step()))


def _device(model: Model) -> torch.device:
    return next((tensor.device for tensor in (*model.parameters(), *model.buffers())), torch.device("cpu"))
