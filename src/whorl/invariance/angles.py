r"""Any angle at all: the scene turns about a probe, and the probe is always a pixel.

Two lattices at a general angle share one point only. So take that point as the place of comparison: choose a probe
:math:`x_k` of the scene, render a window with :math:`x_k` on its central pixel and the scene turned by :math:`\theta`
about it, filter, and read the central pixel,

.. math:: v_k(\theta) = F\bigl(p \mapsto s(x_k + R_\theta^{-1} p)\bigr)(0).

For a filter that commutes with rotations and translations :math:`v_k` does not depend on :math:`\theta`. The probe has
the same position relative to the pixel lattice at every angle, so nothing but the turn is measured, and again no value
is interpolated. The price is one small picture for each probe and angle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, sin, sqrt

import torch
from torch import Tensor

from whorl.data.synthetic import GOLDEN_ANGLE, Scene, Turn, render
from whorl.invariance.filters import FINGERPRINT, Compared, Filter, filtered, root_mean_square


@dataclass(frozen=True)
class AngleError(Compared):
    r"""Upright against turned at one angle, over all probes (and channels).

    .. math:: \text{relative} = \frac{\|d_k(\theta) - d_k(0)\|_k}{\|d_k(0)\|_k}, \qquad d_k = v_k - s(x_k)

    with root mean squares ``difference`` and ``change`` in grey values as numerator and denominator.

    >>> AngleError(angle=45.0, difference=0.5, change=10.0).relative
    0.05
    """

    angle: float
    difference: float
    change: float


def angle_error(
    filter: Filter,
    *,
    scene: Scene | None = None,
    angles: Sequence[float] = (15.0, 30.0, 45.0, 60.0, 75.0),
    probes: int = 8,
    reach: float = 40.0,
    size: int = 81,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> tuple[AngleError, ...]:
    """Turn a scene by any angles about a few probes; one result for each angle.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, y, x)``.
    scene : Scene, optional
        By default :data:`~whorl.invariance.FINGERPRINT`.
    angles : sequence of float
        In degrees.
    probes : int
        How many points to turn about.
    reach : float
        They are spread over a disc of this radius, in pixels, like the seeds of a sunflower.
    size : int
        Side of the square window around a probe, odd. Its border does not turn with the scene: choose it so wide that
        the filter does not carry the border to the centre.
    channels, dtype, device
        Of the picture, and how it is handed to the filter.

    Examples
    --------
    >>> angle_error(lambda u: u * u, angles=(45.0,))[0].relative < 1e-13
    True
    """
    if size % 2 == 0 or size < 1 or probes < 1:
        raise ValueError(f"angle_error(size={size}, probes={probes}): size must be odd and probes at least 1.")
    scene = scene or FINGERPRINT
    radii = [reach * sqrt((k + 0.5) / probes) for k in range(probes)]
    centres = [(r * cos(k * GOLDEN_ANGLE), r * sin(k * GOLDEN_ANGLE)) for k, r in enumerate(radii)]

    def changes(turn: Turn) -> Tensor:
        """What the filter did to the central pixel, ``(probes, channels)``."""
        pairs = (
            filtered(filter, render(scene, size, turn=turn, centre=centre, channels=channels), dtype, device)
            for centre in centres
        )
        return torch.stack([(v - u)[0, :, size // 2, size // 2] for u, v in pairs])

    upright = changes(Turn.by(0.0))
    change = root_mean_square(upright)
    return tuple(
        AngleError(float(angle), root_mean_square(changes(Turn.by(angle)) - upright), change) for angle in angles
    )
