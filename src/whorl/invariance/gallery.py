"""Every model on the embedded picture, upright and turned: what the filters do, and how far they turn with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from whorl.data.plate import plate_picture
from whorl.data.synthetic import Turn
from whorl.invariance.coincidence import coincident_points
from whorl.invariance.evidence import SETTINGS, counterpart, flow
from whorl.invariance.filters import ratio, root_mean_square
from whorl.invariance.radius import equal_radius_error
from whorl.invariance.symmetries import symmetry_error
from whorl.metrics import psnr
from whorl.models.catalogue import ROWS

__all__ = ["NOISE", "SHOWN", "SIZE", "TURN", "Showing", "plates", "show", "show_all"]

NOISE = 20.0
SIZE = 257
MARGIN = 8  # pixels near the border see a frame that does not turn
TURN = Turn(4, 3, 5)
SHOWN = {row.name: row.plate for row in ROWS}
"""Contrast and time near each model's best PSNR on the noisy plate; the uncoupled model has those of its twin."""


@dataclass(frozen=True)
class Showing:
    """One model: its pictures and its numbers.

    Attributes
    ----------
    name, contrast, time
        The model and how it filtered the plate.
    upright, turned : Tensor
        The filtered plate, and the filtered plate turned by 36.87 degrees, ``(3, y, x)``.
    psnr : float
        Of the upright result against the clean plate, in dB (value range 255).
    plate : float
        Difference of the two results at the shared pixels relative to the change, root mean squares. Its edges and
        noise are as fine as the pixel grid allows, and steeper than the contrast. Models that sharpen turn the noise
        there into edges, which differ from grid to grid. So this number is a few per cent, where that of the hill is a
        few ten-thousandths.
    ulp, equal_radius : float
        From :func:`~whorl.invariance.symmetry_error` and :func:`~whorl.invariance.equal_radius_error`, at the contrast
        and time of :data:`~whorl.invariance.evidence.SETTINGS`.
    beside : (str, float) or None
        Name and equal-radius error of the model's uncoupled counterpart.
    """

    name: str
    contrast: float
    time: float
    upright: Tensor
    turned: Tensor
    psnr: float
    plate: float
    ulp: float
    equal_radius: float
    beside: tuple[str, float] | None

    def as_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        numbers = {key: value for key, value in vars(self).items() if not isinstance(value, Tensor)}
        if self.beside is not None:
            numbers["beside"] = {"name": self.beside[0], "equal_radius": self.beside[1]}
        return numbers


def show_all(names: Sequence[str] | None = None, progress: Callable[[float], None] | None = None) -> list[Showing]:
    """All models (or those named) in the order of the catalogue; ``progress`` is told 1 after each."""
    from whorl.models import names as known

    showings = []
    for name in known() if names is None else names:
        showings.append(show(name))
        if progress is not None:
            progress(1.0)
    return showings


def show(name: str) -> Showing:
    """Filter the plate with one model, upright and turned, and measure it."""
    from whorl.models import build

    contrast, time = SHOWN[name]
    clean, noisy, turned_noisy = plates()
    filter = flow(build(name, contrast=contrast), time)
    with torch.no_grad():
        upright, turned = filter(noisy), filter(turned_noisy)
    p, q = (SIZE // 2 + points for points in coincident_points(TURN, SIZE // 2 - MARGIN))
    difference = turned[..., q[:, 1], q[:, 0]] - upright[..., p[:, 1], p[:, 0]]
    change = (upright - noisy)[..., p[:, 1], p[:, 0]]
    quality = float(psnr(upright, clean, value_range=255.0))
    plate = ratio(root_mean_square(difference), root_mean_square(change))
    return Showing(name, contrast, time, upright[0], turned[0], quality, plate, *_evidence(name))


def _evidence(name: str) -> tuple[float, float, tuple[str, float] | None]:
    from whorl.models import build

    setting = SETTINGS[name]
    model = build(name, contrast=setting.contrast)
    other = counterpart(model)
    filter = flow(model, setting.time)
    ulp = symmetry_error(filter, channels=setting.channels).ulp
    equal_radius = equal_radius_error(filter, channels=setting.channels).relative
    if other is None:
        return ulp, equal_radius, None
    beside = equal_radius_error(flow(other, setting.time), channels=setting.channels).relative
    return ulp, equal_radius, (other.name, beside)


@cache
def plates() -> tuple[Tensor, Tensor, Tensor]:
    """The clean, the noisy, and the noisy turned plate; drawn once, since noise from formulas takes its time."""
    clean = plate_picture(SIZE)
    return clean, plate_picture(SIZE, noise=NOISE), plate_picture(SIZE, turn=TURN, noise=NOISE)
